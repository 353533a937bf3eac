// Segments in time: what merging delays is split again, what it saves is kept.
#include "converter/solve/time/segment_times.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <random>

#include "converter/solve/map/aggregate.hpp"
#include "converter/solve/time/segment_search.hpp"

namespace tenon::converter {
namespace {

constexpr int32_t kHost = 0;
constexpr int32_t kDevice = 1;

/// The host and a device whose segments cost `start`.
SegmentProblem Problem(Picoseconds start, std::vector<std::vector<int32_t>> predecessors,
                       std::vector<int32_t> units, std::vector<Picoseconds> durations) {
  SegmentProblem problem;
  problem.units = {{0, false}, {start, true}};
  problem.ops.predecessors = std::move(predecessors);
  problem.ops.unit = std::move(units);
  problem.duration = std::move(durations);
  return problem;
}

SegmentProblem Random(uint64_t seed, size_t ops) {
  std::mt19937_64 random(seed);
  SegmentProblem problem = Problem(static_cast<Picoseconds>(random() % 30), {}, {}, {});
  if (seed % 3 == 0) problem.units.push_back({5, true});
  for (size_t op = 0; op < ops; ++op) {
    problem.ops.unit.push_back(static_cast<int32_t>(random() % problem.units.size()));
    problem.duration.push_back(static_cast<Picoseconds>(1 + random() % 20));
    std::vector<int32_t> predecessors;
    for (size_t p = op < 8 ? 0 : op - 8; p < op; ++p) {
      if (random() % 4 == 0) predecessors.push_back(static_cast<int32_t>(p));
    }
    problem.ops.predecessors.push_back(std::move(predecessors));
  }
  return problem;
}

/// True if every op is in one segment of its unit, and behind everything that it needs.
bool IsList(const SegmentProblem& problem, const SegmentList& list) {
  std::vector<bool> done(problem.size(), false);
  size_t count = 0;
  for (const SegmentOps& segment : list) {
    for (const int32_t op : segment.ops) {
      const auto k = static_cast<size_t>(op);
      if (done[k] || problem.ops.unit[k] != segment.unit) return false;
      for (const int32_t p : problem.ops.predecessors[k]) {
        if (!done[static_cast<size_t>(p)]) return false;
      }
      done[k] = true;
      ++count;
    }
  }
  return count == problem.size();
}

TEST_CASE("TimesOf: a device waits for all that a segment needs, and costs one start") {
  // 0, 1 on the host; 2 needs 0 and 3 needs 1, on the device.
  const SegmentProblem problem = Problem(5, {{}, {}, {0}, {1}}, {0, 0, 1, 1}, {10, 100, 7, 8});
  const SegmentTimes one = TimesOf(problem, {{kHost, {0, 1}}, {kDevice, {2, 3}}});
  CHECK(one.start[1] == 110);
  CHECK(one.makespan == 110 + 5 + 7 + 8);
  const SegmentTimes two = TimesOf(problem, {{kHost, {0, 1}}, {kDevice, {2}}, {kDevice, {3}}});
  CHECK(two.start[1] == 10);
  CHECK(two.makespan == 110 + 5 + 8);
}

TEST_CASE("TimesOf: others need not wait for the end of a segment, and the host waits op by op") {
  // 0, 1 on the device; 2 needs 0, on the host, then 3 needs 1.
  const SegmentProblem problem = Problem(5, {{}, {}, {0}, {1}}, {1, 1, 0, 0}, {10, 20, 4, 4});
  const SegmentTimes times = TimesOf(problem, {{kDevice, {0, 1}}, {kHost, {2, 3}}});
  CHECK(times.op_end[2] == 5 + 10 + 4);
  CHECK(times.makespan == 5 + 10 + 20 + 4);
}

TEST_CASE("ImproveSegments: what would make another unit wait is split where a start is cheaper") {
  const auto segments = [](Picoseconds start) {
    const SegmentProblem problem =
        Problem(start, {{}, {}, {0}, {1}}, {0, 0, 1, 1}, {10, 100, 50, 8});
    SegmentList list = ListOf(problem, Aggregate(problem.ops));
    REQUIRE(list.size() == 2);
    ImproveSegments(problem, 1'000'000, list);
    CHECK(IsList(problem, list));
    return list.size();
  };
  CHECK(segments(5) == 3);
  CHECK(segments(120) == 2);  // a start costs more than waiting
}

TEST_CASE("ImproveSegments: a unit begins with what most comes after") {
  // Two chains from the device to the host; the second is long on the host.
  const SegmentProblem problem = Problem(0, {{}, {}, {0}, {1}}, {1, 1, 0, 0}, {10, 10, 1, 50});
  SegmentList list = {{kDevice, {0}}, {kDevice, {1}}, {kHost, {2, 3}}};
  OrderByTails(problem, list);
  ImproveSegments(problem, 1'000'000, list);
  CHECK(TimesOf(problem, list).makespan == 10 + 50 + 1);
}

TEST_CASE("ImproveSegments: valid, and never longer than before") {
  int shorter = 0;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    const SegmentProblem problem = Random(seed, 40);
    for (const bool late : {false, true}) {
      Aggregation aggregation = Aggregate(problem.ops);
      if (late) aggregation = AsLateAsPossible(problem.ops, aggregation);
      SegmentList list = ListOf(problem, aggregation);
      OrderByTails(problem, list);
      CAPTURE(seed);
      REQUIRE(IsList(problem, list));
      REQUIRE(IsList(problem, OrderedByTails(problem, list)));
      const Picoseconds before = TimesOf(problem, list).makespan;
      ImproveSegments(problem, 1'000'000, list);
      CHECK(IsList(problem, list));
      const Picoseconds after = TimesOf(problem, list).makespan;
      CHECK(after <= before);
      if (after < before) ++shorter;
    }
  }
  CHECK(shorter > 30);
}

/// The least makespan of all lists of segments: every order of ops, cut in every way.
Picoseconds LeastOfAllLists(const SegmentProblem& problem) {
  Picoseconds least = INT64_MAX;
  std::vector<bool> done(problem.size(), false);
  SegmentList list;
  size_t count = 0;
  const std::function<void()> extend = [&] {
    if (count == problem.size()) {
      least = std::min(least, TimesOf(problem, list).makespan);
      return;
    }
    for (size_t op = 0; op < problem.size(); ++op) {
      bool ready = !done[op];
      for (const int32_t p : problem.ops.predecessors[op]) {
        ready = ready && done[static_cast<size_t>(p)];
      }
      if (!ready) continue;
      done[op] = true;
      ++count;
      const int32_t unit = problem.ops.unit[op];
      if (!list.empty() && list.back().unit == unit) {
        list.back().ops.push_back(static_cast<int32_t>(op));
        extend();
        list.back().ops.pop_back();
      }
      list.push_back({unit, {static_cast<int32_t>(op)}});
      extend();
      list.pop_back();
      --count;
      done[op] = false;
    }
  };
  extend();
  return least;
}

TEST_CASE("SearchSegments: on small graphs no list of segments takes less, by brute force") {
  for (uint64_t seed = 0; seed < 150; ++seed) {
    const SegmentProblem problem = Random(seed, 1 + seed % 7);
    const SegmentSearch found = SearchSegments(problem, {});
    CAPTURE(seed);
    CHECK(found.exact);
    CHECK(found.time == LeastOfAllLists(problem));
    CHECK(IsList(problem, found.list));
    CHECK(TimesOf(problem, found.list).makespan == found.time);
  }
}

TEST_CASE("SearchSegments: nothing is found below the optimum, which that proves") {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const SegmentProblem problem = Random(seed, 10);
    const SegmentSearch best = SearchSegments(problem, {});
    REQUIRE(best.exact);
    SegmentSearchOptions options;
    options.upper = best.time;
    const SegmentSearch none = SearchSegments(problem, options);
    CAPTURE(seed);
    CHECK(none.list.empty());
    CHECK(none.exact);
    CHECK(none.bound == best.time);
  }
}

TEST_CASE("SearchSegments: a beam gives lists, and a bound that holds") {
  int cut = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const SegmentProblem problem = Random(seed, 14);
    const SegmentSearch best = SearchSegments(problem, {});
    SegmentSearchOptions narrow;
    narrow.most_states = 3;
    const SegmentSearch found = SearchSegments(problem, narrow);
    CAPTURE(seed);
    REQUIRE(best.exact);
    CHECK(IsList(problem, found.list));
    CHECK(TimesOf(problem, found.list).makespan == found.time);
    CHECK(found.time >= best.time);
    CHECK(found.bound <= best.time);
    if (!found.exact) ++cut;
  }
  CHECK(cut > 10);
  const SegmentProblem large = Random(3, 2000);
  SegmentSearchOptions little;
  little.work_budget = 1'000'000;
  const SegmentSearch found = SearchSegments(large, little);
  CHECK(IsList(large, found.list));
}

/// Every op writes a storage of its own, which its successors read.
MemoryProblem MemoryOf(const SegmentProblem& problem, uint64_t seed) {
  std::mt19937_64 random(seed);
  MemoryProblem memory;
  for (size_t op = 0; op < problem.size(); ++op) {
    MemoryStorage storage;
    storage.bytes = static_cast<int64_t>(1 + random() % 100);
    memory.storages.push_back(storage);
    MemoryNode node;
    node.storages = {static_cast<Index>(op)};
    for (const int32_t p : problem.ops.predecessors[op]) {
      node.predecessors.push_back(static_cast<Index>(p));
      node.storages.push_back(static_cast<Index>(p));
    }
    memory.nodes.push_back(std::move(node));
  }
  return memory;
}

TEST_CASE("SearchSegments: with a limit of bytes, no order exceeds it, and the best is found") {
  int slower = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const SegmentProblem problem = Random(seed, 9);
    const MemoryProblem memory = MemoryOf(problem, seed);
    const SegmentSearch free = SearchSegments(problem, {});
    const auto peak = [&](const SegmentList& list) {
      std::vector<Index> order;
      for (const SegmentOps& segment : list) {
        for (const int32_t op : segment.ops) order.push_back(static_cast<Index>(op));
      }
      return PeakOf(memory, order);
    };
    SegmentSearchOptions limited;
    limited.memory = &memory;
    limited.most_bytes = peak(free.list) - 1;
    const SegmentSearch found = SearchSegments(problem, limited);
    CAPTURE(seed);
    if (found.list.empty()) {
      CHECK(LowerBoundOf(memory) <= peak(free.list));
      continue;
    }
    CHECK(peak(found.list) <= limited.most_bytes);
    CHECK(found.time >= free.time);
    if (found.time > free.time) ++slower;
  }
  CHECK(slower > 3);
}

}  // namespace
}  // namespace tenon::converter
