// Says which of their ways the kernels of simd/dsp take to make bytes of sums.
#pragma once

#include <algorithm>
#include <cstdint>

#include "converter/cost/instruction_terms.hpp"

namespace tenon::converter::instructions::dsp {

using In = QuantizedGemmInput;

/// Whether the short forms of fixed point serve all outputs: twice a sum fits 32 bits.
[[nodiscard]] inline bool IsFast(const OpCall& call, const QuantizedOutput& output, int64_t depth) {
  if (!IsWhole(output)) return false;
  constexpr int64_t kMostSum = int64_t{1} << 30;
  const int64_t most = depth * 255 * 255;
  if (most >= kMostSum) return false;
  const TensorView& multiplier = call.Input(In::kMultiplier);
  const TensorView& shift = call.Input(In::kShift);
  for (int64_t i = 0; i < multiplier.Elements(); ++i) {
    const int8_t by = shift.As<const int8_t>()[i];
    if (multiplier.As<const int32_t>()[i] < 0 || by >= 0 || by < -22) return false;
  }
  if (!call.HasInput(In::kBias)) return true;
  const TensorView& bias = call.Input(In::kBias);
  const auto* const values = bias.As<const int32_t>();
  return std::all_of(values, values + bias.Elements(),
                     [&](int64_t value) { return (value < 0 ? -value : value) + most < kMostSum; });
}

[[nodiscard]] inline bool IsPlain(const OpCall& call) {
  return call.Input(In::kX).dtype == DType::kI8 && call.Input(In::kWeights).dtype == DType::kI8 &&
         !call.HasInput(In::kWeightsZeroPoint);
}

/// Of what the bytes of an op are made; names the model by it.
enum class Kind { kDoubled, kFloat, kAny };
[[nodiscard]] inline Kind NameKind(const Context& context, const QuantizedOutput& output,
                                   int64_t depth) {
  if (IsFast(context.call(), output, depth)) return Kind::kDoubled;
  const bool is_float =
      output.rounding == Rounding::kHalfEven && output.min == INT8_MIN && output.max == INT8_MAX;
  const bool is_rounded_even = output.rounding == Rounding::kHalfEven;
  context.terms.model += is_float ? " float" : (is_rounded_even ? " any half_even" : " any");
  return is_float ? Kind::kFloat : Kind::kAny;
}

}  // namespace tenon::converter::instructions::dsp
