#include "backends/fpga/caps/gemm_refusals.hpp"

#include <cmath>

namespace tenon::fpga {
namespace {

using In = QuantizedGemmInput;

bool IsByte(DType dtype) { return dtype == DType::kI8 || dtype == DType::kU8; }

int64_t OffsetOf(const TensorView& view, int64_t index) {
  int64_t offset = 0;
  for (int i = view.rank - 1; i >= 0; --i) {
    offset += index % view.dims[i] * view.strides[i];
    index /= view.dims[i];
  }
  return offset;
}

const char* FactorRefusal(const OpCall& call, const QuantizedOutput& output) {
  const TensorView& multiplier = call.Input(In::kMultiplier);
  const int64_t count = multiplier.Elements();
  if (output.rounding == Rounding::kHalfEven) {
    for (int64_t i = 0; i < count; ++i) {
      const float factor = multiplier.As<const float>()[OffsetOf(multiplier, i)];
      // Sums are below 2^31, and what is below 2^-40 rounds to nothing in any case.
      if (!(factor >= std::ldexp(1.0F, -40)) || !(factor < 1.0F)) {
        return "the accelerator's factors from sum to output are below 1 and at least 2^-40";
      }
    }
    return nullptr;
  }
  if (output.rounding == Rounding::kHalfAway) {
    return "the accelerator rounds products to even or in fixed point, not halves away from zero";
  }
  for (int64_t i = 0; i < count; ++i) {
    const TensorView& shift = call.Input(In::kShift);
    if (shift.As<const int8_t>()[OffsetOf(shift, shift.dims[0] == 1 ? 0 : i)] > 0) {
      return "the accelerator shifts to the right only: factors from sum to output of 1 and more "
             "are not for it";
    }
  }
  return nullptr;
}

const char* WeightsRefusal(const OpCall& call, int output_axis) {
  const TensorView& w = call.Input(In::kWeights);
  if (w.dtype == DType::kI8 && !call.HasInput(In::kWeightsZeroPoint)) return nullptr;
  int64_t inner = 1;
  for (int i = output_axis + 1; i < w.rank; ++i) inner *= w.dims[i];
  const int64_t count = w.Elements();
  for (int64_t i = 0; i < count; ++i) {
    const int value = WeightValue(call, i, static_cast<int>(i / inner % w.dims[output_axis]));
    if (value < -128 || value > 127) {
      return "a weight less its zero point does not fit 8 bits";
    }
  }
  return nullptr;
}

}  // namespace

int32_t ByteAt(const TensorView& view, int64_t index) {
  const int64_t offset = OffsetOf(view, index);
  return view.dtype == DType::kI8 ? view.As<const int8_t>()[offset]
                                  : view.As<const uint8_t>()[offset];
}

int WeightValue(const OpCall& call, int64_t index, int channel) {
  const int value = ByteAt(call.Input(In::kWeights), index);
  if (!call.HasInput(In::kWeightsZeroPoint)) return value;
  const TensorView& zero = call.Input(In::kWeightsZeroPoint);
  return value - ByteAt(zero, zero.Elements() == 1 ? 0 : channel);
}

int32_t ZeroPointOf(const OpCall& call, int input) {
  return call.HasInput(input) ? ByteAt(call.Input(input), 0) : 0;
}

const char* GemmRefusal(const OpCall& call, const QuantizedOutput& output, int output_axis) {
  const TensorView& x = call.Input(In::kX);
  if (!IsByte(x.dtype)) return "the accelerator multiplies i8 and u8 only";
  if (!IsByte(call.Output().dtype)) return "the accelerator gives i8 and u8, not its sums";
  for (int i = In::kWeights; i < call.InputCount(); ++i) {
    if (call.HasInput(i) && call.Input(i).data == nullptr) {
      return "the accelerator's weights, factors and zero points are constants";
    }
  }
  if (call.Output().Elements() == 0 || x.Elements() == 0) {
    return "the accelerator has no empty tensors";
  }
  if (call.HasInput(In::kXZeroPoint)) {
    const TensorView& zero = call.Input(In::kXZeroPoint);
    const int64_t count = zero.Elements();
    for (int64_t i = 1; i < count; ++i) {
      if (ByteAt(zero, i) != ByteAt(zero, 0)) {
        return "the accelerator has one zero point for all channels of a map";
      }
    }
  }
  if (const char* reason = FactorRefusal(call, output)) return reason;
  return WeightsRefusal(call, output_axis);
}

}  // namespace tenon::fpga
