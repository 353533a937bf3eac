#include "converter/order/memory_order.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "converter/order/beam_search.hpp"
#include "converter/order/downset_search.hpp"
#include "converter/order/key_nodes.hpp"

namespace tenon::converter {
namespace {

std::vector<Index> SourceOrder(size_t count) {
  std::vector<Index> order(count);
  std::iota(order.begin(), order.end(), Index{0});
  return order;
}

/// One subgraph's search. Forwards and backwards in time alike: which of the two has fewer
/// downsets is not known beforehand.
class SubgraphSearch {
 public:
  SubgraphSearch(const MemoryProblem& problem, uint64_t seed)
      : directions_{problem, Reversed(problem)}, seed_(seed) {
    order_ = SourceOrder(problem.nodes.size());
    result_.nodes = problem.nodes.size();
    result_.source_peak = result_.peak = PeakOf(problem, order_);
    result_.lower_bound = LowerBoundOf(problem);
  }

  /// Peaks of `enough` and below are as good as any.
  void Run(int64_t enough, int64_t work_budget) {
    enough_ = enough;
    end_ = work_budget;
    TryBeam(kFirstWidth, 0.0);
    RunExact(work_budget / 2);
    for (size_t width = 2 * kFirstWidth; !IsDone() && HasWork(); width += width / 2) {
      TryBeam(width, 0.0);
      TryBeam(width, kNoise);
    }
  }

  [[nodiscard]] const SubgraphOrder& result() const { return result_; }
  [[nodiscard]] const std::vector<Index>& order() const { return order_; }

 private:
  static constexpr size_t kFirstWidth = 8;
  static constexpr double kNoise = 0.1;

  [[nodiscard]] int64_t Floor() const { return std::max(enough_, result_.lower_bound); }
  [[nodiscard]] bool IsDone() const { return result_.peak <= Floor(); }
  [[nodiscard]] bool HasWork() const { return result_.expanded < end_; }

  void Take(std::vector<Index> order, size_t direction) {
    if (direction == 1) {
      std::reverse(order.begin(), order.end());
      for (Index& v : order) v = static_cast<Index>(order.size() - 1 - v);
    }
    const int64_t peak = PeakOf(directions_[0], order);
    if (peak >= result_.peak) return;
    result_.peak = peak;
    order_ = std::move(order);
  }

  /// Halves the gap between what is known and what cannot be, as far as a beam of this width goes.
  void TryBeam(size_t width, double noise) {
    int64_t low = Floor();
    while (low < result_.peak && HasWork()) {
      BeamOptions options;
      options.target = low + (result_.peak - low) / 2;
      options.width = width;
      options.noise = noise;
      options.seed = seed_++;
      bool found = false;
      for (size_t d = 0; d < directions_.size() && !found; ++d) {
        options.work = end_ - result_.expanded;
        auto order = BeamSearch(directions_[d], options, result_.expanded);
        if (!order.has_value()) continue;
        found = true;
        Take(std::move(*order), d);
      }
      if (!found) low = options.target + 1;
    }
  }

  /// Turns by turns in both directions, in slices that grow.
  void RunExact(int64_t work) {
    std::array<DownsetSearch, 2> searches = {DownsetSearch(directions_[0], Floor(), result_.peak),
                                             DownsetSearch(directions_[1], Floor(), result_.peak)};
    const int64_t end = result_.expanded + work;
    for (int64_t slice = 512; !IsDone() && result_.expanded < end; slice *= 2) {
      for (size_t d = 0; d < searches.size() && !IsDone(); ++d) {
        DownsetSearch& search = searches[d];
        const int64_t before = search.expanded();
        const auto outcome = search.Run(std::min(slice, end - result_.expanded));
        result_.expanded += search.expanded() - before;
        if (outcome == DownsetSearch::Outcome::kFound) Take(search.order(), d);
        // Levels at or below `enough` have not been looked at.
        if (search.lower_bound() > enough_) {
          result_.lower_bound = std::max(result_.lower_bound, search.lower_bound());
        }
      }
    }
  }

  std::array<MemoryProblem, 2> directions_;  ///< forwards and backwards in time
  uint64_t seed_;
  std::vector<Index> order_;
  SubgraphOrder result_;
  int64_t enough_ = 0;
  int64_t end_ = 0;
};

/// Storages that are alive at the start are as if a node before all others wrote them; nodes need
/// no edge for that, because precedence alone decides which nodes stand before a key node.
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

/// The searches of all subgraphs. The one with the largest peak comes first; the others need only
/// come below what is left of it then.
void RunSearches(std::vector<SubgraphSearch>& searches, int64_t work_budget) {
  std::vector<size_t> by_peak(searches.size());
  std::iota(by_peak.begin(), by_peak.end(), size_t{0});
  std::stable_sort(by_peak.begin(), by_peak.end(), [&](size_t a, size_t b) {
    return searches[a].result().source_peak > searches[b].result().source_peak;
  });
  int64_t enough = 0;
  for (const SubgraphSearch& search : searches) {
    enough = std::max(enough, search.result().lower_bound);
  }
  int64_t left = work_budget;
  for (const size_t i : by_peak) {
    // Half of what is left, so that a hopeless one leaves something for the next.
    if (searches[i].result().peak > enough) searches[i].Run(enough, left / 2);
    left -= searches[i].result().expanded;
    enough = std::max(enough, searches[i].result().peak);
  }
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
  const auto parts = CutProblem(problem, dag, options);
  std::vector<SubgraphSearch> searches;
  searches.reserve(parts.size());
  for (const auto& part : parts) searches.emplace_back(PartOf(problem, part), options.seed);
  RunSearches(searches, options.work_budget);
  for (size_t i = 0; i < parts.size(); ++i) {
    const SubgraphOrder& subgraph = searches[i].result();
    for (const Index v : searches[i].order()) result.order.push_back(parts[i][v]);
    result.source_peak = std::max(result.source_peak, subgraph.source_peak);
    result.peak = std::max(result.peak, subgraph.peak);
    result.lower_bound = std::max(result.lower_bound, subgraph.lower_bound);
    result.expanded += subgraph.expanded;
    result.subgraphs.push_back(subgraph);
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    SubgraphOrder& subgraph = result.subgraphs[i];
    subgraph.exact = subgraph.peak <= result.lower_bound;
    subgraph.orders = CountOrders(PartOf(problem, parts[i]), options.count_budget);
  }
  result.exact = result.peak == result.lower_bound;
  return result;
}

}  // namespace tenon::converter
