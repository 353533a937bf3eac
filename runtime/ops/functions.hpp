// Scalar functions that several ops share: an elementwise op, a fused activation, a reduction.
// The numbers are part of the plan format: append only.
#pragma once

#include <cstdint>

namespace tenon {

/// y = f(x). `a` and `b` are the parameters of `Activation` / `UnaryAttributes`.
enum class UnaryFunction : int32_t {
  kIdentity = 0,
  kRelu = 1,
  kClip = 2,       ///< min(max(x, a), b)
  kLeakyRelu = 3,  ///< x < 0 ? a * x : x
  kSigmoid = 4,
  kTanh = 5,
  kHardSigmoid = 6,  ///< max(0, min(1, a * x + b))
  kHardSwish = 7,    ///< x * max(0, min(1, x / 6 + 0.5))
  kElu = 8,          ///< x < 0 ? a * (exp(x) - 1) : x
  kSelu = 9,         ///< b * (x < 0 ? a * (exp(x) - 1) : x)
  kSilu = 10,        ///< x * sigmoid(x)
  kGelu = 11,        ///< 0.5 x (1 + erf(x / sqrt 2))
  kSoftplus = 12,    ///< log(1 + exp(x))
  kSoftsign = 13,    ///< x / (1 + |x|)
  kMish = 14,        ///< x * tanh(softplus(x))
  kExp = 15,
  kLog = 16,
  kSqrt = 17,
  kReciprocal = 18,
  kErf = 19,
  kAbs = 20,
  kNeg = 21,
  kFloor = 22,
  kCeil = 23,
  kRound = 24,  ///< To the nearest integer, halves to even.
  kSign = 25,
  kSin = 26,
  kCos = 27,
  kNot = 28,  ///< Bool only.
};
inline constexpr int kUnaryFunctionCount = 29;

/// z = f(x, y) with NumPy broadcasting. Comparisons and logic give bool.
enum class BinaryFunction : int32_t {
  kAdd = 0,
  kSub = 1,
  kMul = 2,
  kDiv = 3,  ///< Integers truncate towards zero; integer division by zero gives 0.
  kPow = 4,
  kMax = 5,
  kMin = 6,
  kPrelu = 7,  ///< x < 0 ? x * y : x
  kMod = 8,    ///< Sign of the divisor (ONNX fmod=0); integer modulo by zero gives 0.
  kFmod = 9,   ///< Sign of the dividend (ONNX fmod=1); integer modulo by zero gives 0.
  kEqual = 10,
  kLess = 11,
  kLessOrEqual = 12,
  kGreater = 13,
  kGreaterOrEqual = 14,
  kAnd = 15,
  kOr = 16,
  kXor = 17,
};
inline constexpr int kBinaryFunctionCount = 18;

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

enum class PadMode : int32_t { kConstant = 0, kEdge = 1, kReflect = 2 };
inline constexpr int kPadModeCount = 3;

enum class ResizeMode : int32_t { kNearest = 0, kLinear = 1, kCubic = 2 };
inline constexpr int kResizeModeCount = 3;

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
extern const char* const kPadModeNames[kPadModeCount];
extern const char* const kResizeModeNames[kResizeModeCount];
extern const char* const kCoordinateModeNames[kCoordinateModeCount];
extern const char* const kNearestModeNames[kNearestModeCount];
extern const char* const kRoundingNames[kRoundingCount];

}  // namespace tenon
