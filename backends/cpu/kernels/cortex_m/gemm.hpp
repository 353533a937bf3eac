// What convolution, depthwise convolution and matrix product share: constant operands, and the walk
// of a product over outputs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/cortex_m/operands.hpp"
#include "backends/cpu/kernels/cortex_m/routines.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::cpu::cortex_m {

[[nodiscard]] Rescale RescaleOf(const OpCall& op, const QuantizedOutput& output);

/// Weights of all outputs, an output's `depth` ones contiguous, and what becomes of the sums.
struct Gemm {
  const GemmRoutines* routines = nullptr;
  const int8_t* w = nullptr;
  int outputs = 0;
  ptrdiff_t depth = 0;
  Rescale rescale;
};

/// Positions whose windows are all alike.
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

/// Each output's bias less what x's zero point adds to its sum, where an operand is that
/// (HasFinalBias); else null.
[[nodiscard]] const int32_t* FinalBiasOf(const OpCall& op);

/// Sets the rescale, of a product whose weights are set. With padding that reads as x's zero point,
/// that adds the same to each output's sum everywhere: the rescale's bias is each output's bias
/// (input 2) less that, and written to `room` unless there is an operand that is just that.
void SetRescale(const OpCall& op, const QuantizedOutput& output, int32_t* room, Gemm& gemm);

void RunGemm(const Gemm& gemm, const Positions& positions);

}  // namespace tenon::cpu::cortex_m
