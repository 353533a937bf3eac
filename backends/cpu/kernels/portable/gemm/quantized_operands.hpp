// What quantized convolution and matrix product set up alike: inputs 0 to 6.
#pragma once

#include "backends/cpu/kernels/portable/gemm/quantized_gemm.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::cpu::portable {

/// Sets data and dtypes of x, w and y, the vectors of channels, and the output; no strides or
/// extents.
void SetQuantizedOperands(const OpCall& call, const QuantizedOutput& output, QuantizedGemm& gemm);

/// Moves y on by `elements`.
void MoveOutput(QuantizedGemm& gemm, ptrdiff_t elements);

/// Moves the vectors of output channels on by `outputs`.
void SkipOutputs(QuantizedGemm& gemm, ptrdiff_t outputs);

}  // namespace tenon::cpu::portable
