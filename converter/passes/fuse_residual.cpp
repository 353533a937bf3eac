#include "converter/ir/rewrite.hpp"
#include "converter/passes/passes.hpp"

namespace tenon::converter {
namespace {

std::string WhyNotTake(const Graph& graph, OpId conv, OpId add, TensorId other) {
  const Op& op = graph.op(conv);
  const Tensor& result = graph.tensor(op.outputs.front());
  const Tensor& sum = graph.tensor(graph.op(add).outputs.front());
  const Tensor& residual = graph.tensor(other);
  if (op.outputs.front() == other) return "it adds the conv's result to itself";
  if (graph.OnlyConsumer(op.outputs.front()) != add) return "the conv's result has other readers";
  if (GetActivation(op).function != UnaryFunction::kIdentity) {
    return "the conv's activation comes before the addition";
  }
  if (op.inputs.size() > ConvInput::kResidual && op.inputs[ConvInput::kResidual] != kNone) {
    return "the conv adds a residual already";
  }
  if (residual.shape != result.shape || sum.shape != result.shape) {
    return "the addition broadcasts";
  }
  if (residual.dtype != result.dtype) return "the dtypes differ";
  if (residual.layout != result.layout || sum.layout != result.layout) {
    return "it changes the layout";
  }
  return "";
}

void Take(Graph& graph, OpId conv, OpId add, TensorId other) {
  const OpId producer = graph.tensor(other).producer;
  if (producer != kNone && !graph.IsBefore(producer, conv)) graph.MoveOp(conv, add);
  Op& op = graph.MutableOp(conv);
  if (op.inputs.size() <= ConvInput::kResidual) op.inputs.resize(ConvInput::kResidual + 1, kNone);
  op.inputs[ConvInput::kResidual] = other;
  SetActivation(op, GetActivation(graph.op(add)));
  AbsorbResult(graph, conv, add);
}

void TryAddition(Graph& graph, OpId add, PassReport& report) {
  const std::vector<TensorId> operands = graph.op(add).inputs;
  OpId taker = kNone;
  TensorId residual = kNone;
  std::string reason;
  for (size_t i = 0; i < 2; ++i) {
    const OpId conv = ProducerOfKind(graph, operands[i], OpKind::kConv);
    if (conv == kNone) continue;
    const std::string why_not = WhyNotTake(graph, conv, add, operands[1 - i]);
    if (!why_not.empty()) {
      reason = why_not;
    } else if (taker == kNone || graph.IsBefore(taker, conv)) {
      taker = conv;
      residual = operands[1 - i];
    }
  }
  if (taker != kNone) {
    Take(graph, taker, add, residual);
    ++report.changed;
  } else if (!reason.empty()) {
    Decline(graph, add, reason, report);
  }
}

}  // namespace

Status FuseResidual(Graph& graph, PassContext& context) {
  for (OpId id : graph.OpOrder()) {
    if (!graph.IsOp(id)) continue;
    const Op& op = graph.op(id);
    if (op.kind != OpKind::kBinary) continue;
    if (op.attributes.As<BinaryAttributes>().function != BinaryFunction::kAdd) continue;
    TryAddition(graph, id, context.report);
  }
  return Status();
}

}  // namespace tenon::converter
