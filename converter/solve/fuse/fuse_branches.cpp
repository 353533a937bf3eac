#include "converter/solve/fuse/fuse_branches.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <utility>

#include "converter/solve/sort_and_unique.hpp"

namespace tenon::converter {
namespace {

/// What is less than this is rounding.
constexpr double kLeastSaving = 1e-12;

double AloneSeconds(const GroupModel& model, const OpSet& ops) {
  double seconds = 0;
  for (const int32_t op : ops) seconds += model.Time({op});
  return seconds;
}

/// Nodes of the search for the best set of combinations.
constexpr int kMostChoices = 400;

struct Scored {
  OpSet ops;
  double saving = 0;
};

bool AreDisjoint(const OpSet& a, const OpSet& b) {
  return std::find_first_of(a.begin(), a.end(), b.begin(), b.end()) == a.end();
}

/// Finds the disjoint combinations with the largest sum of savings, best first.
class CombinationSearch {
 public:
  CombinationSearch(const std::vector<Scored>& scored, size_t most)
      : scored_(scored), most_(most) {}

  std::vector<OpSet> Search(const PathTable& paths) {
    std::vector<size_t> chosen;
    Extend(paths, 0, chosen, 0);
    std::vector<OpSet> sets;
    for (const size_t i : best_) sets.push_back(scored_[i].ops);
    return sets;
  }

 private:
  /// The first way down takes the best that is possible each time; so that is the least result.
  void Extend(const PathTable& paths, size_t begin, std::vector<size_t>& chosen, double saving) {
    if (saving > best_saving_) {
      best_saving_ = saving;
      best_ = chosen;
    }
    if (chosen.size() == most_) return;
    for (size_t i = begin; i < scored_.size(); ++i) {
      const double bound = saving + static_cast<double>(most_ - chosen.size()) * scored_[i].saving;
      if (bound <= best_saving_ || ++choices_ > kMostChoices) return;
      const auto is_disjoint = [&](size_t other) {
        return AreDisjoint(scored_[i].ops, scored_[other].ops);
      };
      if (!std::all_of(chosen.begin(), chosen.end(), is_disjoint)) continue;
      if (paths.HasPathAmong(scored_[i].ops)) continue;
      PathTable contracted = paths;
      contracted.Contract(scored_[i].ops);
      chosen.push_back(i);
      Extend(contracted, i + 1, chosen, saving + scored_[i].saving);
      chosen.pop_back();
    }
  }

  const std::vector<Scored>& scored_;
  size_t most_;
  int choices_ = 0;
  double best_saving_ = 0;
  std::vector<size_t> best_;
};

/// Takes combinations of one group, round after round.
class GroupFuser {
 public:
  GroupFuser(const GroupModel& model, const FuseOptions& options, PathTable& paths,
             std::vector<int32_t>& group_of_op)
      : model_(model), options_(options), paths_(paths), group_of_op_(group_of_op) {}

  void Fuse(const BranchGroup& group) {
    for (;;) {
      const std::vector<std::vector<int32_t>> branches = Unfused(group);
      if (branches.size() < 2) return;
      const std::vector<OpSet> chosen =
          ChooseCombinations(ListCombinations(branches, options_.most_combinations, options_.seed),
                             branches.size(), paths_, model_);
      if (chosen.empty()) return;
      for (const OpSet& ops : chosen) {
        paths_.Contract(ops);
        for (const int32_t op : ops) group_of_op_[static_cast<size_t>(op)] = ops[0];
        for (const int32_t op : ops) is_fused_[op] = true;
      }
    }
  }

  /// The branches' ops that are in no combination yet.
  [[nodiscard]] std::vector<std::vector<int32_t>> Unfused(const BranchGroup& group) const {
    std::vector<std::vector<int32_t>> branches;
    for (const std::vector<int32_t>& branch : group.branches) {
      std::vector<int32_t> left;
      for (const int32_t op : branch) {
        if (!is_fused_.contains(op)) left.push_back(op);
      }
      if (!left.empty()) branches.push_back(std::move(left));
    }
    return branches;
  }

 private:
  const GroupModel& model_;
  const FuseOptions& options_;
  PathTable& paths_;
  std::vector<int32_t>& group_of_op_;
  std::map<int32_t, bool> is_fused_;
};

std::map<int32_t, OpSet> OpsByGroup(const std::vector<int32_t>& group_of_op) {
  std::map<int32_t, OpSet> groups;
  for (size_t op = 0; op < group_of_op.size(); ++op) {
    groups[group_of_op[op]].push_back(static_cast<int32_t>(op));
  }
  return groups;
}

/// Why ops of a group stay unfused: with the combination of their first ops as the example.
std::string ReasonAgainst(const std::vector<std::vector<int32_t>>& branches, const PathTable& paths,
                          const GroupModel& model) {
  OpSet ops = {branches[0][0], branches[1][0]};
  std::sort(ops.begin(), ops.end());
  if (std::string reason = model.WhyNot(ops); !reason.empty()) return reason;
  if (paths.HasPathAmong(ops)) return "other groups have come between them";
  return "together they take no less time than one after the other";
}

}  // namespace

std::vector<OpSet> ListCombinations(const std::vector<std::vector<int32_t>>& branches, size_t most,
                                    uint64_t seed) {
  size_t count = 1;
  for (const auto& branch : branches) {
    count *= branch.size() + 1;
    if (count > 4 * most) break;
  }
  std::vector<OpSet> combinations;
  const auto add = [&](OpSet ops) {
    if (ops.size() < 2) return;
    std::sort(ops.begin(), ops.end());
    combinations.push_back(std::move(ops));
  };
  if (count <= most) {
    std::vector<size_t> digits(branches.size(), 0);
    for (size_t i = 0; i < count; ++i) {
      OpSet ops;
      for (size_t b = 0; b < branches.size(); ++b) {
        if (digits[b] > 0) ops.push_back(branches[b][digits[b] - 1]);
      }
      add(std::move(ops));
      for (size_t b = 0; b < branches.size() && ++digits[b] > branches[b].size(); ++b)
        digits[b] = 0;
    }
    return combinations;
  }
  // The first of all branches, then the second, and so on: mostly what is ready at the same time.
  size_t longest = 0;
  for (const auto& branch : branches) longest = std::max(longest, branch.size());
  for (size_t depth = 0; depth < longest; ++depth) {
    OpSet ops;
    for (const auto& branch : branches) {
      if (depth < branch.size()) ops.push_back(branch[depth]);
    }
    for (size_t a = 0; a < ops.size() && combinations.size() < most; ++a) {
      for (size_t b = a + 1; b < ops.size(); ++b) add({ops[a], ops[b]});
    }
    add(std::move(ops));
  }
  std::mt19937_64 random(seed);
  while (combinations.size() < most) {
    OpSet ops;
    for (const auto& branch : branches) {
      const size_t pick = random() % (branch.size() + 1);
      if (pick > 0) ops.push_back(branch[pick - 1]);
    }
    if (ops.size() < 2) ops = {branches[0][0], branches[1][0]};
    add(std::move(ops));
  }
  SortAndUnique(combinations);
  return combinations;
}

std::vector<OpSet> ChooseCombinations(const std::vector<OpSet>& combinations, size_t branches,
                                      const PathTable& paths, const GroupModel& model) {
  std::vector<Scored> scored;
  for (const OpSet& ops : combinations) {
    if (paths.HasPathAmong(ops) || !model.WhyNot(ops).empty()) continue;
    const double saving = AloneSeconds(model, ops) - model.Time(ops);
    if (saving > kLeastSaving) scored.push_back({ops, saving});
  }
  std::stable_sort(scored.begin(), scored.end(),
                   [](const Scored& a, const Scored& b) { return a.saving > b.saving; });
  return CombinationSearch(scored, branches / 2).Search(paths);
}

double TimeOfGroups(const GroupModel& model, const std::vector<int32_t>& group_of_op) {
  double seconds = 0;
  for (const auto& [number, ops] : OpsByGroup(group_of_op)) seconds += model.Time(ops);
  return seconds;
}

FusedBranches FuseBranches(const BranchGraph& graph, const std::vector<bool>& fusible,
                           const GroupModel& model, const FuseOptions& options) {
  const BranchTable table(graph, fusible);
  const std::vector<BranchGroup> found = FindGroups(table);
  FusedBranches fused;
  fused.groups_found = found.size();
  std::vector<int32_t> group_of_op(graph.size());
  for (size_t op = 0; op < graph.size(); ++op) group_of_op[op] = static_cast<int32_t>(op);
  PathTable paths(graph);
  GroupFuser fuser(model, options, paths, group_of_op);
  for (const BranchGroup& group : found) fuser.Fuse(group);
  ImproveGroups(graph, fusible, model, options.improve_work, group_of_op);
  for (const bool from_start : {true, false}) {
    std::vector<int32_t> other = GroupsByDepth(graph, fusible, model, from_start);
    ImproveGroups(graph, fusible, model, options.improve_work, other);
    if (TimeOfGroups(model, other) < TimeOfGroups(model, group_of_op) - kLeastSaving) {
      group_of_op = std::move(other);
    }
  }
  if (options.exact_work > 0) {
    SolveBlocks(graph, fusible, model, options.exact_work, group_of_op);
  }
  std::map<int32_t, OpSet> groups = OpsByGroup(group_of_op);
  for (const auto& [number, ops] : groups) {
    if (ops.size() < 2) continue;
    fused.groups.push_back({ops, AloneSeconds(model, ops), model.Time(ops)});
  }
  std::sort(fused.groups.begin(), fused.groups.end(),
            [](const FusedGroup& a, const FusedGroup& b) { return a.ops < b.ops; });
  for (const BranchGroup& group : found) {
    std::vector<std::vector<int32_t>> left;
    GroupRefusal refusal{group.kind, {}, {}};
    for (const std::vector<int32_t>& branch : group.branches) {
      OpSet alone;
      for (const int32_t op : branch) {
        if (groups[group_of_op[static_cast<size_t>(op)]].size() == 1) alone.push_back(op);
      }
      if (alone.empty()) continue;
      refusal.ops.insert(refusal.ops.end(), alone.begin(), alone.end());
      left.push_back(std::move(alone));
    }
    if (left.size() < 2) continue;
    refusal.reason = ReasonAgainst(left, paths, model);
    fused.refusals.push_back(std::move(refusal));
  }
  return fused;
}

}  // namespace tenon::converter
