#include <algorithm>
#include <iterator>
#include <vector>

#include "converter/ir/rewrite.hpp"
#include "converter/passes/passes.hpp"

namespace tenon::converter {
namespace {

/// [N, C, H, W] -> [N, groups, C / groups, H, W], the middle two swapped -> [N, C, H, W].
struct Shuffle {
  OpId last = kNone;
  TensorId x = kNone;
  int32_t groups = 1;
  Shape shape;
};

bool IsSwap(const Op& transpose) {
  constexpr int32_t kSwap[] = {0, 2, 1, 3, 4};
  const auto attributes = transpose.attributes.As<TransposeAttributes>();
  return attributes.rank == 5 &&
         std::equal(std::begin(kSwap), std::end(kSwap), std::begin(attributes.permutation));
}

/// Returns whether `shuffle.last` is the last op of a shuffle; if so, fills in the rest.
bool Find(const Graph& graph, Shuffle& shuffle) {
  const Op& last = graph.op(shuffle.last);
  if (last.kind != OpKind::kReshape) return false;
  const OpId middle = ProducerOfKind(graph, last.inputs[0], OpKind::kTranspose);
  if (middle == kNone || !IsSwap(graph.op(middle))) return false;
  if (graph.OnlyConsumer(last.inputs[0]) != shuffle.last) return false;
  const TensorId grouped = graph.op(middle).inputs[0];
  const OpId first = ProducerOfKind(graph, grouped, OpKind::kReshape);
  if (first == kNone || graph.OnlyConsumer(grouped) != middle) return false;
  shuffle.x = graph.op(first).inputs[0];
  const Tensor& x = graph.tensor(shuffle.x);
  shuffle.shape = x.shape;
  if (x.shape.rank != 4 || x.layout != Layout::kRowMajor) return false;
  if (graph.tensor(last.outputs[0]).shape != x.shape) return false;
  const Shape& groups = graph.tensor(grouped).shape;
  shuffle.groups = groups[1];
  return groups[0] == x.shape[0] && groups[1] * groups[2] == x.shape[1] &&
         groups[3] == x.shape[2] && groups[4] == x.shape[3];
}

/// Puts ops in front of the last one of a shuffle, each on the result of the one before.
class Writer {
 public:
  Writer(Graph& graph, const Shuffle& shuffle)
      : graph_(graph), position_(shuffle.last), value_(shuffle.x) {}

  Status Transpose(const std::vector<int32_t>& permutation) {
    TransposeAttributes attributes;
    attributes.rank = static_cast<int32_t>(permutation.size());
    std::copy(permutation.begin(), permutation.end(), attributes.permutation);
    return Add(OpKind::kTranspose, Attributes(attributes));
  }
  Status Reshape(const std::vector<int32_t>& dims) {
    ReshapeAttributes attributes;
    attributes.rank = static_cast<int32_t>(dims.size());
    std::copy(dims.begin(), dims.end(), attributes.dims);
    return Add(OpKind::kReshape, Attributes(attributes));
  }
  [[nodiscard]] TensorId value() const { return value_; }

 private:
  Status Add(OpKind kind, const Attributes& attributes) {
    const std::string name = fmt::format("{}.shuffle{}", graph_.op(position_).name, ++count_);
    TENON_ASSIGN_OR_RETURN(const OpId op,
                           graph_.InsertOp(position_, kind, name, {value_}, attributes, {name}));
    value_ = graph_.op(op).outputs[0];
    return {};
  }

  Graph& graph_;
  OpId position_;
  TensorId value_;
  int count_ = 0;
};

Status Rewrite(Graph& graph, const Shuffle& shuffle) {
  const Shape& x = shuffle.shape;
  const int32_t each = x[1] / shuffle.groups;
  Writer writer(graph, shuffle);
  TENON_RETURN_IF_ERROR(writer.Transpose({0, 2, 3, 1}));
  TENON_RETURN_IF_ERROR(writer.Reshape({x[0], x[2], x[3], shuffle.groups, each}));
  TENON_RETURN_IF_ERROR(writer.Transpose({0, 1, 2, 4, 3}));
  TENON_RETURN_IF_ERROR(writer.Reshape({x[0], x[2], x[3], x[1]}));
  TENON_RETURN_IF_ERROR(writer.Transpose({0, 3, 1, 2}));
  BypassAndErase(graph, shuffle.last, writer.value());
  return {};
}

}  // namespace

Status ShuffleChannels(Graph& graph, PassContext& context) {
  for (const OpId id : graph.OpOrder()) {
    if (!graph.IsOp(id)) continue;
    Shuffle shuffle;
    shuffle.last = id;
    if (!Find(graph, shuffle)) continue;
    const DType dtype = graph.tensor(shuffle.x).dtype;
    if (dtype != DType::kI8 && dtype != DType::kU8) continue;
    TENON_RETURN_IF_ERROR(Rewrite(graph, shuffle));
    ++context.report.changed;
  }
  return {};
}

}  // namespace tenon::converter
