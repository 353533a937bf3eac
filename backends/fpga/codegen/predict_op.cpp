#include "backends/fpga/codegen/predict_op.hpp"

#include <algorithm>

#include "backends/fpga/caps/supports.hpp"
#include "backends/fpga/codegen/predict_cycles.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::fpga {
namespace {

FeatureMap MapOf(const TensorView& view) {
  FeatureMap map;
  if (view.rank == 4) {
    map.channels = view.dims[1];
    map.height = view.dims[2];
    map.width = view.dims[3];
    return map;
  }
  map.channels = view.rank == 0 ? 1 : view.dims[view.rank - 1];
  for (int i = 0; i + 1 < view.rank; ++i) map.width *= view.dims[i];
  return map;
}

/// Window and kind; no weights, which take the same time whatever they are.
Layer GeometryOf(OpKind kind, const OpCall& call) {
  Layer layer;
  const TensorView& x = call.Input(0);
  int* kernel = layer.window.kernel;
  int* strides = layer.window.strides;
  switch (kind) {
    case OpKind::kQuantizedConv:
      layer.kind = IsDepthwise(call) ? LayerKind::kDepthwise : LayerKind::kConv;
      for (int i = 0; i < 2; ++i) {
        kernel[i] = call.Input(ConvInput::kWeights).dims[2 + i];
        strides[i] = call.AttributesAs<QuantizedConvAttributes>().conv.strides[i];
      }
      break;
    case OpKind::kQuantizedMatMul:
      break;
    case OpKind::kMaxPool:
    case OpKind::kQuantizedAveragePool:
      layer.kind = kind == OpKind::kMaxPool ? LayerKind::kMaxPool : LayerKind::kSum;
      for (int i = 0; i < 2; ++i) {
        kernel[i] = call.AttributesAs<PoolAttributes>().kernel[i];
        strides[i] = call.AttributesAs<PoolAttributes>().strides[i];
      }
      break;
    case OpKind::kQuantizedReduce:
      layer.kind = LayerKind::kSum;
      for (int i = 0; i < 2; ++i) kernel[i] = x.dims[2 + i];
      break;
    default:
      layer.kind = LayerKind::kDepthwise;  // one tap
  }
  return layer;
}

}  // namespace

int64_t PredictOpCycles(OpKind kind, const OpCall& call, const CodeTarget& target) {
  LayerProgram program;
  program.maps = {MapOf(call.Input(0)), MapOf(call.Output())};
  Layer layer = GeometryOf(kind, call);
  constexpr int kFoldedChannels = 4;  // as code generation folds images, which alone have so few
  for (FeatureMap& map : program.maps) map.group = target.input_channels;
  program.maps[0].folded = layer.kind == LayerKind::kConv && target.input_channels == 32 &&
                           program.maps[0].channels <= kFoldedChannels &&
                           program.maps[1].width % 2 == 0;
  layer.input = {0, 0, program.maps[0].channels};
  layer.output = {1, 0, program.maps[1].channels};
  // Twice: of the second the start is not seen, and its weights come beside the first.
  program.layers = {layer, layer};
  const int images = call.Output().rank == 4 ? call.Output().dims[0] : 1;
  return images * PredictCycles(program, target, {false, false}).layers[1].cycles;
}

}  // namespace tenon::fpga
