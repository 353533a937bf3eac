#include <algorithm>
#include <vector>

#include "converter/ir/elements.hpp"
#include "converter/ir/rewrite.hpp"
#include "converter/passes/channel_constants.hpp"
#include "converter/passes/image_moves.hpp"
#include "converter/passes/passes.hpp"

namespace tenon::converter {
namespace {

bool IsMove(const Op& op) {
  return op.kind == OpKind::kReshape || op.kind == OpKind::kTranspose || op.kind == OpKind::kSlice;
}

/// Moves that follow each other, from `last`, whose result the function reads, back to `first`.
struct Moves {
  OpId first = kNone;
  OpId last = kNone;
};

/// The moves whose result `function` alone reads as `x`, each with no other reader.
Moves MovesBefore(const Graph& graph, OpId function, TensorId x) {
  Moves moves;
  for (OpId reader = function;;) {
    const OpId producer = graph.tensor(x).producer;
    if (producer == kNone || !IsMove(graph.op(producer))) return moves;
    if (graph.OnlyConsumer(x) != reader) return moves;
    if (moves.last == kNone) moves.last = producer;
    moves.first = reader = producer;
    x = graph.op(producer).inputs.front();
  }
}

/// The operand of a binary op that is no constant, if the other is; -1.
int ComputedOperand(const Graph& graph, const Op& binary) {
  const bool first = graph.tensor(binary.inputs[0]).IsConstant();
  const bool second = graph.tensor(binary.inputs[1]).IsConstant();
  return first == second ? -1 : first ? 1 : 0;
}

/// True where a function of x can become part of the convolution that computes x, behind others
/// that this pass has brought there.
bool ComesFromConv(const Graph& graph, TensorId x, OpId reader) {
  for (;;) {
    const OpId producer = graph.tensor(x).producer;
    if (producer == kNone || graph.OnlyConsumer(x) != reader) return false;
    const Op& op = graph.op(producer);
    if (op.kind == OpKind::kConv) {
      return GetActivation(op).function == UnaryFunction::kIdentity &&
             op.InputOrNone(ConvInput::kResidual) == kNone;
    }
    if (op.kind != OpKind::kBinary) return false;
    if (GetActivation(op).function != UnaryFunction::kIdentity) return false;
    const int computed = ComputedOperand(graph, op);
    if (computed < 0) return false;
    reader = producer;
    x = op.inputs[static_cast<size_t>(computed)];
  }
}

/// By channel of the move's x: the channel of its y that it becomes part of; none where the
/// channels of y are not made of those of x alone.
std::vector<int32_t> OutputChannels(const ImageMove& move) {
  const std::vector<int32_t> y_parts = move.PartsOfOutput({1});
  std::vector<int32_t> strides(static_cast<size_t>(move.parts.rank), 0);
  int32_t stride = 1;
  for (size_t i = y_parts.size(); i-- > 0;) {
    const int32_t part = y_parts[i];
    const bool of_channels = part >= move.x_runs[1] && part < move.x_runs[2];
    if (!of_channels && move.parts[part] != 1) return {};
    strides[static_cast<size_t>(part)] = stride;
    stride *= move.parts[part];
  }
  std::vector<int32_t> channels = {0};
  for (int32_t part = move.x_runs[1]; part < move.x_runs[2]; ++part) {
    std::vector<int32_t> longer;
    for (const int32_t channel : channels) {
      for (int32_t i = 0; i < move.parts[part]; ++i) {
        longer.push_back(channel + i * strides[static_cast<size_t>(part)]);
      }
    }
    channels = std::move(longer);
  }
  return channels;
}

/// Looks past what leaves channels what they are: slices along other dimensions, and reshapes of
/// those.
OpId BehindChannels(const Graph& graph, OpId last) {
  for (;;) {
    const Op& op = graph.op(last);
    const Shape& x = graph.tensor(op.inputs.front()).shape;
    const Shape& y = graph.tensor(op.outputs.front()).shape;
    if (op.kind != OpKind::kReshape && op.kind != OpKind::kSlice) return last;
    if (x.rank < 2 || y.rank < 2 || x[0] != y[0] || x[1] != y[1]) return last;
    const bool reverses =
        op.kind == OpKind::kSlice && op.attributes.As<SliceAttributes>().steps[1] < 0;
    if (reverses) return last;
    if (FindImageMove(graph, last).has_value()) return last;
    const OpId before = graph.tensor(op.inputs.front()).producer;
    if (before == kNone) return last;
    last = before;
  }
}

/// True of a sum of two results, as volumes are made of: it may have an activation.
bool IsPlainSum(const Graph& graph, TensorId x, OpId reader) {
  const OpId sum = ProducerOfKind(graph, x, OpKind::kBinary);
  if (sum == kNone || graph.OnlyConsumer(x) != reader) return false;
  const Op& op = graph.op(sum);
  return op.attributes.As<BinaryAttributes>().function == BinaryFunction::kAdd &&
         GetActivation(op).function == UnaryFunction::kIdentity &&
         ProducerOfKind(graph, op.inputs[1], OpKind::kConv) != kNone;
}

/// The constant that does to the convolution's result what `constant` does to the moved one.
std::vector<double> ConstantBefore(const Graph& graph, const Moves& moves, TensorId constant,
                                   const Shape& result) {
  const auto values =
      result.rank < 2 ? std::nullopt : PerChannel(graph.tensor(constant), result, 1);
  if (!values.has_value() || graph.tensor(constant).shape.rank > result.rank) return {};
  const auto move = FindImageMove(graph, BehindChannels(graph, moves.last));
  if (!move.has_value() || move->first != moves.first) return {};
  std::vector<double> before;
  for (const int32_t channel : OutputChannels(*move)) {
    before.push_back((*values)[static_cast<size_t>(channel)]);
  }
  return before;
}

/// Computes the function of what the moves read, and lets them move the result.
Status Put(Graph& graph, OpId id, const Moves& moves, std::vector<TensorId> inputs) {
  const Op& op = graph.op(id);
  const std::string between = graph.tensor(op.outputs.front()).name + ".unmoved";
  TENON_ASSIGN_OR_RETURN(const OpId moved, graph.InsertOp(moves.first, op.kind, op.name, inputs,
                                                          op.attributes, {between}));
  graph.SetInput(moves.first, 0, graph.op(moved).outputs.front());
  AbsorbResult(graph, moves.last, id);
  return {};
}

/// Functions beyond bounds go over what a convolution stores, pixel by pixel: where channels do not
/// fill vectors, that takes longer than another op on the whole.
bool SuitsChannels(const Graph& graph, const Op& unary, TensorId before) {
  constexpr int32_t kVector = 8;
  const UnaryFunction function = unary.attributes.As<UnaryAttributes>().function;
  const bool bounds = function == UnaryFunction::kRelu || function == UnaryFunction::kClip;
  return bounds || graph.tensor(before).shape[1] % kVector == 0;
}

Result<bool> TryUnary(Graph& graph, OpId id) {
  const TensorId x = graph.op(id).inputs.front();
  const Moves moves = MovesBefore(graph, id, x);
  if (moves.first == kNone || graph.tensor(x).dtype != DType::kF32) return false;
  const TensorId before = graph.op(moves.first).inputs.front();
  if (!ComesFromConv(graph, before, moves.first) && !IsPlainSum(graph, before, moves.first)) {
    return false;
  }
  if (!SuitsChannels(graph, graph.op(id), before)) return false;
  TENON_RETURN_IF_ERROR(Put(graph, id, moves, {before}));
  return true;
}

Result<bool> TryBinary(Graph& graph, OpId id) {
  const Op& op = graph.op(id);
  const int computed = ComputedOperand(graph, op);
  if (computed < 0 || op.attributes.As<BinaryAttributes>().function > BinaryFunction::kDiv) {
    return false;
  }
  const TensorId x = op.inputs[static_cast<size_t>(computed)];
  const TensorId constant = op.inputs[static_cast<size_t>(1 - computed)];
  const Moves moves = MovesBefore(graph, id, x);
  const Shape result = graph.tensor(op.outputs.front()).shape;
  if (moves.first == kNone || graph.tensor(x).dtype != DType::kF32) return false;
  if (graph.tensor(x).shape != result) return false;
  const TensorId before = graph.op(moves.first).inputs.front();
  if (!ComesFromConv(graph, before, moves.first)) return false;
  const std::vector<double> values = ConstantBefore(graph, moves, constant, result);
  if (values.empty()) return false;
  Shape shape;
  shape.rank = 4;
  std::fill_n(shape.dims, 4, 1);
  shape[1] = static_cast<int32_t>(values.size());
  const TensorId made = graph.AddConstant(graph.tensor(constant).name + ".unmoved", DType::kF32,
                                          shape, WriteElements(DType::kF32, values));
  std::vector<TensorId> inputs = {before, made};
  if (computed == 1) std::swap(inputs[0], inputs[1]);
  TENON_RETURN_IF_ERROR(Put(graph, id, moves, inputs));
  return true;
}

}  // namespace

Status FunctionsBeforeMoves(Graph& graph, PassContext& context) {
  for (const OpId id : graph.OpOrder()) {
    if (!graph.IsOp(id)) continue;
    bool moved = false;
    if (graph.op(id).kind == OpKind::kUnary) {
      TENON_ASSIGN_OR_RETURN(moved, TryUnary(graph, id));
    } else if (graph.op(id).kind == OpKind::kBinary) {
      TENON_ASSIGN_OR_RETURN(moved, TryBinary(graph, id));
    }
    context.report.changed += moved ? 1 : 0;
  }
  return {};
}

}  // namespace tenon::converter
