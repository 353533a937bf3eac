// Convolution and quantized convolution.
#include "runtime/ops/host/attribute_fields.hpp"
#include "runtime/ops/host/window_split.hpp"

namespace tenon {
namespace {

constexpr std::array kConvWindowFields = {
    IntField("group", offsetof(ConvAttributes, group)),
    IntField("strides", offsetof(ConvAttributes, strides), 2),
    IntField("dilations", offsetof(ConvAttributes, dilations), 2),
    IntField("pads", offsetof(ConvAttributes, pads), 4),
};

constexpr auto kConvFields =
    Join(kConvWindowFields, ActivationFields(offsetof(ConvAttributes, activation)));
constexpr auto kQuantizedConvFields =
    Join(kConvFields, OutputFields(offsetof(QuantizedConvAttributes, output)));

int64_t ConvMultiplyAccumulates(const OpCall& call) {
  const TensorView& w = call.Input(ConvInput::kWeights);
  return call.Output().Elements() * w.dims[1] * w.dims[2] * w.dims[3];
}

OpWork ConvWork(const OpCall& call) {
  int64_t per_element = FusedCost(call.AttributesAs<ConvAttributes>().activation);
  if (call.HasInput(ConvInput::kBias)) per_element += kPlainCost;
  if (call.HasInput(ConvInput::kResidual)) per_element += kPlainCost;
  return GemmWork(call, ConvMultiplyAccumulates(call), per_element);
}

/// The sum is rescaled.
OpWork QuantizedConvWork(const OpCall& call) {
  return GemmWork(call, ConvMultiplyAccumulates(call), kPlainCost);
}

/// Rows or columns of a windowed op: axis 2 + `i` of its input and output.
WindowAxis ConvWindow(const OpCall& call, int i) {
  const auto& attributes = call.AttributesAs<ConvAttributes>();
  return {call.Input(ConvInput::kX).dims[2 + i],
          call.Input(ConvInput::kWeights).dims[2 + i],
          attributes.strides[i],
          attributes.dilations[i],
          attributes.pads[i],
          attributes.pads[2 + i]};
}

bool ConvSplit(const OpCall& call, int32_t axis, InputSplit* inputs, int32_t* granularity) {
  if (!IsAxisOf(call.Output(), axis)) return false;
  *granularity = 1;
  for (int i = 0; i < call.InputCount(); ++i) inputs[i] = Whole();
  if (call.HasInput(ConvInput::kResidual)) inputs[ConvInput::kResidual] = Along(axis);
  if (axis == 0) {
    inputs[ConvInput::kX] = Along(0);
    return true;
  }
  if (axis == 1) {
    const TensorView& w = call.Input(ConvInput::kWeights);
    const int32_t group = call.AttributesAs<ConvAttributes>().group;
    if (group > 1) {
      *granularity = w.dims[0] / group;
      inputs[ConvInput::kX] = InGroups(1, w.dims[1], *granularity);
      if (call.HasInput(ConvInput::kXMean))
        inputs[ConvInput::kXMean] = InGroups(0, w.dims[1], *granularity);
    }
    inputs[ConvInput::kWeights] = Along(0);
    if (call.HasInput(ConvInput::kBias)) inputs[ConvInput::kBias] = Along(0);
    if (call.HasInput(ConvInput::kWeightsScale)) inputs[ConvInput::kWeightsScale] = Along(0);
    return true;
  }
  const WindowAxis window = ConvWindow(call, axis - 2);
  if (!EveryWindowHasInput(window, call.Output().dims[axis])) return false;
  inputs[ConvInput::kX] = WindowSplit(axis, window);
  return true;
}

void ConvPart(const OpCall& call, int32_t axis, const IndexRange& out, void* attributes) {
  auto& part = *static_cast<ConvAttributes*>(attributes);
  if (axis == 1 && part.group > 1) {
    part.group = out.size() / (call.Input(ConvInput::kWeights).dims[0] / part.group);
  }
  if (axis < 2) return;
  SetPads(WindowSplit(axis, ConvWindow(call, axis - 2)), out, call.Input(ConvInput::kX).dims[axis],
          axis - 2, part.pads);
}

bool QuantizedConvSplit(const OpCall& call, int32_t axis, InputSplit* inputs,
                        int32_t* granularity) {
  const OpCall conv = FactorsOnly(call, inputs);
  if (!ConvSplit(conv, axis, inputs, granularity)) return false;
  if (axis == 1) {
    SplitGemmChannels(call, inputs);
    // Zero points of x, where each channel has one, go with the channels that the part reads.
    if (call.HasInput(QuantizedGemmInput::kXZeroPoint) &&
        call.Input(QuantizedGemmInput::kXZeroPoint).dims[0] != 1 &&
        inputs[QuantizedGemmInput::kX].axis == 1) {
      inputs[QuantizedGemmInput::kXZeroPoint] = inputs[QuantizedGemmInput::kX];
      inputs[QuantizedGemmInput::kXZeroPoint].axis = 0;
    }
  }
  return true;
}

}  // namespace

constexpr OpHostRow kConvHostRow = {
    .text = TextOf<ConvAttributes>(kConvFields),
    .traits = {.convolution = true, .activation_offset = offsetof(ConvAttributes, activation) / 4},
    .work = ConvWork,
    .split = {kImageAxes, ImageAxis, ConvSplit, ConvPart},
};

constexpr OpHostRow kQuantizedConvHostRow = {
    .text = TextOf<QuantizedConvAttributes>(kQuantizedConvFields),
    .traits = {.convolution = true,
               .quantized = true,
               .output_offset = offsetof(QuantizedConvAttributes, output) / 4},
    .work = QuantizedConvWork,
    .split = {kImageAxes, ImageAxis, QuantizedConvSplit, ConvPart},
};

}  // namespace tenon
