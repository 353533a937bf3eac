// Quantized product with one constant matrix, each of its columns contiguous.
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

void RunMatMul(const KernelCall& call, const ProductRoutines& routines) {
  const OpCall& op = call.op;
  const TensorView& a = op.Input(QuantizedProductInput::kX);
  const TensorView& y = op.Output();
  const int64_t elements = y.Elements();
  if (elements == 0) return;
  Product product;
  product.routines = &routines;
  product.w = op.Input(QuantizedProductInput::kWeights).As<const int8_t>();
  product.outputs = y.dims[y.rank - 1];
  product.depth = a.dims[a.rank - 1];
  SetRescale(op, op.AttributesAs<QuantizedMatMulAttributes>().output,
             static_cast<int32_t*>(call.workspace), product);
  Positions rows;
  rows.x = a.As<const int8_t>();
  rows.x_pixel = product.depth;
  rows.run_bytes = static_cast<int>(product.depth);
  rows.y = y.As<int8_t>();
  rows.y_pixel = product.outputs;
  rows.count = static_cast<int>(elements / product.outputs);
  RunProduct(product, rows);
}

}  // namespace tenon::cpu::cortex_m
