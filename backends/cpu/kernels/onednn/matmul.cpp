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

/// Returns the rows of the first of two primitives, or 0 where one does it all: weights that are
/// constant are packed once, and waiting for a second thread costs as much as a small product.
int64_t RowsOfFirstHalf(const OpCall& op, const Gemm& gemm) {
  constexpr int64_t kSmallWork = 4'000'000;  // smaller ones gained nothing
  constexpr int64_t kFewestRows = 16;
  const int64_t rows = gemm.y.dims[gemm.rank - 2];
  const int64_t work = op.Output().Elements() * int64_t{gemm.a.dims[gemm.rank - 1]};
  const bool is_constant = op.Input(In::kWeights).data != nullptr;
  return is_constant || rows < kFewestRows || work < kSmallWork ? 0 : (rows + 1) / 2;
}

}  // namespace

Status MatMulCheck(const KernelSetup& setup) {
  TENON_RETURN_IF_ERROR(CheckResult(MatMulSupports(setup.op)));
  TENON_ENSURE(!setup.op.HasInput(In::kBias) || setup.op.Input(In::kBias).IsRowMajor(),
               kUnsupported, "oneDNN's product takes a dense bias");
  return CheckStrides(MakeGemmOf(setup.op));
}

/// oneDNN runs on one thread: products of two computed factors are two primitives of half the rows
/// each, whatever the number of threads, so that results do not depend on it.
Status MatMulLoad(const KernelSetup& setup, void** shared) {
  const Activation& activation = setup.op.AttributesAs<MatMulAttributes>().activation;
  const Gemm gemm = MakeGemmOf(setup.op);
  const int64_t halves = RowsOfFirstHalf(setup.op, gemm);
  if (halves == 0) return MakeGemm(setup, gemm, activation, shared);
  Gemm first = gemm;
  Gemm rest = gemm;
  const int rows = gemm.rank - 2;
  for (Factor Gemm::*factor : {&Gemm::a, &Gemm::y}) {
    (first.*factor).dims[rows] = halves;
    (rest.*factor).dims[rows] -= halves;
  }
  void* made[2] = {nullptr, nullptr};
  Status status = MakeGemm(setup, first, activation, &made[0]);
  if (status.ok()) status = MakeGemm(setup, rest, activation, &made[1]);
  if (!status.ok()) {
    if (made[0] != nullptr) Unload(made[0]);
    return status;
  }
  AddRest(made[0], made[1], halves * gemm.a.strides[rows], halves * gemm.y.strides[rows]);
  *shared = made[0];
  return OkStatus();
}

}  // namespace tenon::cpu::onednn
