#include "runtime/ops/quantized_rules.hpp"

#include <cmath>

#include "runtime/ops/shape_rules.hpp"

namespace tenon {
namespace {

using In = QuantizedGemmInput;

constexpr int32_t Least(DType dtype) {
  if (dtype == DType::kI16) return INT16_MIN;
  return dtype == DType::kI8 ? INT8_MIN : 0;
}
constexpr int32_t Most(DType dtype) {
  if (dtype == DType::kI16) return INT16_MAX;
  return dtype == DType::kI8 ? INT8_MAX : UINT8_MAX;
}
constexpr bool Holds(DType dtype, int32_t value) {
  return value >= Least(dtype) && value <= Most(dtype);
}

/// Input `index`, if there, is one number of i32 for each channel.
Status CheckBias(const OpCall& call, int index, int32_t channels) {
  if (!call.HasInput(index)) return OkStatus();
  const TensorView& bias = call.Input(index);
  TENON_ENSURE(bias.dtype == DType::kI32 && bias.rank == 1 && bias.dims[0] == channels,
               kInvalidArgument, "the bias must be a vector of {0} elements of i32", channels);
  return OkStatus();
}

Status CheckFactor(const OpCall& call, Rounding rounding, int32_t channels) {
  TENON_ENSURE(call.HasInput(In::kMultiplier), kInvalidArgument,
               "a multiplier (input 3) is needed");
  const bool fixed_point =
      rounding == Rounding::kFixedPoint || rounding == Rounding::kFixedPointOnce;
  TENON_ENSURE(rounding != Rounding::kHalfAway, kInvalidArgument,
               "sums are rounded half_even or fixed_point");
  TENON_RETURN_IF_ERROR(
      CheckOneOrEach(call, In::kMultiplier, fixed_point ? DType::kI32 : DType::kF32, channels));
  TENON_ENSURE(call.HasInput(In::kShift) == fixed_point, kInvalidArgument,
               "a shift (input 4) goes with rounding fixed_point, and only with it");
  if (!fixed_point) return OkStatus();
  TENON_RETURN_IF_ERROR(CheckOneOrEach(call, In::kShift, DType::kI8, channels));
  TENON_ENSURE(call.Input(In::kShift).dims[0] == call.Input(In::kMultiplier).dims[0],
               kInvalidArgument, "there must be as many shifts as multipliers");
  return OkStatus();
}

}  // namespace

Status CheckZeroPoint(int32_t zero_point, DType dtype) {
  const bool fits = IsQuantized(dtype) ? Holds(dtype, zero_point) : zero_point == 0;
  TENON_ENSURE(fits, kInvalidArgument, "{0} cannot be a zero point of this dtype", zero_point);
  return OkStatus();
}

Status CheckQuantizedOutput(const QuantizedOutput& output, bool may_be_wide) {
  const bool is_wide = output.to == static_cast<int32_t>(DType::kI16);
  const bool known = output.to == static_cast<int32_t>(DType::kI8) ||
                     output.to == static_cast<int32_t>(DType::kU8);
  TENON_ENSURE(known || (may_be_wide && is_wide), kInvalidArgument,
               "a quantized output is i8 or u8");
  TENON_ENSURE(IsValidEnum(output.rounding, kRoundingCount), kInvalidArgument,
               "there is no rounding {0}", static_cast<int64_t>(output.rounding));
  const auto dtype = static_cast<DType>(output.to);
  TENON_RETURN_IF_ERROR(CheckZeroPoint(output.zero_point, dtype));
  TENON_ENSURE(Holds(dtype, output.min) && Holds(dtype, output.max) && output.min <= output.max,
               kInvalidArgument, "min {0} and max {1} are no bounds of the output", output.min,
               output.max);
  return OkStatus();
}

Status CheckQuantizedScale(const QuantizedScale& scale, Rounding rounding) {
  if (rounding == Rounding::kFixedPoint) {
    TENON_ENSURE(scale.multiplier >= 0, kInvalidArgument, "a multiplier must not be negative");
    TENON_ENSURE(scale.shift >= -31 && scale.shift <= 30, kInvalidArgument,
                 "a shift must be from -31 to 30, not {0}", scale.shift);
    return OkStatus();
  }
  TENON_ENSURE(std::isfinite(scale.scale) && scale.scale > 0.0F, kInvalidArgument,
               "a scale must be positive and finite");
  return OkStatus();
}

Status CheckOneOrEach(const OpCall& call, int index, DType dtype, int32_t count) {
  if (!call.HasInput(index)) return OkStatus();
  const TensorView& vector = call.Input(index);
  TENON_ENSURE(vector.dtype == dtype, kInvalidArgument, "input {0} has the wrong dtype", index);
  TENON_ENSURE(vector.rank == 1 && (vector.dims[0] == 1 || vector.dims[0] == count),
               kInvalidArgument, "input {0} must be a vector of 1 or {1} elements", index, count);
  return OkStatus();
}

Status CheckQuantizedGemm(const OpCall& call, const QuantizedOutput& output, int32_t x_channels,
                          int32_t channels) {
  TENON_ENSURE(IsQuantized(call.Input(In::kX).dtype) && IsQuantized(call.Input(In::kWeights).dtype),
               kInvalidArgument, "operands must be i8 or u8");
  for (const int index : {In::kBias, In::kFoldedBias})
    TENON_RETURN_IF_ERROR(CheckBias(call, index, channels));
  TENON_RETURN_IF_ERROR(
      CheckOneOrEach(call, In::kXZeroPoint, call.Input(In::kX).dtype, x_channels));
  TENON_RETURN_IF_ERROR(
      CheckOneOrEach(call, In::kWeightsZeroPoint, call.Input(In::kWeights).dtype, channels));
  if (output.to == static_cast<int32_t>(DType::kI32)) {
    TENON_ENSURE(!call.HasInput(In::kMultiplier) && !call.HasInput(In::kShift), kInvalidArgument,
                 "an output of i32 is the sum: it takes no multiplier or shift");
    return OkStatus();
  }
  if (output.to == static_cast<int32_t>(DType::kF32)) {
    TENON_ENSURE(output.rounding == Rounding::kHalfEven, kInvalidArgument,
                 "an output of f32 is not rounded: it must say half_even");
    return CheckFactor(call, Rounding::kHalfEven, channels);
  }
  TENON_RETURN_IF_ERROR(CheckQuantizedOutput(output));
  return CheckFactor(call, output.rounding, channels);
}

}  // namespace tenon
