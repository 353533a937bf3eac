// Computes batched and strided matrix products.
#include "backends/cpu/caps/onednn_caps.hpp"
#include "backends/cpu/kernels/onednn/gemm.hpp"
#include "backends/cpu/kernels/onednn/kernels.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::onednn {
namespace {

using In = MatMulInput;

/// The operand right-aligned to `rank` dimensions, its matrix transposed if asked for.
Factor MakeFactor(const TensorView& view, int rank, bool transpose) {
  Factor factor;
  const int missing = rank - view.rank;
  for (int i = 0; i < rank; ++i) {
    factor.dims[i] = i < missing ? 1 : view.dims[i - missing];
    factor.strides[i] = i < missing ? 1 : view.strides[i - missing];
  }
  if (!transpose) return factor;
  const dnnl_dim_t rows = factor.dims[rank - 2];
  const dnnl_dim_t row_stride = factor.strides[rank - 2];
  factor.dims[rank - 2] = factor.dims[rank - 1];
  factor.strides[rank - 2] = factor.strides[rank - 1];
  factor.dims[rank - 1] = rows;
  factor.strides[rank - 1] = row_stride;
  return factor;
}

Gemm MakeGemmOf(const OpCall& op) {
  const auto& attributes = op.AttributesAs<MatMulAttributes>();
  Gemm gemm;
  gemm.rank = op.Output().rank;
  gemm.a = MakeFactor(op.Input(In::kX), gemm.rank, attributes.transpose_a != 0);
  gemm.b = MakeFactor(op.Input(In::kWeights), gemm.rank, attributes.transpose_b != 0);
  gemm.y = MakeFactor(op.Output(), gemm.rank, /*transpose=*/false);
  Simplify(&gemm);
  return gemm;
}

}  // namespace

Status MatMulCheck(const KernelSetup& setup) {
  TENON_RETURN_IF_ERROR(CheckResult(MatMulSupports(setup.op)));
  TENON_ENSURE(!setup.op.HasInput(In::kBias) || setup.op.Input(In::kBias).IsRowMajor(),
               kUnsupported, "oneDNN's product takes a dense bias");
  return CheckStrides(MakeGemmOf(setup.op));
}

Status MatMulLoad(const KernelSetup& setup, void** shared) {
  return MakeGemm(setup, MakeGemmOf(setup.op), setup.op.AttributesAs<MatMulAttributes>().activation,
                  shared);
}

}  // namespace tenon::cpu::onednn
