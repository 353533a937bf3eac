// Allocates the memory that `load` makes for an op: one block on the heap, cut into arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "runtime/base/round_up.hpp"

namespace tenon::cpu {

/// Places arrays one after the other, each aligned to a cache line. It is used twice: without
/// memory to learn the size, then with it.
class BlockLayout {
 public:
  explicit BlockLayout(void* memory) : memory_(static_cast<uint8_t*>(memory)) {}

  template <typename T>
  T* Take(size_t count) {
    T* array = memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + bytes_);
    bytes_ += RoundUp(count * sizeof(T), kAlignment);
    return array;
  }
  [[nodiscard]] size_t bytes() const { return bytes_; }

  static constexpr size_t kAlignment = 64;

 private:
  uint8_t* memory_;
  size_t bytes_ = 0;
};

/// Returns zeroed memory for a block, or null where there is none.
inline void* AllocateBlock(size_t bytes) {
  void* memory = ::operator new(bytes, std::align_val_t(BlockLayout::kAlignment), std::nothrow);
  if (memory != nullptr) std::memset(memory, 0, bytes);
  return memory;
}

inline void FreeBlock(void* memory) {
  ::operator delete(memory, std::align_val_t(BlockLayout::kAlignment));
}

}  // namespace tenon::cpu
