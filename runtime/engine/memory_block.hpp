// Hands out arrays from memory that the caller gave.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "runtime/base/span.hpp"

namespace tenon {

class MemoryBlock {
 public:
  explicit MemoryBlock(Span<uint8_t> memory) : memory_(memory) {}

  /// `count` default-constructed elements, aligned for T; null if they do not fit.
  template <typename T>
  [[nodiscard]] T* Take(size_t count) {
    const auto address = reinterpret_cast<uintptr_t>(memory_.data()) + used_;
    const size_t padding = (alignof(T) - address % alignof(T)) % alignof(T);
    const size_t left = memory_.size() - used_;
    if (padding > left || count > (left - padding) / sizeof(T)) return nullptr;
    uint8_t* start = memory_.data() + used_ + padding;
    for (size_t i = 0; i < count; ++i) new (start + i * sizeof(T)) T();
    used_ += padding + count * sizeof(T);
    return reinterpret_cast<T*>(start);
  }

 private:
  Span<uint8_t> memory_;
  size_t used_ = 0;
};

}  // namespace tenon
