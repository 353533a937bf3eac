#include <cstddef>

#include "backends/cpu/caps/portable_supports.hpp"
#include "backends/cpu/kernels/portable/gemm/quantized_gemm.hpp"
#include "backends/cpu/kernels/portable/indexing.hpp"
#include "backends/cpu/kernels/portable/kernels.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::portable {
Status QuantizedMatMulRun(const KernelCall& call) {
  const TensorView& y = call.op.Output();
  if (y.Elements() == 0) return OkStatus();
  const auto& attributes = call.op.AttributesAs<QuantizedMatMulAttributes>();
  QuantizedGemm prepared;
  SetMatMulShape(call.op, attributes.matmul, prepared);
  SetQuantizedOperands(call.op, attributes.output, prepared);
  RunGemms(call.parallel, BatchCount(y), GemmTasks(prepared), [&](int batch) {
    QuantizedGemm gemm = prepared;
    gemm.x += BatchOffset(batch, y, call.op.Input(QuantizedProductInput::kX));
    gemm.w += BatchOffset(batch, y, call.op.Input(QuantizedProductInput::kWeights));
    MoveOutput(gemm, BatchOffset(batch, y, y));
    return gemm;
  });
  return OkStatus();
}

}  // namespace tenon::cpu::portable
