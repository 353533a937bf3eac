// Asks the system to back large memory with huge pages, which take one entry of the processor's
// translation buffer where small pages take 512.
#pragma once

#include <cstddef>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace tenon {

/// Is the size of a huge page on x86-64 and on AArch64 with pages of 4 KiB, in bytes.
constexpr size_t kHugePageBytes = size_t{2} << 20;

/// Memory that is not aligned to kHugePageBytes, or smaller, gains nothing. Systems without huge
/// pages ignore it.
inline void AdviseHugePages([[maybe_unused]] void* memory, [[maybe_unused]] size_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  static_cast<void>(madvise(memory, bytes, MADV_HUGEPAGE));
#endif
}

}  // namespace tenon
