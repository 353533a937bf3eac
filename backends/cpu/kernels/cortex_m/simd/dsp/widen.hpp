// Bytes to halves less their zero point: what SMLAD multiplies.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/cortex_m/simd/dsp/words.hpp"

namespace tenon::cpu::dsp {

/// How bytes become halves. Unpacking gives bytes 0 and 2 of four, then 1 and 3: where inputs and
/// weights alike come in fours, they stay in that order, which saves two instructions of eight.
struct Widening {
  uint32_t flip = 0;   ///< 0x80808080 for u8: as i8, 128 less
  uint32_t zeros = 0;  ///< the zero point as i8, in both halves
  bool in_order = true;
};

/// Of bytes of i8 or u8, of which `zero_point` stands for 0.
[[nodiscard]] inline Widening WideningOf(bool is_signed, uint8_t zero_point, bool in_order) {
  const uint32_t flip = is_signed ? 0 : 0x80808080U;
  const auto zero = static_cast<int8_t>(zero_point ^ (flip & 0xFFU));
  return {flip, Halves(zero, zero), in_order};
}

[[nodiscard]] inline int16_t Widened(const Widening& widening, uint8_t byte) {
  const auto value = static_cast<int8_t>(byte ^ (widening.flip & 0xFFU));
  return static_cast<int16_t>(value - LowHalf(widening.zeros));
}

/// Four halves, `step` halves after the last four. The rest of a count that is no multiple of four
/// is written half by half, with nothing behind it; such a count needs `in_order`.
void Widen(const Widening& widening, const uint8_t* from, int count, int16_t* to, int step);

}  // namespace tenon::cpu::dsp
