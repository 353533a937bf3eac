// Bytes to halves less their zero point: what SMLAD multiplies.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/cortex_m/simd/dsp/words.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::cpu::dsp {

/// How bytes become halves. Of each four, unpacking gives bytes 0 and 2, then 1 and 3; inputs and
/// weights alike stay in that order.
struct Widening {
  uint32_t flip = 0;     ///< 0x80808080 for u8: as i8, 128 less
  uint32_t less = 0;     ///< 0 less the zero point as i8, in both halves
  bool doubled = false;  ///< halves are twice that
};

/// Of bytes of i8 or u8, of which `zero_point` stands for 0.
[[nodiscard]] inline Widening WideningOf(bool is_signed, uint8_t zero_point, bool doubled) {
  const uint32_t flip = is_signed ? 0 : 0x80808080U;
  const int32_t less = -static_cast<int8_t>(zero_point ^ (flip & 0xFFU));
  return {flip, Halves(less, less), doubled};
}

/// How x (input 0) of a GEMM becomes halves.
[[nodiscard]] Widening WideningOfX(const OpCall& op, bool doubled);

[[nodiscard]] inline int16_t Widened(const Widening& widening, uint8_t byte) {
  const auto value = static_cast<int8_t>(byte ^ (widening.flip & 0xFFU));
  const int32_t half = value + LowHalf(widening.less);
  return static_cast<int16_t>(widening.doubled ? 2 * half : half);
}

/// Four halves for each of `words` words of bytes, `step` (4 or 8) halves after the last four. `to`
/// is at a multiple of 4 bytes.
void Widen(const Widening& widening, const uint8_t* from, int words, int16_t* to, int step);

/// Two rows side by side: for each word, the halves of row `a` and then those of row `b`.
void WidenTwo(const Widening& widening, const uint8_t* a, const uint8_t* b, int words, int16_t* to);

/// Rows that lie `step` bytes apart, in pairs as by WidenTwo; a last single one stands there twice.
void WidenPairs(const Widening& widening, const uint8_t* from, ptrdiff_t step, int rows, int words,
                int16_t* to);

/// The first four bytes of each of `count` pixels that lie `step` bytes apart, to rows that are
/// `plane` halves apart.
void WidenPlanes(const Widening& widening, const uint8_t* from, ptrdiff_t step, int count,
                 int16_t* to, ptrdiff_t plane);

}  // namespace tenon::cpu::dsp
