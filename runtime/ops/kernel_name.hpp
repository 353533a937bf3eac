// What a plan calls a kernel: its id, and where one was chosen, a colon and a variant of it.
//   opencl.conv.tile:7x16
// A variant gives the same result by other ways: it may only decide how fast that is.
#pragma once

#include <cstddef>

namespace tenon {

inline constexpr char kVariantMark = ':';

/// Characters of the id in a kernel's name.
inline size_t KernelIdLength(const char* name) {
  size_t length = 0;
  while (name[length] != '\0' && name[length] != kVariantMark) ++length;
  return length;
}

/// True if `name` is of the kernel `id`, whatever the variant.
inline bool NamesKernel(const char* name, const char* id) {
  for (; *id != '\0'; ++id, ++name) {
    if (*name != *id) return false;
  }
  return *name == '\0' || *name == kVariantMark;
}

/// The variant in a kernel's name, or null without one. Points into the name.
inline const char* VariantIn(const char* name) {
  const char* mark = name + KernelIdLength(name);
  return mark[0] != '\0' && mark[1] != '\0' ? mark + 1 : nullptr;
}

}  // namespace tenon
