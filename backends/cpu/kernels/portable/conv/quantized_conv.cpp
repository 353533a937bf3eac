#include <cstddef>
#include <cstdint>

#include "backends/cpu/caps/portable_supports.hpp"
#include "backends/cpu/kernels/portable/conv/conv_gemm.hpp"
#include "backends/cpu/kernels/portable/gemm/quantized_gemm.hpp"
#include "backends/cpu/kernels/portable/kernels.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::portable {
namespace {

using Conv = ConvGemm<QuantizedGemm>;

Conv Prepare(const OpCall& call) {
  Conv conv(call);
  SetQuantizedOperands(call, call.AttributesAs<QuantizedConvAttributes>().output, conv.gemm);
  return conv;
}

QuantizedGemm GemmOf(const Conv& conv, int image, int group) {
  QuantizedGemm gemm = conv.gemm;
  const int outputs = group * gemm.outputs;
  const int channels = group * gemm.channels;
  gemm.x += image * conv.x_image + channels * gemm.x_channel;
  gemm.w += outputs * gemm.w_output;
  MoveOutput(gemm, image * conv.y_image + outputs * gemm.y_output);
  gemm.x_zero_point.Skip(channels);
  SkipOutputs(gemm, outputs);
  return gemm;
}

}  // namespace

Status QuantizedConvRun(const KernelCall& call) {
  if (call.op.Output().Elements() == 0) return OkStatus();
  const Conv conv = Prepare(call.op);
  RunConvGemms<GemmOf>(call, conv, 0, conv.images);
  return OkStatus();
}

Status QuantizedConvInPlaceCheck(const KernelSetup& setup) {
  TENON_RETURN_IF_ERROR(CheckBy<InPlaceConvSupports>(setup));
  return CheckInPlaceWorkspace(setup);
}

Status QuantizedConvInPlaceRun(const KernelCall& call) {
  if (call.op.Output().Elements() == 0) return OkStatus();
  Conv conv = Prepare(call.op);
  RunConvInPlace<GemmOf>(call, conv, [&](int, char* y) { conv.gemm.y = y; });
  return OkStatus();
}

}  // namespace tenon::cpu::portable
