#include "converter/ir/rewrite.hpp"

#include "converter/ir/elements.hpp"
#include "runtime/ops/host/op_host_row.hpp"
#include "runtime/ops/host/op_table.hpp"

namespace tenon::converter {

void Decline(const Graph& graph, OpId op, std::string_view reason, PassReport& report) {
  report.declined.push_back({graph.op(op).name, std::string(reason)});
}

void EraseIfUnread(Graph& graph, OpId first) {
  std::vector<OpId> work = {first};
  while (!work.empty()) {
    const OpId id = work.back();
    work.pop_back();
    if (!graph.IsOp(id)) continue;
    const Op& op = graph.op(id);
    const auto is_read = [&](TensorId output) { return graph.IsRead(output); };
    if (std::any_of(op.outputs.begin(), op.outputs.end(), is_read)) continue;
    const std::vector<TensorId> inputs = op.inputs;
    graph.EraseOp(id);
    for (TensorId input : inputs) {
      if (!graph.IsTensor(input)) continue;  // absent, or named twice and gone by now
      const Tensor& tensor = graph.tensor(input);
      if (tensor.producer != kNone) {
        work.push_back(tensor.producer);
      } else if (tensor.IsConstant() && !graph.IsRead(input)) {
        graph.EraseTensor(input);
      }
    }
  }
}

std::string WhyNotBypass(const Graph& graph, TensorId from, TensorId to) {
  const Tensor& a = graph.tensor(from);
  const Tensor& b = graph.tensor(to);
  if (a.dtype != b.dtype || a.shape != b.shape) return "the types differ";
  if (a.layout != b.layout) return "it changes the layout";
  if (!graph.IsOutput(from)) return "";
  if (graph.IsInput(to)) return "a graph output would be a graph input";
  if (b.IsConstant()) return "a graph output would be a constant";
  if (graph.IsOutput(to)) return "two graph outputs would be one tensor";
  return "";
}

void BypassAndErase(Graph& graph, OpId op, TensorId to) {
  graph.ReplaceUses(graph.op(op).outputs.front(), to);
  EraseIfUnread(graph, op);
}

void RecordFusion(Graph& graph, OpId main, OpId absorbed) {
  const Op& from = graph.op(absorbed);
  std::string& names = graph.MutableOp(main).source_ops;
  for (const std::string& name : {from.name, from.source_ops}) {
    if (name.empty()) continue;
    if (!names.empty()) names += ',';
    names += name;
  }
}

void AbsorbResult(Graph& graph, OpId main, OpId absorbed) {
  const TensorId result = graph.op(main).outputs.front();
  const std::string name = graph.tensor(graph.op(absorbed).outputs.front()).name;
  RecordFusion(graph, main, absorbed);
  BypassAndErase(graph, absorbed, result);
  graph.RenameTensor(result, name);
}

OpId ProducerOfKind(const Graph& graph, TensorId id, OpKind kind) {
  if (!graph.IsTensor(id)) return kNone;
  const OpId producer = graph.tensor(id).producer;
  return producer != kNone && graph.op(producer).kind == kind ? producer : kNone;
}

std::optional<double> ScalarValue(const Graph& graph, TensorId id) {
  if (!graph.IsTensor(id)) return std::nullopt;
  const Tensor& tensor = graph.tensor(id);
  if (!tensor.IsConstant() || !IsFloat(tensor.dtype) || tensor.shape.Elements() != 1) {
    return std::nullopt;
  }
  return ReadElement(tensor.dtype, tensor.constant->data());
}

bool IsValidOp(const Graph& graph, OpId id) {
  const Op& op = graph.op(id);
  return CheckOpCall(GetOpRow(op.kind), OpCallView(graph, op).call()).ok();
}

int32_t ChannelAxis(const Graph& graph, const Op& op) {
  return TraitsOf(op.kind).convolution ? 1 : graph.tensor(op.outputs.front()).shape.rank - 1;
}

int32_t WeightsChannelAxis(const Graph& graph, const Op& op) {
  if (TraitsOf(op.kind).convolution) return 0;
  const int32_t rank = graph.tensor(op.inputs[GemmInput::kWeights]).shape.rank;
  return rank - 1 - op.attributes.As<MatMulAttributes>().transpose_b;
}

bool HasActivation(OpKind kind) { return TraitsOf(kind).activation_offset >= 0; }

Activation GetActivation(const Op& op) {
  const int offset = TraitsOf(op.kind).activation_offset;
  return offset < 0 ? Activation() : op.attributes.Member<Activation>(offset);
}

void SetActivation(Op& op, const Activation& activation) {
  op.attributes.SetMember(TraitsOf(op.kind).activation_offset, activation);
}

}  // namespace tenon::converter
