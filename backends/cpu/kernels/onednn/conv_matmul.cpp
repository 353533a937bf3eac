// Computes a 1x1 convolution as the product of pixels by channels. Unlike oneDNN's convolutions,
// its products keep their speed where there are gaps between pixels, so that parts of a
// concatenation or of a tensor split by channels are read and written in place.
#include "backends/cpu/caps/onednn_caps.hpp"
#include "backends/cpu/kernels/onednn/gemm.hpp"
#include "backends/cpu/kernels/onednn/kernels.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::onednn {
namespace {

using In = ConvInput;

/// An image tensor [N, C, H, W] as [N, H, W, C].
Factor Pixels(const TensorView& view) {
  constexpr int kOrder[4] = {0, 2, 3, 1};
  Factor factor;
  for (int i = 0; i < 4; ++i) {
    factor.dims[i] = view.dims[kOrder[i]];
    factor.strides[i] = view.strides[kOrder[i]];
  }
  return factor;
}

Gemm MakeGemmOf(const OpCall& op) {
  Gemm gemm;
  gemm.rank = 4;
  gemm.a = Pixels(op.Input(In::kX));
  gemm.y = Pixels(op.Output());
  const TensorView& w =
      op.Input(In::kWeights);  // [M, C, 1, 1], dense: its transpose is the second factor
  gemm.b.dims[0] = 1;
  gemm.b.dims[1] = 1;
  gemm.b.dims[2] = w.dims[1];
  gemm.b.dims[3] = w.dims[0];
  gemm.b.strides[2] = 1;
  gemm.b.strides[3] = w.dims[1];
  Simplify(&gemm);
  return gemm;
}

}  // namespace

Status ConvMatMulCheck(const KernelSetup& setup) {
  const OpCall& op = setup.op;
  TENON_RETURN_IF_ERROR(CheckResult(ConvMatMulSupports(op)));
  TENON_ENSURE(op.Input(In::kWeights).IsRowMajor(), kUnsupported,
               "oneDNN's product takes dense weights");
  TENON_ENSURE(!op.HasInput(In::kBias) || op.Input(In::kBias).IsRowMajor(), kUnsupported,
               "oneDNN's product takes a dense bias");
  return CheckStrides(MakeGemmOf(op));
}

Status ConvMatMulLoad(const KernelSetup& setup, void** shared) {
  return MakeGemm(setup, MakeGemmOf(setup.op), setup.op.AttributesAs<ConvAttributes>().activation,
                  shared);
}

}  // namespace tenon::cpu::onednn
