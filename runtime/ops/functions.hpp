// Scalar functions that several ops share: an elementwise op, a fused activation, a reduction.
// The numbers are part of the plan format: append only.
#pragma once

#include <cstdint>

namespace tenon {

/// y = f(x). `a` and `b` are the parameters of `Activation` / `UnaryAttributes`.
enum class UnaryFunction : int32_t {
#define TENON_UNARY_FUNCTION(Kind, name, number, dtypes, elementary_ops, weight) k##Kind = number,
#include "runtime/ops/functions.inc"
};
inline constexpr int kUnaryFunctionCount = 0
#define TENON_UNARY_FUNCTION(Kind, name, number, dtypes, elementary_ops, weight) +1
#include "runtime/ops/functions.inc"
    ;

/// z = f(x, y) with NumPy broadcasting. Comparisons and logic give bool.
enum class BinaryFunction : int32_t {
#define TENON_BINARY_FUNCTION(Kind, name, number) k##Kind = number,
#include "runtime/ops/functions.inc"
};
inline constexpr int kBinaryFunctionCount = 0
#define TENON_BINARY_FUNCTION(Kind, name, number) +1
#include "runtime/ops/functions.inc"
    ;

/// True for the functions whose result is bool whatever the operands are.
[[nodiscard]] constexpr bool GivesBool(BinaryFunction function) {
  return function >= BinaryFunction::kEqual;
}

enum class ReduceFunction : int32_t {
  kSum = 0,
  kMean = 1,
  kMax = 2,
  kMin = 3,
  kProd = 4,
  kL1 = 5,
  kL2 = 6,
  kSumSquare = 7,
  kLogSum = 8,
  kLogSumExp = 9,
};
inline constexpr int kReduceFunctionCount = 10;

/// How an update is joined with what is there.
enum class ScatterFunction : int32_t { kReplace = 0, kAdd = 1, kMul = 2, kMax = 3, kMin = 4 };
inline constexpr int kScatterFunctionCount = 5;

enum class PadMode : int32_t { kConstant = 0, kEdge = 1, kReflect = 2 };
inline constexpr int kPadModeCount = 3;

enum class ResizeMode : int32_t { kNearest = 0, kLinear = 1, kCubic = 2 };
inline constexpr int kResizeModeCount = 3;

/// What stands for the pixels beyond an image's edges: 0, the nearest pixel inside, or the image
/// mirrored at its edges again and again.
enum class GridPadding : int32_t { kZeros = 0, kBorder = 1, kReflection = 2 };
inline constexpr int kGridPaddingCount = 3;

/// Where output pixel `o` lies in the input (ONNX Resize, opset 11 and later).
enum class CoordinateMode : int32_t {
  kHalfPixel = 0,         ///< (o + 0.5) / scale - 0.5
  kPytorchHalfPixel = 1,  ///< the same, but 0 where the output length is 1
  kAlignCorners = 2,      ///< o * (in - 1) / (out - 1)
  kAsymmetric = 3,        ///< o / scale
};
inline constexpr int kCoordinateModeCount = 4;

enum class NearestMode : int32_t {
  kRoundPreferFloor = 0,
  kRoundPreferCeil = 1,
  kFloor = 2,
  kCeil = 3,
};
inline constexpr int kNearestModeCount = 4;

/// How a result of a quantized op is rounded to the scale of its output. The formats differ, so
/// each op says which it is; requantize.hpp has the arithmetic.
enum class Rounding : int32_t {
  kHalfEven = 0,    ///< ONNX: nearest integer to a float product or quotient, halves to even
  kFixedPoint = 1,  ///< TFLite: 31-bit multiplier and shift, rounded twice
  kHalfAway = 2,    ///< TFLite's averages and conversions: nearest integer, halves away from zero
  kFixedPointOnce = 3,  ///< TFLite's fully connected layers: multiplier and shift, rounded once
};
inline constexpr int kRoundingCount = 4;

// What text form, JSON and messages call the values: names by number.
extern const char* const kUnaryFunctionNames[kUnaryFunctionCount];
extern const char* const kBinaryFunctionNames[kBinaryFunctionCount];
extern const char* const kReduceFunctionNames[kReduceFunctionCount];
extern const char* const kScatterFunctionNames[kScatterFunctionCount];
extern const char* const kPadModeNames[kPadModeCount];
extern const char* const kResizeModeNames[kResizeModeCount];
extern const char* const kGridPaddingNames[kGridPaddingCount];
extern const char* const kCoordinateModeNames[kCoordinateModeCount];
extern const char* const kNearestModeNames[kNearestModeCount];
extern const char* const kRoundingNames[kRoundingCount];

}  // namespace tenon
