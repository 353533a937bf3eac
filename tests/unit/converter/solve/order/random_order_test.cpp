#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>

#include "converter/solve/order/list_orders.hpp"

namespace tenon::converter {
namespace {

/// 0 before 1 and 2, which both come before 3; 4 stands alone.
MemoryProblem Diamond() {
  MemoryProblem problem;
  problem.nodes.resize(5);
  problem.nodes[1].predecessors = {0};
  problem.nodes[2].predecessors = {0};
  problem.nodes[3].predecessors = {1, 2};
  return problem;
}

TEST_CASE("RandomOrder: every seed gives an order that respects the predecessors") {
  const MemoryProblem problem = Diamond();
  for (uint64_t seed = 0; seed < 200; ++seed) CHECK(IsOrder(problem, RandomOrder(problem, seed)));
}

TEST_CASE("RandomOrder: all ten orders of a diamond beside a single node come out") {
  const MemoryProblem problem = Diamond();
  std::set<std::vector<Index>> seen;
  for (uint64_t seed = 0; seed < 500; ++seed) seen.insert(RandomOrder(problem, seed));
  CHECK(seen.size() == 10);
}

TEST_CASE("RandomOrder: one seed, one order") {
  const MemoryProblem problem = Diamond();
  CHECK(RandomOrder(problem, 7) == RandomOrder(problem, 7));
  CHECK(RandomOrder(MemoryProblem(), 7).empty());
}

TEST_CASE(
    "PriorityOrder: of what is ready, the largest priority first, and every order can be had") {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    std::mt19937_64 random(seed);
    MemoryProblem problem;
    for (Index node = 0; node < 12; ++node) {
      MemoryNode made;
      for (Index p = 0; p < node; ++p) {
        if (random() % 4 == 0) made.predecessors.push_back(p);
      }
      problem.nodes.push_back(std::move(made));
    }
    const std::vector<Index> wanted = RandomOrder(problem, seed);
    std::vector<double> priority(wanted.size());
    for (size_t place = 0; place < wanted.size(); ++place) {
      priority[wanted[place]] = -static_cast<double>(place);
    }
    CAPTURE(seed);
    CHECK(PriorityOrder(problem, priority) == wanted);
    // Without priorities the numbers decide.
    const std::vector<Index> source = PriorityOrder(problem, {});
    CHECK(std::is_sorted(source.begin(), source.end()));
  }
}

}  // namespace
}  // namespace tenon::converter
