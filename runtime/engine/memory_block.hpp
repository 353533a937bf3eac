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
    void* start = TakeBytes(count, sizeof(T), alignof(T));
    if (start == nullptr) return nullptr;
    auto* bytes = static_cast<uint8_t*>(start);
    for (size_t i = 0; i < count; ++i) new (bytes + i * sizeof(T)) T();
    return static_cast<T*>(start);
  }

 private:
  // One function serves all types.
  [[nodiscard, gnu::noinline]] void* TakeBytes(size_t count, size_t size, size_t alignment) {
    const auto address = reinterpret_cast<uintptr_t>(memory_.data()) + used_;
    const size_t padding = (0 - address) & (alignment - 1);
    const size_t left = memory_.size() - used_;
    if (padding > left || count > (left - padding) / size) return nullptr;
    uint8_t* start = memory_.data() + used_ + padding;
    used_ += padding + count * size;
    return start;
  }

  Span<uint8_t> memory_;
  size_t used_ = 0;
};

}  // namespace tenon
