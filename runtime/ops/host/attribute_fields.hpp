// Short ways to write the attribute fields of an op's host row. Offsets come from `offsetof`, in
// bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/host/op_host_row.hpp"

namespace tenon {

[[nodiscard]] constexpr AttributeField MakeField(const char* name, FieldKind kind,
                                                 size_t byte_offset, size_t count) {
  return {name, kind, static_cast<uint16_t>(byte_offset / 4), static_cast<uint16_t>(count)};
}

[[nodiscard]] constexpr AttributeField IntField(const char* name, size_t byte_offset,
                                                size_t count = 1) {
  return MakeField(name, FieldKind::kInt, byte_offset, count);
}

[[nodiscard]] constexpr AttributeField FloatField(const char* name, size_t byte_offset,
                                                  size_t count = 1) {
  return MakeField(name, FieldKind::kFloat, byte_offset, count);
}

[[nodiscard]] constexpr AttributeField DTypeField(const char* name, size_t byte_offset) {
  return MakeField(name, FieldKind::kDType, byte_offset, 1);
}

/// `count` values out of `names`, by number.
template <size_t N>
[[nodiscard]] constexpr AttributeField EnumField(const char* name, size_t byte_offset,
                                                 const char* const (&names)[N], size_t count = 1) {
  AttributeField field = MakeField(name, FieldKind::kEnum, byte_offset, count);
  field.enum_names = names;
  field.enum_count = static_cast<int>(N);
  return field;
}

/// Fields of the Activation at `byte_offset`.
[[nodiscard]] constexpr std::array<AttributeField, 3> ActivationFields(size_t byte_offset) {
  return {
      EnumField("activation", byte_offset + offsetof(Activation, function), kUnaryFunctionNames),
      FloatField("activation_a", byte_offset + offsetof(Activation, a)),
      FloatField("activation_b", byte_offset + offsetof(Activation, b))};
}

/// Fields of the QuantizedScale at `byte_offset`: the names of its scale, multiplier and shift.
[[nodiscard]] constexpr std::array<AttributeField, 3> ScaleFields(
    const std::array<const char*, 3>& names, size_t byte_offset) {
  return {FloatField(names[0], byte_offset + offsetof(QuantizedScale, scale)),
          IntField(names[1], byte_offset + offsetof(QuantizedScale, multiplier)),
          IntField(names[2], byte_offset + offsetof(QuantizedScale, shift))};
}

/// Fields of the QuantizedOutput at `byte_offset`.
[[nodiscard]] constexpr std::array<AttributeField, 5> OutputFields(size_t byte_offset) {
  return {DTypeField("to", byte_offset + offsetof(QuantizedOutput, to)),
          EnumField("rounding", byte_offset + offsetof(QuantizedOutput, rounding), kRoundingNames),
          IntField("zero_point", byte_offset + offsetof(QuantizedOutput, zero_point)),
          IntField("min", byte_offset + offsetof(QuantizedOutput, min)),
          IntField("max", byte_offset + offsetof(QuantizedOutput, max))};
}

/// The lists one behind another. An op whose attributes begin with the struct of another op begins
/// with its fields.
template <size_t... N>
[[nodiscard]] constexpr auto Join(const std::array<AttributeField, N>&... lists) {
  std::array<AttributeField, (N + ...)> all{};
  size_t count = 0;
  const auto append = [&all, &count](const auto& list) {
    for (const AttributeField& field : list) all[count++] = field;
  };
  (append(lists), ...);
  return all;
}

template <typename Attributes>
inline constexpr Attributes kDefaultAttributes{};

/// `fields` is a constant.
template <typename Attributes, size_t N>
[[nodiscard]] constexpr OpText TextOf(const std::array<AttributeField, N>& fields) {
  return {{fields.data(), N}, &kDefaultAttributes<Attributes>};
}

}  // namespace tenon
