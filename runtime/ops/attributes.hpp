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

// The inputs of ops that have several, by name: `call.Input(ConvInput::kWeights)`. An op with one
// input has it at 0, and every op's only output is output 0.

/// What the inputs of convolutions and matrix products, float and quantized, begin with.
struct GemmInput {
  static constexpr int kX = 0, kWeights = 1, kBias = 2;
};

/// An elementwise function applied to an op's result before it is stored. The parameters are
/// finite, but for the bounds of a clip, which may be infinite.
struct Activation {
  UnaryFunction function = UnaryFunction::kIdentity;
  float a = 0.0F;
  float b = 0.0F;
};

/// 2-D convolution. Inputs: x [N, C, H, W], w [M, C / group, KH, KW], bias [M] (optional),
/// residual [N, M, OH, OW] (optional), w_scale [M] and x_mean [C] (f32, optional).
/// y = activation(conv(x, w) + bias + residual). Floats.
/// 1-D convolutions are imported with H = 1. Only N may be 0.
/// Stored in fewer bits, where y and the other operands are f32: w of f16; w of i8, standing for
/// w * w_scale[m]; x of u8, standing for x - x_mean[c] (0 in the padding). Exactly then the scale
/// or the mean is there.
struct ConvAttributes {
  int32_t group = 1;
  int32_t strides[2] = {1, 1};
  int32_t dilations[2] = {1, 1};
  int32_t pads[4] = {0, 0, 0, 0};  ///< top, left, bottom, right; >= 0
  Activation activation;
};

struct ConvInput : GemmInput {
  static constexpr int kResidual = 3, kWeightsScale = 4, kXMean = 5;
};

/// Matrix product with NumPy batch broadcasting. Inputs: a [..., M, K], b [..., K, N] (the last
/// two dimensions swapped where transposed), bias (optional, broadcasts to the output).
/// y = activation(a b + bias). Floats. Ranks >= 2, K >= 1. Stored in fewer bits, where the other
/// operands are f32: b of f16; b of i8 and rank 2 with b_scale [N] (f32, input 3), standing for
/// b * b_scale[n].
struct MatMulAttributes {
  int32_t transpose_a = 0;
  int32_t transpose_b = 0;
  Activation activation;
};

/// a is x, b the weights.
struct MatMulInput : GemmInput {
  static constexpr int kWeightsScale = 3;
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

/// Of binary and of quantized binary.
struct BinaryInput {
  static constexpr int kX = 0, kY = 1;
};

inline constexpr int kMostElementwiseSteps = 12;

/// Several unary and binary ops one after the other. Inputs: x, then operands, which broadcast to
/// x's shape, that of y. Floats. v is x at first, and y in the end; step k makes of it
///   activation(v)        where operands[k] is 0,
///   activation(f(v, o))  where it is i > 0, and o input i,
///   activation(f(o, v))  where it is -i.
/// Each step rounds as the op does that it stands for. Beyond `steps` nothing is read.
struct ElementwiseAttributes {
  int32_t steps = 0;  ///< 1 to kMostElementwiseSteps
  int32_t operands[kMostElementwiseSteps] = {};
  BinaryFunction functions[kMostElementwiseSteps] = {};  ///< that give a float
  UnaryFunction activations[kMostElementwiseSteps] = {};
  float a[kMostElementwiseSteps] = {};
  float b[kMostElementwiseSteps] = {};

  [[nodiscard]] constexpr Activation ActivationOf(int step) const {
    return {activations[step], a[step], b[step]};
  }
  /// Returns the input that the step reads, or 0.
  [[nodiscard]] constexpr int InputOf(int step) const {
    return operands[step] < 0 ? -operands[step] : operands[step];
  }
};

/// Select has inputs condition (bool), x, y, all broadcast; no attributes.
struct SelectInput {
  static constexpr int kCondition = 0, kX = 1, kY = 2;
};

/// Bit k of `axes_mask` set: axis k is reduced; no bit set: each element on its own. Floats; the
/// functions up to kProd take integers too. An empty axis has no maximum, minimum or mean.
struct ReduceAttributes {
  ReduceFunction function = ReduceFunction::kSum;
  int32_t axes_mask = 0;
  int32_t keep_dims = 1;
};

/// y = the sum of the elements of x along `axis` up to the same place. Floats and integers, whose
/// sums wrap.
struct CumSumAttributes {
  int32_t axis = 0;       ///< >= 0
  int32_t exclusive = 0;  ///< 1: without the element at that place
  int32_t reverse = 0;    ///< 1: from the end
};

/// Softmax of floats along `axis`, which is not empty.
struct SoftmaxAttributes {
  int32_t axis = 0;  ///< >= 0
  int32_t log = 0;   ///< 1: logarithm of the softmax
};

/// Normalises every row along the last axis, which is not empty, of floats or bytes x:
///   y = (x - mean) / sqrt(mean of (x - mean)^2 + epsilon) * scale + bias;
/// with `rms` 1 without the mean: y = x / sqrt(mean of x^2 + epsilon) * scale + bias. Scale, and
/// bias (optional), have the last axis's length. Bytes are taken and given as layer_norm.cpp says.
struct LayerNormAttributes {
  float epsilon = 1e-5F;  ///< finite, >= 0
  int32_t rms = 0;
};
struct LayerNormInput {
  static constexpr int kX = 0, kScale = 1, kBias = 2;
};

/// Attention of floats: y = softmax(scale * q k^T + mask) v, the softmax along the keys. Inputs:
/// q [..., M, D], k [..., N, D] (the last two dimensions swapped where transposed), v [..., N, E],
/// with the same dimensions before; mask (optional, broadcasts to [..., M, N]). Ranks >= 2, D and
/// N >= 1.
struct AttentionAttributes {
  float scale = 1.0F;  ///< finite
  int32_t transpose_k = 0;
};
struct AttentionInput {
  static constexpr int kQ = 0, kK = 1, kV = 2, kMask = 3;
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

/// Samples images at the points of a grid. Inputs (f32): x [N, C, H, W], H and W 1 to 2^24; grid
/// [N, OH, OW, 2], of each point its place across and down: -1 to 1 from edge to edge of the image,
/// or with `align_corners` from the centre of its first pixel to that of its last. y [N, C, OH,
/// OW].
struct GridSampleAttributes {
  ResizeMode mode = ResizeMode::kLinear;  ///< cubic with the parameter -0.75
  GridPadding padding = GridPadding::kZeros;
  int32_t align_corners = 0;
};
struct GridSampleInput {
  enum : int { kX = 0, kGrid = 1 };
};

/// y = x taken at `indices` (i32 or i64; negative counts from the end) along `axis`.
/// Inputs: x, indices. An index out of range is an error when the op runs.
struct GatherAttributes {
  int32_t axis = 0;  ///< >= 0
};

struct GatherInput {
  static constexpr int kX = 0, kIndices = 1;
};

/// y (i64) = the indices along `axis` of the `count` largest elements of x, in their order; of
/// equal ones the lower index comes first, and NaN is above every number.
struct TopKAttributes {
  int32_t axis = 0;      ///< >= 0
  int32_t count = 1;     ///< 0 to the elements along the axis
  int32_t smallest = 0;  ///< 1: the smallest, NaN being above every number
};

/// y = x with y[indices[i]] = function(y[indices[i]], updates[i]) for i = 0, 1, ..., in that order.
/// Inputs: x [R, ...], indices [P] (i32 or i64), updates [P, ...] of x's dtype. An index outside of
/// [0, R) is an error when the op runs.
struct ScatterAttributes {
  ScatterFunction function = ScatterFunction::kReplace;
};
struct ScatterInput {
  enum : int { kX = 0, kIndices = 1, kUpdates = 2 };
};

/// Of each class of each image boxes by score, less those that overlap one taken before (ONNX
/// NonMaxSuppression). Inputs: boxes [N, B, 4] f32; scores [N, C, B] f32; order [N, C, B] (i32 or
/// i64), the boxes of a class by descending score, as top_k gives it.
/// y (i64) [rows, 3]: image, class, box; rows that nothing is left for are -1.
struct NonMaxSuppressionAttributes {
  int32_t rows = 0;           ///< >= 0
  int32_t most_of_class = 0;  ///< boxes of a class and image; >= 0
  float overlap = 0.0F;       ///< a box is dropped whose intersection over union is above this
  float least_score = 0.0F;   ///< a box is taken whose score is above this,
  int32_t by_score = 0;       ///< if 1
  int32_t by_center = 0;      ///< 1: boxes are x, y of the centre, width, height; else y, x, y, x
};
struct NonMaxSuppressionInput {
  enum : int { kBoxes = 0, kScores = 1, kOrder = 2 };
};

struct CastAttributes {
  int32_t to = static_cast<int32_t>(DType::kF32);  ///< a DType
};

/// Copy has one input and no attributes: same elements, other layout or memory space.

// --- quantized ops ---------------------------------------------------------------------------
// A quantized tensor of i8 or u8 stands for the real numbers (q - zero_point) * scale. Sums are
// taken in 32 bits and wrap. What `rounding` means, requantize.hpp says.

/// A positive real factor, in the form that the op's rounding takes.
struct QuantizedScale {
  float scale = 1.0F;      ///< kHalfEven: finite, > 0
  int32_t multiplier = 0;  ///< kFixedPoint: >= 0; the factor is multiplier * 2^(shift - 31)
  int32_t shift = 0;       ///< kFixedPoint: -31 to 30
};

/// y = min(max(rounded + zero_point, min), max). Bounds lie within the dtype and express relu and
/// clip too.
struct QuantizedOutput {
  int32_t to = static_cast<int32_t>(DType::kI8);  ///< a DType: i8 or u8, if the op says no more
  Rounding rounding = Rounding::kHalfEven;
  int32_t zero_point = 0;
  int32_t min = -128;
  int32_t max = 127;
};

/// Inputs: x (f32), scale (f32; one element, or one for each index of `axis`), zero_point (dtype
/// `to`, as many; optional: 0). y = x / scale, rounded (kHalfEven or kHalfAway), + zero_point,
/// saturated to `to`: i8, u8, i16 or u16. Scale and zero point need not be constant. NaN gives the
/// zero point.
struct QuantizeAttributes {
  int32_t to = static_cast<int32_t>(DType::kI8);
  int32_t axis = 0;  ///< >= 0
  Rounding rounding = Rounding::kHalfEven;
};

/// Inputs: x (i8, u8, i16, u16 or i32), scale, zero_point (dtype of x; optional) as of quantize.
/// y = float(x - zero_point) * scale, f32.
struct DequantizeAttributes {
  int32_t axis = 0;
};

/// Of quantize and dequantize.
struct QuantizeInput {
  static constexpr int kX = 0, kScale = 1, kZeroPoint = 2;
};

/// Lookup has no attributes. Inputs: x (i8 or u8), table [256] (i8, u8 or f32), by x's bits less
/// the smallest value of its dtype: entry 0 is of -128 or 0. y has the table's dtype.
struct LookupInput {
  static constexpr int kX = 0, kTable = 1;
};

/// Convolution of quantized tensors. Inputs:
///   x [N, C, H, W] and w [M, C / group, KH, KW] (i8 or u8 each),
///   bias [M] (i32, optional), in units of scale(x) * scale(w),
///   multiplier [M] or [1] and shift (i8, as many): the factor from sum to output; f32 and no shift
///     with kHalfEven, i32 with kFixedPoint; absent where the output is i32,
///   x_zero_point [1] or [C] and w_zero_point [1] or [M] (dtypes of x and w; optional: 0),
///   folded_bias [M] (i32, optional): bias less x_zero_point times the sum of the output's weights,
///     modulo 2^32, made by the converter for kernels that read padding as x_zero_point and take
///     nothing off x. Others ignore it: it changes no result.
/// sum = bias + the convolution of x - x_zero_point (0 in the padding) with w - w_zero_point.
/// Output i8 or u8: the rounded product as QuantizedOutput says. i32: the sum. f32: float(sum) *
/// multiplier; kHalfEven.
struct QuantizedConvAttributes {
  ConvAttributes conv;  ///< first, so that an op reads as a convolution; no activation
  QuantizedOutput output;
};

/// Matrix product of quantized tensors: a, b, bias [N] (i32, optional), multiplier [N] or [1],
/// shift, a_zero_point [1], b_zero_point [1] or [N], folded_bias [N]; as of the quantized
/// convolution. Also rounded kFixedPointOnce, with the operands of kFixedPoint.
struct QuantizedMatMulAttributes {
  MatMulAttributes matmul;  ///< first; no activation
  QuantizedOutput output;
};

/// Of quantized convolutions and of quantized matrix products.
struct QuantizedGemmInput : GemmInput {
  static constexpr int kMultiplier = 3, kShift = 4, kXZeroPoint = 5, kWeightsZeroPoint = 6,
                       kFoldedBias = 7;
};

/// Matrix product of floats a [..., M, K] by bytes b [K, N] (i8 or u8); a becomes u8 by its own
/// range when the op runs (dynamic_range.hpp): ONNX's DynamicQuantizeLinear, MatMulInteger, Cast,
/// Mul and Add; no attributes. Inputs: a (f32, rank >= 2), b, bias (f32, optional, broadcasts to
/// the output), b_scale [1] or [N] (f32), b_zero_point [1] or [N] (as b; optional: 0). With q,
/// a_scale and a_zero_point of a, each step rounded to f32:
///   y = float(sum of (q - a_zero_point) * (b - b_zero_point)) * (a_scale * b_scale) + bias.
struct DynamicMatMulInput : GemmInput {
  static constexpr int kWeightsScale = 3, kWeightsZeroPoint = 4;
};

/// z = f(x, y) of i8 or u8 with NumPy broadcasting; add, sub, mul with either rounding, and div,
/// max, min with kHalfEven. With X = x - x_zero_point and Y alike:
///   kHalfEven: f(X * x_scale.scale, Y * y_scale.scale) / output_scale.scale, each step in f32.
///   kFixedPoint, add and sub: each of X and Y shifted left by `left_shift`, times its fixed-point
///     factor, added or subtracted, times the output's.
///   kFixedPoint, mul: X * Y times the output's factor.
struct QuantizedBinaryAttributes {
  BinaryFunction function = BinaryFunction::kAdd;
  int32_t x_zero_point = 0;
  int32_t y_zero_point = 0;
  QuantizedScale x_scale;
  QuantizedScale y_scale;
  QuantizedScale output_scale;
  int32_t left_shift = 0;  ///< 0 to 22
  QuantizedOutput output;
};

/// Average of i8 or u8. S: sum of x - x_zero_point over what counts, n of them.
///   kHalfEven: float(S) * (scale.scale / float(n)), scale being scale(x) / scale(y).
///   kHalfAway: S / n; for outputs of the input's scale.
struct QuantizedAveragePoolAttributes {
  PoolAttributes pool;  ///< first
  int32_t x_zero_point = 0;
  QuantizedScale scale;
  QuantizedOutput output;
};

/// Sums so far, which the op adds its own to: so a large window is averaged part by part, with the
/// bits of the whole. A part that is not the last gives its sums as i32, or as i16, modulo 2^16: as
/// good for windows of up to 128 elements.
struct QuantizedAveragePoolInput {
  static constexpr int kX = 0, kSums = 1;
};

/// Sum of i8 or u8 over axes, times `scale` (which holds 1 / n of a mean). kHalfEven: float(S) *
/// scale.scale; kFixedPoint; S as of the average.
struct QuantizedReduceAttributes {
  ReduceAttributes reduce;  ///< first; function kSum
  int32_t x_zero_point = 0;
  QuantizedScale scale;
  QuantizedOutput output;
};

/// Softmax of i8 or u8 along an axis; not its logarithm.
///   kHalfEven: softmax of float(x) * scale.scale in f32, divided by `output_scale`.
///   kFixedPoint: TFLite's integer softmax: differences to the largest element below
///   `least_difference`
///     count as 0, the others are scaled by `scale`; the output's scale is 1/256.
struct QuantizedSoftmaxAttributes {
  SoftmaxAttributes softmax;  ///< first; log = 0
  QuantizedScale scale;
  int32_t least_difference = 0;  ///< <= 0
  float output_scale = 0.00390625F;
  QuantizedOutput output;
};

}  // namespace tenon
