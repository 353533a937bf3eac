#include "converter/split/part_of_op.hpp"

#include <cstring>

#include "converter/ir/shapes.hpp"

namespace tenon::converter {
namespace {

/// Returns the range of the whole tensor; the rule refuses steps of 0.
bool HasUnitSteps(const SliceAttributes& attributes) {
  for (int32_t i = 0; i < attributes.rank; ++i) {
    if (attributes.steps[i] != 1) return false;
  }
  return true;
}

}  // namespace

std::optional<OpCut> FindCut(const Graph& graph, const Op& op, int32_t axis) {
  const OpCallView view(graph, op);
  const OpCall& call = view.call();
  if (axis < 0 || axis >= call.Output().rank) return std::nullopt;
  OpCut cut;
  cut.axis = axis;
  cut.extent = call.Output().dims[axis];
  cut.inputs.resize(op.inputs.size());
  if (!GetOpHostRow(op.kind).split.along(call, axis, cut.inputs.data(), &cut.granularity)) {
    return std::nullopt;
  }
  return cut;
}

std::vector<IndexRange> EqualRanges(int32_t extent, int32_t granularity, int32_t parts) {
  const int64_t units = (int64_t{extent} + granularity - 1) / granularity;
  const int64_t length = (units + parts - 1) / parts * granularity;
  std::vector<IndexRange> ranges;
  for (int64_t begin = 0; begin < extent; begin += length) {
    ranges.push_back({static_cast<int32_t>(begin),
                      static_cast<int32_t>(std::min<int64_t>(begin + length, extent))});
  }
  return ranges;
}

Attributes AttributesOfPart(const Graph& graph, const Op& op, int32_t axis, const IndexRange& out) {
  const OpSplit& row = GetOpHostRow(op.kind).split;
  if (row.part_attributes == nullptr) return op.attributes;
  std::vector<int32_t> words = op.attributes.words();  // complete, as AddOp made them
  const OpCallView view(graph, op);
  row.part_attributes(view.call(), axis, out, words.data());
  return Attributes(std::move(words));
}

Result<TensorId> OperandCutter::Cut(TensorId id, int32_t axis, const IndexRange& range,
                                    std::string_view name, OpId position) {
  const Tensor& tensor = graph_.tensor(id);
  if (range.begin == 0 && range.end == tensor.shape[axis]) return id;
  if (tensor.IsConstant()) return CutConstant(id, axis, range);
  SliceAttributes attributes = WholeSlice(tensor.shape);
  TensorId source = id;
  if (tensor.producer != kNone && graph_.op(tensor.producer).kind == OpKind::kSlice) {
    const Op& slice = graph_.op(tensor.producer);
    const auto outer = slice.attributes.As<SliceAttributes>();
    if (HasUnitSteps(outer)) {
      attributes = outer;
      source = slice.inputs[0];
    }
  }
  attributes.begins[axis] += range.begin;
  attributes.sizes[axis] = range.size();
  TENON_ASSIGN_OR_RETURN(const OpId cut, graph_.InsertOp(position, OpKind::kSlice, name, {source},
                                                         Attributes(attributes)));
  return graph_.op(cut).outputs[0];
}

TensorId OperandCutter::CutConstant(TensorId id, int32_t axis, const IndexRange& range) {
  const auto [place, is_new] = constants_.try_emplace({id, axis, range.begin, range.end}, kNone);
  if (!is_new && graph_.IsTensor(place->second)) return place->second;
  const Tensor& tensor = graph_.tensor(id);
  Shape shape = tensor.shape;
  shape[axis] = range.size();
  const auto inner = [&](const Shape& of) {
    int64_t bytes = DTypeBytes(tensor.dtype);
    for (int32_t i = axis; i < of.rank; ++i) bytes *= of[i];
    return static_cast<size_t>(bytes);
  };
  const size_t from_run = inner(tensor.shape);
  const size_t run = inner(shape);
  const size_t skipped =
      from_run / static_cast<size_t>(tensor.shape[axis]) * static_cast<size_t>(range.begin);
  std::vector<std::byte> bytes(static_cast<size_t>(shape.Elements()) *
                               static_cast<size_t>(DTypeBytes(tensor.dtype)));
  for (size_t to = 0, from = skipped; to < bytes.size(); to += run, from += from_run) {
    std::memcpy(bytes.data() + to, tensor.constant->data() + from, run);
  }
  const std::string name = fmt::format("{}/{}_{}", tensor.name, range.begin, range.end);
  place->second = graph_.AddConstant(name, tensor.dtype, shape, std::move(bytes));
  return place->second;
}

void OperandCutter::DropUnread(TensorId id) {
  if (!graph_.IsTensor(id) || graph_.IsRead(id)) return;
  const Tensor& tensor = graph_.tensor(id);
  if (tensor.IsConstant()) {
    graph_.EraseTensor(id);
  } else if (tensor.producer != kNone && graph_.op(tensor.producer).kind == OpKind::kSlice) {
    graph_.EraseOp(tensor.producer);
  }
}

Result<OpId> AddPart(Graph& graph, OperandCutter& cutter, OpId id, const OpCut& cut,
                     const IndexRange& out, std::string_view name, OpId position) {
  const Op& op = graph.op(id);
  const Attributes attributes = AttributesOfPart(graph, op, cut.axis, out);
  std::vector<TensorId> inputs = op.inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const InputSplit& split = cut.inputs[i];
    if (inputs[i] == kNone || split.axis < 0) continue;
    // Makes one slice where an operand is used twice with the same range.
    size_t same = 0;
    while (same < i && !(op.inputs[same] == op.inputs[i] && cut.inputs[same] == split)) ++same;
    if (same < i) {
      inputs[i] = inputs[same];
      continue;
    }
    const IndexRange range = InputRange(split, out, graph.tensor(inputs[i]).shape[split.axis]);
    TENON_ASSIGN_OR_RETURN(inputs[i], cutter.Cut(inputs[i], split.axis, range,
                                                 fmt::format("{}/input_{}", name, i), position));
  }
  TENON_ASSIGN_OR_RETURN(const OpId part,
                         graph.InsertOp(position, op.kind, name, inputs, attributes));
  graph.MutableOp(part).source_ops = op.source_ops;
  return part;
}

}  // namespace tenon::converter
