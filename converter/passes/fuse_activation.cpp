#include "converter/ir/rewrite.hpp"
#include "converter/passes/passes.hpp"
#include "converter/passes/patterns.hpp"

namespace tenon::converter {
namespace {

std::string WhyNotFusable(const Graph& graph, OpId unary, OpId main) {
  const Op& op = graph.op(main);
  const Tensor& before = graph.tensor(op.outputs.front());
  const Tensor& after = graph.tensor(graph.op(unary).outputs.front());
  if (GetActivation(op).function != UnaryFunction::kIdentity) {
    return "the op before it has an activation already";
  }
  if (graph.OnlyConsumer(op.outputs.front()) != unary) {
    return "the result before it has other readers";
  }
  // f16 is computed in f32, and kernels for f64 are plain ones.
  if (before.dtype != DType::kF32) return "only f32 results have activations";
  if (before.layout != after.layout) return "it changes the layout";
  return "";
}

void TryFuse(Graph& graph, OpId id, PassReport& report) {
  const Op& unary = graph.op(id);
  const OpId main = graph.tensor(unary.inputs.front()).producer;
  if (main == kNone || !HasActivation(graph.op(main).kind)) return;
  std::string reason = WhyNotFusable(graph, id, main);
  if (reason.empty()) {
    const auto attributes = unary.attributes.As<UnaryAttributes>();
    SetActivation(graph.MutableOp(main), {attributes.function, attributes.a, attributes.b});
    if (!IsValidOp(graph, main)) {
      SetActivation(graph.MutableOp(main), {});
      reason = "the op before it cannot have this activation";
    }
  }
  if (!reason.empty()) return Decline(graph, id, reason, report);
  AbsorbResult(graph, main, id);
  ++report.changed;
}

}  // namespace

Status FuseActivation(Graph& graph, PassContext& context) {
  for (OpId id : graph.OpOrder()) {
    if (graph.IsOp(id) && TryRecogniseActivation(graph, id)) ++context.report.changed;
  }
  for (OpId id : graph.OpOrder()) {
    if (graph.IsOp(id) && graph.op(id).kind == OpKind::kUnary) {
      TryFuse(graph, id, context.report);
    }
  }
  return Status();
}

}  // namespace tenon::converter
