// Local response normalisation over the channels of a dense channels-last tensor.
#include "backends/cpu/caps/onednn_caps.hpp"
#include "backends/cpu/kernels/onednn/kernels.hpp"
#include "backends/cpu/kernels/onednn/post_ops.hpp"
#include "backends/cpu/kernels/onednn/primitive.hpp"

namespace tenon::cpu::onednn {

Status LrnCheck(const KernelSetup& setup) {
  TENON_RETURN_IF_ERROR(CheckResult(LrnSupports(setup.op)));
  TENON_RETURN_IF_ERROR(CheckChannelsLast(setup.op.Input(0)));
  return CheckChannelsLast(setup.op.Output());
}

Status LrnLoad(const KernelSetup& setup, void** shared) {
  const auto& attributes = setup.op.AttributesAs<LrnAttributes>();
  dnnl_memory_desc_t x;
  TENON_RETURN_IF_ERROR(ChannelsLastDesc(setup.op.Input(0), &x));
  dnnl_lrn_desc_t desc;
  TENON_RETURN_IF_DNNL_ERROR(dnnl_lrn_forward_desc_init(
      &desc, dnnl_forward_inference, dnnl_lrn_across_channels, &x, attributes.size,
      attributes.alpha, attributes.beta, attributes.bias));
  return MakePlainPrimitive(setup, &desc, shared);
}

}  // namespace tenon::cpu::onednn
