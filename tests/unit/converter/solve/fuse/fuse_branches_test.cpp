// Which ops are started together: combinations, acyclicity, resources, and the exact optimum.
#include "converter/solve/fuse/fuse_branches.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "converter/solve/fuse/exact_groups.hpp"
#include "tests/unit/converter/solve/fuse/random_branches.hpp"

namespace tenon::converter {
namespace {

uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 31)) * 0x9E3779B97F4A7C15U;
  return x ^ (x >> 29);
}

/// What an op computes: a number that depends on the op and all that it reads, in order.
uint64_t ValueOf(const BranchGraph& graph, int32_t op, const std::vector<uint64_t>& values) {
  uint64_t value = Mix(static_cast<uint64_t>(op) + 1);
  for (const int32_t before : graph.predecessors[static_cast<size_t>(op)]) {
    value = Mix(value ^ values[static_cast<size_t>(before)]);
  }
  return value;
}

std::vector<uint64_t> RunOneByOne(const BranchGraph& graph) {
  std::vector<uint64_t> values(graph.size(), 0);
  for (size_t op = 0; op < graph.size(); ++op) {
    values[op] = ValueOf(graph, static_cast<int32_t>(op), values);
  }
  return values;
}

/// Runs group by group; members of a group see nothing of each other. Empty if no group can run
/// though some are left: a cycle.
std::vector<uint64_t> RunInGroups(const BranchGraph& graph, std::vector<OpSet> groups) {
  std::vector<uint64_t> values(graph.size(), 0);
  std::vector<bool> done(graph.size(), false);
  while (!groups.empty()) {
    const auto can_run = [&](const OpSet& ops) {
      return std::all_of(ops.begin(), ops.end(), [&](int32_t op) {
        const auto& before = graph.predecessors[static_cast<size_t>(op)];
        return std::all_of(before.begin(), before.end(),
                           [&](int32_t p) { return done[static_cast<size_t>(p)]; });
      });
    };
    const auto next = std::find_if(groups.begin(), groups.end(), can_run);
    if (next == groups.end()) return {};
    const std::vector<uint64_t> seen = values;
    for (const int32_t op : *next) values[static_cast<size_t>(op)] = ValueOf(graph, op, seen);
    for (const int32_t op : *next) done[static_cast<size_t>(op)] = true;
    groups.erase(next);
  }
  return values;
}

/// The groups, and every op that is in none as one of its own. Fails where an op is in two.
std::vector<OpSet> AllGroups(const BranchGraph& graph, const FusedBranches& fused) {
  std::vector<OpSet> groups;
  std::vector<bool> seen(graph.size(), false);
  for (const FusedGroup& group : fused.groups) {
    REQUIRE(group.ops.size() >= 2);
    for (const int32_t op : group.ops) {
      REQUIRE_FALSE(seen[static_cast<size_t>(op)]);
      seen[static_cast<size_t>(op)] = true;
    }
    groups.push_back(group.ops);
  }
  for (size_t op = 0; op < graph.size(); ++op) {
    if (!seen[op]) groups.push_back({static_cast<int32_t>(op)});
  }
  return groups;
}

double TimeOfAll(const GroupModel& model, const std::vector<OpSet>& groups) {
  double seconds = 0;
  for (const OpSet& ops : groups) seconds += model.Time(ops);
  return seconds;
}

double TimeOneByOne(const GroupModel& model, size_t ops) {
  double seconds = 0;
  for (size_t op = 0; op < ops; ++op) seconds += model.Time({static_cast<int32_t>(op)});
  return seconds;
}

/// The least time over all partitions of the ops into groups that can be put into an order.
double LeastByExhaustion(const BranchGraph& graph, const GroupModel& model) {
  double least = std::numeric_limits<double>::infinity();
  std::vector<OpSet> groups;
  const std::function<void(size_t)> assign = [&](size_t op) {
    if (op == graph.size()) {
      for (const OpSet& ops : groups) {
        if (ops.size() > 1 && !model.WhyNot(ops).empty()) return;
      }
      const double seconds = TimeOfAll(model, groups);
      if (seconds < least && !RunInGroups(graph, groups).empty()) least = seconds;
      return;
    }
    for (size_t g = 0; g < groups.size(); ++g) {
      groups[g].push_back(static_cast<int32_t>(op));
      assign(op + 1);
      groups[g].pop_back();
    }
    groups.push_back({static_cast<int32_t>(op)});
    assign(op + 1);
    groups.pop_back();
  };
  assign(0);
  return least;
}

}  // namespace

TEST_CASE("contracting ops leads paths through all of them") {
  //  0 -> 1 and 2 -> 3; with 1 and 2 one node, 3 needs 0
  const BranchGraph graph = {{{}, {0}, {}, {2}}};
  PathTable paths(graph);
  CHECK_FALSE(paths.HasPath(0, 3));
  paths.Contract({1, 2});
  CHECK(paths.HasPath(0, 3));
  CHECK(paths.HasPathAmong({0, 3}));
  CHECK_FALSE(paths.HasPathAmong({1, 2}));
}

TEST_CASE("two groups that would wait for each other are not both taken") {
  //  0 -> 1 and 2 -> 3: {0, 3} and {1, 2} close a cycle
  const BranchGraph graph = {{{}, {0}, {}, {2}}};
  CHECK_FALSE(IsAcyclicContracted(graph, {0, 1, 1, 0}));
  CHECK(IsAcyclicContracted(graph, {0, 1, 0, 1}));
}

TEST_CASE("combinations take at most one op of each branch, and all of them are listed") {
  const std::vector<OpSet> combinations = ListCombinations({{0, 1}, {2}, {3}}, 100, 1);
  const std::set<OpSet> expected = {{0, 2}, {1, 2}, {0, 3}, {1, 3}, {2, 3}, {0, 2, 3}, {1, 2, 3}};
  CHECK(std::set<OpSet>(combinations.begin(), combinations.end()) == expected);
  CHECK(combinations.size() == expected.size());
}

TEST_CASE("of too many combinations a sample is listed, the same for the same seed") {
  std::vector<std::vector<int32_t>> branches(6);
  for (int32_t op = 0; op < 60; ++op) branches[static_cast<size_t>(op / 10)].push_back(op);
  const std::vector<OpSet> sample = ListCombinations(branches, 200, 7);
  CHECK(sample.size() > 100);
  CHECK(sample.size() <= 200 + 6 * 5);
  CHECK(sample == ListCombinations(branches, 200, 7));
  for (const OpSet& ops : sample) {
    std::set<int32_t> from;
    for (const int32_t op : ops) from.insert(op / 10);
    REQUIRE(from.size() == ops.size());
  }
}

TEST_CASE("of a group's combinations the disjoint ones that save most together are chosen") {
  std::mt19937_64 random(3);
  int checked = 0;
  for (int round = 0; round < 300; ++round) {
    const size_t ops = 4 + random() % 2;
    BranchGraph graph;
    graph.predecessors.resize(ops);  // no op needs another: every op is a branch
    const LimitedUnit unit(random, ops);
    std::vector<std::vector<int32_t>> branches;
    for (size_t op = 0; op < ops; ++op) branches.push_back({static_cast<int32_t>(op)});
    const std::vector<OpSet> all = ListCombinations(branches, 1000, 1);
    const auto saving = [&](const OpSet& set) {
      double seconds = -unit.Time(set);
      for (const int32_t op : set) seconds += unit.Time({op});
      return seconds;
    };
    double best = 0;
    for (const OpSet& a : all) {
      if (!unit.WhyNot(a).empty()) continue;
      best = std::max(best, saving(a));
      for (const OpSet& b : all) {
        const bool is_disjoint =
            std::find_first_of(a.begin(), a.end(), b.begin(), b.end()) == a.end();
        if (is_disjoint && unit.WhyNot(b).empty()) best = std::max(best, saving(a) + saving(b));
      }
    }
    double chosen = 0;
    for (const OpSet& set : ChooseCombinations(all, ops, PathTable(graph), unit)) {
      chosen += saving(set);
    }
    CHECK(chosen == doctest::Approx(best));
    checked += best > 0 ? 1 : 0;
  }
  CHECK(checked > 200);
}

TEST_CASE("fused graphs have no cycle, compute the same, and fit the unit: 10,000 random graphs") {
  std::mt19937_64 random(4);
  size_t groups = 0;
  for (int round = 0; round < 10'000; ++round) {
    CAPTURE(round);
    const BranchGraph graph = RandomBranches(random, 2 + random() % 24);
    const std::vector<bool> fusible = RandomFusible(random, graph.size());
    const LimitedUnit unit(random, graph.size());
    const FusedBranches fused = FuseBranches(graph, fusible, unit);
    REQUIRE(RunInGroups(graph, AllGroups(graph, fused)) == RunOneByOne(graph));
    for (const FusedGroup& group : fused.groups) {
      REQUIRE(unit.Need(group.ops) <= unit.capacity());
      for (const int32_t op : group.ops) REQUIRE(fusible[static_cast<size_t>(op)]);
      REQUIRE(group.seconds == doctest::Approx(unit.Time(group.ops)));
    }
    REQUIRE(TimeOfAll(unit, AllGroups(graph, fused)) <= TimeOneByOne(unit, graph.size()) + 1e-9);
    for (const GroupRefusal& refusal : fused.refusals) {
      REQUIRE(refusal.ops.size() >= 2);
      REQUIRE_FALSE(refusal.reason.empty());
    }
    groups += fused.groups.size();
  }
  CHECK(groups > 10'000);
}

TEST_CASE("the exact search finds what trying every partition finds") {
  std::mt19937_64 random(5);
  for (int round = 0; round < 150; ++round) {
    const BranchGraph graph = RandomBranches(random, 1 + random() % 7);
    const LimitedUnit unit(random, graph.size());
    const ExactGroups exact = FindExactGroups(graph, unit, 1'000'000);
    REQUIRE(exact.proven);
    CHECK(exact.seconds == doctest::Approx(LeastByExhaustion(graph, unit)));
    CHECK(TimeOfAll(unit, exact.sets) == doctest::Approx(exact.seconds));
    CHECK(RunInGroups(graph, exact.sets) == RunOneByOne(graph));
  }
}

TEST_CASE("an exact search whose budget is used up proves nothing") {
  BranchGraph graph;
  graph.predecessors.resize(12);
  std::mt19937_64 random(6);
  const LimitedUnit unit(random, 12);
  CHECK_FALSE(FindExactGroups(graph, unit, 100).proven);
}

TEST_CASE("fusion is within a few percent of the optimum where everything may be fused") {
  std::mt19937_64 random(7);
  double sum = 0;
  const int rounds = 200;
  for (int round = 0; round < rounds; ++round) {
    const BranchGraph graph = RandomBranches(random, 4 + random() % 8);
    const LimitedUnit unit(random, graph.size());
    const std::vector<bool> fusible(graph.size(), true);
    FuseOptions options;
    options.exact_work = 0;
    const FusedBranches fused = FuseBranches(graph, fusible, unit, options);
    const double time = TimeOfAll(unit, AllGroups(graph, fused));
    const double least = FindExactGroups(graph, unit, 1'000'000).seconds;
    CHECK(time >= least - 1e-9);
    sum += time / least;
  }
  CHECK(sum / rounds < 1.03);
}

TEST_CASE("blocks end exactly where all later ops need all earlier ones") {
  std::mt19937_64 random(9);
  size_t cuts = 0;
  for (int round = 0; round < 2'000; ++round) {
    const BranchGraph graph = RandomBranches(random, 1 + random() % 12);
    const auto ops = static_cast<int32_t>(graph.size());
    const PathTable paths(graph);
    std::set<int32_t> ends;
    int32_t op = 0;
    for (const std::vector<int32_t>& block : FindBlocks(graph)) {
      for (const int32_t member : block) REQUIRE(member == op++);
      ends.insert(op);
    }
    for (int32_t end = 1; end <= ops; ++end) {
      bool is_cut = true;
      for (int32_t a = 0; a < end; ++a) {
        for (int32_t b = end; b < ops; ++b) is_cut &= paths.HasPath(a, b);
      }
      REQUIRE(ends.contains(end) == is_cut);
      cuts += is_cut && end < ops ? 1 : 0;
    }
  }
  CHECK(cuts > 1'000);
}

TEST_CASE("groups by depth are of independent fusible ops that the unit can hold") {
  std::mt19937_64 random(10);
  for (int round = 0; round < 1'000; ++round) {
    const BranchGraph graph = RandomBranches(random, 2 + random() % 20);
    const std::vector<bool> fusible = RandomFusible(random, graph.size());
    const LimitedUnit unit(random, graph.size());
    for (const bool from_start : {true, false}) {
      const std::vector<int32_t> group = GroupsByDepth(graph, fusible, unit, from_start);
      REQUIRE(IsAcyclicContracted(graph, group));
      std::map<int32_t, OpSet> sets;
      for (size_t op = 0; op < graph.size(); ++op) {
        sets[group[op]].push_back(static_cast<int32_t>(op));
      }
      for (const auto& [number, ops] : sets) {
        if (ops.size() < 2) continue;
        REQUIRE(unit.WhyNot(ops).empty());
        for (const int32_t op : ops) REQUIRE(fusible[static_cast<size_t>(op)]);
      }
    }
  }
}

TEST_CASE("solving blocks exactly keeps ops alone that are not to be fused") {
  std::mt19937_64 random(11);
  for (int round = 0; round < 300; ++round) {
    const BranchGraph graph = RandomBranches(random, 2 + random() % 8);
    const std::vector<bool> fusible = RandomFusible(random, graph.size());
    const LimitedUnit unit(random, graph.size());
    std::vector<int32_t> group(graph.size());
    for (size_t op = 0; op < graph.size(); ++op) group[op] = static_cast<int32_t>(op);
    const double before = TimeOfGroups(unit, group);
    SolveBlocks(graph, fusible, unit, 100'000, group);
    REQUIRE(IsAcyclicContracted(graph, group));
    REQUIRE(TimeOfGroups(unit, group) <= before + 1e-9);
    for (size_t op = 0; op < graph.size(); ++op) {
      if (!fusible[op]) REQUIRE(std::count(group.begin(), group.end(), group[op]) == 1);
    }
  }
}

TEST_CASE("the same graph gives the same groups") {
  std::mt19937_64 random(8);
  const BranchGraph graph = RandomBranches(random, 40);
  const LimitedUnit unit(random, 40);
  const std::vector<bool> fusible(40, true);
  const FusedBranches a = FuseBranches(graph, fusible, unit);
  const FusedBranches b = FuseBranches(graph, fusible, unit);
  REQUIRE(a.groups.size() == b.groups.size());
  for (size_t i = 0; i < a.groups.size(); ++i) CHECK(a.groups[i].ops == b.groups[i].ops);
}

}  // namespace tenon::converter
