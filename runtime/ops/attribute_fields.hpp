// Short ways to write the attribute fields of an op's row. Offsets come from `offsetof`, in bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon {

[[nodiscard]] constexpr AttributeField MakeField(const char* name, FieldKind kind,
                                                 size_t byte_offset, size_t count) {
  return {name,    kind, static_cast<uint16_t>(byte_offset / 4), static_cast<uint16_t>(count),
          nullptr, 0};
}

[[nodiscard]] constexpr AttributeField IntField(const char* name, size_t byte_offset,
                                                size_t count = 1) {
  return MakeField(name, FieldKind::kInt, byte_offset, count);
}

[[nodiscard]] constexpr AttributeField FloatField(const char* name, size_t byte_offset,
                                                  size_t count = 1) {
  return MakeField(name, FieldKind::kFloat, byte_offset, count);
}

/// One value out of `names`, by number.
template <size_t N>
[[nodiscard]] constexpr AttributeField EnumField(const char* name, size_t byte_offset,
                                                 const char* const (&names)[N]) {
  return {name,  FieldKind::kEnum,   static_cast<uint16_t>(byte_offset / 4), 1,
          names, static_cast<int>(N)};
}

// The three fields of an `Activation` that lies at `byte_offset` of an attribute struct.

[[nodiscard]] constexpr AttributeField ActivationFunctionField(size_t byte_offset) {
  return EnumField("activation", byte_offset + offsetof(Activation, function), kUnaryFunctionNames);
}
[[nodiscard]] constexpr AttributeField ActivationAField(size_t byte_offset) {
  return FloatField("activation_a", byte_offset + offsetof(Activation, a));
}
[[nodiscard]] constexpr AttributeField ActivationBField(size_t byte_offset) {
  return FloatField("activation_b", byte_offset + offsetof(Activation, b));
}

}  // namespace tenon
