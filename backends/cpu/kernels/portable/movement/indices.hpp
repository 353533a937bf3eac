// Indices that plans and inputs hold: i32 or i64, read one by one.
#pragma once

#include <cstdint>
#include <cstring>

#include "runtime/base/tensor_view.hpp"

namespace tenon::cpu::portable {

/// The index at `at`, which is of dtype i32 or i64.
[[nodiscard]] inline int64_t ReadIndex(const char* at, DType dtype) {
  if (dtype == DType::kI32) {
    int32_t value;
    std::memcpy(&value, at, sizeof(value));
    return value;
  }
  int64_t value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

}  // namespace tenon::cpu::portable
