#include <optional>
#include <vector>

#include "converter/ir/elements.hpp"
#include "converter/ir/rewrite.hpp"
#include "converter/passes/byte_functions.hpp"
#include "converter/passes/passes.hpp"
#include "converter/passes/quantization.hpp"
#include "runtime/ops/host/op_host_row.hpp"

namespace tenon::converter {
namespace {

int32_t Least(DType dtype) { return dtype == DType::kI8 ? -128 : 0; }

/// Returns the entries of the constant table of a lookup whose output is bytes.
std::optional<std::vector<int32_t>> TableOf(const Graph& graph, OpId id) {
  if (id == kNone || graph.op(id).kind != OpKind::kLookup) return std::nullopt;
  const Tensor& table = graph.tensor(graph.op(id).inputs[LookupInput::kTable]);
  if (!table.IsConstant() || !IsByte(table.dtype)) return std::nullopt;
  std::vector<int32_t> entries;
  for (const double value : ReadElements(table)) entries.push_back(static_cast<int32_t>(value));
  return entries;
}

/// Returns what the lookup adds to every value, if it does only that.
std::optional<int32_t> ShiftOf(const Graph& graph, OpId id) {
  const auto table = TableOf(graph, id);
  if (!table) return std::nullopt;
  const int32_t least = Least(graph.tensor(graph.op(id).inputs[0]).dtype);
  const int32_t shift = (*table)[0] - least;
  for (size_t i = 0; i < table->size(); ++i) {
    if ((*table)[i] != least + static_cast<int32_t>(i) + shift) return std::nullopt;
  }
  return shift;
}

bool JoinTables(Graph& graph, OpId id) {
  const auto outer = TableOf(graph, id);
  if (!outer) return false;
  const TensorId middle = graph.op(id).inputs[0];
  const OpId before = ProducerOfKind(graph, middle, OpKind::kLookup);
  const auto inner = TableOf(graph, before);
  if (!inner || graph.OnlyConsumer(middle) != id) return false;
  const int32_t least = Least(graph.tensor(middle).dtype);
  std::vector<int32_t> joined;
  for (const int32_t entry : *inner) joined.push_back((*outer)[static_cast<size_t>(entry - least)]);
  const TensorId table = graph.op(id).inputs[LookupInput::kTable];
  const TensorId entries =
      AddIntegers(graph, graph.tensor(table).name, graph.tensor(table).dtype, joined);
  graph.SetInput(id, LookupInput::kTable, entries);
  graph.SetInput(id, LookupInput::kX, graph.op(before).inputs[0]);
  RecordFusion(graph, id, before);
  EraseIfUnread(graph, before);
  if (!graph.IsRead(table)) graph.EraseTensor(table);
  return true;
}

// --- the op before ------------------------------------------------------------------------------

/// Returns a shifted vector of zero points, or of one zero where the op has none; kNone if they are
/// unknown.
TensorId MovedZeroPoints(Graph& graph, OpId id, size_t input, DType dtype, int32_t shift) {
  const Op& op = graph.op(id);
  size_t count = 1;
  if (op.kind == OpKind::kQuantize || op.kind == OpKind::kDequantize) {
    count = static_cast<size_t>(graph.tensor(op.inputs[QuantizeInput::kScale]).shape[0]);
  }
  std::vector<int32_t> values(count, shift);
  if (input < op.inputs.size() && op.inputs[input] != kNone) {
    const Tensor& given = graph.tensor(op.inputs[input]);
    if (!given.IsConstant()) return kNone;
    values.clear();
    for (const double value : ReadElements(given)) {
      values.push_back(static_cast<int32_t>(value) + shift);
    }
  }
  return AddIntegers(graph, fmt::format("{}.zero_point", op.name), dtype, values);
}

bool MoveZeroPoints(Graph& graph, OpId id, size_t input, DType dtype, int32_t shift) {
  const TensorId moved = MovedZeroPoints(graph, id, input, dtype, shift);
  if (moved == kNone) return false;
  std::vector<TensorId>& inputs = graph.MutableOp(id).inputs;
  if (inputs.size() <= input) inputs.resize(input + 1, kNone);
  const TensorId old = inputs[input];
  inputs[input] = moved;
  if (old != kNone && !graph.IsRead(old)) graph.EraseTensor(old);
  return true;
}

/// Makes the op write `to`, with every value `shift` larger.
bool MoveResults(Graph& graph, OpId id, DType to, int32_t shift) {
  const OpKind kind = graph.op(id).kind;
  if (kind == OpKind::kQuantize) {
    if (!MoveZeroPoints(graph, id, QuantizeInput::kZeroPoint, to, shift)) return false;
    auto attributes = graph.op(id).attributes.As<QuantizeAttributes>();
    attributes.to = static_cast<int32_t>(to);
    graph.MutableOp(id).attributes = Attributes(attributes);
    return true;
  }
  const int offset = TraitsOf(kind).output_offset;
  if (offset < 0) return false;
  Attributes& attributes = graph.MutableOp(id).attributes;
  auto output = attributes.Member<QuantizedOutput>(offset);
  output.to = static_cast<int32_t>(to);
  output.zero_point += shift;
  output.min += shift;
  output.max += shift;
  attributes.SetMember(offset, output);
  return true;
}

bool FoldIntoProducer(Graph& graph, OpId id, int32_t shift) {
  const TensorId before = graph.op(id).inputs[0];
  const TensorId after = graph.op(id).outputs[0];
  const OpId producer = graph.tensor(before).producer;
  if (producer == kNone || graph.OnlyConsumer(before) != id) return false;
  const DType to = graph.tensor(after).dtype;
  if (!MoveResults(graph, producer, to, shift)) return false;
  graph.MutableTensor(before).dtype = to;
  AbsorbResult(graph, producer, id);
  return true;
}

// --- the ops after ------------------------------------------------------------------------------

/// Says where a reader stores the zero point of one of its inputs: in an input, in an attribute, or
/// nowhere, because its table stays unchanged.
enum class ZeroPointPlace { kInput, kAttribute, kNowhere };
struct LookupReader {
  ZeroPointPlace place;
  size_t input = 0;
};

/// Returns none if the op has no zero point that can change.
std::optional<LookupReader> ReaderOf(const Graph& graph, const Op& op, size_t index) {
  const auto known = [&](size_t input) {
    return input >= op.inputs.size() || op.inputs[input] == kNone ||
           graph.tensor(op.inputs[input]).IsConstant();
  };
  switch (op.kind) {
    case OpKind::kQuantizedConv:
    case OpKind::kQuantizedMatMul:
      if (index != GemmInput::kX || !known(QuantizedGemmInput::kXZeroPoint)) return std::nullopt;
      return LookupReader{ZeroPointPlace::kInput, QuantizedGemmInput::kXZeroPoint};
    case OpKind::kDequantize:
      if (index != QuantizeInput::kX || !known(QuantizeInput::kZeroPoint)) return std::nullopt;
      return LookupReader{ZeroPointPlace::kInput, QuantizeInput::kZeroPoint};
    case OpKind::kQuantizedBinary:
    case OpKind::kQuantizedAveragePool:
    case OpKind::kQuantizedReduce:
      return LookupReader{ZeroPointPlace::kAttribute};
    case OpKind::kLookup:  // by bits less the least value: the same entry
      if (index != LookupInput::kX) return std::nullopt;
      return LookupReader{ZeroPointPlace::kNowhere};
    default:
      return std::nullopt;
  }
}

void MoveAttribute(Op& op, size_t index, int32_t shift) {
  if (op.kind == OpKind::kQuantizedBinary) {
    auto attributes = op.attributes.As<QuantizedBinaryAttributes>();
    (index == BinaryInput::kX ? attributes.x_zero_point : attributes.y_zero_point) -= shift;
    op.attributes = Attributes(attributes);
  } else if (op.kind == OpKind::kQuantizedAveragePool) {
    auto attributes = op.attributes.As<QuantizedAveragePoolAttributes>();
    attributes.x_zero_point -= shift;
    op.attributes = Attributes(attributes);
  } else {
    auto attributes = op.attributes.As<QuantizedReduceAttributes>();
    attributes.x_zero_point -= shift;
    op.attributes = Attributes(attributes);
  }
}

bool AllReadersCanMove(const Graph& graph, TensorId tensor) {
  if (graph.IsOutput(tensor)) return false;
  for (const OpId reader : graph.Consumers(tensor)) {
    const Op& op = graph.op(reader);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i] == tensor && !ReaderOf(graph, op, i)) return false;
    }
  }
  return true;
}

bool FoldIntoReaders(Graph& graph, OpId id, int32_t shift) {
  const TensorId before = graph.op(id).inputs[0];
  const TensorId after = graph.op(id).outputs[0];
  if (!AllReadersCanMove(graph, after)) return false;
  const DType from = graph.tensor(before).dtype;
  for (const OpId reader : graph.Consumers(after)) {
    const std::vector<TensorId> inputs = graph.op(reader).inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] != after) continue;
      const LookupReader place = *ReaderOf(graph, graph.op(reader), i);
      graph.SetInput(reader, i, before);
      if (place.place == ZeroPointPlace::kInput) {
        if (!MoveZeroPoints(graph, reader, place.input, from, -shift)) return false;
      } else if (place.place == ZeroPointPlace::kAttribute) {
        MoveAttribute(graph.MutableOp(reader), i, shift);
      }
    }
    RecordFusion(graph, reader, id);
  }
  EraseIfUnread(graph, id);
  return true;
}

}  // namespace

Status FoldLookups(Graph& graph, PassContext& context) {
  for (const OpId id : graph.OpOrder()) {
    if (!graph.IsOp(id)) continue;
    TENON_ASSIGN_OR_RETURN(const bool made, TryMakeByteFunction(graph, id, context.fold));
    if (made) ++context.report.changed;
  }
  for (const OpId id : graph.OpOrder()) {
    if (!graph.IsOp(id) || graph.op(id).kind != OpKind::kLookup) continue;
    if (JoinTables(graph, id)) ++context.report.changed;
    const auto shift = ShiftOf(graph, id);
    if (!shift) continue;
    if (FoldIntoProducer(graph, id, *shift) || FoldIntoReaders(graph, id, *shift)) {
      ++context.report.changed;
    } else {
      Decline(graph, id, "neither the op before it nor those after it can move their zero points",
              context.report);
    }
  }
  return {};
}

}  // namespace tenon::converter
