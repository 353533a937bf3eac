#include "converter/split/split_op.hpp"

#include "runtime/ops/host/op_host_row.hpp"

namespace tenon::converter {
namespace {

/// Replaces the op's output by `result`, which gets its name, and removes the op and what only it
/// read.
void ReplaceOp(Graph& graph, OperandCutter& cutter, OpId id, TensorId result) {
  const std::vector<TensorId> inputs = graph.op(id).inputs;
  const TensorId output = graph.op(id).outputs[0];
  const std::string name = graph.tensor(output).name;
  graph.ReplaceUses(output, result);
  graph.EraseOp(id);
  graph.RenameTensor(result, name);
  for (const TensorId input : inputs) {
    if (input != kNone) cutter.DropUnread(input);
  }
}

std::string PartName(const Op& op, size_t index) {
  return fmt::format("{}/part_{}", op.name, index + 1);
}

/// Makes the parts of a sum over input channels one after the other.
class Accumulation {
 public:
  Accumulation(Graph& graph, OperandCutter& cutter, OpId op)
      : graph_(graph),
        cutter_(cutter),
        op_(op),
        axes_(InputChannelAxesOf(graph, graph.op(op))),
        adds_apart_(AddsMatMulsApart(graph, graph.op(op))) {}

  Status Add(size_t index, const IndexRange& range, bool last) {
    const Op& op = graph_.op(op_);
    const std::string name = PartName(op, index);
    std::vector<TensorId> inputs = op.inputs;
    TENON_ASSIGN_OR_RETURN(inputs[GemmInput::kX], cutter_.Cut(inputs[GemmInput::kX], axes_.x, range,
                                                              name + "/input_0", op_));
    TENON_ASSIGN_OR_RETURN(
        inputs[GemmInput::kWeights],
        cutter_.Cut(inputs[GemmInput::kWeights], axes_.w, range, name + "/input_1", op_));
    if (index > 0) TakeSum(inputs);
    const bool activates = last && !adds_apart_;
    TENON_ASSIGN_OR_RETURN(const OpId part, graph_.InsertOp(op_, op.kind, name, inputs,
                                                            PartAttributes(op, activates)));
    graph_.MutableOp(part).source_ops = op.source_ops;
    parts_.push_back(part);
    const TensorId made = graph_.op(part).outputs[0];
    if (index == 0 || !adds_apart_) {
      sum_ = made;
      return Status();
    }
    BinaryAttributes add;
    if (last) add.activation = op.attributes.As<MatMulAttributes>().activation;
    TENON_ASSIGN_OR_RETURN(const OpId added, graph_.InsertOp(op_, OpKind::kBinary, name + "/sum",
                                                             {sum_, made}, Attributes(add)));
    sum_ = graph_.op(added).outputs[0];
    return Status();
  }

  [[nodiscard]] const std::vector<OpId>& parts() const { return parts_; }
  [[nodiscard]] TensorId sum() const { return sum_; }

 private:
  /// The sum already includes what the first part has added.
  void TakeSum(std::vector<TensorId>& inputs) const {
    const bool is_conv = graph_.op(op_).kind == OpKind::kConv;
    const size_t scale_at =
        is_conv ? ConvInput::kWeightsScale
                : MatMulInput::kWeightsScale;  // of weights stored as i8: each part has them
    const TensorId scale = inputs.size() > scale_at ? inputs[scale_at] : kNone;
    inputs.resize(GemmInput::kBias);
    if (is_conv) inputs.push_back(kNone);
    if (!adds_apart_) inputs.push_back(sum_);
    if (scale == kNone) return;
    inputs.resize(scale_at, kNone);
    inputs.push_back(scale);
  }

  static Attributes PartAttributes(const Op& op, bool activates) {
    if (activates) return op.attributes;
    Attributes attributes = op.attributes;
    attributes.SetMember(TraitsOf(op.kind).activation_offset, Activation());
    return attributes;
  }

  Graph& graph_;
  OperandCutter& cutter_;
  OpId op_;
  InputChannelAxes axes_;
  bool adds_apart_;
  TensorId sum_ = kNone;
  std::vector<OpId> parts_;
};

}  // namespace

Result<std::vector<OpId>> SplitOp(Graph& graph, OperandCutter& cutter, OpId id, int32_t axis,
                                  const std::vector<IndexRange>& ranges) {
  if (ranges.size() < 2) return std::vector<OpId>{id};
  const std::optional<OpCut> cut = FindCut(graph, graph.op(id), axis);
  if (!cut.has_value()) {
    return InternalError("op \"{}\" cannot be cut along axis {}", graph.op(id).name, axis);
  }
  std::vector<OpId> parts;
  std::vector<TensorId> outputs;
  for (size_t i = 0; i < ranges.size(); ++i) {
    TENON_ASSIGN_OR_RETURN(const OpId part, AddPart(graph, cutter, id, *cut, ranges[i],
                                                    PartName(graph.op(id), i), id));
    parts.push_back(part);
    outputs.push_back(graph.op(part).outputs[0]);
  }
  TENON_ASSIGN_OR_RETURN(
      const OpId joined,
      graph.InsertOp(id, OpKind::kConcat, fmt::format("{}/join", graph.op(id).name), outputs,
                     Attributes(ConcatAttributes{axis})));
  ReplaceOp(graph, cutter, id, graph.op(joined).outputs[0]);
  return parts;
}

Result<std::vector<OpId>> SplitOp(Graph& graph, OpId id, int32_t axis, int32_t parts) {
  const std::optional<OpCut> cut = FindCut(graph, graph.op(id), axis);
  if (!cut.has_value()) {
    return InternalError("op \"{}\" cannot be cut along axis {}", graph.op(id).name, axis);
  }
  OperandCutter cutter(graph);
  return SplitOp(graph, cutter, id, axis, EqualRanges(cut->extent, cut->granularity, parts));
}

InputChannelAxes InputChannelAxesOf(const Graph& graph, const Op& op) {
  if (op.kind == OpKind::kConv) return {1, 1};
  const auto attributes = op.attributes.As<MatMulAttributes>();
  return {graph.tensor(op.inputs[MatMulInput::kX]).shape.rank - 1 - attributes.transpose_a,
          graph.tensor(op.inputs[MatMulInput::kWeights]).shape.rank - 2 + attributes.transpose_b};
}

bool AddsMatMulsApart(const Graph& graph, const Op& op) {
  if (op.kind != OpKind::kMatMul) return false;
  const Shape& output = graph.tensor(op.outputs[0]).shape;
  return output.Elements() != output[output.rank - 1];
}

int32_t InputChannels(const Graph& graph, const Op& op) {
  const bool is_conv = op.kind == OpKind::kConv && op.attributes.As<ConvAttributes>().group == 1;
  if (!is_conv && op.kind != OpKind::kMatMul) return 0;
  if (is_conv && op.inputs.size() > ConvInput::kXMean && op.inputs[ConvInput::kXMean] != kNone)
    return 0;
  return graph.tensor(op.inputs[GemmInput::kX]).shape[InputChannelAxesOf(graph, op).x];
}

Result<std::vector<OpId>> SplitInputChannels(Graph& graph, OperandCutter& cutter, OpId id,
                                             const std::vector<IndexRange>& ranges) {
  if (ranges.size() < 2) return std::vector<OpId>{id};
  if (InputChannels(graph, graph.op(id)) == 0) {
    return InternalError("op \"{}\" does not add up input channels", graph.op(id).name);
  }
  Accumulation accumulation(graph, cutter, id);
  for (size_t i = 0; i < ranges.size(); ++i) {
    TENON_RETURN_IF_ERROR(accumulation.Add(i, ranges[i], i + 1 == ranges.size()));
  }
  ReplaceOp(graph, cutter, id, accumulation.sum());
  return accumulation.parts();
}

Result<std::vector<OpId>> SplitInputChannels(Graph& graph, OpId id, int32_t parts) {
  OperandCutter cutter(graph);
  return SplitInputChannels(graph, cutter, id,
                            EqualRanges(InputChannels(graph, graph.op(id)), 1, parts));
}

}  // namespace tenon::converter
