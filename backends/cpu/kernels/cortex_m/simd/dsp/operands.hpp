// What the checks and the operands of the kernels of this folder share.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/cortex_m/simd/dsp/widen.hpp"
#include "runtime/base/status.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::cpu::dsp {

/// Refuses too small a workspace, and vectors of parameters (inputs from the third on) with gaps.
Status CheckOperands(const OpCall& op, size_t workspace_bytes, size_t needed_bytes);

/// True if the channels of an image tensor are neighbours.
[[nodiscard]] inline bool HasDenseChannels(const TensorView& view) {
  return view.dims[1] == 1 || view.strides[1] == 1;
}

/// The zero point of x: input 5 of a product.
[[nodiscard]] uint8_t ZeroPointOfX(const OpCall& op);

/// How x (input 0) of a product becomes halves.
[[nodiscard]] Widening WideningOfX(const OpCall& op, bool doubled);

}  // namespace tenon::cpu::dsp
