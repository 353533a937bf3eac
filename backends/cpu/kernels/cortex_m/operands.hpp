// The checks and operands that all Cortex-M kernels share.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/status.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::cpu::cortex_m {

/// Returns true if the tensor has no elements; every op calls it, so that it avoids products of 64
/// bits.
[[nodiscard]] bool IsEmpty(const TensorView& view);

/// Returns true if `view` has the stride `stride` along `axis`, or at most one element there.
[[nodiscard]] constexpr bool HasStride(const TensorView& view, int axis, int64_t stride) {
  return view.dims[axis] == 1 || view.strides[axis] == stride;
}

/// Refuses a workspace that is too small, and vectors of channels (inputs from the third on) with
/// gaps.
Status CheckOperands(const OpCall& op, size_t workspace_bytes, size_t needed_bytes);

/// Refuses products of matrices with gaps, and weights whose columns are not contiguous.
Status CheckMatrices(const OpCall& op);

/// Refuses an output and first `inputs` inputs that have gaps or differ in layout.
Status CheckAlike(const OpCall& op, int inputs);

/// Returns the zero point of x (input 5) as i8.
[[nodiscard]] int32_t ZeroPointOf(const OpCall& op);

}  // namespace tenon::cpu::cortex_m
