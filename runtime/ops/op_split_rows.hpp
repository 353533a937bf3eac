// What the rows of the split table are made of: one pair of functions a family of ops.
#pragma once

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/op_split.hpp"

namespace tenon::split {

/// Element i of the output needs element i of the input.
[[nodiscard]] constexpr InputSplit Along(int32_t axis) { return {axis, 1, 1, 0, 1}; }
[[nodiscard]] constexpr InputSplit Whole() { return {-1, 1, 1, 0, 1}; }

/// Groups of `outputs` output indices that need groups of `inputs` input indices; exact where
/// boundaries are multiples of `outputs`. Both >= 1.
[[nodiscard]] constexpr InputSplit InGroups(int32_t axis, int32_t inputs, int32_t outputs) {
  return {axis, inputs, outputs, 0, (inputs + outputs - 1) / outputs};
}

[[nodiscard]] inline bool IsAxisOf(const TensorView& tensor, int32_t axis) {
  return axis >= 0 && axis < tensor.rank;
}

/// Of an operand that broadcasts to the output: cut along the same axis, or whole where it has
/// one element there.
[[nodiscard]] inline InputSplit Broadcast(const OpCall& call, int input, int32_t axis) {
  if (!call.HasInput(input)) return Whole();
  const TensorView& x = call.Input(input);
  const int32_t own_axis = axis - (call.Output().rank - x.rank);
  return own_axis < 0 || x.dims[own_axis] == 1 ? Whole() : Along(own_axis);
}

/// The indices that `out` needs before they are clipped to the input.
struct NeededRange {
  int64_t begin;
  int64_t end;
};
[[nodiscard]] NeededRange Needed(const InputSplit& split, const IndexRange& out);

// Every family: which axis is which dimension, which cuts there are, the attributes of a part.
using AxisOf = int32_t(const OpCall& call, SplitDimension dimension);
using SplitAlong = bool(const OpCall& call, int32_t axis, InputSplit* inputs, int32_t* granularity);
using PartAttributes = void(const OpCall& call, int32_t axis, const IndexRange& out,
                            void* attributes);

AxisOf ImageAxis;  ///< N, C, H, W by the output's rank
AxisOf MatMulAxis;
AxisOf TransposeAxis;

SplitAlong ConvSplit;
SplitAlong MatMulSplit;
SplitAlong PoolSplit;
SplitAlong BroadcastSplit;  ///< elementwise with NumPy broadcasting: unary, binary, select, cast
SplitAlong ReduceSplit;
SplitAlong SoftmaxSplit;
SplitAlong LrnSplit;
SplitAlong ConcatSplit;
SplitAlong SliceSplit;
SplitAlong PadSplit;
SplitAlong ReshapeSplit;
SplitAlong TransposeSplit;
SplitAlong ResizeSplit;
SplitAlong GatherSplit;
SplitAlong QuantizeSplit;  ///< dequantize too
SplitAlong LookupSplit;
SplitAlong QuantizedConvSplit;
SplitAlong QuantizedPoolSplit;
SplitAlong QuantizedMatMulSplit;

PartAttributes ConvPart;
PartAttributes PoolPart;
PartAttributes SlicePart;
PartAttributes PadPart;
PartAttributes ReshapePart;
PartAttributes ExpandPart;
PartAttributes ResizePart;

}  // namespace tenon::split
