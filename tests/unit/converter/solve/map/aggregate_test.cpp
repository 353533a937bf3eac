// Segments: no circle, and as few as there can be.
#include "converter/solve/map/aggregate.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <random>

namespace tenon::converter {
namespace {

TaskGraph RandomProblem(uint64_t seed, size_t ops, int32_t units, double edges) {
  std::mt19937_64 random(seed);
  TaskGraph problem;
  problem.predecessors.resize(ops);
  for (size_t op = 0; op < ops; ++op) {
    problem.unit.push_back(static_cast<int32_t>(random() % static_cast<uint64_t>(units)));
    for (size_t p = 0; p < op; ++p) {
      if (static_cast<double>(random() % 1000) < 1000 * edges) {
        problem.predecessors[op].push_back(static_cast<int32_t>(p));
      }
    }
  }
  return problem;
}

/// True if the segments can be put into an order in which none waits for a later one.
bool HasNoCircle(const TaskGraph& problem, const std::vector<int32_t>& segment_of_op,
                 size_t segments) {
  std::vector<std::vector<bool>> waits(segments, std::vector<bool>(segments, false));
  for (size_t op = 0; op < segment_of_op.size(); ++op) {
    for (const int32_t p : problem.predecessors[op]) {
      const auto from = static_cast<size_t>(segment_of_op[static_cast<size_t>(p)]);
      const auto to = static_cast<size_t>(segment_of_op[op]);
      if (from != to) waits[to][from] = true;
    }
  }
  std::vector<bool> done(segments, false);
  for (size_t round = 0; round < segments; ++round) {
    bool found = false;
    for (size_t s = 0; s < segments && !found; ++s) {
      if (done[s]) continue;
      bool ready = true;
      for (size_t t = 0; t < segments; ++t) ready = ready && (!waits[s][t] || done[t]);
      if (!ready) continue;
      done[s] = found = true;
    }
    if (!found) return false;
  }
  return true;
}

/// The fewest segments by trying every partition of the ops into groups of one unit.
size_t FewestByExhaustion(const TaskGraph& problem) {
  const size_t ops = problem.unit.size();
  size_t fewest = ops;
  std::vector<int32_t> group(ops, 0);
  std::vector<int32_t> unit_of_group;
  const std::function<void(size_t)> assign = [&](size_t op) {
    if (unit_of_group.size() >= fewest) return;
    if (op == ops) {
      if (HasNoCircle(problem, group, unit_of_group.size())) fewest = unit_of_group.size();
      return;
    }
    for (size_t g = 0; g < unit_of_group.size(); ++g) {
      if (unit_of_group[g] != problem.unit[op]) continue;
      group[op] = static_cast<int32_t>(g);
      assign(op + 1);
    }
    group[op] = static_cast<int32_t>(unit_of_group.size());
    unit_of_group.push_back(problem.unit[op]);
    assign(op + 1);
    unit_of_group.pop_back();
  };
  assign(0);
  return fewest;
}

TEST_CASE("Aggregate: never a circle, and the fewest segments that any partition has") {
  int with_choice = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    const size_t ops = 2 + seed % 8;
    const auto units = static_cast<int32_t>(1 + seed % 4);
    const double edges = 0.1 + 0.15 * static_cast<double>(seed % 5);
    const TaskGraph problem = RandomProblem(seed, ops, units, edges);
    const Aggregation found = Aggregate(problem);
    CAPTURE(seed);
    REQUIRE(IsAggregation(problem, found));
    REQUIRE(HasNoCircle(problem, found.segment_of_op, found.segments()));
    CHECK(found.exact);
    CHECK(found.segments() == FewestByExhaustion(problem));
    if (SourceOrderAggregation(problem).segments() > found.segments()) ++with_choice;
  }
  CHECK(with_choice > 50);
}

TEST_CASE("Aggregate: on large graphs never more segments than greedy ones, and no circle") {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    const auto units = static_cast<int32_t>(2 + seed % 4);
    const TaskGraph problem =
        RandomProblem(seed, 300, units, 0.004 * static_cast<double>(1 + seed % 3));
    const Aggregation found = Aggregate(problem, 2'000'000);
    CAPTURE(seed);
    CHECK(IsAggregation(problem, found));
    CHECK(found.segments() <= GreedyAggregation(problem).segments());
    CHECK(found.segments() <= SourceOrderAggregation(problem).segments());
    if (units == 2) CHECK(found.exact);
  }
}

TEST_CASE("QuickAggregation: never a circle; with two units no partition has fewer segments") {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const auto units = static_cast<int32_t>(2 + seed % 3);
    const double edges = 0.1 + 0.15 * static_cast<double>(seed % 5);
    const TaskGraph problem = RandomProblem(seed, 2 + seed % 8, units, edges);
    const Aggregation found = QuickAggregation(problem);
    CAPTURE(seed);
    CHECK(IsAggregation(problem, found));
    if (units == 2) CHECK(found.segments() == FewestByExhaustion(problem));
  }
}

TEST_CASE("Aggregate: branches without an edge between them share a segment") {
  TaskGraph problem;
  // 0 on unit 0, then 1 and 2 on unit 1 side by side, 3 joins them on unit 0.
  problem.predecessors = {{}, {0}, {0}, {1, 2}};
  problem.unit = {0, 1, 1, 0};
  const Aggregation found = Aggregate(problem);
  CHECK(found.segments() == 3);
  CHECK(found.segment_of_op == std::vector<int32_t>{0, 1, 1, 2});
}

TEST_CASE("Aggregate: a segment does not reach across an op of another unit") {
  TaskGraph problem;
  problem.predecessors = {{}, {0}, {0, 1}};
  problem.unit = {0, 1, 0};
  const Aggregation found = Aggregate(problem);
  CHECK(found.segments() == 3);
}

TEST_CASE("AsLateAsPossible: the same segments, ops in the last that can have them") {
  TaskGraph problem;
  // 2 may run with 0 or with 3.
  problem.predecessors = {{}, {0}, {0}, {1, 2}};
  problem.unit = {0, 1, 0, 0};
  const Aggregation early = Aggregate(problem);
  CHECK(early.segment_of_op == std::vector<int32_t>{0, 1, 0, 2});
  const Aggregation late = AsLateAsPossible(problem, early);
  CHECK(late.segment_of_op == std::vector<int32_t>{0, 1, 2, 2});
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const TaskGraph any = RandomProblem(seed, 20, 3, 0.15);
    const Aggregation found = Aggregate(any);
    const Aggregation moved = AsLateAsPossible(any, found);
    CHECK(IsAggregation(any, moved));
    CHECK(moved.segments() == found.segments());
  }
}

TEST_CASE("Aggregate: a graph without ops has no segments") {
  const Aggregation found = Aggregate(TaskGraph());
  CHECK(found.segments() == 0);
  CHECK(found.exact);
}

}  // namespace
}  // namespace tenon::converter
