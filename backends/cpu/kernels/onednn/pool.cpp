// Computes maximum and average pooling on dense channels-last tensors.
#include "backends/cpu/caps/onednn_caps.hpp"
#include "backends/cpu/kernels/onednn/kernels.hpp"
#include "backends/cpu/kernels/onednn/post_ops.hpp"
#include "backends/cpu/kernels/onednn/primitive.hpp"

namespace tenon::cpu::onednn {
namespace {

Status CheckLayouts(const OpCall& op) {
  TENON_RETURN_IF_ERROR(CheckChannelsLast(op.Input(0)));
  return CheckChannelsLast(op.Output());
}

/// Padding after the end of dimension `i` (0: height, 1: width) that the last window really
/// reaches: with ceil_mode more than the declared padding, elsewhere less.
dnnl_dim_t ReachedPadding(const OpCall& op, int i) {
  const auto& attributes = op.AttributesAs<PoolAttributes>();
  const dnnl_dim_t last_start = dnnl_dim_t{op.Output().dims[2 + i] - 1} * attributes.strides[i];
  const dnnl_dim_t reached =
      last_start + attributes.kernel[i] - op.Input(0).dims[2 + i] - attributes.pads[i];
  return reached > 0 ? reached : 0;
}

Status Load(const KernelSetup& setup, dnnl_alg_kind_t algorithm, void** shared) {
  const OpCall& op = setup.op;
  const auto& attributes = op.AttributesAs<PoolAttributes>();
  dnnl_memory_desc_t x;
  dnnl_memory_desc_t y;
  TENON_RETURN_IF_ERROR(ChannelsLastDesc(op.Input(0), &x));
  TENON_RETURN_IF_ERROR(ChannelsLastDesc(op.Output(), &y));
  const dnnl_dims_t strides = {attributes.strides[0], attributes.strides[1]};
  const dnnl_dims_t kernel = {attributes.kernel[0], attributes.kernel[1]};
  const dnnl_dims_t dilations = {0, 0};
  const dnnl_dims_t pads_begin = {attributes.pads[0], attributes.pads[1]};
  const dnnl_dims_t pads_end = {ReachedPadding(op, 0), ReachedPadding(op, 1)};
  dnnl_pooling_v2_desc_t desc;
  TENON_RETURN_IF_DNNL_ERROR(dnnl_pooling_v2_forward_desc_init(&desc, dnnl_forward_inference,
                                                               algorithm, &x, &y, strides, kernel,
                                                               dilations, pads_begin, pads_end));
  return MakePlainPrimitive(setup, &desc, shared);
}

}  // namespace

Status MaxPoolCheck(const KernelSetup& setup) {
  TENON_RETURN_IF_ERROR(CheckResult(MaxPoolSupports(setup.op)));
  return CheckLayouts(setup.op);
}

Status MaxPoolLoad(const KernelSetup& setup, void** shared) {
  return Load(setup, dnnl_pooling_max, shared);
}

Status AveragePoolCheck(const KernelSetup& setup) {
  TENON_RETURN_IF_ERROR(CheckResult(AveragePoolSupports(setup.op)));
  return CheckLayouts(setup.op);
}

Status AveragePoolLoad(const KernelSetup& setup, void** shared) {
  const bool include = setup.op.AttributesAs<PoolAttributes>().count_include_pad != 0;
  return Load(setup, include ? dnnl_pooling_avg_include_padding : dnnl_pooling_avg_exclude_padding,
              shared);
}

}  // namespace tenon::cpu::onednn
