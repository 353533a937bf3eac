#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "converter/solve/order/problem_parts.hpp"
#include "tests/unit/converter/solve/order/memory_problems.hpp"

namespace tenon::converter {
namespace {

/// Behind a stem, `branches` chains of two: the first writes its own storage, the second reads it
/// and writes a part of one that all share. `bytes` are of the chains' storages.
MemoryProblem JoinedFan(const std::vector<int64_t>& bytes, int64_t stem, int64_t whole) {
  MemoryProblem problem;
  problem.storages = {{stem, false, false}, {whole, false, true}};
  problem.nodes.push_back({{}, {0}, 0, {}});
  for (const int64_t own : bytes) {
    const auto s = static_cast<Index>(problem.storages.size());
    const auto v = static_cast<Index>(problem.nodes.size());
    problem.storages.push_back({own, false, false});
    problem.nodes.push_back({{0}, {0, s}, 0, {}});
    problem.nodes.push_back({{v}, {s, 1}, 0, {}});
  }
  return problem;
}

TEST_CASE("WithEqualBranchesInTurn: the smallest peak of all orders stays the same") {
  std::mt19937 random(19);
  int fewer = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<int64_t> bytes(2 + random() % 2);
    for (int64_t& own : bytes) own = 1 + static_cast<int64_t>(random() % 2);
    MemoryProblem problem =
        JoinedFan(bytes, static_cast<int64_t>(random() % 8), static_cast<int64_t>(random() % 8));
    if (round % 2 == 0) problem.nodes[2].transient_bytes = 3;
    if (round % 3 == 0) problem = Reversed(problem);
    const MemoryProblem in_turn = WithEqualBranchesInTurn(problem);
    const Enumerator all(problem);
    const Enumerator some(in_turn);
    REQUIRE(some.smallest_peak() == all.smallest_peak());
    fewer += some.orders() < all.orders() ? 1 : 0;
  }
  CHECK(fewer > 100);
  CHECK(fewer < 250);  // branches that differ are left alone
}

TEST_CASE("WithEqualBranchesInTurn: on random problems, the smallest peak of all orders") {
  std::mt19937 random(20);
  int fewer = 0;
  for (int round = 0; round < 1000; ++round) {
    const MemoryProblem problem = RandomProblem(random, 1 + random() % 7, 2);
    const Enumerator all(problem);
    const Enumerator some(WithEqualBranchesInTurn(problem));
    REQUIRE(some.smallest_peak() == all.smallest_peak());
    fewer += some.orders() < all.orders() ? 1 : 0;
  }
  CHECK(fewer > 0);
}

TEST_CASE("FindMemoryOrder: hundreds of equal branches are proved with little effort") {
  const std::vector<int64_t> bytes(500, 4);
  const MemoryOrder found = Find(JoinedFan(bytes, 4, 2000));
  CHECK(found.peak == 4 + 4 + 2000);
  CHECK(found.exact);
  CHECK(found.expanded < 10'000);
}

}  // namespace
}  // namespace tenon::converter
