// What the shape rules of the quantized ops share.
#pragma once

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon {

[[nodiscard]] constexpr bool IsQuantized(DType dtype) {
  return dtype == DType::kI8 || dtype == DType::kU8;
}

/// `to` is i8 or u8 (or i16 where that may be), the zero point and min <= max are values of it, the
/// rounding exists. The zero point of an i16 is 0.
Status CheckQuantizedOutput(const QuantizedOutput& output, bool may_be_wide = false);

/// What `rounding` reads of the scale is in range.
Status CheckQuantizedScale(const QuantizedScale& scale, Rounding rounding);

/// A zero point attribute is a value of `dtype` (i8 or u8), or 0.
Status CheckZeroPoint(int32_t zero_point, DType dtype);

/// Input `index`, if there, is a vector of `dtype` with one element or `count`.
Status CheckOneOrEach(const OpCall& call, int index, DType dtype, int32_t count);

/// Inputs 2 to 7 of a quantized convolution or matrix product with `channels` output channels, and
/// `output`, which may also be i32 or f32 here. `x_channels`: how many zero points x may have.
Status CheckQuantizedGemm(const OpCall& call, const QuantizedOutput& output, int32_t x_channels,
                          int32_t channels);

}  // namespace tenon
