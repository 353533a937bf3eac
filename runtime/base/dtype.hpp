// Element types. The numbers are part of the plan format: append only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon {

enum class DType : uint8_t {
  kF32 = 0,
  kF16 = 1,
  kBf16 = 2,
  kF64 = 3,
  kI8 = 4,
  kU8 = 5,
  kI16 = 6,
  kU16 = 7,
  kI32 = 8,
  kU32 = 9,
  kI64 = 10,
  kU64 = 11,
  kBool = 12,  ///< One byte, 0 or 1.
};
inline constexpr int kDTypeCount = 13;

[[nodiscard]] constexpr bool IsValidDType(int value) { return value >= 0 && value < kDTypeCount; }

// The tables are not inside the functions, where a look-up would first copy them to the stack.
inline constexpr int8_t kDTypeBytes[kDTypeCount] = {4, 2, 2, 8, 1, 1, 2, 2, 4, 4, 8, 8, 1};
inline constexpr char kDTypeNames[kDTypeCount][5] = {
    "f32", "f16", "bf16", "f64", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "bool"};

/// Returns the bytes of one element.
[[nodiscard]] constexpr int DTypeBytes(DType dtype) {
  return kDTypeBytes[static_cast<size_t>(dtype)];
}

/// "f32", "i8", "bool", ...
[[nodiscard]] constexpr const char* DTypeName(DType dtype) {
  return kDTypeNames[static_cast<size_t>(dtype)];
}

[[nodiscard]] constexpr bool IsFloat(DType dtype) { return dtype <= DType::kF64; }

}  // namespace tenon
