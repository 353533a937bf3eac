#include "converter/split/early_reads.hpp"

#include <algorithm>

#include "runtime/base/round_up.hpp"

namespace tenon::converter {
namespace {

bool IsConv(const Op& op) { return op.kind == OpKind::kConv || op.kind == OpKind::kQuantizedConv; }

/// Returns true of a pointwise convolution with steps, of an image.
bool SkipsPixels(const Graph& graph, const Op& op) {
  if (!IsConv(op)) return false;
  const auto conv = op.attributes.As<ConvAttributes>();
  const Shape& x = graph.tensor(op.inputs[ConvInput::kX]).shape;
  const Shape& w = graph.tensor(op.inputs[ConvInput::kWeights]).shape;
  const bool padded =
      std::any_of(std::begin(conv.pads), std::end(conv.pads), [](int32_t pad) { return pad != 0; });
  return x.rank == 4 && w.rank == 4 && w[2] == 1 && w[3] == 1 && !padded &&
         (conv.strides[0] > 1 || conv.strides[1] > 1);
}

/// Returns the first op in the graph's order that reads the tensor.
OpId FirstReader(const Graph& graph, TensorId id) {
  const std::vector<OpId> readers = graph.Consumers(id);
  return *std::min_element(readers.begin(), readers.end(),
                           [&](OpId a, OpId b) { return a != b && graph.IsBefore(a, b); });
}

Result<TensorId> CopyWhatIsRead(Graph& graph, OpId conv, OpId before) {
  const Op op = graph.op(conv);
  const TensorId x = op.inputs[ConvInput::kX];
  const Shape& shape = graph.tensor(x).shape;
  const auto read_by = op.attributes.As<ConvAttributes>();
  SliceAttributes slice;
  slice.rank = shape.rank;
  for (int32_t i = 0; i < shape.rank; ++i) {
    slice.steps[i] = i < 2 ? 1 : read_by.strides[i - 2];
    slice.sizes[i] = CeilDiv(shape[i], slice.steps[i]);
  }
  const std::string read = op.name + ".read";
  TENON_ASSIGN_OR_RETURN(const OpId seen, graph.InsertOp(before, OpKind::kSlice, read, {x},
                                                         Attributes(slice), {read}));
  // The slice is a view, which would keep all of the input.
  const std::string kept = op.name + ".kept";
  TENON_ASSIGN_OR_RETURN(const OpId copy,
                         graph.InsertOp(before, OpKind::kCopy, kept, {graph.op(seen).outputs[0]},
                                        Attributes(), {kept}));
  for (const OpId added : {seen, copy}) {
    graph.MutableOp(added).source_ops = op.source_ops;
    graph.MutableTensor(graph.op(added).outputs[0]).layout = graph.tensor(x).layout;
  }
  return graph.op(copy).outputs[0];
}

void TakeStepsAway(Op& op) {
  const auto without = [](ConvAttributes& conv) { conv.strides[0] = conv.strides[1] = 1; };
  if (op.kind == OpKind::kConv) {
    auto attributes = op.attributes.As<ConvAttributes>();
    without(attributes);
    op.attributes = Attributes(attributes);
  } else {
    auto attributes = op.attributes.As<QuantizedConvAttributes>();
    without(attributes.conv);
    op.attributes = Attributes(attributes);
  }
}

}  // namespace

Result<int> ReadEarly(Graph& graph, int64_t most_bytes) {
  int changed = 0;
  for (const OpId conv : graph.OpOrder()) {
    if (!SkipsPixels(graph, graph.op(conv))) continue;
    const TensorId x = graph.op(conv).inputs[ConvInput::kX];
    if (graph.tensor(x).IsConstant() || graph.IsOutput(x)) continue;
    const OpId first = FirstReader(graph, x);
    if (first == conv) continue;
    int64_t bytes = graph.tensor(x).ByteSize();
    for (const TensorId made : graph.op(first).outputs) bytes += graph.tensor(made).ByteSize();
    if (bytes > most_bytes) continue;
    TENON_ASSIGN_OR_RETURN(const TensorId read, CopyWhatIsRead(graph, conv, first));
    graph.SetInput(conv, ConvInput::kX, read);
    TakeStepsAway(graph.MutableOp(conv));
    ++changed;
  }
  return changed;
}

}  // namespace tenon::converter
