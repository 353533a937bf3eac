#include "converter/ir/rewrite.hpp"
#include "converter/passes/patterns.hpp"
#include "converter/passes/quantization.hpp"
#include "runtime/ops/host/op_host_row.hpp"

namespace tenon::converter {
namespace {

/// The bytes that the quantize op requantises.
struct OutputMatch {
  Source source;
  Quantization target;
  std::vector<Clamp> clamps;  ///< the one that is applied last first
};

std::optional<OutputMatch> FindMatch(const Graph& graph, OpId quantize) {
  OutputMatch match;
  const auto target = PlainTargetOf(graph, graph.op(quantize));
  if (!target.has_value()) return std::nullopt;
  match.target = *target;
  TensorId real = graph.op(quantize).inputs.front();
  OpId reader = quantize;
  while (true) {
    const OpId producer = graph.tensor(real).producer;
    if (producer == kNone || graph.OnlyConsumer(real) != reader) return std::nullopt;
    if (const auto source = PlainSourceOf(graph, real); source.has_value()) {
      match.source = *source;
      break;
    }
    const auto clamp = ClampOf(graph, graph.op(producer));
    if (!clamp.has_value()) return std::nullopt;
    match.clamps.push_back(*clamp);
    reader = producer;
    real = clamp->x;
  }
  if (graph.OnlyConsumer(match.source.quantized) != match.source.dequantize) return std::nullopt;
  if (graph.tensor(match.source.quantized).producer == kNone) return std::nullopt;
  return match;
}

/// What is added to every byte, read as a number of its dtype, if that is all that changes.
std::optional<int32_t> ShiftOf(const Quantization& from, const Quantization& to) {
  if (from.scales != to.scales) return std::nullopt;
  int32_t shift = 0;
  if (from.dtype != to.dtype) shift = to.dtype == DType::kI8 ? -128 : 128;
  if (to.zero_points.front() - from.zero_points.front() != shift) return std::nullopt;
  return shift;
}

void Change(QuantizedOutput& output, const OutputMatch& match, int32_t shift) {
  for (size_t i = match.clamps.size(); i-- > 0;) {
    QuantizedOutput bounds = OutputOf(match.source.as);
    ApplyClamp(match.source.as, match.clamps[i], bounds);
    output.min = std::min(std::max(output.min, bounds.min), bounds.max);
    output.max = std::min(std::max(output.max, bounds.min), bounds.max);
  }
  output.to = static_cast<int32_t>(match.target.dtype);
  output.zero_point += shift;
  output.min += shift;
  output.max += shift;
}

bool ChangeOutputOf(Op& op, const OutputMatch& match, int32_t shift) {
  const int offset = TraitsOf(op.kind).output_offset;
  if (offset < 0) return false;
  auto output = op.attributes.Member<QuantizedOutput>(offset);
  Change(output, match, shift);
  op.attributes.SetMember(offset, output);
  return true;
}

/// Makes a quantize op store what the later one would.
bool ChangeQuantize(Graph& graph, OpId producer, OpId later, const OutputMatch& match) {
  if (!match.clamps.empty() || !PlainTargetOf(graph, graph.op(producer)).has_value()) return false;
  const Op& from = graph.op(later);
  std::vector<TensorId> inputs = from.inputs;
  inputs[0] = graph.op(producer).inputs.front();
  Op& op = graph.MutableOp(producer);
  op.attributes = from.attributes;
  op.inputs = inputs;
  return true;
}

}  // namespace

bool TryStoreOtherwise(Graph& graph, OpId id) {
  const auto match = FindMatch(graph, id);
  if (!match.has_value()) return false;
  const auto shift = ShiftOf(match->source.as, match->target);
  if (!shift.has_value()) return false;
  const TensorId stored = match->source.quantized;
  const OpId producer = graph.tensor(stored).producer;
  const bool quantize = graph.op(producer).kind == OpKind::kQuantize;
  if (quantize ? !ChangeQuantize(graph, producer, id, *match)
               : !ChangeOutputOf(graph.MutableOp(producer), *match, *shift)) {
    return false;
  }
  graph.MutableTensor(stored).dtype = match->target.dtype;
  const TensorId y = graph.op(id).outputs.front();
  const std::string name = graph.tensor(y).name;
  BypassAndErase(graph, id, stored);
  graph.RenameTensor(stored, name);
  return true;
}

}  // namespace tenon::converter
