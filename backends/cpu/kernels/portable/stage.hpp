// Passes strided rows through small contiguous buffers on the stack, so that arithmetic is written,
// and vectorised, for contiguous rows only.
#pragma once

#include "backends/cpu/kernels/portable/strided.hpp"
#include "runtime/base/config.hpp"

namespace tenon::cpu::portable {

/// Is the number of elements that pass at a time.
inline constexpr int kStageElements = kHasWorkers ? 128 : 32;

struct Stage {
  alignas(16) char bytes[kStageElements * 8];
};

/// Says how one operand's rows pass through a stage: `stride` and `element_bytes` are in bytes.
struct Stager {
  ptrdiff_t stride;
  int element_bytes;

  [[nodiscard]] bool IsContiguous() const { return stride == element_bytes; }

  /// Returns elements [first, first + count) of the row at `row`: in place where contiguous, else
  /// copied to `stage`.
  [[nodiscard]] const char* Read(const char* row, int first, int count, Stage& stage) const {
    const char* from = row + first * stride;
    if (IsContiguous()) return from;
    WithWord(element_bytes, [&](auto word) {
      CopyRow<decltype(word)>(stage.bytes, element_bytes, from, stride, count);
    });
    return stage.bytes;
  }

  /// Returns where to put the elements from `first` on, before `Write`.
  [[nodiscard]] char* Target(char* row, int first, Stage& stage) const {
    return IsContiguous() ? row + first * stride : stage.bytes;
  }

  void Write(char* row, int first, int count, const Stage& stage) const {
    if (IsContiguous()) return;
    WithWord(element_bytes, [&](auto word) {
      CopyRow<decltype(word)>(row + first * stride, stride, stage.bytes, element_bytes, count);
    });
  }
};

}  // namespace tenon::cpu::portable
