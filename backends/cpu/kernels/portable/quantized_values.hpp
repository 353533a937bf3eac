// Reads elements for quantized kernels, and brings a result to the scale of its output.
#pragma once

#include <cstdint>

#include "runtime/base/dtype.hpp"
#include "runtime/ops/requantize.hpp"

namespace tenon::cpu::portable {

/// i8 and u8 go through the same code: a byte xor its dtype's flip, less the flip, is its value.
[[nodiscard]] constexpr int32_t SignFlip(DType dtype) { return dtype == DType::kI8 ? 0x80 : 0; }

[[nodiscard]] constexpr int32_t ByteValue(uint8_t byte, int32_t flip) {
  return (byte ^ flip) - flip;
}

/// Returns `value` times the factor, rounded by kHalfEven or kFixedPoint.
[[nodiscard]] inline int32_t Rescaled(const QuantizedScale& factor, Rounding rounding,
                                      int32_t value) {
  if (rounding == Rounding::kFixedPoint) {
    return FixedPointMultiply(value, factor.multiplier, factor.shift);
  }
  return RoundHalfEven(static_cast<float>(value) * factor.scale);
}

/// Returns the byte of an i8 or u8 output for a rounded result.
[[nodiscard]] constexpr uint8_t OutputByte(const QuantizedOutput& output, int32_t rounded) {
  return static_cast<uint8_t>(Saturate(output, rounded));
}

}  // namespace tenon::cpu::portable
