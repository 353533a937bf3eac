// Functions of one quantized tensor: tables of 256 results, each computed as TFLite's reference
// kernels compute an element.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>

#include "converter/import/tflite/ops/quantized.hpp"
#include "runtime/ops/requantize.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

using Op = format::BuiltinOperator;

using IntegerFunction = std::function<int32_t(int32_t)>;

struct Scales {
  Quantization x;
  Quantization y;
};

/// Through real numbers: y = round(f(x)), halves away from zero, every step in floats.
IntegerFunction ThroughFloats(const Scales& scales, float (*function)(float)) {
  const float inverse = 1.0F / scales.y.scale();
  return [=](int32_t value) {
    const float x = scales.x.scale() * static_cast<float>(value - scales.x.zero_point());
    return RoundHalfAway(function(x) * inverse) + scales.y.zero_point();
  };
}

/// x on the output's scale, times `slope` where x is negative.
Result<IntegerFunction> Rescaled(const Scales& scales, float slope) {
  const float above = scales.x.scale() / scales.y.scale();
  const float below = scales.x.scale() * slope / scales.y.scale();
  TENON_ASSIGN_OR_RETURN(const QuantizedScale positive, ScaleOf(QuantizeMultiplier(double{above})));
  TENON_ASSIGN_OR_RETURN(const QuantizedScale negative, ScaleOf(QuantizeMultiplier(double{below})));
  return IntegerFunction([=](int32_t value) {
    const int32_t x = value - scales.x.zero_point();
    return Rescale(x, x >= 0 ? positive : negative, scales.y.zero_point());
  });
}

/// The distance to 0, on the output's scale.
Result<IntegerFunction> Absolute(const Scales& scales) {
  TENON_ASSIGN_OR_RETURN(const IntegerFunction rescaled, Rescaled(scales, 1.0F));
  const int32_t zero_point = scales.x.zero_point();
  return IntegerFunction(
      [=](int32_t value) { return rescaled(zero_point + std::abs(value - zero_point)); });
}

Result<IntegerFunction> Bounded(const Scales& scales, float least, float most) {
  TENON_ASSIGN_OR_RETURN(const IntegerFunction rescaled, Rescaled(scales, 1.0F));
  const auto bound = [&](float value) {
    return RoundHalfAway(value / scales.y.scale()) + scales.y.zero_point();
  };
  const int32_t low = bound(least);
  const int32_t high = bound(most);
  return IntegerFunction(
      [=](int32_t value) { return std::max(low, std::min(high, rescaled(value))); });
}

float Logistic(float x) { return 1.0F / (1.0F + std::exp(-x)); }
float Elu(float x) { return x < 0.0F ? std::expm1(x) : x; }

float Gelu(float x) {
  constexpr float kRootHalf = 0.70710678118654752440F;
  return 0.5F * x * (1.0F + std::erf(x * kRootHalf));
}

float ApproximateGelu(float x) {
  constexpr float kRootTwoByPi = 0.79788456080286535588F;
  return 0.5F * x * (1.0F + std::tanh(kRootTwoByPi * (x + 0.044715F * x * x * x)));
}

float RealHardSwish(float x) { return x * std::clamp((x + 3.0F) / 6.0F, 0.0F, 1.0F); }
float Exponential(float x) { return std::exp(x); }
float Tangent(float x) { return std::tanh(x); }
/// Of what has none the least that there is, as of 0.
float Logarithm(float x) { return std::log(std::max(x, 0.0F)); }

// --- HARD_SWISH in 16-bit fixed point ---------------------------------------------------------

/// Nearest to a * b / 2^15, halves up; saturates the one overflow.
int16_t RoundingProduct(int16_t a, int16_t b) {
  if (a == INT16_MIN && b == INT16_MIN) return INT16_MAX;
  return static_cast<int16_t>((int32_t{a} * b + (1 << 14)) >> 15);
}

/// a * b / 2^15, towards zero.
int16_t TruncatingProduct(int16_t a, int16_t b) {
  if (a == INT16_MIN && b == INT16_MIN) return INT16_MAX;
  return static_cast<int16_t>(int32_t{a} * b / (1 << 15));
}

int16_t SaturatingShiftLeft(int16_t value, int amount) {
  const int64_t wide = int64_t{value} * (int64_t{1} << std::min(amount, 31));
  return static_cast<int16_t>(std::clamp<int64_t>(wide, INT16_MIN, INT16_MAX));
}

/// The 31-bit multiplier rounded to 15 bits.
int16_t Narrow(int32_t multiplier) {
  if (multiplier >= INT32_MAX - (1 << 15)) return INT16_MAX;
  return static_cast<int16_t>((multiplier + (1 << 15)) >> 16);
}

/// x times (x + 3) / 6 between 0 and 1, the latter on a scale of 3 / 32768. TFLite has no answer
/// where x's scale is 128 times y's or more, or out of all proportion: the numbers' own is taken.
IntegerFunction HardSwish(const Scales& scales) {
  const float fine = (1.0F / 128.0F) * scales.x.scale();
  const FixedPoint output = QuantizeMultiplier(double{fine / scales.y.scale()});
  const FixedPoint gate = QuantizeMultiplier(double{fine / (3.0F / 32768.0F)});
  if (output.shift > 0 || gate.shift > 30) return ThroughFloats(scales, RealHardSwish);
  const int32_t x_zero_point = scales.x.zero_point();
  const int32_t y_zero_point = scales.y.zero_point();
  return [=](int32_t value) {
    const auto x = static_cast<int16_t>((value - x_zero_point) * (1 << 7));
    const int16_t on_output = RoundingProduct(x, Narrow(output.multiplier));
    int16_t relu = x;
    if (gate.shift > 0) relu = SaturatingShiftLeft(relu, gate.shift - 1);
    relu = RoundingProduct(relu, Narrow(gate.multiplier));
    if (gate.shift > 0) relu = SaturatingShiftLeft(relu, 1);
    if (gate.shift < 0) relu = static_cast<int16_t>(RoundingShiftRight(relu, -gate.shift));
    relu = static_cast<int16_t>((relu + (1 << 15)) >> 1);
    const int16_t product = TruncatingProduct(relu, on_output);
    const int right = std::clamp(-output.shift, 0, 31);
    return RoundingShiftRight(product, right) + y_zero_point;
  };
}

Result<IntegerFunction> FunctionOf(const Node& node, const Scales& scales) {
  constexpr float kFar = 3.0e38F;
  switch (node.op()) {
    case Op::ABS:
      return Absolute(scales);
    case Op::ELU:
      return ThroughFloats(scales, Elu);
    case Op::EXP:
      return ThroughFloats(scales, Exponential);
    case Op::GELU: {
      const auto* options = node.stored().builtin_options_as_GeluOptions();
      const bool approximate = options != nullptr && options->approximate();
      return ThroughFloats(scales, approximate ? ApproximateGelu : Gelu);
    }
    case Op::LOG:
      return ThroughFloats(scales, Logarithm);
    case Op::LOGISTIC:
      return ThroughFloats(scales, Logistic);
    case Op::TANH:
      return ThroughFloats(scales, Tangent);
    case Op::RELU:
      return Bounded(scales, 0.0F, kFar);
    case Op::RELU6:
      return Bounded(scales, 0.0F, 6.0F);
    case Op::RELU_0_TO_1:
      return Bounded(scales, 0.0F, 1.0F);
    case Op::RELU_N1_TO_1:
      return Bounded(scales, -1.0F, 1.0F);
    case Op::HARD_SWISH:
      return HardSwish(scales);
    case Op::LEAKY_RELU: {
      const auto* options = node.stored().builtin_options_as_LeakyReluOptions();
      const float alpha = options == nullptr ? 0.0F : options->alpha();
      return Rescaled(scales, alpha);
    }
    default:
      return InternalError("it is in no table of functions");
  }
}

}  // namespace

Status LowerQuantizedFunction(Node& node) {
  TENON_ASSIGN_OR_RETURN(const bool scaled, HasPerTensorScales(node, {0}));
  if (!scaled) return InputError("only i8 and u8 with one scale are supported");
  Scales scales;
  TENON_ASSIGN_OR_RETURN(scales.x, node.InputQuantization(0));
  TENON_ASSIGN_OR_RETURN(scales.y, node.OutputQuantization(0));
  TENON_ASSIGN_OR_RETURN(const DType to, node.OutputDType(0));
  TENON_ASSIGN_OR_RETURN(const IntegerFunction function, FunctionOf(node, scales));
  const Order order = node.OrderOf(0);
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0, order));
  TENON_ASSIGN_OR_RETURN(const TensorId y, Lookup(node, x, to, function));
  return node.SetOutput(0, y, order);
}

}  // namespace tenon::converter::tflite
