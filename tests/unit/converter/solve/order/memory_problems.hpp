// Small memory problems and naive answers to them.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "converter/solve/order/memory_order.hpp"
#include "tests/unit/converter/solve/order/dag_problems.hpp"

namespace tenon::converter {

using Order = std::vector<Index>;

constexpr int64_t kEnough = 1'000'000;  // work for everything small

/// Bytes alive in every step, storage by storage, from the first and last touch.
inline int64_t NaivePeak(const MemoryProblem& problem, const Order& order) {
  const size_t steps = order.size();
  std::vector<int64_t> alive(steps, problem.base_bytes);
  const auto touches = [&](size_t step, Index s) {
    const auto& storages = problem.nodes[order[step]].storages;
    return std::find(storages.begin(), storages.end(), s) != storages.end();
  };
  std::vector<size_t> first(problem.storages.size());
  std::vector<size_t> last(problem.storages.size());
  for (Index s = 0; s < problem.storages.size(); ++s) {
    size_t begin = 0;
    while (begin < steps && !touches(begin, s)) ++begin;
    if (begin == steps) continue;
    size_t end = steps - 1;
    while (!touches(end, s)) --end;
    first[s] = problem.storages[s].from_start ? 0 : begin;
    last[s] = problem.storages[s].to_end ? steps - 1 : end;
    const bool before = problem.storages[s].from_start;
    const bool behind = problem.storages[s].to_end;
    for (size_t i = first[s]; i <= last[s]; ++i) alive[i] += problem.storages[s].bytes;
    // A hand-over asks for a last touch and a first one.
    if (before) first[s] = SIZE_MAX;
    if (behind) last[s] = SIZE_MAX;
  }
  int64_t peak = problem.base_bytes;
  for (size_t i = 0; i < steps; ++i) {
    const MemoryNode& node = problem.nodes[order[i]];
    alive[i] += node.transient_bytes;
    for (const HandOver& h : node.hand_overs) {
      if (last[h.from] != i || first[h.to] != i) continue;
      alive[i] -= problem.storages[h.to].bytes;
      break;
    }
    peak = std::max(peak, alive[i]);
  }
  return peak;
}

/// All orders, one after the other.
class Enumerator {
 public:
  explicit Enumerator(const MemoryProblem& problem)
      : problem_(problem), done_(problem.nodes.size(), false) {
    Extend();
  }
  [[nodiscard]] int64_t smallest_peak() const { return smallest_; }
  [[nodiscard]] uint64_t orders() const { return orders_; }

 private:
  void Extend() {
    if (order_.size() == problem_.nodes.size()) {
      ++orders_;
      smallest_ = std::min(smallest_, NaivePeak(problem_, order_));
      return;
    }
    for (Index v = 0; v < done_.size(); ++v) {
      const auto& predecessors = problem_.nodes[v].predecessors;
      if (done_[v] || !std::all_of(predecessors.begin(), predecessors.end(),
                                   [&](Index p) { return done_[p]; })) {
        continue;
      }
      done_[v] = true;
      order_.push_back(v);
      Extend();
      order_.pop_back();
      done_[v] = false;
    }
  }

  const MemoryProblem& problem_;
  std::vector<bool> done_;
  Order order_;
  int64_t smallest_ = INT64_MAX;
  uint64_t orders_ = 0;
};

/// Nodes with an output each, some of which write into a shared storage instead, work in place,
/// need workspace, read inputs, or make outputs.
inline MemoryProblem RandomProblem(std::mt19937& random, size_t nodes, int64_t largest) {
  const auto chance = [&](unsigned one_in) { return random() % one_in == 0; };
  const auto bytes = [&] { return static_cast<int64_t>(random()) % largest + (chance(5) ? 0 : 1); };
  MemoryProblem problem;
  problem.base_bytes = chance(3) ? bytes() : 0;
  const auto add_storage = [&](bool from_start) {
    problem.storages.push_back({bytes(), from_start, chance(12)});
    return static_cast<Index>(problem.storages.size() - 1);
  };
  const Index input = add_storage(true);
  const Index shared = add_storage(false);
  std::vector<Index> output(nodes);
  for (Index v = 0; v < nodes; ++v) {
    MemoryNode node;
    output[v] = chance(6) ? shared : add_storage(false);
    std::set<Index> storages = {output[v]};
    for (Index p = v > 4 ? v - 4 : 0; p < v; ++p) {
      if (!chance(3)) continue;
      node.predecessors.push_back(p);
      storages.insert(output[p]);
      if (chance(3) && output[v] != shared && output[p] != output[v]) {
        problem.storages[output[v]].bytes = problem.storages[output[p]].bytes;
        node.hand_overs = {{output[p], output[v]}};
      }
    }
    if (v == 0 || chance(5)) storages.insert(input);
    node.storages.assign(storages.begin(), storages.end());
    node.transient_bytes = chance(5) ? bytes() : 0;
    problem.nodes.push_back(std::move(node));
  }
  if (std::none_of(output.begin(), output.end(), [&](Index s) { return s == shared; })) {
    problem.nodes.back().storages.push_back(shared);
  }
  return problem;
}

inline Order RandomOrder(std::mt19937& random, const MemoryProblem& problem) {
  Order order;
  std::vector<bool> done(problem.nodes.size(), false);
  while (order.size() < done.size()) {
    const auto v = static_cast<Index>(random() % done.size());
    const auto& predecessors = problem.nodes[v].predecessors;
    if (done[v] ||
        !std::all_of(predecessors.begin(), predecessors.end(), [&](Index p) { return done[p]; })) {
      continue;
    }
    done[v] = true;
    order.push_back(v);
  }
  return order;
}

/// One problem behind the other, with a node between that everything passes through.
inline MemoryProblem Glue(MemoryProblem front, const MemoryProblem& back) {
  const auto nodes = static_cast<Index>(front.nodes.size());
  const auto storages = static_cast<Index>(front.storages.size());
  std::vector<bool> is_sink(nodes, true);
  for (const MemoryNode& node : front.nodes) {
    for (const Index p : node.predecessors) is_sink[p] = false;
  }
  MemoryNode between;
  for (Index v = 0; v < nodes; ++v) {
    if (is_sink[v]) between.predecessors.push_back(v);
  }
  front.nodes.push_back(std::move(between));
  front.storages.insert(front.storages.end(), back.storages.begin(), back.storages.end());
  front.base_bytes += back.base_bytes;
  for (MemoryNode node : back.nodes) {
    for (Index& p : node.predecessors) p += nodes + 1;
    if (node.predecessors.empty()) node.predecessors = {nodes};
    for (Index& t : node.storages) t += storages;
    for (HandOver& h : node.hand_overs) h = {h.from + storages, h.to + storages};
    front.nodes.push_back(std::move(node));
  }
  return front;
}

inline MemoryOrder Find(const MemoryProblem& problem, int64_t work = kEnough, uint64_t seed = 1) {
  MemoryOrderOptions options;
  options.smallest_subgraph = 2;  // so that small problems are cut too
  options.work_budget = work;
  options.seed = seed;
  const MemoryOrder found = FindMemoryOrder(problem, options);
  REQUIRE(IsOrder(problem, found.order));
  REQUIRE(NaivePeak(problem, found.order) == found.peak);
  REQUIRE(found.peak <= found.source_peak);
  REQUIRE(found.lower_bound <= found.peak);
  REQUIRE(found.exact == (found.lower_bound == found.peak));
  REQUIRE(LowerBoundOf(problem) <= found.lower_bound);
  REQUIRE(found.exact == std::all_of(found.subgraphs.begin(), found.subgraphs.end(),
                                     [](const SubgraphOrder& s) { return s.exact; }));
  return found;
}

/// A source whose output two chains read that first grow, then shrink; their ends are added.
inline MemoryProblem TwoHills() {
  ProblemBuilder builder;
  const Index x = builder.Add({}, 4);
  const Index a1 = builder.Add({x}, 10);
  const Index b1 = builder.Add({x}, 10);
  const Index a2 = builder.Add({a1}, 1);
  const Index b2 = builder.Add({b1}, 1);
  builder.Add({a2, b2}, 1);
  return std::move(builder).Build();
}

}  // namespace tenon::converter
