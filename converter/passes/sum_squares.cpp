#include "converter/ir/rewrite.hpp"
#include "converter/passes/passes.hpp"

namespace tenon::converter {
namespace {

/// Returns what the op squares, or kNone.
TensorId SquaredBy(const Graph& graph, OpId id) {
  if (id == kNone) return kNone;
  const Op& op = graph.op(id);
  if (op.kind != OpKind::kBinary) return kNone;
  const auto& binary = op.attributes.As<BinaryAttributes>();
  if (binary.activation.function != UnaryFunction::kIdentity) return kNone;
  const TensorId x = op.inputs[0];
  if (binary.function == BinaryFunction::kMul) return op.inputs[1] == x ? x : kNone;
  // A power takes the shape of both operands.
  const bool is_square = binary.function == BinaryFunction::kPow &&
                         ScalarValue(graph, op.inputs[1]) == 2.0 &&
                         graph.tensor(op.outputs[0]).shape == graph.tensor(x).shape;
  return is_square ? x : kNone;
}

}  // namespace

Status SumSquares(Graph& graph, PassContext& context) {
  for (const OpId id : graph.OpOrder()) {
    const Op& op = graph.op(id);
    if (op.kind != OpKind::kReduce || graph.tensor(op.inputs[0]).dtype != DType::kF32) continue;
    auto attributes = op.attributes.As<ReduceAttributes>();
    if (attributes.function != ReduceFunction::kSum) continue;
    const OpId before = graph.tensor(op.inputs[0]).producer;
    const TensorId x = SquaredBy(graph, before);
    if (x == kNone || graph.OnlyConsumer(op.inputs[0]) != id) continue;
    Op squares = op;
    attributes.function = ReduceFunction::kSumSquare;
    squares.attributes = Attributes(attributes);
    squares.inputs[0] = x;
    if (context.why_worse_kernel) {
      const std::string reason = context.why_worse_kernel(graph, op, squares);
      if (!reason.empty()) {
        Decline(graph, id, reason, context.report);
        continue;
      }
    }
    RecordFusion(graph, id, before);
    graph.MutableOp(id).attributes = squares.attributes;
    graph.SetInput(id, 0, x);
    EraseIfUnread(graph, before);
    ++context.report.changed;
  }
  return {};
}

}  // namespace tenon::converter
