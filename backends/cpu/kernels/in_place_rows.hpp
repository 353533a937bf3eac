// Passes the rows of a convolution that works in place through the workspace: see
// caps/in_place_caps.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "backends/cpu/caps/in_place_caps.hpp"
#include "runtime/backend_api/kernel.hpp"

namespace tenon::cpu {

/// Is the check's result for a kernel that works in place and takes as many new rows as fit, in
/// addition to its own predicate.
[[nodiscard]] inline Status CheckInPlaceWorkspace(const KernelSetup& setup) {
  const size_t least = InPlaceRowsBytes(setup.op, 1);
  TENON_ENSURE(setup.workspace_bytes >= least, kCorruptPlan,
               "to work in place it needs {0} bytes of workspace, the plan gives {1}",
               static_cast<int64_t>(least), static_cast<int64_t>(setup.workspace_bytes));
  return OkStatus();
}

/// Takes the rows of one image's output in order and stores each when nothing reads the input there
/// any more. At most `RowsAtOnce` rows are computed into `New` and then `Store`d; after the last
/// ones, the remaining rows are stored too.
class InPlaceRows {
 public:
  /// Uses all of the workspace.
  explicit InPlaceRows(const KernelCall& call) : InPlaceRows(call, call.workspace_bytes) {}
  /// Uses its first `bytes`.
  InPlaceRows(const KernelCall& call, size_t bytes)
      : y_(call.op.Output()),
        row_bytes_(InPlaceRowBytes(call.op)),
        held_rows_(InPlaceHeldRows(call.op)),
        workspace_(static_cast<char*>(call.workspace)) {
    const size_t rows = row_bytes_ == 0 ? 0 : bytes / row_bytes_;
    const size_t room = rows - static_cast<size_t>(held_rows_);  // 1 or more: checked
    const auto most = static_cast<size_t>(y_.dims[2]);
    rows_at_once_ = static_cast<int32_t>(room < most ? room : most);
  }

  [[nodiscard]] int32_t RowsAtOnce() const { return rows_at_once_; }

  /// Returns where to compute the first of the new rows; the next one follows without a gap.
  [[nodiscard]] char* New() const { return workspace_ + row_bytes_ * Size(held_); }

  /// Takes `count` rows of image `image` that have been computed into `New`.
  void Store(int32_t image, int32_t count) {
    computed_ += count;
    const bool is_last = computed_ == y_.dims[2];
    const int32_t keep = is_last ? 0 : held_rows_;
    const int32_t there = held_ + count;
    const int32_t out = there > keep ? there - keep : 0;
    for (int32_t i = 0; i < out; ++i)
      StoreRow(image, stored_ + i, workspace_ + row_bytes_ * Size(i));
    stored_ += out;
    held_ = there - out;
    std::memmove(workspace_, workspace_ + row_bytes_ * Size(out), row_bytes_ * Size(held_));
    if (is_last) held_ = computed_ = stored_ = 0;
  }

 private:
  static size_t Size(int32_t count) { return static_cast<size_t>(count); }

  void StoreRow(int32_t image, int32_t row, const char* from) const {
    const auto element = static_cast<ptrdiff_t>(DTypeBytes(y_.dtype));
    char* to = static_cast<char*>(y_.data) +
               (ptrdiff_t{image} * y_.strides[0] + ptrdiff_t{row} * y_.strides[2]) * element;
    const int32_t channels = y_.dims[1];
    const bool dense =
        (y_.strides[1] == 1 || channels == 1) && (y_.strides[3] == channels || y_.dims[3] == 1);
    if (dense) {
      std::memcpy(to, from, row_bytes_);
      return;
    }
    for (int32_t column = 0; column < y_.dims[3]; ++column) {
      for (int32_t channel = 0; channel < channels; ++channel, from += element) {
        std::memcpy(
            to + (ptrdiff_t{column} * y_.strides[3] + ptrdiff_t{channel} * y_.strides[1]) * element,
            from, static_cast<size_t>(element));
      }
    }
  }

  const TensorView& y_;
  size_t row_bytes_;
  int32_t held_rows_;
  char* workspace_;
  int32_t rows_at_once_ = 1;
  int32_t held_ = 0;      ///< rows in the workspace
  int32_t computed_ = 0;  ///< of this image
  int32_t stored_ = 0;
};

}  // namespace tenon::cpu
