// Attributes of every op: plain structs of 4-byte words, stored in the plan as such and read in
// place. New fields go at the end (the plan format is append-only; readers zero what is missing).
// How a field is called in text and JSON stands in the op's row (op_row.hpp).
#pragma once

#include <cstdint>

#include "runtime/base/dtype.hpp"
#include "runtime/base/shape.hpp"
#include "runtime/ops/functions.hpp"

namespace tenon {

/// An elementwise function applied to an op's result before it is stored.
struct Activation {
  UnaryFunction function = UnaryFunction::kIdentity;
  float a = 0.0F;
  float b = 0.0F;
};

/// 2-D convolution. Inputs: x [N, C, H, W], w [M, C / group, KH, KW], bias [M] (optional),
/// residual [N, M, OH, OW] (optional). y = activation(conv(x, w) + bias + residual).
/// 1-D convolutions are imported with H = 1.
struct ConvAttributes {
  int32_t group = 1;
  int32_t strides[2] = {1, 1};
  int32_t dilations[2] = {1, 1};
  int32_t pads[4] = {0, 0, 0, 0};  ///< top, left, bottom, right; >= 0
  Activation activation;
};

/// Matrix product with NumPy batch broadcasting. Inputs: a [..., M, K], b [..., K, N] (the last
/// two dimensions swapped where transposed), bias (optional, broadcasts to the output).
/// y = activation(a b + bias). Ranks >= 2.
struct MatMulAttributes {
  int32_t transpose_a = 0;
  int32_t transpose_b = 0;
  Activation activation;
};

/// Windowed pooling of x [N, C, H, W]. Padding never counts in a maximum; in an average it counts
/// only with `count_include_pad` (positions beyond the padding, from ceil_mode, never).
struct PoolAttributes {
  int32_t kernel[2] = {1, 1};
  int32_t strides[2] = {1, 1};
  int32_t dilations[2] = {1, 1};
  int32_t pads[4] = {0, 0, 0, 0};  ///< top, left, bottom, right
  int32_t ceil_mode = 0;
  int32_t count_include_pad = 0;
};

struct UnaryAttributes {
  UnaryFunction function = UnaryFunction::kIdentity;
  float a = 0.0F;
  float b = 0.0F;
};

/// z = activation(f(x, y)).
struct BinaryAttributes {
  BinaryFunction function = BinaryFunction::kAdd;
  Activation activation;
};

/// Select has inputs condition (bool), x, y, all broadcast; no attributes.

/// Bit k of `axes_mask` set: axis k is reduced.
struct ReduceAttributes {
  ReduceFunction function = ReduceFunction::kSum;
  int32_t axes_mask = 0;
  int32_t keep_dims = 1;
};

struct SoftmaxAttributes {
  int32_t axis = 0;  ///< >= 0
  int32_t log = 0;   ///< 1: logarithm of the softmax
};

/// Local response normalisation over axis 1 (ONNX LRN):
/// y = x / (bias + alpha / size * sum of squares of the `size` neighbours)^beta.
struct LrnAttributes {
  int32_t size = 1;
  float alpha = 0.0001F;
  float beta = 0.75F;
  float bias = 1.0F;
};

struct ConcatAttributes {
  int32_t axis = 0;  ///< >= 0
};

/// y[i] = x[begins[k] + i[k] * steps[k]] per dimension k, with y's dimensions in `sizes`.
/// Steps may be negative, never 0.
struct SliceAttributes {
  int32_t rank = 0;
  int32_t begins[kMaxRank] = {};
  int32_t sizes[kMaxRank] = {};
  int32_t steps[kMaxRank] = {};
};

/// Adds `begins[k]` and `ends[k]` elements (negative: removes) around dimension k.
struct PadAttributes {
  PadMode mode = PadMode::kConstant;
  float value = 0.0F;
  int32_t rank = 0;
  int32_t begins[kMaxRank] = {};
  int32_t ends[kMaxRank] = {};
};

/// Same elements in row-major order under other dimensions; every dimension >= 0.
struct ReshapeAttributes {
  int32_t rank = 0;
  int32_t dims[kMaxRank] = {};
};

/// y's dimension k is x's dimension `permutation[k]`.
struct TransposeAttributes {
  int32_t rank = 0;
  int32_t permutation[kMaxRank] = {};
};

/// Broadcasts x to `dims` (NumPy rules).
struct ExpandAttributes {
  int32_t rank = 0;
  int32_t dims[kMaxRank] = {};
};

/// Interpolates x to `sizes`, the dimensions of y. `scales[k]` is what coordinates are computed
/// with (a given scale need not equal out / in). Only the last two dimensions of a rank 4 tensor,
/// or any for `kNearest`, may change.
struct ResizeAttributes {
  ResizeMode mode = ResizeMode::kNearest;
  CoordinateMode coordinates = CoordinateMode::kHalfPixel;
  NearestMode nearest = NearestMode::kRoundPreferFloor;
  float cubic_a = -0.75F;
  int32_t exclude_outside = 0;
  int32_t rank = 0;
  int32_t sizes[kMaxRank] = {};
  float scales[kMaxRank] = {};
};

/// y = x taken at `indices` (i32 or i64; negative counts from the end) along `axis`.
/// Inputs: x, indices. An index out of range is an error when the op runs.
struct GatherAttributes {
  int32_t axis = 0;  ///< >= 0
};

struct CastAttributes {
  int32_t to = static_cast<int32_t>(DType::kF32);  ///< a DType
};

/// Copy has one input and no attributes: same elements, other layout or memory space.

}  // namespace tenon
