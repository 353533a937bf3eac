// Compares names without a C library, of which firmware has only the mem* functions.
#pragma once

namespace tenon {

/// True if two NUL-terminated texts are the same.
[[nodiscard]] inline bool SameText(const char* a, const char* b) {
  for (; *a == *b; ++a, ++b) {
    if (*a == '\0') return true;
  }
  return false;
}

}  // namespace tenon
