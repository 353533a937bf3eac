// Computes a quantized GEMM with one constant matrix, each of whose columns is contiguous.
#include "backends/cpu/caps/cortex_m_caps.hpp"
#include "backends/cpu/kernels/cortex_m/gemm.hpp"
#include "backends/cpu/kernels/cortex_m/kernels.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::cortex_m {

Status MatMulCheck(const KernelSetup& setup) {
  const OpCall& op = setup.op;
  if (const Reason reason = MatMulSupports(op)) return Status(StatusCode::kUnsupported, reason);
  TENON_RETURN_IF_ERROR(CheckOperands(op, setup.workspace_bytes, MatMulWorkspaceBytes(op, 1)));
  return CheckMatrices(op);
}

void RunMatMul(const KernelCall& call, const GemmRoutines& routines) {
  const OpCall& op = call.op;
  const TensorView& a = op.Input(QuantizedGemmInput::kX);
  const TensorView& y = op.Output();
  const int64_t elements = y.Elements();
  if (elements == 0) return;
  Gemm gemm;
  gemm.routines = &routines;
  gemm.w = op.Input(QuantizedGemmInput::kWeights).As<const int8_t>();
  gemm.outputs = y.dims[y.rank - 1];
  gemm.depth = a.dims[a.rank - 1];
  SetRescale(op, op.AttributesAs<QuantizedMatMulAttributes>().output,
             static_cast<int32_t*>(call.workspace), gemm);
  Positions rows;
  rows.x = a.As<const int8_t>();
  rows.x_pixel = gemm.depth;
  rows.run_bytes = static_cast<int>(gemm.depth);
  rows.y = y.As<int8_t>();
  rows.y_pixel = gemm.outputs;
  rows.count = static_cast<int>(elements / gemm.outputs);
  RunGemm(gemm, rows);
}

}  // namespace tenon::cpu::cortex_m
