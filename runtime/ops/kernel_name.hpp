// What a plan calls a kernel: its id, and where one was chosen, a colon and a variant of it.
//   opencl.conv.tile:7x16
// A variant gives the same result by other ways: it may only decide how fast that is.
#pragma once

#include <cstddef>
#include <cstring>

namespace tenon {

inline constexpr char kVariantMark = ':';

/// Characters of the id in a kernel's name.
inline size_t KernelIdLength(const char* name) {
  const char* mark = std::strchr(name, kVariantMark);
  return mark != nullptr ? static_cast<size_t>(mark - name) : std::strlen(name);
}

/// True if `name` is of the kernel `id`, whatever the variant.
inline bool NamesKernel(const char* name, const char* id) {
  const size_t length = KernelIdLength(name);
  return std::strncmp(name, id, length) == 0 && id[length] == '\0';
}

/// The variant in a kernel's name, or null without one. Points into the name.
inline const char* VariantIn(const char* name) {
  const char* mark = std::strchr(name, kVariantMark);
  return mark != nullptr && mark[1] != '\0' ? mark + 1 : nullptr;
}

}  // namespace tenon
