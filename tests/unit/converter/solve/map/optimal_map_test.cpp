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
    CHECK(found.complete);
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
    little.work_budget = 2'000;  // a tenth of what all mappings take
    const OptimalMap found = FindOptimalMap(problem, table, little);
    const OptimalMap best = FindOptimalMap(problem, table, {});
    CAPTURE(seed);
    REQUIRE(best.complete);
    if (found.complete) continue;  // few ops had a choice
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

/// The least makespan of a mapping over all segments and orders of one op after the other, a lower
/// bound of which is what "exact" claims: searched by trying every order, with a segment per run.
Picoseconds LeastOverOrders(const OptimalMapProblem& problem) {
  Picoseconds least = INT64_MAX;
  std::vector<int32_t> order;
  std::vector<bool> done(problem.size(), false);
  std::vector<int32_t> unit(problem.size(), 0);
  const std::function<void()> extend = [&] {
    if (order.size() == problem.size()) {
      SegmentProblem segments;
      segments.units = problem.units;
      segments.ops.predecessors = problem.predecessors;
      segments.ops.unit = unit;
      SegmentList list;
      for (size_t op = 0; op < problem.size(); ++op) {
        segments.duration.push_back(problem.time[op][static_cast<size_t>(unit[op])]);
      }
      for (const int32_t op : order) {
        const int32_t here = unit[static_cast<size_t>(op)];
        if (list.empty() || list.back().unit != here) list.push_back({here, {}});
        list.back().ops.push_back(op);
      }
      least = std::min(least, TimesOf(segments, list).makespan);
      return;
    }
    for (size_t op = 0; op < problem.size(); ++op) {
      bool ready = !done[op];
      for (const int32_t p : problem.predecessors[op])
        ready = ready && done[static_cast<size_t>(p)];
      if (!ready) continue;
      done[op] = true;
      order.push_back(static_cast<int32_t>(op));
      for (size_t u = 0; u < problem.units.size(); ++u) {
        if (problem.time[op][u] < 0) continue;
        unit[op] = static_cast<int32_t>(u);
        extend();
      }
      order.pop_back();
      done[op] = false;
    }
  };
  extend();
  return least;
}

TEST_CASE("FindOptimalMap: no mapping in any order takes less than the bound, by brute force") {
  int exact = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    OptimalMapProblem problem = RandomProblem(seed, 2 + seed % 4, 2 + seed % 2);
    problem.objective = MapObjective::kLatency;
    problem.leave.clear();
    problem.arrive.clear();
    const OptimalMap found = FindOptimalMap(problem, std::vector<int32_t>(problem.size(), 0), {});
    CAPTURE(seed);
    CHECK(found.bound <= LeastOverOrders(problem));
    CHECK(found.exact == (found.bound == found.time));
    if (found.exact) ++exact;
  }
  CHECK(exact > 40);
}

TEST_CASE("FindOptimalMap: a bound is below every mapping's time, also where few are tried") {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const OptimalMapProblem problem = RandomProblem(seed, 2 + seed % 6, 2 + seed % 2);
    OptimalMapOptions little;
    little.work_budget = 100;
    const OptimalMap found =
        FindOptimalMap(problem, std::vector<int32_t>(problem.size(), 0), little);
    CAPTURE(seed);
    CHECK(found.bound <= LeastOf(problem, [&](const std::vector<int32_t>& unit) {
            return MappingTime(problem, unit);
          }));
  }
}

TEST_CASE("FindOptimalMap: of a long chain the best mapping is proved without trying all") {
  std::mt19937_64 random(5);
  OptimalMapProblem problem;
  problem.units = {{0, false}, {0, false}, {25, true}};
  for (int32_t op = 0; op < 400; ++op) {
    problem.predecessors.push_back(op == 0 ? std::vector<int32_t>{} : std::vector<int32_t>{op - 1});
    problem.time.push_back({});
    for (int u = 0; u < 3; ++u) {
      problem.time.back().push_back(1 + static_cast<Picoseconds>(random() % 60));
    }
  }
  const OptimalMap found = FindOptimalMap(problem, std::vector<int32_t>(400, 0), {});
  CHECK(found.exact);
  CHECK(found.time < found.table);
  CHECK(found.tried < 100'000);
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
