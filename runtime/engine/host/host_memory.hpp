// Heap memory with an alignment of its own.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "runtime/base/huge_pages.hpp"
#include "runtime/base/round_up.hpp"
#include "runtime/base/span.hpp"

namespace tenon {

/// Freed with the object, unless released.
class HostMemory {
 public:
  HostMemory() = default;
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
  ~HostMemory() { std::free(data_); }

  /// False if the system has no more. `alignment`: a power of two. Once per object. Large memory
  /// lies in huge pages where the system has them.
  bool Allocate(size_t bytes, size_t alignment) {
    constexpr size_t kLeast = sizeof(void*);
    if (alignment < kLeast) alignment = kLeast;
    const bool is_large = bytes >= kHugePageBytes;
    if (is_large && alignment < kHugePageBytes) alignment = kHugePageBytes;
    if (bytes > SIZE_MAX - alignment) return false;
    const size_t rounded = RoundUp(bytes, alignment);
    data_ = std::aligned_alloc(alignment, rounded > 0 ? rounded : alignment);
    bytes_ = data_ != nullptr ? bytes : 0;
    if (is_large && data_ != nullptr) AdviseHugePages(data_, rounded);
    return data_ != nullptr;
  }
  [[nodiscard]] Span<uint8_t> bytes() const { return {static_cast<uint8_t*>(data_), bytes_}; }
  /// Gives up the memory unfreed, because others may still write to it.
  void Leak() { data_ = nullptr; }

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace tenon
