#include <algorithm>
#include <iterator>

#include "converter/ir/rewrite.hpp"
#include "converter/passes/passes.hpp"

namespace tenon::converter {
namespace {

/// Returns true for a depthwise convolution of one tap: y = x * gain + shift of each channel.
bool OnlyScales(const Graph& graph, const Op& op) {
  if (op.kind != OpKind::kConv || op.inputs.size() > 3) return false;
  const auto& conv = op.attributes.As<ConvAttributes>();
  const Tensor& x = graph.tensor(op.inputs[GemmInput::kX]);
  const Tensor& w = graph.tensor(op.inputs[GemmInput::kWeights]);
  const Tensor& y = graph.tensor(op.outputs[0]);
  const bool is_f32 = x.dtype == DType::kF32 && w.dtype == DType::kF32 && y.dtype == DType::kF32;
  const bool is_depthwise = conv.group == x.shape[1] && w.shape.Elements() == x.shape[1];
  const TensorId bias = op.InputOrNone(GemmInput::kBias);
  const bool is_known = w.IsConstant() && (bias == kNone || graph.tensor(bias).IsConstant());
  return is_f32 && is_known && is_depthwise && y.shape == x.shape &&
         std::all_of(std::begin(conv.strides), std::end(conv.strides),
                     [](int32_t stride) { return stride == 1; });
}

/// Returns true if a kernel that is no worse than this op's runs elementwise ops on the same
/// tensors.
bool HasFastElements(const Graph& graph, const Op& op, const PassContext& context) {
  Op elementwise = op;
  elementwise.kind = OpKind::kElementwise;
  elementwise.inputs = {op.inputs[GemmInput::kX]};
  ElementwiseAttributes attributes;
  attributes.activations[0] = UnaryFunction::kRelu;
  attributes.steps = 1;
  elementwise.attributes = Attributes(attributes);
  if (!context.has_fast_kernel || !context.has_fast_kernel(graph, elementwise)) return false;
  return !context.why_worse_kernel || context.why_worse_kernel(graph, op, elementwise).empty();
}

/// Returns a constant of the input's elements that broadcasts along the channels.
TensorId ForEachChannel(Graph& graph, TensorId input) {
  const Tensor tensor = graph.tensor(input);
  const auto channels = static_cast<int32_t>(tensor.shape.Elements());
  return graph.AddConstant(tensor.name + "/channels", DType::kF32, Shape({1, channels, 1, 1}),
                           *tensor.constant);
}

Status Split(Graph& graph, OpId id) {
  const Op conv = graph.op(id);
  const Activation activation = GetActivation(conv);
  const TensorId bias = conv.InputOrNone(GemmInput::kBias);
  BinaryAttributes product;
  product.function = BinaryFunction::kMul;
  if (bias == kNone) product.activation = activation;
  const TensorId gain = ForEachChannel(graph, conv.inputs[GemmInput::kWeights]);
  Op last = conv;
  last.kind = OpKind::kBinary;
  last.inputs = {conv.inputs[GemmInput::kX], gain};
  last.attributes = Attributes(product);
  if (bias != kNone) {
    const std::string name = conv.name + "/scaled";
    TENON_ASSIGN_OR_RETURN(const OpId scaled, graph.InsertOp(id, OpKind::kBinary, name, last.inputs,
                                                             last.attributes, {name}));
    BinaryAttributes sum;
    sum.activation = activation;
    last.inputs = {graph.op(scaled).outputs[0], ForEachChannel(graph, bias)};
    last.attributes = Attributes(sum);
  }
  Op& op = graph.MutableOp(id);
  op.kind = last.kind;
  op.inputs = last.inputs;
  op.attributes = last.attributes;
  for (const TensorId constant : {conv.inputs[GemmInput::kWeights], bias}) {
    if (constant != kNone && !graph.IsRead(constant)) graph.EraseTensor(constant);
  }
  return {};
}

}  // namespace

Status ScaleChannels(Graph& graph, PassContext& context) {
  for (const OpId id : graph.OpOrder()) {
    const Op& op = graph.op(id);
    if (!OnlyScales(graph, op) || !HasFastElements(graph, op, context)) continue;
    TENON_RETURN_IF_ERROR(Split(graph, id));
    ++context.report.changed;
  }
  return {};
}

}  // namespace tenon::converter
