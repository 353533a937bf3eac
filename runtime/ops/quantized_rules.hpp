// What the shape rules of the quantized ops share.
#pragma once

#include "runtime/ops/attribute_fields.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon {

[[nodiscard]] constexpr bool IsQuantized(DType dtype) {
  return dtype == DType::kI8 || dtype == DType::kU8;
}

/// `to` is i8 or u8, the zero point and min <= max are values of it, the rounding exists.
Status CheckQuantizedOutput(const QuantizedOutput& output);

/// What `rounding` reads of the scale is in range.
Status CheckQuantizedScale(const QuantizedScale& scale, Rounding rounding);

/// A zero point attribute is a value of `dtype` (i8 or u8).
Status CheckZeroPoint(int32_t zero_point, DType dtype);

/// Input `index`, if there, is a vector of `dtype` with one element or `count`.
Status CheckOneOrEach(const OpCall& call, int index, DType dtype, int32_t count);

/// Inputs 2 to 7 of a quantized convolution or matrix product with `channels` output channels, and
/// `output`, which may also be i32 or f32 here. `x_channels`: how many zero points x may have.
Status CheckQuantizedProduct(const OpCall& call, const QuantizedOutput& output, int32_t x_channels,
                             int32_t channels);

[[nodiscard]] constexpr AttributeField RoundingField(size_t byte_offset) {
  return EnumField("rounding", byte_offset, kRoundingNames);
}

// Fields of the QuantizedScale at `byte_offset`, to be listed in this order.
[[nodiscard]] constexpr AttributeField ScaleField(const char* name, size_t byte_offset) {
  return FloatField(name, byte_offset + offsetof(QuantizedScale, scale));
}
[[nodiscard]] constexpr AttributeField MultiplierField(const char* name, size_t byte_offset) {
  return IntField(name, byte_offset + offsetof(QuantizedScale, multiplier));
}
[[nodiscard]] constexpr AttributeField ShiftField(const char* name, size_t byte_offset) {
  return IntField(name, byte_offset + offsetof(QuantizedScale, shift));
}

// Fields of the QuantizedOutput at `byte_offset`, to be listed in this order.
[[nodiscard]] constexpr AttributeField OutputDTypeField(size_t byte_offset) {
  return MakeField("to", FieldKind::kDType, byte_offset + offsetof(QuantizedOutput, to), 1);
}
[[nodiscard]] constexpr AttributeField OutputRoundingField(size_t byte_offset) {
  return RoundingField(byte_offset + offsetof(QuantizedOutput, rounding));
}
[[nodiscard]] constexpr AttributeField OutputZeroPointField(size_t byte_offset) {
  return IntField("zero_point", byte_offset + offsetof(QuantizedOutput, zero_point));
}
[[nodiscard]] constexpr AttributeField OutputMinField(size_t byte_offset) {
  return IntField("min", byte_offset + offsetof(QuantizedOutput, min));
}
[[nodiscard]] constexpr AttributeField OutputMaxField(size_t byte_offset) {
  return IntField("max", byte_offset + offsetof(QuantizedOutput, max));
}

}  // namespace tenon
