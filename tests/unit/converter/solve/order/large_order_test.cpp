// Orders of problems too large to search whole: parts of an order, list scheduling, windows.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "converter/solve/order/list_orders.hpp"
#include "converter/solve/order/memory_order.hpp"
#include "converter/solve/order/problem_parts.hpp"
#include "tests/unit/converter/solve/order/dag_problems.hpp"

namespace tenon::converter {
namespace {

/// Each node reads up to two of the twenty before it.
MemoryProblem RandomChain(std::mt19937& random, size_t nodes) {
  ProblemBuilder builder;
  for (size_t v = 0; v < nodes; ++v) {
    ProblemBuilder::Value inputs;
    for (size_t k = random() % 3; k > 0 && v > 0; --k) {
      inputs.push_back(static_cast<Index>(v - 1 - random() % std::min<size_t>(v, 20)));
    }
    builder.Add(inputs, static_cast<int64_t>(random() % 50));
  }
  MemoryProblem problem = std::move(builder).Build();
  for (MemoryStorage& storage : problem.storages) {
    storage.from_start = random() % 20 == 0;
    storage.to_end = random() % 20 == 0;
  }
  problem.base_bytes = static_cast<int64_t>(random() % 10);
  return problem;
}

/// Chains that grow and shrink, all of one source; the source order climbs all of them first.
MemoryProblem Hills(int count) {
  ProblemBuilder builder;
  const Index x = builder.Add({}, 4);
  std::vector<Index> tops;
  for (int i = 0; i < count; ++i) tops.push_back(builder.Add({x}, 10));
  Index sum = x;
  for (const Index top : tops) sum = builder.Add({sum, builder.Add({top}, 2)}, 1);
  return std::move(builder).Build();
}

std::vector<Index> Identity(size_t count) {
  std::vector<Index> order(count);
  std::iota(order.begin(), order.end(), Index{0});
  return order;
}

TEST_CASE("ProblemParts: the parts of an order peak as high as the whole") {
  std::mt19937 random(21);
  for (int round = 0; round < 300; ++round) {
    const size_t count = 1 + random() % 60;
    const MemoryProblem problem = RandomChain(random, count);
    const std::vector<Index> order = RandomOrder(problem, random());
    ProblemParts parts(problem, order);
    int64_t highest = 0;
    for (size_t begin = 0; begin < count;) {
      const size_t end = std::min(count, begin + 1 + random() % 12);
      const MemoryProblem part = parts.Part(begin, end);
      REQUIRE(IsOrder(part, Identity(end - begin)));
      highest = std::max(highest, PeakOf(part, Identity(end - begin)));
      begin = end;
    }
    REQUIRE(highest == PeakOf(problem, order));
  }
}

TEST_CASE("ProblemParts: a part's new order goes back to where it was cut from") {
  const MemoryProblem problem = Hills(2);  // 0: x, 1 and 2: tops, 3 to 6: ends and sums
  ProblemParts parts(problem, Identity(7));
  parts.Reorder(1, {1, 0});
  CHECK(parts.order() == std::vector<Index>{0, 2, 1, 3, 4, 5, 6});
}

TEST_CASE("GreedyOrder: an order of all nodes, whatever the problem and the ties") {
  std::mt19937 random(22);
  for (int round = 0; round < 300; ++round) {
    const MemoryProblem problem = RandomChain(random, 1 + random() % 80);
    for (const GreedyTie tie : {GreedyTie::kSource, GreedyTie::kLatest}) {
      REQUIRE(IsOrder(problem, GreedyOrder(problem, tie)));
      REQUIRE(IsOrder(Reversed(problem), GreedyOrder(Reversed(problem), tie)));
    }
  }
}

TEST_CASE("GreedyOrder: finishes one hill before it climbs the next") {
  const MemoryProblem problem = Hills(50);
  CHECK(PeakOf(problem, Identity(problem.nodes.size())) > 50 * 10);
  CHECK(PeakOf(problem, GreedyOrder(problem, GreedyTie::kSource)) <= 4 + 1 + 10 + 2);
}

TEST_CASE("FindMemoryOrder: thousands of hills, bounded by what the last op needs") {
  const MemoryProblem problem = Hills(2000);
  const MemoryOrder found = FindMemoryOrder(problem, {});
  CHECK(IsOrder(problem, found.order));
  CHECK(found.source_peak > 20'000);
  CHECK(found.peak == PeakOf(problem, found.order));
  CHECK(found.peak <= 4 + 1 + 10 + 2);
}

TEST_CASE("FindMemoryOrder: on 5,000 ops windows find more than list scheduling does") {
  std::mt19937 random(23);
  const MemoryProblem problem = RandomChain(random, 5000);
  int64_t known = PeakOf(problem, Identity(problem.nodes.size()));
  for (const GreedyTie tie : {GreedyTie::kSource, GreedyTie::kLatest}) {
    known = std::min(known, PeakOf(problem, GreedyOrder(problem, tie)));
  }
  const MemoryOrder found = FindMemoryOrder(problem, {});
  CHECK(IsOrder(problem, found.order));
  CHECK(found.peak == PeakOf(problem, found.order));
  CHECK(found.peak < known);
  CHECK(found.lower_bound <= found.peak);
}

TEST_CASE("LowerBoundOf: what stays to the end is alive when the last op runs") {
  ProblemBuilder builder;
  const Index x = builder.Add({}, 4);
  for (int i = 0; i < 100; ++i) builder.Add({x}, 10);
  MemoryProblem problem = std::move(builder).Build();
  for (size_t s = 1; s < problem.storages.size(); ++s) problem.storages[s].to_end = true;
  CHECK(LowerBoundOf(problem) == 4 + 100 * 10);
  CHECK(FindMemoryOrder(problem, {}).exact);
}

}  // namespace
}  // namespace tenon::converter
