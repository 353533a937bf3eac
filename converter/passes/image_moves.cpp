#include "converter/passes/image_moves.hpp"

#include "converter/ir/rewrite.hpp"
#include "converter/passes/move_transposes.hpp"

namespace tenon::converter {

std::vector<int32_t> ImageMove::PartsOfOutput(const std::vector<int32_t>& axes) const {
  std::vector<int32_t> result;
  for (const int32_t axis : axes) {
    const auto k = static_cast<size_t>(axis);
    result.insert(result.end(), order.begin() + y_runs[k], order.begin() + y_runs[k + 1]);
  }
  return result;
}

std::vector<int32_t> ImageMove::PartsOfInput(const std::vector<int32_t>& axes) const {
  std::vector<int32_t> result;
  for (const int32_t axis : axes) {
    const auto k = static_cast<size_t>(axis);
    for (int32_t part = x_runs[k]; part < x_runs[k + 1]; ++part) result.push_back(part);
  }
  return result;
}

std::optional<ImageMove> FindImageMove(const Graph& graph, OpId last) {
  const Op& join = graph.op(last);
  if (join.kind != OpKind::kReshape) return std::nullopt;
  ImageMove move;
  move.last = last;
  move.middle = ProducerOfKind(graph, join.inputs[0], OpKind::kTranspose);
  if (move.middle == kNone || graph.OnlyConsumer(join.inputs[0]) != last) return std::nullopt;
  const TensorId cut = graph.op(move.middle).inputs[0];
  move.first = ProducerOfKind(graph, cut, OpKind::kReshape);
  if (move.first == kNone || graph.OnlyConsumer(cut) != move.middle) return std::nullopt;
  move.x = graph.op(move.first).inputs[0];
  const Tensor& x = graph.tensor(move.x);
  const Tensor& y = graph.tensor(join.outputs[0]);
  if (x.shape.rank != 4 || x.layout != Layout::kRowMajor || y.layout != Layout::kRowMajor) {
    return std::nullopt;
  }
  if (x.shape.Elements() == 0) return std::nullopt;
  move.parts = graph.tensor(cut).shape;
  const auto transpose = graph.op(move.middle).attributes.As<TransposeAttributes>();
  move.order.assign(transpose.permutation, transpose.permutation + transpose.rank);
  move.x_runs = RunsOf(x.shape, move.parts);
  move.y_runs = RunsOf(y.shape, graph.tensor(join.inputs[0]).shape);
  if (move.x_runs.empty() || move.y_runs.empty()) return std::nullopt;
  return move;
}

}  // namespace tenon::converter
