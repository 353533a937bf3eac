#include "converter/map/mapping_list.hpp"

#include <algorithm>

#include "runtime/ops/op_table.hpp"

namespace tenon::converter {
namespace {

/// The longer side of the op's window; 0 if it has none.
int32_t KernelOf(const Graph& graph, const Op& op) {
  if (op.kind == OpKind::kConv) {
    const Shape& weights = graph.tensor(op.inputs[1]).shape;
    return std::max(weights[2], weights[3]);
  }
  if (op.kind == OpKind::kMaxPool || op.kind == OpKind::kAveragePool) {
    const auto attributes = op.attributes.As<PoolAttributes>();
    return std::max(attributes.kernel[0], attributes.kernel[1]);
  }
  return 0;
}

std::string OutOfRange(const char* what, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return {};
  return value < least ? fmt::format("{} of {} is below {}", what, value, least)
                       : fmt::format("{} of {} is above {}", what, value, most);
}

/// Why the constraints do not hold; empty if they do.
std::string Breach(const PriorityConstraints& when, const Graph& graph, const Op& op) {
  if (op.inputs.empty() || op.inputs[0] == kNone) return {};
  const Tensor& input = graph.tensor(op.inputs[0]);
  const std::string dtype = DTypeName(input.dtype);
  if (!when.dtypes.empty() &&
      std::find(when.dtypes.begin(), when.dtypes.end(), dtype) == when.dtypes.end()) {
    return fmt::format("{} is not among the dtypes", dtype);
  }
  if (when.rank >= 0 && input.shape.rank != when.rank) {
    return fmt::format("rank {} is not {}", input.shape.rank, when.rank);
  }
  std::string breach =
      OutOfRange("a kernel", KernelOf(graph, op), when.min_kernel, when.max_kernel);
  if (!breach.empty()) return breach;
  if (input.shape.rank >= 2) {
    breach =
        OutOfRange("a number of channels", input.shape[1], when.min_channels, when.max_channels);
    if (!breach.empty()) return breach;
  }
  return OutOfRange("a number of elements", graph.tensor(op.outputs[0]).shape.Elements(),
                    when.min_elements, when.max_elements);
}

}  // namespace

Ranking RankingOf(const Board& board, std::string_view backend, const Graph& graph, const Op& op) {
  const std::string kind = GetOpRow(op.kind).name;
  bool has_own = false;
  for (const Priority& row : board.priorities) {
    has_own = has_own || (row.backend == backend && row.op == kind);
  }
  Ranking ranking;
  for (const Priority& row : board.priorities) {
    if (row.backend != backend || row.op != (has_own ? kind : "*")) continue;
    const std::string breach = Breach(row.when, graph, op);
    if (breach.empty()) return {row.priority, {}};
    if (ranking.reason.empty()) ranking.reason = "the board's priority table: " + breach;
  }
  if (ranking.reason.empty()) {
    ranking.reason =
        fmt::format("the board's priority table has no row for {} on '{}'", kind, backend);
  }
  return ranking;
}

}  // namespace tenon::converter
