// Bytes to halves less their zero point: what SMLAD multiplies.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/cortex_m/simd/dsp/words.hpp"

namespace tenon::cpu::dsp {

/// How bytes become halves. Unpacking gives bytes 0 and 2 of four, then 1 and 3: where inputs and
/// weights alike come in fours, they stay in that order, which saves two instructions of eight.
struct Widening {
  uint32_t flip = 0;  ///< 0x80808080 for u8: as i8, 128 less
  uint32_t less = 0;  ///< 0 less the zero point as i8, in both halves
  bool in_order = true;
  bool doubled = false;  ///< halves are twice that
};

/// Of bytes of i8 or u8, of which `zero_point` stands for 0.
[[nodiscard]] inline Widening WideningOf(bool is_signed, uint8_t zero_point, bool in_order,
                                         bool doubled) {
  const uint32_t flip = is_signed ? 0 : 0x80808080U;
  const int32_t less = -static_cast<int8_t>(zero_point ^ (flip & 0xFFU));
  return {flip, Halves(less, less), in_order, doubled};
}

[[nodiscard]] inline int16_t Widened(const Widening& widening, uint8_t byte) {
  const auto value = static_cast<int8_t>(byte ^ (widening.flip & 0xFFU));
  const int32_t half = value + LowHalf(widening.less);
  return static_cast<int16_t>(widening.doubled ? 2 * half : half);
}

/// Four halves each time, `step` (4 or 8) halves after the last four. The rest of a count that is
/// no multiple of four is written half by half, with nothing behind it; such a count needs
/// `in_order`. Where that is not asked for, `to` is at a multiple of 4 bytes.
void Widen(const Widening& widening, const uint8_t* from, int count, int16_t* to, int step);

}  // namespace tenon::cpu::dsp
