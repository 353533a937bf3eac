#include "backends/cpu/kernels/cortex_m/simd/dsp/requantize.hpp"

#include <cstring>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/requantize.hpp"

namespace tenon::cpu::dsp {
namespace {

/// Says whether the assembler code has floats.
#if TENON_DSP_INSTRUCTIONS && !(defined(__ARM_FP) && (__ARM_FP & 4))
constexpr bool kHasFloats = false;
#else
constexpr bool kHasFloats = true;
#endif
/// Twice a sum must fit 32 bits.
constexpr int64_t kMostFastSum = (int64_t{1} << 30) - 1;

template <typename T>
const T* DataOf(const OpCall& op, int index) {
  return op.HasInput(index) ? op.Input(index).As<const T>() : nullptr;
}

/// Returns true if sums that differ by at most `most` from the bias stay in the range of the fast
/// forms.
bool IsFast(const Rescale& rescale, int32_t index) {
  const int64_t bias = rescale.bias == nullptr ? 0 : rescale.bias[index];
  return IsFastRescale(rescale.multiplier[index * rescale.step],
                       rescale.shift[index * rescale.step],
                       (bias < 0 ? -bias : bias) + rescale.most);
}

/// Returns IsFast for all outputs [0, count), in a few instructions each.
bool AreFast(const Rescale& rescale, int32_t count) {
  constexpr int64_t kBound = kMostFastSum + 1;
  if (rescale.most >= kBound) return false;
  // Every number that is not in range makes some negative one.
  uint32_t signs = 0;
  const int32_t* multiplier = rescale.multiplier;
  const int8_t* shift = rescale.shift;
  for (const int8_t* const end = shift + (rescale.step == 0 ? 1 : count); shift != end; ++shift) {
    const int32_t more = *shift + kMostShift;
    signs |= static_cast<uint32_t>(*multiplier++ | more | (kMostShift - 1 - more));
  }
  const int32_t* bias = rescale.bias;
  if (bias != nullptr) {
    const auto most = static_cast<uint32_t>(kMostFastSum - rescale.most);
    for (const int32_t* const end = bias + count; bias != end; ++bias) {
      const auto value = static_cast<uint32_t>(*bias);
      signs |= (most + value) | (most - value);  // what wraps is too large as well
    }
  }
  return static_cast<int32_t>(signs) >= 0;
}

uint8_t ByteOf(const QuantizedOutput& output, int32_t value) {
  // One after the other, as Saturate does.
  value = value < output.min ? output.min : value;
  return static_cast<uint8_t>(value > output.max ? output.max : value);
}

}  // namespace

Rescale RescaleOf(const OpCall& op, const QuantizedOutput& output, int64_t depth) {
  Rescale rescale;
  rescale.output = output;
  rescale.bias = DataOf<int32_t>(op, 2);
  if (output.rounding == Rounding::kHalfEven) {
    rescale.scale = DataOf<float>(op, 3);
  } else {
    rescale.multiplier = DataOf<int32_t>(op, 3);
    rescale.shift = DataOf<int8_t>(op, 4);
  }
  rescale.step = op.Input(QuantizedGemmInput::kMultiplier).dims[0] == 1 ? 0 : 1;
  constexpr int64_t kMostProduct = 255 * 255;
  rescale.most = depth > kMostFastSum / kMostProduct ? kMostFastSum + 1 : depth * kMostProduct;
  return rescale;
}

uint8_t RequantizeOne(const Rescale& rescale, int32_t index, int32_t sum) {
  const QuantizedOutput& output = rescale.output;
  const ptrdiff_t place = index * rescale.step;
  if (output.rounding == Rounding::kHalfEven) {
    const int32_t rounded = RoundToEven(static_cast<float>(sum) * rescale.scale[place]);
    return ByteOf(output, rounded + output.zero_point);
  }
  const int32_t multiplier = rescale.multiplier[place];
  const int32_t shift = rescale.shift[place];
  const bool once = output.rounding == Rounding::kFixedPointOnce;
  if (once && shift <= -2 && shift >= -31) {
    // Only the high word of the product is left: at most 30 bits, so that nothing overflows.
    const auto high = static_cast<int32_t>((int64_t{sum} * multiplier) >> 32);
    return ByteOf(output, (((high >> (-2 - shift)) + 1) >> 1) + output.zero_point);
  }
  const int32_t rounded = once ? FixedPointMultiplyOnce(sum, multiplier, shift)
                               : FixedPointMultiply(sum, multiplier, shift);
  return static_cast<uint8_t>(Saturate(output, rounded));
}

RequantizeKind RequantizeKindOf(const Rescale& rescale, int32_t outputs) {
  const QuantizedOutput& output = rescale.output;
  if (output.min != -128 || output.max != 127) return RequantizeKind::kAny;
  if (output.rounding == Rounding::kHalfEven) {
    return kHasFloats ? RequantizeKind::kFloat : RequantizeKind::kAny;
  }
  if (output.rounding != Rounding::kFixedPoint) return RequantizeKind::kAny;
  if (!AreFast(rescale, outputs)) return RequantizeKind::kAny;
  return output.zero_point == output.min ? RequantizeKind::kRelu : RequantizeKind::kDoubled;
}

void StoreSums(const Rescale& rescale, int32_t index, const Sums& sums) {
  const bool is_fast = rescale.output.rounding == Rounding::kFixedPoint && IsFast(rescale, index);
  Requantizer requantizer;
  if (is_fast) requantizer.Set(rescale, index);
  const uint32_t* from = sums.sums;
  uint8_t* y = sums.y;
  for (int i = 0; i < sums.count; ++i, from += sums.step) {
    const int32_t sum = static_cast<int32_t>(*from) >> (sums.doubled ? 1 : 0);
    const uint8_t byte = is_fast ? ByteOf(rescale.output, RequantizeDoubled(requantizer, sum * 2))
                                 : RequantizeOne(rescale, index, sum);
    if (sums.places != nullptr) {
      y[sums.places[i / 2].y[i % 2]] = byte;
    } else {
      *y = byte;
      y += sums.y_step;
    }
  }
}

}  // namespace tenon::cpu::dsp
