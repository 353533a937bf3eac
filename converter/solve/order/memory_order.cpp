#include "converter/solve/order/memory_order.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "converter/solve/order/key_nodes.hpp"
#include "converter/solve/order/memory_state.hpp"
#include "converter/solve/order/problem_parts.hpp"
#include "converter/solve/order/subgraph_search.hpp"

namespace tenon::converter {
namespace {

std::vector<Index> SourceOrder(size_t count) {
  std::vector<Index> order(count);
  std::iota(order.begin(), order.end(), Index{0});
  return order;
}

/// Storages that are alive at the start are treated as if a node before all others wrote them;
/// nodes need no edge for that, because precedence alone decides what comes before a key node.
Dag PrecedenceOf(const MemoryProblem& problem) {
  Dag dag;
  dag.nodes = static_cast<int>(problem.nodes.size());
  for (size_t v = 0; v < problem.nodes.size(); ++v) {
    for (const Index p : problem.nodes[v].predecessors) {
      dag.edges.emplace_back(static_cast<int>(p), static_cast<int>(v));
    }
  }
  return dag;
}

std::vector<std::vector<Index>> CutProblem(const MemoryProblem& problem, const Dag& dag,
                                           const MemoryOrderOptions& options) {
  if (!options.key_nodes) return {SourceOrder(problem.nodes.size())};
  const auto parts = CutAtKeyNodes(dag, options.smallest_subgraph);
  if (!parts.ok()) return {SourceOrder(problem.nodes.size())};
  std::vector<std::vector<Index>> result;
  for (const std::vector<int>& part : *parts) result.emplace_back(part.begin(), part.end());
  return result;
}

/// Returns a text that is equal for two problems if and only if they are equal.
std::string CanonicalForm(const MemoryProblem& problem) {
  std::string text;
  const auto add = [&](int64_t number) {
    text.append(reinterpret_cast<const char*>(&number), sizeof number);
  };
  const auto add_list = [&](const std::vector<Index>& numbers) {
    add(static_cast<int64_t>(numbers.size()));
    for (const Index number : numbers) add(number);
  };
  for (const MemoryNode& node : problem.nodes) {
    add_list(node.predecessors);
    add_list(node.storages);
    add(node.transient_bytes);
    add(static_cast<int64_t>(node.hand_overs.size()));
    for (const HandOver& hand_over : node.hand_overs) {
      add(hand_over.from);
      add(hand_over.to);
    }
  }
  add(-1);
  for (const MemoryStorage& storage : problem.storages) {
    add(storage.bytes);
    add((storage.from_start ? 1 : 0) + (storage.to_end ? 2 : 0));
  }
  add(problem.base_bytes);
  add(problem.first_node_bytes);
  return text;
}

/// `search_of_part`: identical parts have been searched once (docs/methods.md, C9).
void TakeResults(const std::vector<SubgraphSearch>& searches,
                 const std::vector<size_t>& search_of_part, ProblemParts& parts,
                 MemoryOrder& result) {
  size_t begin = 0;
  for (size_t i = 0; i < search_of_part.size(); ++i) {
    const SubgraphSearch& search = searches[search_of_part[i]];
    SubgraphOrder& subgraph = result.subgraphs[i];
    subgraph.nodes = search.nodes();
    subgraph.source_peak = search.source_peak();
    subgraph.peak = search.peak();
    subgraph.lower_bound = search.lower_bound();
    subgraph.expanded = search.effort().downsets;
    result.source_peak = std::max(result.source_peak, subgraph.source_peak);
    result.peak = std::max(result.peak, subgraph.peak);
    result.lower_bound = std::max(result.lower_bound, subgraph.lower_bound);
    if (!subgraph.shared) result.expanded += subgraph.expanded;
    parts.Reorder(begin, search.order());
    begin += search.nodes();
  }
  for (SubgraphOrder& subgraph : result.subgraphs) {
    subgraph.exact = subgraph.peak <= result.lower_bound;
  }
  result.order = parts.order();
}

/// Adds first_node_bytes to the costs of the result. The subgraphs are searched without them,
/// because few graphs have them and they only distinguish orders at the first node.
void AddFirstNodeBytes(const MemoryProblem& problem, MemoryOrder& result) {
  if (problem.first_node_bytes == 0 || problem.nodes.empty()) return;
  const std::vector<Index> source = SourceOrder(problem.nodes.size());
  result.source_peak = PeakOf(problem, source);
  const int64_t without = result.peak;
  result.peak = PeakOf(problem, result.order);
  if (result.peak >= result.source_peak) {
    result.peak = result.source_peak;
    result.order = source;
  }
  const MemoryState start(problem);
  int64_t smallest = INT64_MAX;
  for (const Index v : source) {
    if (!problem.nodes[v].predecessors.empty()) continue;
    smallest = std::min(smallest, start.CostOf(v).during + problem.first_node_bytes);
  }
  result.lower_bound = std::max(result.lower_bound, smallest);
  if (result.peak == without) return;
  const bool exact = result.peak == result.lower_bound;
  for (SubgraphOrder& subgraph : result.subgraphs) subgraph.exact = exact;
}

}  // namespace

std::vector<Index> KeyNodesOf(const MemoryProblem& problem) {
  const auto key_nodes = FindKeyNodes(PrecedenceOf(problem));
  if (!key_nodes.ok()) return {};  // only a problem that is none has no order
  return {key_nodes->begin(), key_nodes->end()};
}

MemoryOrder FindMemoryOrder(const MemoryProblem& problem, const MemoryOrderOptions& options) {
  MemoryOrder result;
  result.source_peak = problem.base_bytes;
  result.peak = result.lower_bound = problem.base_bytes;
  const Dag dag = PrecedenceOf(problem);
  const auto cut = CutProblem(problem, dag, options);
  std::vector<Index> order;
  order.reserve(problem.nodes.size());
  for (const std::vector<Index>& nodes : cut) order.insert(order.end(), nodes.begin(), nodes.end());
  ProblemParts parts(problem, std::move(order));
  std::vector<SubgraphSearch> searches;
  std::vector<size_t> search_of_part;
  std::map<std::string, std::pair<size_t, std::optional<uint64_t>>> known;  // search, its orders
  searches.reserve(cut.size());
  size_t begin = 0;
  int64_t count_left = 100 * options.count_budget;
  for (const std::vector<Index>& nodes : cut) {
    const MemoryProblem part = parts.Part(begin, begin + nodes.size());
    begin += nodes.size();
    SubgraphOrder subgraph;
    const auto [entry, is_new] = known.try_emplace(CanonicalForm(part), searches.size(), 0);
    if (is_new) {
      int64_t downsets = 0;
      entry->second.second =
          CountOrders(part, std::min(options.count_budget, count_left), &downsets);
      count_left -= downsets;
      searches.emplace_back(part, options.seed);
    }
    subgraph.shared = !is_new;
    subgraph.orders = entry->second.second;
    search_of_part.push_back(entry->second.first);
    result.subgraphs.push_back(subgraph);
  }
  Progress progress(options.progress, options.work_budget);
  RunSearches(searches, options.work_budget, [&](int64_t spent) { progress.Report(spent); });
  TakeResults(searches, search_of_part, parts, result);
  AddFirstNodeBytes(problem, result);
  result.exact = result.peak == result.lower_bound;
  return result;
}

MemoryOrder FindMemoryOrder(const MemoryProblem& problem, const MemoryOrderOptions& options,
                            MemoryOrderMemo& memo) {
  const int64_t numbers[] = {options.work_budget, options.count_budget,
                             static_cast<int64_t>(options.seed), options.smallest_subgraph,
                             options.key_nodes ? 1 : 0};
  std::string key(reinterpret_cast<const char*>(numbers), sizeof numbers);
  key += CanonicalForm(problem);
  const auto known = memo.known.find(key);
  if (known != memo.known.end()) return known->second;
  MemoryOrder order = FindMemoryOrder(problem, options);
  if (memo.bytes + key.size() <= memo.most_bytes) {
    memo.bytes += key.size();
    memo.known.emplace(std::move(key), order);
  }
  return order;
}

}  // namespace tenon::converter
