#include "converter/schedule/segment_lists.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "converter/solve/map/aggregate.hpp"
#include "converter/solve/order/key_nodes.hpp"
#include "converter/solve/order/list_orders.hpp"
#include "converter/solve/order/memory_order.hpp"
#include "converter/solve/time/time_orders.hpp"

namespace tenon::converter {
namespace {

constexpr int64_t kLooksPerUnitOfWork = 20;
// The search over downsets looks at more in the same time.
constexpr int64_t kSearchOverImprove = 16;

/// Makes a memory problem of one segment's ops; what is outside of its block does not count.
MemoryProblem InsideOf(const MemoryProblem& whole, const std::vector<int32_t>& nodes,
                       const std::vector<int32_t>& users_of_storage) {
  MemoryProblem inside;
  std::vector<int32_t> number(whole.nodes.size(), -1);
  for (size_t i = 0; i < nodes.size(); ++i) {
    number[static_cast<size_t>(nodes[i])] = static_cast<int32_t>(i);
  }
  std::vector<int32_t> users(whole.storages.size(), 0);
  for (const int32_t node : nodes) {
    for (const Index s : whole.nodes[static_cast<size_t>(node)].storages) ++users[s];
  }
  std::vector<int32_t> storage(whole.storages.size(), -1);
  for (const int32_t node : nodes) {
    for (const Index s : whole.nodes[static_cast<size_t>(node)].storages) {
      const MemoryStorage& one = whole.storages[s];
      if (storage[s] >= 0 || users[s] != users_of_storage[s] || one.from_start || one.to_end) {
        continue;
      }
      storage[s] = static_cast<int32_t>(inside.storages.size());
      inside.storages.push_back(one);
    }
  }
  for (const int32_t node : nodes) {
    const MemoryNode& one = whole.nodes[static_cast<size_t>(node)];
    MemoryNode made;
    made.transient_bytes = one.transient_bytes;
    for (const Index p : one.predecessors) {
      if (number[p] >= 0) made.predecessors.push_back(static_cast<Index>(number[p]));
    }
    for (const Index s : one.storages) {
      if (storage[s] >= 0) made.storages.push_back(static_cast<Index>(storage[s]));
    }
    for (const HandOver& hand_over : one.hand_overs) {
      if (storage[hand_over.from] < 0 || storage[hand_over.to] < 0) continue;
      made.hand_overs.push_back(
          {static_cast<Index>(storage[hand_over.from]), static_cast<Index>(storage[hand_over.to])});
    }
    inside.nodes.push_back(std::move(made));
  }
  return inside;
}

MemoryOrderOptions MemoryOptionsOf(const TimeSearchOptions& options) {
  MemoryOrderOptions memory;
  memory.work_budget = options.work_budget;
  memory.seed = options.seed;
  memory.progress = options.progress;
  return memory;
}

/// Gives segments the order that needs least memory if that does not delay other segments.
void OrderInside(const SegmentGraph& graph, const TimeSearchOptions& options, SegmentList& list) {
  std::vector<int32_t> users_of_storage(graph.memory.storages.size(), 0);
  for (const MemoryNode& node : graph.memory.nodes) {
    for (const Index s : node.storages) ++users_of_storage[s];
  }
  Picoseconds makespan = TimesOf(graph.problem, list).makespan;
  const MemoryOrderOptions search = MemoryOptionsOf(options);
  for (SegmentOps& segment : list) {
    if (segment.ops.size() < 2) continue;
    std::vector<int32_t> nodes = segment.ops;
    std::sort(nodes.begin(), nodes.end());
    const MemoryProblem inside = InsideOf(graph.memory, nodes, users_of_storage);
    std::vector<int32_t> ordered;
    for (const Index i : FindMemoryOrder(inside, search).order) ordered.push_back(nodes[i]);
    std::swap(segment.ops, ordered);
    const Picoseconds time = TimesOf(graph.problem, list).makespan;
    if (time > makespan) {
      std::swap(segment.ops, ordered);
    } else {
      makespan = time;
    }
  }
}

}  // namespace

SegmentList MergeNeighbours(const SegmentGraph& graph, const std::vector<Index>& order,
                            size_t most_ops) {
  SegmentList list;
  for (const Index node : order) {
    const int32_t unit = graph.problem.ops.unit[node];
    if (list.empty() || list.back().unit != unit || list.back().ops.size() >= most_ops) {
      list.push_back({unit, {}});
    }
    list.back().ops.push_back(static_cast<int32_t>(node));
  }
  return list;
}

SegmentList SourceSegments(const SegmentGraph& graph) {
  return MergeNeighbours(graph, SourceOrderOf(graph.time));
}

SegmentList ListSegments(const SegmentGraph& graph) {
  return MergeNeighbours(graph, ListOrderOf(graph.time));
}

SegmentList RandomSegments(const SegmentGraph& graph, uint64_t seed) {
  return MergeNeighbours(graph, RandomOrder(graph.memory, seed));
}

SegmentProposals ProposeSegments(const SegmentGraph& graph, const TimeSearchOptions& options,
                                 Picoseconds bound) {
  const SegmentProblem& problem = graph.problem;
  SegmentProposals found;
  const Aggregation early = Aggregate(problem.ops);
  const Aggregation late = AsLateAsPossible(problem.ops, early);
  found.fewest = early.segments();
  found.fewest_is_exact = early.exact;
  found.fewest_time = std::numeric_limits<Picoseconds>::max();
  const int64_t work = options.work_budget * kLooksPerUnitOfWork;
  int64_t looks_per_list = 1 + static_cast<int64_t>(problem.size());
  for (const auto& needs : problem.ops.predecessors) {
    looks_per_list += static_cast<int64_t>(needs.size());
  }
  Picoseconds best = found.fewest_time;
  size_t segments = 0;
  for (const Aggregation* aggregation : {&early, &late}) {
    SegmentList list = ListOf(problem, *aggregation);
    OrderByTails(problem, list);
    found.fewest_time = std::min(found.fewest_time, TimesOf(problem, list).makespan);
    found.tried += ImproveSegments(problem, work, list) / looks_per_list;
    const Picoseconds time = TimesOf(problem, list).makespan;
    if (time > best || (time == best && list.size() >= segments)) continue;
    best = time;
    segments = list.size();
    found.lists = {std::move(list)};
  }
  found.search.bound = bound;
  found.search.exact = best <= bound;
  if (best > bound) {
    SegmentSearchOptions search;
    search.work_budget = work * kSearchOverImprove;
    search.upper = best;
    found.search = SearchSegments(problem, search);
    found.tried += found.search.states;
    if (!found.search.list.empty()) found.lists.push_back(std::move(found.search.list));
  }
  for (SegmentList& list : found.lists) OrderInside(graph, options, list);
  return found;
}

std::vector<Index> SmallestOrder(const SegmentGraph& graph, const TimeSearchOptions& options) {
  return FindMemoryOrder(graph.memory, MemoryOptionsOf(options)).order;
}

void ProposeSmallSegments(const SegmentGraph& graph, const TimeSearchOptions& options,
                          int64_t limit,
                          const std::function<int64_t(const SegmentList& list)>& try_list) {
  constexpr int kMostTries = 4;
  SegmentSearchOptions search;
  search.work_budget = options.work_budget * kLooksPerUnitOfWork / kMostTries;
  search.memory = &graph.memory;
  search.most_bytes = limit;
  for (int i = 0; i < kMostTries && search.most_bytes > 0; ++i) {
    const SegmentSearch found = SearchSegments(graph.problem, search);
    if (found.list.empty()) break;
    const int64_t excess = try_list(found.list) - limit;
    if (excess <= 0) return;
    // Live bytes of single ops are fewer than what segments hold until their ends.
    search.most_bytes -= std::min(excess, search.most_bytes / 4 + 1);
  }
  const std::vector<Index> order = SmallestOrder(graph, options);
  for (const size_t most_ops :
       {std::numeric_limits<size_t>::max(), size_t{16}, size_t{4}, size_t{2}, size_t{1}}) {
    if (try_list(MergeNeighbours(graph, order, most_ops)) <= limit) return;
  }
}

std::vector<TimeSubgraph> SubgraphsOf(const SegmentGraph& graph, const TimeSearchOptions& options,
                                      const SegmentSearch& search) {
  Dag dag;
  dag.nodes = static_cast<int>(graph.problem.size());
  for (int node = 0; node < dag.nodes; ++node) {
    for (const int32_t p : graph.problem.ops.predecessors[static_cast<size_t>(node)]) {
      dag.edges.emplace_back(p, node);
    }
  }
  const auto parts = CutAtKeyNodes(dag, options.smallest_subgraph);
  if (!parts.ok()) return {};
  std::vector<TimeSubgraph> subgraphs;
  size_t done = 0;
  for (const std::vector<int>& part : *parts) {
    TimeSubgraph subgraph;
    subgraph.tasks = part.size();
    std::vector<Index> numbers(part.begin(), part.end());
    std::sort(numbers.begin(), numbers.end());
    subgraph.orders =
        CountOrders(MemoryViewOf(TimePartOf(graph.time, numbers)), options.count_budget);
    for (size_t i = 0; i < part.size() && done < search.states_by_size.size(); ++i) {
      subgraph.tried += search.states_by_size[done++];
    }
    subgraph.exact = search.exact;
    subgraphs.push_back(subgraph);
  }
  return subgraphs;
}

}  // namespace tenon::converter
