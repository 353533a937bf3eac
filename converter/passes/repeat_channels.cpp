#include <vector>

#include "converter/ir/rewrite.hpp"
#include "converter/passes/passes.hpp"

namespace tenon::converter {
namespace {

/// Returns how many outputs each input channel of a depthwise convolution of bytes has, where these
/// are several; else 1.
int32_t OutputsOfChannel(const Graph& graph, const Op& op) {
  if (op.kind != OpKind::kQuantizedConv) return 1;
  const int32_t group = op.attributes.As<QuantizedConvAttributes>().conv.group;
  const Shape& x = graph.tensor(op.inputs[GemmInput::kX]).shape;
  const Shape& w = graph.tensor(op.inputs[GemmInput::kWeights]).shape;
  return group > 1 && group == x[1] && w[1] == 1 ? w[0] / group : 1;
}

/// Emits the op's input with each channel `count` times, one beside the other.
Result<OpId> InsertRepeated(Graph& graph, OpId id, int32_t count) {
  const Op& op = graph.op(id);
  const TensorId x = op.inputs[GemmInput::kX];
  const int32_t channels = graph.tensor(x).shape[1] * count;
  std::vector<int32_t> indices;
  for (int32_t channel = 0; channel < channels; ++channel) indices.push_back(channel / count);
  const std::string name = op.name + "/repeated";
  const TensorId index =
      graph.AddConstantOf(op.name + "/channels", DType::kI32, Shape({channels}), indices);
  GatherAttributes gather;
  gather.axis = 1;
  return graph.InsertOp(id, OpKind::kGather, name, {x, index}, Attributes(gather), {name});
}

/// Returns true if the repeated input takes little more memory than the output does.
bool IsSmall(const Graph& graph, TensorId repeated, TensorId y) {
  return graph.tensor(repeated).ByteSize() <= 2 * graph.tensor(y).ByteSize();
}

}  // namespace

Status RepeatChannels(Graph& graph, PassContext& context) {
  if (!context.has_fast_kernel) return {};
  for (const OpId id : graph.OpOrder()) {
    const int32_t count = OutputsOfChannel(graph, graph.op(id));
    if (count < 2 || context.has_fast_kernel(graph, graph.op(id))) continue;
    TENON_ASSIGN_OR_RETURN(const OpId gather, InsertRepeated(graph, id, count));
    Op depthwise = graph.op(id);
    auto attributes = depthwise.attributes.As<QuantizedConvAttributes>();
    attributes.conv.group *= count;
    depthwise.attributes = Attributes(attributes);
    const TensorId repeated = graph.op(gather).outputs[0];
    depthwise.inputs[GemmInput::kX] = repeated;
    const bool pays =
        context.has_fast_kernel(graph, depthwise) && IsSmall(graph, repeated, depthwise.outputs[0]);
    if (!pays) {
      EraseIfUnread(graph, gather);
      continue;
    }
    Op& op = graph.MutableOp(id);
    op.attributes = depthwise.attributes;
    op.inputs = depthwise.inputs;
    ++context.report.changed;
  }
  return {};
}

}  // namespace tenon::converter
