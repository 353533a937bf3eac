#include "converter/split/batch_rows.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "converter/split/part_of_op.hpp"
#include "runtime/ops/host/op_table.hpp"

namespace tenon::converter {
namespace {

/// Returns the first dimension that all ports have in common, or 0.
int32_t CommonRows(const Graph& graph) {
  int32_t rows = -1;
  const auto take = [&](const std::vector<Graph::Port>& ports) {
    for (const Graph::Port& port : ports) {
      const Shape& shape = graph.tensor(port.tensor).shape;
      const int32_t own = shape.rank > 0 ? shape[0] : 0;
      rows = rows < 0 || rows == own ? own : 0;
    }
  };
  take(graph.inputs());
  take(graph.outputs());
  return std::max(rows, 0);
}

class Finder {
 public:
  explicit Finder(const Graph& graph) : graph_(graph) {}

  BatchRows Run() {
    batch_.rows = CommonRows(graph_);
    if (batch_.rows == 0) {
      batch_.why_whole = "inputs and outputs have no first dimension in common";
      return std::move(batch_);
    }
    if (batch_.rows == 1) {
      batch_.why_whole = "the batch has one row";
      return std::move(batch_);
    }
    for (const Graph::Port& port : graph_.inputs()) SetAxis(port.tensor, 0);
    for (const OpId id : graph_.OpOrder()) {
      if (!Follow(graph_.op(id))) return Whole(id, "needs the whole batch at once");
    }
    for (const Graph::Port& port : graph_.outputs()) {
      if (AxisOf(port.tensor) == 0) continue;
      batch_.why_whole = fmt::format("output '{}' is not in rows of the batch", port.name);
      return std::move(batch_);
    }
    batch_.apart = true;
    return std::move(batch_);
  }

 private:
  BatchRows Whole(OpId id, std::string_view why) {
    const Op& op = graph_.op(id);
    batch_.why_whole = fmt::format("'{}' ({}) {}", op.name, GetOpRow(op.kind).name, why);
    return std::move(batch_);
  }
  void SetAxis(TensorId tensor, int32_t axis) {
    const auto k = static_cast<size_t>(tensor);
    if (batch_.axis.size() <= k) batch_.axis.resize(k + 1, -1);
    batch_.axis[k] = axis;
  }
  [[nodiscard]] int32_t AxisOf(TensorId tensor) const {
    const auto k = static_cast<size_t>(tensor);
    return k < batch_.axis.size() ? batch_.axis[k] : -1;
  }

  /// Finds the axis of the op's output that is the batch. False if there is none.
  bool Follow(const Op& op) {
    const bool has_rows = std::any_of(op.inputs.begin(), op.inputs.end(), [&](TensorId input) {
      return input != kNone && AxisOf(input) >= 0;
    });
    if (!has_rows) return true;  // the same for every row
    if (op.outputs.size() != 1) return false;
    const Shape& shape = graph_.tensor(op.outputs[0]).shape;
    for (int32_t axis = 0; axis < shape.rank; ++axis) {
      if (shape[axis] == 0 || shape[axis] % batch_.rows != 0 || !IsByRows(op, axis)) continue;
      SetAxis(op.outputs[0], axis);
      return true;
    }
    return false;
  }

  /// Whether each row along `axis` of the output needs the same row of every input that has rows.
  [[nodiscard]] bool IsByRows(const Op& op, int32_t axis) const {
    const std::optional<OpCut> cut = FindCut(graph_, op, axis);
    const int32_t length = graph_.tensor(op.outputs[0]).shape[axis] / batch_.rows;
    if (!cut.has_value() || length % cut->granularity != 0) return false;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i] == kNone) continue;
      const InputSplit& split = cut->inputs[i];
      if (split.axis != AxisOf(op.inputs[i])) return false;
      if (split.axis >= 0 && !AreRowsAlike(split, length, op.inputs[i])) return false;
    }
    return true;
  }
  [[nodiscard]] bool AreRowsAlike(const InputSplit& split, int32_t length, TensorId input) const {
    const int32_t extent = graph_.tensor(input).shape[split.axis];
    if (extent % batch_.rows != 0) return false;
    const int32_t input_length = extent / batch_.rows;
    for (int32_t row = 0; row < batch_.rows; ++row) {
      const IndexRange range = InputRange(split, {row * length, (row + 1) * length}, extent);
      if (range.begin != row * input_length || range.size() != input_length) return false;
    }
    return true;
  }

  const Graph& graph_;
  BatchRows batch_;
};

}  // namespace

BatchRows FindBatchRows(const Graph& graph) { return Finder(graph).Run(); }

Result<Graph> WithRows(const Graph& graph, const BatchRows& batch, int32_t rows) {
  Graph result = graph;
  const auto axis_of = [&](TensorId tensor) {
    const auto k = static_cast<size_t>(tensor);
    return k < batch.axis.size() ? batch.axis[k] : -1;
  };
  for (const TensorId id : graph.Tensors()) {
    const int32_t axis = axis_of(id);
    if (axis < 0) continue;
    Tensor& tensor = result.MutableTensor(id);
    tensor.shape[axis] = tensor.shape[axis] / batch.rows * rows;
    if (tensor.producer == kNone) continue;
    result.MutableOp(tensor.producer).attributes =
        AttributesOfPart(graph, graph.op(tensor.producer), axis, {0, tensor.shape[axis]});
  }
  TENON_RETURN_IF_ERROR(Verify(result));
  return result;
}

}  // namespace tenon::converter
