#include "converter/map/mapping_list.hpp"

#include "converter/map/op_facts.hpp"
#include "runtime/ops/host/op_table.hpp"

namespace tenon::converter {
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
