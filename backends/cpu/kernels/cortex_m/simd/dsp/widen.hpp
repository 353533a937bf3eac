// Widens bytes less their zero point to halves (i16), which SMLAD multiplies.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/cortex_m/simd/dsp/words.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::cpu::dsp {

/// Says how bytes become halves. Of each four bytes, unpacking gives bytes 0 and 2, then 1 and 3;
/// inputs and weights both stay in that order.
struct Widening {
  uint32_t flip = 0;     ///< 0x80808080 for u8: as i8, 128 less
  uint32_t less = 0;     ///< 0 less the zero point as i8, in both halves
  bool doubled = false;  ///< halves are twice that
};

/// Returns the widening of bytes of i8 or u8 whose zero point is `zero_point`.
[[nodiscard]] inline Widening WideningOf(bool is_signed, uint8_t zero_point, bool doubled) {
  const uint32_t flip = is_signed ? 0 : 0x80808080U;
  const int32_t less = -static_cast<int8_t>(zero_point ^ (flip & 0xFFU));
  return {flip, Halves(less, less), doubled};
}

/// Returns how x (input 0) of a GEMM becomes halves.
[[nodiscard]] Widening WideningOfX(const OpCall& op, bool doubled);

[[nodiscard]] inline int16_t Widened(const Widening& widening, uint8_t byte) {
  const auto value = static_cast<int8_t>(byte ^ (widening.flip & 0xFFU));
  const int32_t half = value + LowHalf(widening.less);
  return static_cast<int16_t>(widening.doubled ? 2 * half : half);
}

/// Writes four halves for each of `words` words of bytes, `step` (4 or 8) halves after the last
/// four. `to` must be at a multiple of 4 bytes.
void Widen(const Widening& widening, const uint8_t* from, int words, int16_t* to, int step);

/// Interleaves two rows: for each word, the halves of row `a` and then those of row `b`.
void WidenTwo(const Widening& widening, const uint8_t* a, const uint8_t* b, int words, int16_t* to);

/// Widens rows that are `step` bytes apart in pairs, like WidenTwo; a last single row is paired
/// with itself.
void WidenPairs(const Widening& widening, const uint8_t* from, ptrdiff_t step, int rows, int words,
                int16_t* to);

/// Widens the first four bytes of each of `count` pixels, which are `step` bytes apart, to rows
/// that are `plane` halves apart.
void WidenPlanes(const Widening& widening, const uint8_t* from, ptrdiff_t step, int count,
                 int16_t* to, ptrdiff_t plane);

}  // namespace tenon::cpu::dsp
