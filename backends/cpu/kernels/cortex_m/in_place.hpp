// Supports convolutions of this folder that overwrite their input: they are set up once and then
// compute some rows at a time.
#pragma once

#include "backends/cpu/caps/cortex_m_caps.hpp"
#include "backends/cpu/kernels/in_place_rows.hpp"

namespace tenon::cpu::cortex_m {

/// Returns the bytes for rows at the start of a workspace. The kernel's own `wanted` bytes follow;
/// where these do not fit with one new row, the rest of the workspace follows.
[[nodiscard]] inline size_t InPlaceRoom(const KernelCall& call, size_t wanted) {
  const size_t least = RoundUpToStep(InPlaceRowsBytes(call.op, 1));
  if (call.workspace_bytes < least + wanted) return least;
  return (call.workspace_bytes - wanted) / kWorkspaceStep * kWorkspaceStep;
}

/// Calls `run(image, first, count, y)` for as many rows at once as fit; it writes them to `y`,
/// channels-last without gaps.
template <typename Run>
void RunOverInput(const KernelCall& call, size_t room, const Run& run) {
  const TensorView& y = call.op.Output();
  InPlaceRows rows(call, room);
  const int32_t at_once = rows.RowsAtOnce();
  for (int32_t image = 0; image < y.dims[0]; ++image) {
    for (int32_t first = 0; first < y.dims[2]; first += at_once) {
      const int32_t left = y.dims[2] - first;
      const int32_t count = left < at_once ? left : at_once;
      run(image, first, count, reinterpret_cast<int8_t*>(rows.New()));
      rows.Store(image, count);
    }
  }
}

}  // namespace tenon::cpu::cortex_m
