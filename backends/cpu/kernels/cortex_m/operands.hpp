// What the checks and the operands of all Cortex-M kernels share.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/status.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::cpu::cortex_m {

/// True if the tensor has no elements; asked of every op, so without products of 64 bits.
[[nodiscard]] bool IsEmpty(const TensorView& view);

/// True if steps along `axis` of `view` are of `stride`, or there are none.
[[nodiscard]] constexpr bool HasStride(const TensorView& view, int axis, int64_t stride) {
  return view.dims[axis] == 1 || view.strides[axis] == stride;
}

/// Refuses too small a workspace, and vectors of channels (inputs from the third on) with gaps.
Status CheckOperands(const OpCall& op, size_t workspace_bytes, size_t needed_bytes);

/// Refuses products of matrices with gaps, and of weights whose columns are not contiguous.
Status CheckMatrices(const OpCall& op);

/// Refuses an output and first inputs, `inputs` of them, that have gaps or do not lie alike.
Status CheckAlike(const OpCall& op, int inputs);

/// The zero point of x (input 5), as i8.
[[nodiscard]] int32_t ZeroPointOf(const OpCall& op);

}  // namespace tenon::cpu::cortex_m
