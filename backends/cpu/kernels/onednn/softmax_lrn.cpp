// Computes softmax along the innermost dimension, as rows of a matrix, possibly in place; and local
// response normalisation over the channels of a dense channels-last tensor.
#include "backends/cpu/caps/onednn_caps.hpp"
#include "backends/cpu/kernels/onednn/kernels.hpp"
#include "backends/cpu/kernels/onednn/post_ops.hpp"
#include "backends/cpu/kernels/onednn/primitive.hpp"

namespace tenon::cpu::onednn {

Status SoftmaxCheck(const KernelSetup& setup) {
  TENON_RETURN_IF_ERROR(CheckResult(SoftmaxSupports(setup.op)));
  TENON_ENSURE(setup.op.Input(0).IsRowMajor() && setup.op.Output().IsRowMajor(), kUnsupported,
               "oneDNN's softmax takes row-major tensors without gaps");
  return OkStatus();
}

Status ChannelSoftmaxCheck(const KernelSetup& setup) {
  TENON_RETURN_IF_ERROR(CheckResult(ChannelSoftmaxSupports(setup.op)));
  TENON_RETURN_IF_ERROR(CheckChannelsLast(setup.op.Input(0)));
  return CheckChannelsLast(setup.op.Output());
}

Status SoftmaxLoad(const KernelSetup& setup, void** shared) {
  const OpCall& op = setup.op;
  const auto& attributes = op.AttributesAs<SoftmaxAttributes>();
  const TensorView& x = op.Input(0);
  const dnnl_dim_t length = x.dims[attributes.axis];
  const dnnl_dims_t dims = {x.Elements() / length, length};
  const dnnl_dims_t strides = {length, 1};
  dnnl_memory_desc_t rows;
  TENON_RETURN_IF_ERROR(MakeDesc(2, dims, strides, &rows));
  dnnl_softmax_v2_desc_t desc;
  TENON_RETURN_IF_DNNL_ERROR(dnnl_softmax_v2_forward_desc_init(
      &desc, dnnl_forward_inference, attributes.log != 0 ? dnnl_softmax_log : dnnl_softmax_accurate,
      &rows, &rows, 1));
  return MakePlainPrimitive(setup, &desc, shared);
}

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
