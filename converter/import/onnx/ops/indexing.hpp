// What operators that take elements at given places share: places as one number each, so that a
// gather from the flattened tensor does the rest.
#pragma once

#include <string_view>
#include <vector>

#include "converter/import/onnx/lowering.hpp"
#include "converter/ir/shapes.hpp"

namespace tenon::converter {

/// 0, 1, ... `count` - 1 along `axis` of a tensor of rank `rank` whose other dimensions are 1.
[[nodiscard]] Result<TensorId> Iota(Lowering& node, DType dtype, int64_t count, int32_t axis,
                                    int32_t rank);

/// condition ? x : y, broadcast; `output` as of Lowering::Emit.
[[nodiscard]] Result<TensorId> Select(Lowering& node, TensorId condition, TensorId x, TensorId y,
                                      int output = kIntermediate);

/// Integers in a type that kernels order: as they are, or wider.
[[nodiscard]] Result<TensorId> Ordered(Lowering& node, TensorId x);

/// One index tensor's part of a linear place: i64, index * stride, with an index below 0 counted
/// from the end. `sizes` and `strides` (equally many) broadcast along the last axis. Constant
/// indices out of range are an error; others become so negative that a gather at the sum of such
/// parts reports them when it runs.
[[nodiscard]] Result<TensorId> Offsets(Lowering& node, TensorId indices,
                                       const std::vector<int64_t>& sizes,
                                       const std::vector<int64_t>& strides);

/// Indices, called `name`, of which none counts from the end: constant ones below 0 are an error;
/// others become so negative that a gather at them reports them when it runs.
[[nodiscard]] Result<TensorId> NotNegative(Lowering& node, TensorId indices, std::string_view name);

/// x, called `name`, as i64 where all of it is from 0 to `count` - 1; what is not is an error where
/// it is constant, else reported when it runs.
[[nodiscard]] Result<TensorId> InRange(Lowering& node, TensorId x, int64_t count,
                                       std::string_view name);

/// Places in the flattened x of GatherElements(x, indices, axis): i64, the shape of `indices`.
[[nodiscard]] Result<TensorId> ElementPlaces(Lowering& node, const Shape& x, TensorId indices,
                                             int32_t axis);

/// Where `indices` along an axis, before which x has dimensions of 1 only, repeat one for all that
/// is behind it, as networks on graphs and points expand them: that one for each row, [P]; else
/// kNone.
[[nodiscard]] Result<TensorId> IndicesOfRows(Lowering& node, const Shape& x, TensorId indices,
                                             int32_t axis);

/// Places, along the flattened leading dimensions of x, of the slices that GatherND takes: i64, the
/// shape of `indices` without its last dimension.
[[nodiscard]] Result<TensorId> SlicePlaces(Lowering& node, const Shape& x, TensorId indices,
                                           int32_t batch_dims);

/// GatherElements(x, indices, axis).
[[nodiscard]] Result<TensorId> EmitGatherElements(Lowering& node, TensorId x, TensorId indices,
                                                  int32_t axis, int output = kIntermediate);

/// Gather(x, indices) along `axis`.
[[nodiscard]] Result<TensorId> EmitGather(Lowering& node, TensorId x, TensorId indices,
                                          int32_t axis, int output = kIntermediate);

}  // namespace tenon::converter
