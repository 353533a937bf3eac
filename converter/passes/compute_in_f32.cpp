#include <memory>
#include <vector>

#include "converter/ir/elements.hpp"
#include "converter/passes/passes.hpp"
#include "runtime/ops/host/op_host_row.hpp"

namespace tenon::converter {
namespace {

constexpr DType kFrom = DType::kF16;
constexpr DType kTo = DType::kF32;

bool IsHalf(const Graph& graph, TensorId id) { return graph.tensor(id).dtype == kFrom; }

Attributes CastTo(DType dtype) {
  CastAttributes cast;
  cast.to = static_cast<int32_t>(dtype);
  return Attributes(cast);
}

/// Returns true if a GEMM has constant weights of f16.
bool HasHalfWeights(const Graph& graph) {
  for (const OpId id : graph.OpOrder()) {
    const Op& op = graph.op(id);
    if (!TraitsOf(op.kind).IsFloatGemm()) continue;
    if (graph.tensor(op.inputs[GemmInput::kWeights]).IsConstant() &&
        IsHalf(graph, op.inputs[GemmInput::kWeights]))
      return true;
  }
  return false;
}

bool IsCast(const Graph& graph, OpId id) {
  return id != kNone && graph.op(id).kind == OpKind::kCast;
}

/// Returns true for a graph output that is only the f16 form of another tensor.
bool IsCastOutput(const Graph& graph, TensorId id) {
  return graph.IsOutput(id) && graph.Consumers(id).empty() &&
         IsCast(graph, graph.tensor(id).producer);
}

/// Returns true if an op makes or reads the numbers of another dtype, or moves them.
bool ComputesNothing(const Graph& graph, OpId id) {
  return id != kNone && (IsCast(graph, id) || TraitsOf(graph.op(id).kind).moves_elements);
}

/// Returns true if f16 is in the graph only to round to it: the numbers are cast to it and back,
/// and nothing else is done with them. A model of float16 has inputs or weights of it, or computes.
bool OnlyRounds(const Graph& graph) {
  for (const TensorId id : graph.Tensors()) {
    if (!IsHalf(graph, id)) continue;
    if (!ComputesNothing(graph, graph.tensor(id).producer)) return false;
    for (const OpId reader : graph.Consumers(id)) {
      if (!ComputesNothing(graph, reader)) return false;
    }
  }
  return true;
}

/// Inserts a cast between f16 inputs and their readers that are not casts.
Status CastInputs(Graph& graph, PassReport& report) {
  const std::vector<OpId> order = graph.OpOrder();
  const OpId first = order.empty() ? kNone : order.front();
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const TensorId input = graph.inputs()[i].tensor;
    if (!IsHalf(graph, input)) continue;
    std::vector<OpId> readers = graph.Consumers(input);
    std::erase_if(readers, [&](OpId reader) { return IsCast(graph, reader); });
    if (readers.empty()) continue;
    const std::string name = graph.tensor(input).name + ".f32";
    TENON_ASSIGN_OR_RETURN(
        const OpId cast, graph.InsertOp(first, OpKind::kCast, name, {input}, CastTo(kTo), {name}));
    const TensorId widened = graph.op(cast).outputs[0];
    for (const OpId reader : readers) {
      for (TensorId& operand : graph.MutableOp(reader).inputs) {
        if (operand == input) operand = widened;
      }
    }
    ++report.changed;
  }
  return {};
}

void WidenConstant(Graph& graph, TensorId id) {
  Tensor& tensor = graph.MutableTensor(id);
  tensor.constant =
      std::make_shared<const std::vector<std::byte>>(WriteElements(kTo, ReadElements(tensor)));
  tensor.dtype = kTo;
}

/// Converts everything between the ports.
void Widen(Graph& graph, PassReport& report) {
  for (const TensorId id : graph.Tensors()) {
    if (!IsHalf(graph, id) || graph.IsInput(id) || IsCastOutput(graph, id)) continue;
    if (graph.tensor(id).IsConstant()) {
      WidenConstant(graph, id);
    } else {
      graph.MutableTensor(id).dtype = kTo;
    }
    ++report.changed;
  }
  for (const OpId id : graph.OpOrder()) {
    const Op& op = graph.op(id);
    const bool is_wide = IsCast(graph, id) && graph.tensor(op.outputs[0]).dtype == kTo;
    if (is_wide) graph.MutableOp(id).attributes = CastTo(kTo);
  }
}

Status CastOutputs(Graph& graph, const std::vector<bool>& was_half) {
  for (size_t i = 0; i < was_half.size(); ++i) {
    if (!was_half[i]) continue;
    const TensorId output = graph.outputs()[i].tensor;
    const std::string name = graph.tensor(output).name + ".f16";
    TENON_ASSIGN_OR_RETURN(const OpId cast, graph.InsertOp(kNone, OpKind::kCast, name, {output},
                                                           CastTo(kFrom), {name}));
    graph.SetPortTensor(/*output=*/true, i, graph.op(cast).outputs[0]);
  }
  return {};
}

}  // namespace

Status ComputeInF32(Graph& graph, PassContext& context) {
  if (OnlyRounds(graph)) return {};
  if (HasHalfWeights(graph)) graph.weights = kFrom;
  std::vector<bool> output_is_half;
  for (const Graph::Port& port : graph.outputs()) {
    output_is_half.push_back(IsHalf(graph, port.tensor) && !IsCastOutput(graph, port.tensor));
  }
  TENON_RETURN_IF_ERROR(CastInputs(graph, context.report));
  Widen(graph, context.report);
  return CastOutputs(graph, output_is_half);
}

}  // namespace tenon::converter
