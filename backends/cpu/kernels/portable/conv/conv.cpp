#include <cstddef>
#include <cstdint>

#include "backends/cpu/caps/portable_supports.hpp"
#include "backends/cpu/kernels/portable/conv/conv_gemm.hpp"
#include "backends/cpu/kernels/portable/gemm/tile_gemm.hpp"
#include "backends/cpu/kernels/portable/kernels.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::portable {
namespace {

using In = ConvInput;

using Conv = ConvGemm<TileGemm>;
using In = ConvInput;

/// True if rows follow each other without a gap, so that all can be taken as one.
bool RowsMerge(const TensorView& view) {
  return view.dims[2] == 1 || view.strides[2] == int64_t{view.dims[3]} * view.strides[3];
}

/// A 1x1 convolution without steps or padding sees positions only, not rows: longer tiles.
bool IsPointwise(const ConvAttributes& attributes, const TensorView& w) {
  const int32_t* pads = attributes.pads;
  return w.dims[2] == 1 && w.dims[3] == 1 && attributes.strides[0] == 1 &&
         attributes.strides[1] == 1 && pads[0] == 0 && pads[1] == 0 && pads[2] == 0 && pads[3] == 0;
}

void SetOperands(const OpCall& call, TileGemm& gemm) {
  const TensorView& x = call.Input(In::kX);
  if (call.HasInput(In::kXMean)) {
    gemm.x_bytes = x.As<const uint8_t>();
    gemm.x_mean = call.Input(In::kXMean).As<const float>();
    gemm.x_mean_channel = call.Input(In::kXMean).strides[0];
  } else {
    gemm.x = x.As<const float>();
  }
  gemm.w = StoredWeightsOf(call, In::kWeights, In::kWeightsScale);
  gemm.y = call.Output().As<float>();
  if (call.HasInput(In::kBias)) {
    gemm.addends[0] = {call.Input(In::kBias).As<const float>(), call.Input(In::kBias).strides[0], 0,
                       0};
  }
  if (call.HasInput(In::kResidual)) {
    const TensorView& residual = call.Input(In::kResidual);
    gemm.addends[1] = {residual.As<const float>(), residual.strides[1], residual.strides[2],
                       residual.strides[3]};
  }
}

/// `by_rows`: rows are to be computed some at a time.
Conv Prepare(const OpCall& call, bool by_rows) {
  const auto& attributes = call.AttributesAs<ConvAttributes>();
  Conv conv(call);
  SetOperands(call, conv.gemm);
  conv.gemm.activation = attributes.activation;
  const bool has_residual = call.HasInput(In::kResidual);
  const bool merges = RowsMerge(call.Input(In::kX)) && RowsMerge(call.Output()) &&
                      (!has_residual || RowsMerge(call.Input(In::kResidual)));
  if (merges && !by_rows && IsPointwise(attributes, call.Input(In::kWeights))) {
    SetPointWindow(conv.gemm.Positions(), conv.gemm);
  }
  if (has_residual) conv.residual_image = call.Input(In::kResidual).strides[0];
  return conv;
}

TileGemm GemmOf(const Conv& conv, int image, int group) {
  TileGemm gemm = conv.gemm;
  const int outputs = group * gemm.outputs;
  const int channels = group * gemm.channels;
  const ptrdiff_t x_offset = image * conv.x_image + channels * gemm.x_channel;
  if (gemm.x_bytes != nullptr) {
    gemm.x_bytes += x_offset;
    gemm.x_mean += channels * gemm.x_mean_channel;
  } else {
    gemm.x += x_offset;
  }
  gemm.first_scale = outputs;
  gemm.w_first = outputs * gemm.w_output;
  gemm.y += image * conv.y_image + outputs * gemm.y_output;
  Addend& bias = gemm.addends[0];
  if (bias.data != nullptr) bias.data += outputs * bias.output;
  Addend& residual = gemm.addends[1];
  if (residual.data != nullptr) {
    residual.data += image * conv.residual_image + outputs * residual.output;
  }
  return gemm;
}

}  // namespace

Status ConvRun(const KernelCall& call) {
  if (call.op.Output().Elements() == 0) return OkStatus();
  const Conv conv = Prepare(call.op, /*by_rows=*/false);
  RunConvGemms<GemmOf>(call, conv, 0, conv.images);
  return OkStatus();
}

Status ConvInPlaceCheck(const KernelSetup& setup) {
  TENON_RETURN_IF_ERROR(CheckBy<SupportsInPlace<ConvSupports>>(setup));
  return CheckInPlaceWorkspace(setup);
}

Status ConvInPlaceRun(const KernelCall& call) {
  if (call.op.Output().Elements() == 0) return OkStatus();
  Conv conv = Prepare(call.op, /*by_rows=*/true);
  const Addend whole = conv.gemm.addends[1];
  RunConvInPlace<GemmOf>(call, conv, [&](int first, char* y) {
    conv.gemm.y = reinterpret_cast<float*>(y);
    if (whole.data != nullptr) conv.gemm.addends[1].data = whole.data + first * whole.row;
  });
  return OkStatus();
}

}  // namespace tenon::cpu::portable
