// Orders in which the ops of every group are neighbours.
#include "converter/solve/fuse/group_order.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "converter/solve/fuse/fuse_branches.hpp"
#include "tests/unit/converter/solve/fuse/random_branches.hpp"

namespace tenon::converter {
namespace {

using Ops = std::vector<int32_t>;

std::vector<Ops> GroupsOf(const FusedBranches& fused) {
  std::vector<Ops> groups;
  for (const FusedGroup& group : fused.groups) groups.push_back(group.ops);
  return groups;
}

}  // namespace

TEST_CASE("a group stands where its first op stood, and others stay in their order") {
  //  0 forks to 1 -> 2 and 3 -> 4
  const BranchGraph graph = {{{}, {0}, {1}, {0}, {3}}};
  const GroupedOrder order = OrderWithGroups(graph, {0, 1, 2, 3, 4}, {{1, 3}});
  CHECK(order.ops == Ops{0, 1, 3, 2, 4});
  CHECK(order.groups == std::vector<Ops>{{1, 3}});
}

TEST_CASE("of a group only the ops that are there count") {
  const BranchGraph graph = {{{}, {}, {}, {}}};
  const GroupedOrder order = OrderWithGroups(graph, {3, 1, 0}, {{0, 2, 3}, {1, 2}});
  CHECK(order.ops == Ops{0, 3, 1});
  CHECK(order.groups == std::vector<Ops>{{0, 3}});
}

TEST_CASE("orders with groups keep every predecessor and have groups as neighbours") {
  std::mt19937_64 random(12);
  size_t groups = 0;
  for (int round = 0; round < 2'000; ++round) {
    const BranchGraph graph = RandomBranches(random, 2 + random() % 24);
    const LimitedUnit unit(random, graph.size());
    const std::vector<Ops> fused =
        GroupsOf(FuseBranches(graph, RandomFusible(random, graph.size()), unit));
    Ops ops;
    for (size_t op = 0; op < graph.size(); ++op) ops.push_back(static_cast<int32_t>(op));
    const GroupedOrder order = OrderWithGroups(graph, ops, fused);
    REQUIRE(std::set<int32_t>(order.ops.begin(), order.ops.end()).size() == graph.size());
    REQUIRE(order.ops.size() == graph.size());
    std::map<int32_t, size_t> place;
    for (size_t i = 0; i < order.ops.size(); ++i) place[order.ops[i]] = i;
    for (const int32_t op : ops) {
      for (const int32_t before : graph.predecessors[static_cast<size_t>(op)]) {
        REQUIRE(place[before] < place[op]);
      }
    }
    REQUIRE(order.groups.size() == fused.size());
    for (const Ops& group : order.groups) {
      for (size_t i = 0; i < group.size(); ++i) REQUIRE(place[group[i]] == place[group[0]] + i);
    }
    groups += fused.size();
  }
  CHECK(groups > 2'000);
}

}  // namespace tenon::converter
