// Attributes of every op: plain structs of 4-byte words, stored in the plan as such and read in
// place. New fields go at the end (the plan format is append-only; readers zero what is missing).
// How a field is called in text and JSON stands in the op's row (op_row.hpp).
//
// What the comments demand, the op's shape rule checks, and kernels may trust. "Float" operands are
// f32, f16 or f64 and all alike; bf16 is for storage (it can be moved and cast). Padded extents,
// window extents, strides and dilations are at most 2^28, so that the sum of two fits 32 bits.
#pragma once

#include <cstdint>

#include "runtime/base/dtype.hpp"
#include "runtime/base/shape.hpp"
#include "runtime/ops/functions.hpp"

namespace tenon {

/// An elementwise function applied to an op's result before it is stored. The parameters are
/// finite, but for the bounds of a clip, which may be infinite.
struct Activation {
  UnaryFunction function = UnaryFunction::kIdentity;
  float a = 0.0F;
  float b = 0.0F;
};

/// 2-D convolution. Inputs: x [N, C, H, W], w [M, C / group, KH, KW], bias [M] (optional),
/// residual [N, M, OH, OW] (optional). y = activation(conv(x, w) + bias + residual). Floats.
/// 1-D convolutions are imported with H = 1. Only N may be 0.
struct ConvAttributes {
  int32_t group = 1;
  int32_t strides[2] = {1, 1};
  int32_t dilations[2] = {1, 1};
  int32_t pads[4] = {0, 0, 0, 0};  ///< top, left, bottom, right; >= 0
  Activation activation;
};

/// Matrix product with NumPy batch broadcasting. Inputs: a [..., M, K], b [..., K, N] (the last
/// two dimensions swapped where transposed), bias (optional, broadcasts to the output).
/// y = activation(a b + bias). Floats. Ranks >= 2, K >= 1.
struct MatMulAttributes {
  int32_t transpose_a = 0;
  int32_t transpose_b = 0;
  Activation activation;
};

/// Windowed pooling of x [N, C, H, W]. Padding never counts in a maximum; in an average it counts
/// only with `count_include_pad` (positions beyond the padding, from ceil_mode, never). Every
/// window holds at least one element of x. Averages take floats, maxima integers too.
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

/// Bit k of `axes_mask` set: axis k is reduced; no bit set: each element on its own. Floats; the
/// functions up to kProd take integers too. An empty axis has no maximum, minimum or mean.
struct ReduceAttributes {
  ReduceFunction function = ReduceFunction::kSum;
  int32_t axes_mask = 0;
  int32_t keep_dims = 1;
};

/// Softmax of floats along `axis`, which is not empty.
struct SoftmaxAttributes {
  int32_t axis = 0;  ///< >= 0
  int32_t log = 0;   ///< 1: logarithm of the softmax
};

/// Local response normalisation of floats over axis 1 (ONNX LRN), rank >= 2:
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
/// Steps may be negative, never 0. Every element taken lies inside x; where only one is taken the
/// step may be any number, so multiply it in 64 bits.
struct SliceAttributes {
  int32_t rank = 0;
  int32_t begins[kMaxRank] = {};
  int32_t sizes[kMaxRank] = {};
  int32_t steps[kMaxRank] = {};
};

/// Adds `begins[k]` and `ends[k]` elements (negative: removes) around dimension k. No more is
/// removed than there is; what edge and reflect copy is among what stays. `value` is exactly a
/// value of x's dtype if that is an integer type or bool.
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
/// with (a given scale need not equal out / in): positive, finite, sizes[k] / scales[k] <= 2^30.
/// `kNearest` takes floats and integers and may change any dimension. The others take floats of
/// rank 4 and change the last two dimensions only; the first two have scale 1.
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
