// The code that convolution, depthwise convolution and matrix product share: constant operands, and
// a GEMM's loop over outputs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/cortex_m/operands.hpp"
#include "backends/cpu/kernels/cortex_m/routines.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::cpu::cortex_m {

[[nodiscard]] Rescale RescaleOf(const OpCall& op, const QuantizedOutput& output);

/// Contains the weights of all outputs, `depth` contiguous ones for each, and the rescale of the
/// sums.
struct Gemm {
  const GemmRoutines* routines = nullptr;
  const int8_t* w = nullptr;
  int outputs = 0;
  ptrdiff_t depth = 0;
  Rescale rescale;
};

/// Describes positions whose windows all have the same form.
struct Positions {
  const int8_t* x = nullptr;
  ptrdiff_t x_pixel = 0;
  ptrdiff_t x_run = 0;
  int runs = 1;
  int run_bytes = 0;
  int8_t* y = nullptr;
  ptrdiff_t y_pixel = 0;
  int count = 0;
};

/// Returns each output's bias less what x's zero point adds to its sum, if an operand contains that
/// (HasFinalBias); else null.
[[nodiscard]] const int32_t* FinalBiasOf(const OpCall& op);

/// Sets the rescale of a GEMM whose weights are set. Since padding reads as x's zero point, that
/// point adds the same amount to an output's sum at every position. So the rescale's bias is each
/// output's bias (input 2) less that amount; it is written to `room` unless an operand contains it.
void SetRescale(const OpCall& op, const QuantizedOutput& output, int32_t* room, Gemm& gemm);

void RunGemm(const Gemm& gemm, const Positions& positions);

}  // namespace tenon::cpu::cortex_m
