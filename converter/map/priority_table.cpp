#include "converter/map/priority_table.hpp"

#include <algorithm>

#include "converter/status.hpp"
#include "runtime/base/dtype.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/host/op_host_row.hpp"
#include "runtime/ops/host/op_table.hpp"

namespace tenon::converter {
namespace {

int32_t KernelOf(OpKind kind, const OpCall& call) {
  if (TraitsOf(kind).convolution) {
    const Shape weights = call.Input(ConvInput::kWeights).shape();
    return std::max(weights[2], weights[3]);
  }
  if (TraitsOf(kind).pool) {
    const auto& attributes = call.AttributesAs<PoolAttributes>();
    return std::max(attributes.kernel[0], attributes.kernel[1]);
  }
  return 0;
}

std::string OutOfRange(const char* what, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return {};
  return value < least ? fmt::format("{} of {} is below {}", what, value, least)
                       : fmt::format("{} of {} is above {}", what, value, most);
}

}  // namespace

OpFacts FactsOf(OpKind kind, const OpCall& call) {
  OpFacts facts;
  facts.op = GetOpRow(kind).name;
  facts.kernel = KernelOf(kind, call);
  facts.elements = call.Output().Elements();
  if (!call.HasInput(0)) return facts;
  const TensorView& input = call.Input(0);
  facts.dtype = DTypeName(input.dtype);
  facts.rank = input.shape().rank;
  if (facts.rank >= 2) facts.channels = input.shape()[1];
  return facts;
}

std::string Breach(const PriorityConstraints& when, const OpFacts& facts) {
  if (facts.dtype.empty()) return {};
  if (!when.dtypes.empty() &&
      std::find(when.dtypes.begin(), when.dtypes.end(), facts.dtype) == when.dtypes.end()) {
    return fmt::format("{} is not among the dtypes", facts.dtype);
  }
  if (when.rank >= 0 && facts.rank != when.rank) {
    return fmt::format("rank {} is not {}", facts.rank, when.rank);
  }
  std::string breach = OutOfRange("a kernel", facts.kernel, when.min_kernel, when.max_kernel);
  if (breach.empty() && facts.channels >= 0) {
    breach =
        OutOfRange("a number of channels", facts.channels, when.min_channels, when.max_channels);
  }
  if (!breach.empty()) return breach;
  return OutOfRange("a number of elements", facts.elements, when.min_elements, when.max_elements);
}

Ranking RankingOf(const Board& board, std::string_view backend, const Graph& graph, const Op& op) {
  const std::string kind = GetOpRow(op.kind).name;
  bool has_own = false;
  for (const Priority& row : board.priorities) {
    has_own = has_own || (row.backend == backend && row.op == kind);
  }
  const OpCallView view(graph, op);
  const OpFacts facts = FactsOf(op.kind, view.call());
  Ranking ranking;
  for (const Priority& row : board.priorities) {
    if (row.backend != backend || row.op != (has_own ? kind : "*")) continue;
    const std::string breach = Breach(row.when, facts);
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
