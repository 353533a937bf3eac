// Computes convolutions on dense channels-last tensors.
//
// The residual is oneDNN's "sum" post-op, which reads the destination: the converter lets the
// output take over the residual's memory, and where it could not, the residual is copied first. (A
// "binary" post-op would read it from elsewhere, but makes oneDNN use slower kernels: measured.)
#include <cstring>

#include "backends/cpu/caps/onednn_caps.hpp"
#include "backends/cpu/kernels/onednn/kernels.hpp"
#include "backends/cpu/kernels/onednn/post_ops.hpp"
#include "backends/cpu/kernels/onednn/primitive.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::onednn {
namespace {

using In = ConvInput;

struct ConvDescs {
  dnnl_memory_desc_t x;
  dnnl_memory_desc_t weights_in_plan;
  dnnl_memory_desc_t weights;
  dnnl_memory_desc_t bias;
  dnnl_memory_desc_t y;
};

/// Weights [M, C / group, KH, KW], row-major, as [group,] M / group, C / group, KH, KW.
Status WeightsDesc(const TensorView& w, int32_t group, dnnl_memory_desc_t* desc) {
  const dnnl_dim_t taps = dnnl_dim_t{w.dims[2]} * w.dims[3];
  const dnnl_dim_t outputs = w.dims[0] / group;
  const dnnl_dims_t dims = {group, outputs, w.dims[1], w.dims[2], w.dims[3]};
  const dnnl_dims_t strides = {outputs * w.dims[1] * taps, w.dims[1] * taps, taps, w.dims[3], 1};
  if (group == 1) return MakeDesc(4, dims + 1, strides + 1, desc);
  return MakeDesc(5, dims, strides, desc);
}

Status MakeDescs(const OpCall& op, ConvDescs* descs) {
  TENON_RETURN_IF_ERROR(ChannelsLastDesc(op.Input(In::kX), &descs->x));
  TENON_RETURN_IF_ERROR(ChannelsLastDesc(op.Output(), &descs->y));
  TENON_RETURN_IF_ERROR(WeightsDesc(op.Input(In::kWeights), op.AttributesAs<ConvAttributes>().group,
                                    &descs->weights_in_plan));
  TENON_RETURN_IF_ERROR(AnyDesc(descs->weights_in_plan, &descs->weights));
  const dnnl_dim_t outputs = op.Output().dims[1];
  const dnnl_dim_t one = 1;
  return MakeDesc(1, &outputs, &one, &descs->bias);
}

/// Without AVX, oneDNN adds the residual by instructions that fault unless every pixel is aligned.
bool ResidualWouldFault(const OpCall& op) {
  constexpr int32_t kFloatsPerAlignedVector = 4;
  return dnnl_get_effective_cpu_isa() == dnnl_cpu_isa_sse41 &&
         op.Output().dims[1] % kFloatsPerAlignedVector != 0;
}

/// Copies floats on all threads.
void CopyFloats(const ParallelRunner* runner, const float* from, float* to, int64_t count) {
  constexpr int64_t kChunk = 4096;
  const auto chunks = static_cast<int>((count + kChunk - 1) / kChunk);
  ParallelFor(runner, chunks, [=](int begin, int end) {
    const int64_t first = begin * kChunk;
    const int64_t last = end * kChunk < count ? end * kChunk : count;
    std::memcpy(to + first, from + first, static_cast<size_t>(last - first) * sizeof(float));
  });
}

}  // namespace

Status ConvCheck(const KernelSetup& setup) {
  const OpCall& op = setup.op;
  TENON_RETURN_IF_ERROR(CheckResult(ConvSupports(op)));
  TENON_RETURN_IF_ERROR(CheckChannelsLast(op.Input(In::kX)));
  TENON_RETURN_IF_ERROR(CheckChannelsLast(op.Output()));
  if (op.HasInput(In::kResidual)) {
    TENON_RETURN_IF_ERROR(CheckChannelsLast(op.Input(In::kResidual)));
    TENON_ENSURE(!ResidualWouldFault(op), kUnsupported,
                 "on a processor without AVX, oneDNN adds residuals of whole vectors only");
  }
  TENON_ENSURE(op.Input(In::kWeights).IsRowMajor(), kUnsupported,
               "oneDNN's kernel takes dense weights");
  TENON_ENSURE(!op.HasInput(In::kBias) || op.Input(In::kBias).IsRowMajor(), kUnsupported,
               "oneDNN's kernel takes a dense bias");
  return OkStatus();
}

Status ConvLoad(const KernelSetup& setup, void** shared) {
  const OpCall& op = setup.op;
  const auto& attributes = op.AttributesAs<ConvAttributes>();
  ConvDescs descs;
  TENON_RETURN_IF_ERROR(MakeDescs(op, &descs));
  const bool has_bias = op.HasInput(In::kBias);
  const dnnl_dims_t strides = {attributes.strides[0], attributes.strides[1]};
  const dnnl_dims_t dilations = {attributes.dilations[0] - 1, attributes.dilations[1] - 1};
  const dnnl_dims_t pads_begin = {attributes.pads[0], attributes.pads[1]};
  const dnnl_dims_t pads_end = {attributes.pads[2], attributes.pads[3]};
  dnnl_convolution_desc_t desc;
  TENON_RETURN_IF_DNNL_ERROR(dnnl_dilated_convolution_forward_desc_init(
      &desc, dnnl_forward_inference, dnnl_convolution_direct, &descs.x, &descs.weights,
      has_bias ? &descs.bias : nullptr, &descs.y, strides, dilations, pads_begin, pads_end));
  AttributesHandle post_ops;
  TENON_RETURN_IF_ERROR(
      MakeAttributes(attributes.activation, op.HasInput(In::kResidual), post_ops));

  const Binding bindings[] = {
      {DNNL_ARG_SRC, In::kX}, {DNNL_ARG_DST, kOutput}, {DNNL_ARG_BIAS, In::kBias}};
  PrimitiveSpec spec;
  spec.op_desc = &desc;
  spec.attributes = post_ops.get();
  spec.bindings = {bindings, has_bias ? size_t{3} : size_t{2}};
  spec.weights_operand = In::kWeights;
  spec.weights_in_plan = descs.weights_in_plan;
  return MakePrimitive(setup, spec, shared);
}

Status ConvRun(const KernelCall& call) {
  if (call.op.HasInput(In::kResidual)) {
    const TensorView& residual = call.op.Input(In::kResidual);
    const TensorView& y = call.op.Output();
    if (residual.data != y.data) {
      CopyFloats(call.parallel, residual.As<const float>(), y.As<float>(), y.Elements());
    }
  }
  return Execute(call);
}

}  // namespace tenon::cpu::onednn
