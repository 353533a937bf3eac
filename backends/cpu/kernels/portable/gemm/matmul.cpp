#include <cstddef>

#include "backends/cpu/kernels/portable/gemm/tile_gemm.hpp"
#include "backends/cpu/kernels/portable/indexing.hpp"
#include "backends/cpu/kernels/portable/kernels.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::portable {
namespace {

using In = MatMulInput;

TileGemm GemmOf(const TileGemm& prepared, const OpCall& call, int batch) {
  const TensorView& y = call.Output();
  TileGemm gemm = prepared;
  gemm.x = call.Input(In::kX).As<const float>() + BatchOffset(batch, y, call.Input(In::kX));
  gemm.w_first = BatchOffset(batch, y, call.Input(In::kWeights));
  gemm.y = y.As<float>() + BatchOffset(batch, y, y);
  if (call.HasInput(In::kBias)) {
    const TensorView& bias = call.Input(In::kBias);
    gemm.addends[0].data = bias.As<const float>() + BatchOffset(batch, y, bias);
    gemm.addends[0].output = BroadcastStride(bias, 1, 0);
    gemm.addends[0].column = BroadcastStride(bias, 2, 0);
  }
  return gemm;
}

}  // namespace

Status MatMulRun(const KernelCall& call) {
  const TensorView& y = call.op.Output();
  if (y.Elements() == 0) return OkStatus();
  const auto& attributes = call.op.AttributesAs<MatMulAttributes>();
  TileGemm prepared;
  SetMatMulShape(call.op, attributes, prepared);
  prepared.activation = attributes.activation;
  prepared.w = StoredWeightsOf(call.op, 1, 3);
  RunGemms(call.parallel, BatchCount(y), GemmTasks(prepared),
           [&](int batch) { return GemmOf(prepared, call.op, batch); });
  return OkStatus();
}

}  // namespace tenon::cpu::portable
