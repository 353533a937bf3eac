// Groups of branches: small graphs by hand, and each search beside its definition tried out.
#include "converter/solve/fuse/branch_groups.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "tests/unit/converter/solve/fuse/random_branches.hpp"

namespace tenon::converter {
namespace {

using Ops = std::vector<int32_t>;
/// Parent, child, and the branches in order.
using Found = std::set<std::pair<std::pair<int32_t, int32_t>, std::vector<Ops>>>;

Found AsSet(const std::vector<BranchGroup>& groups) {
  Found found;
  for (const BranchGroup& group : groups) {
    found.insert({{group.parent, group.child}, group.branches});
  }
  CHECK(found.size() == groups.size());
  return found;
}

/// Everything from the definitions, by exhaustion, without the code under test.
class Exhaustive {
 public:
  Exhaustive(const BranchGraph& graph, const std::vector<bool>& fusible)
      : graph_(graph), fusible_(fusible), ops_(graph.size()) {
    needs_.assign(ops_, std::vector<bool>(ops_, false));
    readers_.resize(ops_);
    for (size_t op = 0; op < ops_; ++op) {
      for (const int32_t before : graph.predecessors[op]) {
        readers_[static_cast<size_t>(before)].push_back(static_cast<int32_t>(op));
        needs_[op][static_cast<size_t>(before)] = true;
        for (size_t x = 0; x < ops_; ++x) {
          if (needs_[static_cast<size_t>(before)][x]) needs_[op][x] = true;
        }
      }
    }
    for (size_t op = 0; op < ops_; ++op) {
      if (op == 0 || !IsLinked(op)) chains_.push_back({});
      Ops& chain = IsLinked(op) ? ChainThatEndsWith(graph.predecessors[op][0]) : chains_.back();
      chain.push_back(static_cast<int32_t>(op));
    }
    std::erase_if(chains_, [](const Ops& chain) { return chain.empty(); });
  }

  /// All groups at a place: the branches for which `is_there` holds.
  void AddAt(int32_t parent, int32_t child, const std::function<bool(const Ops& chain)>& is_there,
             Found& found) const {
    std::vector<Ops> there;
    for (const Ops& chain : chains_) {
      if (is_there(chain) && !Kept(chain).empty()) there.push_back(chain);
    }
    const size_t count = size_t{1} << there.size();
    for (size_t set = 0; set < count; ++set) {
      if ((set & (set - 1)) == 0 || !IsIndependent(there, set)) continue;
      bool is_largest = true;
      for (size_t more = 0; more < there.size(); ++more) {
        const size_t bit = size_t{1} << more;
        is_largest &= (set & bit) != 0 || !IsIndependent(there, set | bit);
      }
      if (!is_largest) continue;
      std::vector<Ops> branches;
      for (size_t i = 0; i < there.size(); ++i) {
        if ((set >> i & 1) != 0) branches.push_back(Kept(there[i]));
      }
      found.insert({{parent, child}, branches});
    }
  }

  [[nodiscard]] bool Reads(int32_t op, int32_t from) const {
    const Ops& before = graph_.predecessors[static_cast<size_t>(op)];
    return std::find(before.begin(), before.end(), from) != before.end();
  }
  [[nodiscard]] bool IsRead(int32_t op) const { return !readers_[static_cast<size_t>(op)].empty(); }
  [[nodiscard]] bool ReadsAny(int32_t op) const {
    return !graph_.predecessors[static_cast<size_t>(op)].empty();
  }
  [[nodiscard]] Ops Kept(const Ops& chain) const {
    Ops kept;
    for (const int32_t op : chain) {
      if (fusible_[static_cast<size_t>(op)]) kept.push_back(op);
    }
    return kept;
  }

 private:
  /// True if the op continues the branch of its predecessor.
  [[nodiscard]] bool IsLinked(size_t op) const {
    const Ops& before = graph_.predecessors[op];
    return before.size() == 1 && readers_[static_cast<size_t>(before[0])].size() == 1;
  }
  Ops& ChainThatEndsWith(int32_t op) {
    for (Ops& chain : chains_) {
      if (!chain.empty() && chain.back() == op) return chain;
    }
    return chains_.back();
  }
  [[nodiscard]] bool IsIndependent(const std::vector<Ops>& chains, size_t set) const {
    for (size_t a = 0; a < chains.size(); ++a) {
      for (size_t b = 0; b < chains.size(); ++b) {
        if (a == b || (set >> a & 1) == 0 || (set >> b & 1) == 0) continue;
        for (const int32_t x : chains[a]) {
          for (const int32_t y : chains[b]) {
            if (needs_[static_cast<size_t>(x)][static_cast<size_t>(y)]) return false;
          }
        }
      }
    }
    return true;
  }

  const BranchGraph& graph_;
  const std::vector<bool>& fusible_;
  size_t ops_;
  std::vector<std::vector<bool>> needs_;
  std::vector<Ops> readers_;
  std::vector<Ops> chains_;
};

std::vector<bool> All(const BranchGraph& graph) { return std::vector<bool>(graph.size(), true); }

}  // namespace

TEST_CASE(
    "a fork and a join around two chains make a group of each kind that has the same branches") {
  //  0 forks to 1 -> 2 and 3 -> 4, which join in 5
  const BranchGraph graph = {{{}, {0}, {1}, {0}, {3}, {2, 4}}};
  const std::vector<bool> fusible = All(graph);
  const BranchTable table(graph, fusible);
  const std::vector<Ops> both = {{1, 2}, {3, 4}};
  CHECK(AsSet(FindClassicGroups(table)) == Found{{{0, 5}, both}});
  CHECK(AsSet(FindCommonParentGroups(table)) == Found{{{0, -1}, both}});
  CHECK(AsSet(FindCommonChildGroups(table)) == Found{{{-1, 5}, both}});
  CHECK(FindNoParentGroups(table).empty());
  CHECK(FindNoChildGroups(table).empty());
}

TEST_CASE("branches of one op are no classic group") {
  const BranchGraph graph = {{{}, {0}, {0}, {1, 2}}};
  const std::vector<bool> fusible = All(graph);
  const BranchTable table(graph, fusible);
  CHECK(FindClassicGroups(table).empty());
  CHECK(FindCommonParentGroups(table).size() == 1);
}

TEST_CASE("sources without a common child and sinks without a common parent are grouped") {
  //  0 -> 2, 1 -> 3; both are needed by 4 and by 5
  const BranchGraph graph = {{{}, {}, {0}, {1}, {2, 3}, {2, 3}}};
  const std::vector<bool> fusible = All(graph);
  const BranchTable table(graph, fusible);
  CHECK(AsSet(FindNoParentGroups(table)) == Found{{{-1, -1}, {{0, 2}, {1, 3}}}});
  CHECK(AsSet(FindNoChildGroups(table)) == Found{{{-1, -1}, {{4}, {5}}}});
}

TEST_CASE("ops that are not to be fused are taken out of their branches first") {
  const BranchGraph graph = {{{}, {0}, {1}, {0}, {3}, {2, 4}}};
  const std::vector<bool> fusible = {true, false, true, true, true, true};
  const BranchTable table(graph, fusible);
  CHECK(AsSet(FindCommonParentGroups(table)) == Found{{{0, -1}, {{2}, {3, 4}}}});
  CHECK(FindClassicGroups(table).empty());
}

TEST_CASE("a shortcut around an op is no branch beside it") {
  //  1 reads 0; 2 reads both
  const BranchGraph graph = {{{}, {0}, {0, 1}}};
  const std::vector<bool> fusible = All(graph);
  const BranchTable table(graph, fusible);
  CHECK(FindGroups(table).empty());
}

TEST_CASE("left-over ops of different places become one group") {
  //  0 forks to 1 and 2; 1 forks to 3 and 4, 2 to 5 and 6; only 3 and 5 may be fused
  const BranchGraph graph = {{{}, {0}, {0}, {1}, {1}, {2}, {2}, {3, 4}, {5, 6}}};
  const std::vector<bool> fusible = {false, false, false, true, false, true, false, false, false};
  const BranchTable table(graph, fusible);
  const std::vector<BranchGroup> left = FindLeftOverGroups(table, {});
  REQUIRE(left.size() == 1);
  CHECK(left[0].branches == std::vector<Ops>{{3}, {5}});
}

TEST_CASE("every search finds all groups of its kind and nothing else") {
  std::mt19937_64 random(1);
  size_t groups = 0;
  for (int round = 0; round < 10'000; ++round) {
    const BranchGraph graph = RandomBranches(random, 2 + random() % 9);
    const std::vector<bool> fusible = RandomFusible(random, graph.size());
    const Exhaustive truth(graph, fusible);
    const BranchTable table(graph, fusible);
    Found parents, children, sources, sinks, classic;
    for (int32_t op = 0; op < static_cast<int32_t>(graph.size()); ++op) {
      truth.AddAt(
          op, -1, [&](const Ops& chain) { return truth.Reads(chain.front(), op); }, parents);
      truth.AddAt(
          -1, op, [&](const Ops& chain) { return truth.Reads(op, chain.back()); }, children);
      for (int32_t end = op + 1; end < static_cast<int32_t>(graph.size()); ++end) {
        const auto is_between = [&](const Ops& chain) {
          return truth.Kept(chain).size() >= 2 && truth.Reads(chain.front(), op) &&
                 truth.Reads(end, chain.back());
        };
        truth.AddAt(op, end, is_between, classic);
      }
    }
    truth.AddAt(
        -1, -1, [&](const Ops& chain) { return !truth.ReadsAny(chain.front()); }, sources);
    truth.AddAt(
        -1, -1, [&](const Ops& chain) { return !truth.IsRead(chain.back()); }, sinks);
    CAPTURE(round);
    REQUIRE(AsSet(FindCommonParentGroups(table)) == parents);
    REQUIRE(AsSet(FindCommonChildGroups(table)) == children);
    REQUIRE(AsSet(FindNoParentGroups(table)) == sources);
    REQUIRE(AsSet(FindNoChildGroups(table)) == sinks);
    REQUIRE(AsSet(FindClassicGroups(table)) == classic);
    groups += parents.size() + children.size() + classic.size();
  }
  CHECK(groups > 5'000);  // the graphs are no chains
}

TEST_CASE("left-over groups have exactly the branches that are in no other group") {
  std::mt19937_64 random(2);
  for (int round = 0; round < 2'000; ++round) {
    const BranchGraph graph = RandomBranches(random, 2 + random() % 9);
    const std::vector<bool> fusible = RandomFusible(random, graph.size());
    const Exhaustive truth(graph, fusible);
    const BranchTable table(graph, fusible);
    const std::vector<BranchGroup> others = FindNoParentGroups(table);
    std::set<int32_t> grouped;
    for (const BranchGroup& group : others) {
      for (const Ops& branch : group.branches) grouped.insert(branch.begin(), branch.end());
    }
    Found expected;
    const auto is_left = [&](const Ops& chain) {
      const Ops kept = truth.Kept(chain);
      return !kept.empty() && !grouped.contains(kept[0]);
    };
    truth.AddAt(-1, -1, is_left, expected);
    REQUIRE(AsSet(FindLeftOverGroups(table, others)) == expected);
  }
}

}  // namespace tenon::converter
