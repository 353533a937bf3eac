// The optimal mapping: exact on small graphs, never worse than the table, and what it is made of.
#include "converter/solve/map/optimal_map.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <random>

namespace tenon::converter {
namespace {

OptimalMapProblem RandomProblem(uint64_t seed, size_t ops, size_t units) {
  std::mt19937_64 random(seed);
  const auto below = [&](uint64_t limit) { return static_cast<Picoseconds>(random() % limit); };
  OptimalMapProblem problem;
  problem.objective = seed % 3 == 0 ? MapObjective::kPeriod : MapObjective::kLatency;
  for (size_t u = 0; u < units; ++u) problem.units.push_back({u == 0 ? 0 : below(40), u > 0});
  for (size_t op = 0; op < ops; ++op) {
    std::vector<int32_t>& predecessors = problem.predecessors.emplace_back();
    for (size_t p = op < 6 ? 0 : op - 6; p < op; ++p) {
      if (random() % 3 == 0) predecessors.push_back(static_cast<int32_t>(p));
    }
    std::vector<Picoseconds>& time = problem.time.emplace_back();
    for (size_t u = 0; u < units; ++u) {
      time.push_back(u > 0 && random() % 6 == 0 ? -1 : 1 + below(60));
    }
    if (seed % 2 == 0) continue;
    std::vector<Picoseconds>& leave = problem.leave.emplace_back();
    std::vector<Picoseconds>& arrive = problem.arrive.emplace_back();
    for (size_t u = 0; u < units; ++u) {
      leave.push_back(u == 0 ? 0 : below(20));
      arrive.push_back(u == 0 ? 0 : below(20));
    }
  }
  return problem;
}

/// The least of a measure over all mappings.
Picoseconds LeastOf(const OptimalMapProblem& problem,
                    const std::function<Picoseconds(const std::vector<int32_t>&)>& measure) {
  std::vector<int32_t> unit(problem.size(), 0);
  Picoseconds least = INT64_MAX;
  const std::function<void(size_t)> assign = [&](size_t op) {
    if (op == problem.size()) {
      least = std::min(least, measure(unit));
      return;
    }
    for (size_t u = 0; u < problem.units.size(); ++u) {
      if (problem.time[op][u] < 0) continue;
      unit[op] = static_cast<int32_t>(u);
      assign(op + 1);
    }
  };
  assign(0);
  return least;
}

TEST_CASE("FindOptimalMap: on small graphs no mapping takes less, by brute force") {
  int better = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const OptimalMapProblem problem = RandomProblem(seed, 2 + seed % 6, 2 + seed % 2);
    const std::vector<int32_t> table(problem.size(), 0);
    const OptimalMap found = FindOptimalMap(problem, table, {});
    CAPTURE(seed);
    CHECK(found.exact);
    CHECK(found.table == MappingTime(problem, table));
    CHECK(found.time == MappingTime(problem, found.unit));
    CHECK(found.time == LeastOf(problem, [&](const std::vector<int32_t>& unit) {
            return MappingTime(problem, unit);
          }));
    if (found.time < found.table) ++better;
  }
  CHECK(better > 40);
}

TEST_CASE(
    "FindOptimalMap: the search for many ops is within 5% of the optimum on average, never over "
    "the table") {
  double sum_of_gaps = 0;
  int searched = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const OptimalMapProblem problem = RandomProblem(seed, 10, 2);
    const std::vector<int32_t> table(problem.size(), 0);
    OptimalMapOptions little;
    little.work_budget = 6'000;  // a third of what all mappings take
    const OptimalMap found = FindOptimalMap(problem, table, little);
    const OptimalMap best = FindOptimalMap(problem, table, {});
    CAPTURE(seed);
    REQUIRE(best.exact);
    if (found.exact) continue;  // few ops had a choice
    ++searched;
    CHECK(found.time >= best.time);
    CHECK(found.time <= found.table);
    sum_of_gaps += static_cast<double>(found.time) / static_cast<double>(best.time) - 1;
  }
  CHECK(searched > 20);
  CHECK(sum_of_gaps / searched < 0.05);
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    const OptimalMapProblem problem = RandomProblem(seed, 200, 3);
    std::vector<int32_t> table;
    for (const std::vector<Picoseconds>& time : problem.time) {
      table.push_back(time[1] >= 0 ? 1 : 0);
    }
    OptimalMapOptions little;
    little.work_budget = 300'000;
    const OptimalMap found = FindOptimalMap(problem, table, little);
    CHECK(found.time <= found.table);
    CHECK(found.time == MappingTime(problem, found.unit));
  }
}

TEST_CASE("FindOptimalMap: the same seed gives the same mapping") {
  const OptimalMapProblem problem = RandomProblem(4, 60, 2);
  OptimalMapOptions little;
  little.work_budget = 100'000;
  const std::vector<int32_t> table(problem.size(), 0);
  CHECK(FindOptimalMap(problem, table, little).unit == FindOptimalMap(problem, table, little).unit);
}

TEST_CASE("CheapestWithoutParallelism: a minimum cut has the least sum, by brute force") {
  for (uint64_t seed = 1; seed <= 80; ++seed) {
    const OptimalMapProblem problem = RandomProblem(seed, 2 + seed % 8, 2);
    const std::vector<int32_t> start(problem.size(), 0);
    const std::vector<int32_t> found = CheapestWithoutParallelism(problem, start);
    CAPTURE(seed);
    CHECK(SerialCost(problem, found) == LeastOf(problem, [&](const std::vector<int32_t>& unit) {
            return SerialCost(problem, unit);
          }));
  }
}

TEST_CASE("CheapestWithoutParallelism: more units never make it dearer") {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const OptimalMapProblem problem = RandomProblem(seed, 7, 3);
    const std::vector<int32_t> start(problem.size(), 0);
    const Picoseconds found = SerialCost(problem, CheapestWithoutParallelism(problem, start));
    CHECK(found <= SerialCost(problem, start));
  }
}

}  // namespace
}  // namespace tenon::converter
