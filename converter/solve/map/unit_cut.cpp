#include <algorithm>
#include <queue>

#include "converter/solve/map/optimal_map.hpp"

namespace tenon::converter {
namespace {

// This is above any sum of times, and a sum of two is far from overflow.
constexpr Picoseconds kNever = INT64_MAX / 8;

/// Computes maximum flow by shortest augmenting paths in level graphs (E. A. Dinic 1970).
class FlowNetwork {
 public:
  explicit FlowNetwork(size_t nodes) : edges_of_(nodes) {}

  void AddEdge(size_t from, size_t to, Picoseconds forward, Picoseconds backward) {
    edges_of_[from].push_back(edges_.size());
    edges_.push_back({to, forward});
    edges_of_[to].push_back(edges_.size());
    edges_.push_back({from, backward});
  }

  /// Returns by node whether it is on the source's side of a minimum cut.
  std::vector<bool> Cut(size_t source, size_t sink) {
    while (FindLevels(source, sink)) {
      next_.assign(edges_of_.size(), 0);
      while (Augment(source, sink) > 0) {
      }
    }
    std::vector<bool> side(edges_of_.size());
    for (size_t node = 0; node < side.size(); ++node) side[node] = level_[node] >= 0;
    return side;
  }

 private:
  struct Edge {
    size_t to;
    Picoseconds left;
  };

  bool FindLevels(size_t source, size_t sink) {
    level_.assign(edges_of_.size(), -1);
    level_[source] = 0;
    std::queue<size_t> queue;
    queue.push(source);
    while (!queue.empty()) {
      const size_t node = queue.front();
      queue.pop();
      for (const size_t edge : edges_of_[node]) {
        const size_t to = edges_[edge].to;
        if (edges_[edge].left == 0 || level_[to] >= 0) continue;
        level_[to] = level_[node] + 1;
        queue.push(to);
      }
    }
    return level_[sink] >= 0;
  }

  /// Augments one path, without recursion: graphs may be deep.
  Picoseconds Augment(size_t source, size_t sink) {
    std::vector<size_t> path;
    size_t node = source;
    while (node != sink) {
      size_t& next = next_[node];
      while (next < edges_of_[node].size() && !Leads(node, edges_of_[node][next])) ++next;
      if (next < edges_of_[node].size()) {
        path.push_back(edges_of_[node][next]);
        node = edges_[path.back()].to;
      } else {
        if (path.empty()) return 0;
        node = edges_[path.back() ^ 1].to;
        path.pop_back();
        ++next_[node];
      }
    }
    Picoseconds flow = kNever;
    for (const size_t edge : path) flow = std::min(flow, edges_[edge].left);
    for (const size_t edge : path) {
      edges_[edge].left -= flow;
      edges_[edge ^ 1].left += flow;
    }
    return flow;
  }

  [[nodiscard]] bool Leads(size_t from, size_t edge) const {
    return edges_[edge].left > 0 && level_[edges_[edge].to] == level_[from] + 1;
  }

  std::vector<Edge> edges_;  ///< each next to its reverse
  std::vector<std::vector<size_t>> edges_of_;
  std::vector<int32_t> level_;
  std::vector<size_t> next_;
};

/// Returns the cost of the results of `from` on `a` that are read on `b`.
Picoseconds CrossingCost(const OptimalMapProblem& problem, size_t from, int32_t a, int32_t b) {
  if (a == b) return 0;
  const auto out = static_cast<size_t>(a);
  const auto in = static_cast<size_t>(b);
  Picoseconds cost = problem.units[in].start;
  if (!problem.leave.empty()) cost += problem.leave[from][out];
  if (!problem.arrive.empty()) cost += problem.arrive[from][in];
  return cost;
}

Picoseconds TimeOn(const OptimalMapProblem& problem, size_t op, int32_t unit) {
  const Picoseconds time = problem.time[op][static_cast<size_t>(unit)];
  return time < 0 ? kNever : time;
}

/// Assigns the ops that are on `a` or `b` to these two anew; the others stay.
void CutBetween(const OptimalMapProblem& problem, int32_t a, int32_t b,
                std::vector<int32_t>& unit) {
  const size_t source = problem.size();  // the side of `a`
  const size_t sink = source + 1;
  FlowNetwork network(problem.size() + 2);
  const auto moves = [&](size_t op) { return unit[op] == a || unit[op] == b; };
  std::vector<Picoseconds> on_a(problem.size(), 0);
  std::vector<Picoseconds> on_b(problem.size(), 0);
  for (size_t op = 0; op < problem.size(); ++op) {
    if (moves(op)) {
      on_a[op] += TimeOn(problem, op, a);
      on_b[op] += TimeOn(problem, op, b);
    }
    for (const int32_t p : problem.predecessors[op]) {
      const auto from = static_cast<size_t>(p);
      if (moves(from) && moves(op)) {
        network.AddEdge(from, op, CrossingCost(problem, from, a, b),
                        CrossingCost(problem, from, b, a));
      } else if (moves(op)) {
        on_a[op] += CrossingCost(problem, from, unit[from], a);
        on_b[op] += CrossingCost(problem, from, unit[from], b);
      } else if (moves(from)) {
        on_a[from] += CrossingCost(problem, from, a, unit[op]);
        on_b[from] += CrossingCost(problem, from, b, unit[op]);
      }
    }
  }
  for (size_t op = 0; op < problem.size(); ++op) {
    if (!moves(op)) continue;
    // An op on the sink's side costs its time on `b`.
    network.AddEdge(source, op, std::min(on_b[op], kNever), 0);
    network.AddEdge(op, sink, std::min(on_a[op], kNever), 0);
  }
  const std::vector<bool> side = network.Cut(source, sink);
  for (size_t op = 0; op < problem.size(); ++op) {
    if (moves(op)) unit[op] = side[op] ? a : b;
  }
}

}  // namespace

Picoseconds SerialCost(const OptimalMapProblem& problem, const std::vector<int32_t>& unit) {
  Picoseconds cost = 0;
  for (size_t op = 0; op < problem.size(); ++op) {
    cost += TimeOn(problem, op, unit[op]);
    for (const int32_t p : problem.predecessors[op]) {
      const auto from = static_cast<size_t>(p);
      cost += CrossingCost(problem, from, unit[from], unit[op]);
    }
  }
  return cost;
}

std::vector<int32_t> CheapestWithoutParallelism(const OptimalMapProblem& problem,
                                                std::vector<int32_t> start) {
  constexpr int kMostRounds = 8;
  Picoseconds best = SerialCost(problem, start);
  const auto units = static_cast<int32_t>(problem.units.size());
  for (int round = 0; round < kMostRounds; ++round) {
    bool improved = false;
    for (int32_t a = 0; a < units; ++a) {
      for (int32_t b = a + 1; b < units; ++b) {
        std::vector<int32_t> candidate = start;
        CutBetween(problem, a, b, candidate);
        const Picoseconds cost = SerialCost(problem, candidate);
        if (cost >= best) continue;
        best = cost;
        start = std::move(candidate);
        improved = true;
      }
    }
    if (!improved) break;
  }
  return start;
}

}  // namespace tenon::converter
