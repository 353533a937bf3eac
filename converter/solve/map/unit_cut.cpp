#include <algorithm>

#include "converter/solve/map/optimal_map.hpp"
#include "converter/solve/minimum_cut.hpp"

namespace tenon::converter {
namespace {

// This is above any sum of times, and a sum of two is far from overflow.
constexpr Picoseconds kNever = MinimumCut::kEndless;

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
  MinimumCut network(problem.size() + 2);
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
  (void)network.Capacity(source, sink);
  const std::vector<bool> side = network.SourceSide();
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
