// Allocates the memory that `load` makes for an op: one block on the heap, cut into arrays.
#pragma once

#include <cstddef>
#include <cstdint>

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

/// Returns zeroed memory for a block, or null where there is none. Blocks of 64 KiB and more are
/// cut from chunks that lie in huge pages where the system has them: weights are read from end to
/// end, and with small pages each 4 KiB of them cost a walk of the page tables. Any thread may
/// call it.
void* AllocateBlock(size_t bytes);

/// Frees what AllocateBlock returned, or null. A chunk goes back to the system with its last block.
void FreeBlock(void* memory);

/// Returns how many bytes of chunks are given out, or were and cannot be given again yet: what
/// blocks take beside the heap.
[[nodiscard]] size_t BytesInChunks();

}  // namespace tenon::cpu
