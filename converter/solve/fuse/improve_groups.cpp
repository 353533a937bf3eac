// Other ways to groups of ops that start together than through groups of branches: by depth, by
// small changes, and exactly in small blocks.
#include <algorithm>
#include <map>
#include <utility>

#include "converter/solve/fuse/exact_groups.hpp"
#include "converter/solve/fuse/fuse_branches.hpp"

namespace tenon::converter {
namespace {

constexpr double kLeastGain = 1e-12;

class GroupImprover {
 public:
  GroupImprover(const BranchGraph& graph, const std::vector<bool>& fusible, const GroupModel& model,
                int64_t work_budget, std::vector<int32_t>& group_of_op)
      : graph_(graph),
        fusible_(fusible),
        model_(model),
        work_budget_(work_budget),
        paths_(graph),
        group_of_op_(group_of_op),
        members_(graph.size()),
        seconds_(graph.size(), 0) {
    for (size_t op = 0; op < graph.size(); ++op) {
      members_[static_cast<size_t>(group_of_op[op])].push_back(static_cast<int32_t>(op));
    }
    for (size_t g = 0; g < members_.size(); ++g) seconds_[g] = TimeOf(members_[g]);
  }

  int64_t Improve() {
    bool has_changed = true;
    while (has_changed && work_ < work_budget_) {
      has_changed = MergePairs();
      has_changed |= MoveOps();
      has_changed |= ExchangeOps();
    }
    return work_;
  }

 private:
  [[nodiscard]] double TimeOf(const OpSet& ops) const { return ops.empty() ? 0 : model_.Time(ops); }

  [[nodiscard]] bool Fits(const OpSet& ops) const {
    return ops.size() < 2 || model_.WhyNot(ops).empty();
  }

  [[nodiscard]] bool MayFuse(size_t group) const {
    return std::all_of(members_[group].begin(), members_[group].end(),
                       [&](int32_t op) { return fusible_[static_cast<size_t>(op)]; });
  }

  [[nodiscard]] bool AreIndependent(const OpSet& a, const OpSet& b) const {
    for (const int32_t x : a) {
      for (const int32_t y : b) {
        if (paths_.HasPath(x, y) || paths_.HasPath(y, x)) return false;
      }
    }
    return true;
  }

  /// Gives groups `a` and `b` these members if that is shorter and closes no cycle.
  bool Try(size_t a, const OpSet& new_a, size_t b, const OpSet& new_b) {
    ++work_;
    const double time_a = TimeOf(new_a);
    const double time_b = TimeOf(new_b);
    if (time_a + time_b >= seconds_[a] + seconds_[b] - kLeastGain) return false;
    if (!Fits(new_a) || !Fits(new_b)) return false;
    const OpSet old_a = members_[a];
    const OpSet old_b = members_[b];
    Assign(a, new_a);
    Assign(b, new_b);
    work_ += static_cast<int64_t>(graph_.size());
    if (!IsAcyclicContracted(graph_, group_of_op_)) {
      Assign(a, old_a);
      Assign(b, old_b);
      return false;
    }
    seconds_[a] = time_a;
    seconds_[b] = time_b;
    return true;
  }

  void Assign(size_t group, const OpSet& ops) {
    members_[group] = ops;
    for (const int32_t op : ops)
      group_of_op_[static_cast<size_t>(op)] = static_cast<int32_t>(group);
  }

  static OpSet With(OpSet ops, const OpSet& more) {
    ops.insert(ops.end(), more.begin(), more.end());
    std::sort(ops.begin(), ops.end());
    return ops;
  }
  static OpSet Without(OpSet ops, int32_t op) {
    ops.erase(std::find(ops.begin(), ops.end(), op));
    return ops;
  }

  bool MergePairs() {
    bool has_changed = false;
    for (size_t a = 0; a < members_.size(); ++a) {
      for (size_t b = a + 1; b < members_.size() && work_ < work_budget_; ++b) {
        if (members_[a].empty()) break;
        if (members_[b].empty() || !MayFuse(a) || !MayFuse(b)) continue;
        if (!AreIndependent(members_[a], members_[b])) continue;
        has_changed |= Try(a, With(members_[a], members_[b]), b, {});
      }
    }
    return has_changed;
  }

  /// Moves single ops into other groups, or into a group of their own.
  bool MoveOps() {
    bool has_changed = false;
    for (size_t op = 0; op < graph_.size(); ++op) {
      if (!fusible_[op]) continue;
      const auto one = static_cast<int32_t>(op);
      bool was_empty = false;  // one empty group is enough
      for (size_t to = 0; to < members_.size() && work_ < work_budget_; ++to) {
        const auto from = static_cast<size_t>(group_of_op_[op]);
        if (to == from || (members_[to].empty() && members_[from].size() == 1)) continue;
        if (!MayFuse(to) || !AreIndependent({one}, members_[to])) continue;
        if (members_[to].empty() && std::exchange(was_empty, true)) continue;
        has_changed |= Try(from, Without(members_[from], one), to, With(members_[to], {one}));
      }
    }
    return has_changed;
  }

  bool ExchangeOps() {
    bool has_changed = false;
    for (size_t a = 0; a < graph_.size(); ++a) {
      for (size_t b = a + 1; b < graph_.size() && work_ < work_budget_; ++b) {
        const auto group_a = static_cast<size_t>(group_of_op_[a]);
        const auto group_b = static_cast<size_t>(group_of_op_[b]);
        if (group_a == group_b || !fusible_[a] || !fusible_[b]) continue;
        if (members_[group_a].size() + members_[group_b].size() == 2) continue;
        const auto op_a = static_cast<int32_t>(a);
        const auto op_b = static_cast<int32_t>(b);
        const OpSet rest_a = Without(members_[group_a], op_a);
        const OpSet rest_b = Without(members_[group_b], op_b);
        if (!AreIndependent({op_b}, rest_a) || !AreIndependent({op_a}, rest_b)) continue;
        has_changed |= Try(group_a, With(rest_a, {op_b}), group_b, With(rest_b, {op_a}));
      }
    }
    return has_changed;
  }

  const BranchGraph& graph_;
  const std::vector<bool>& fusible_;
  const GroupModel& model_;
  int64_t work_budget_;
  int64_t work_ = 0;
  PathTable paths_;
  std::vector<int32_t>& group_of_op_;
  std::vector<OpSet> members_;  ///< by number of the group; empty: none
  std::vector<double> seconds_;
};

/// Ops that may not be fused start alone; the rest is as in the model.
class FusibleModel final : public GroupModel {
 public:
  FusibleModel(const GroupModel& model, const std::vector<bool>& fusible)
      : model_(model), fusible_(fusible) {}
  [[nodiscard]] double Time(const OpSet& ops) const override { return model_.Time(ops); }
  [[nodiscard]] std::string WhyNot(const OpSet& ops) const override {
    for (const int32_t op : ops) {
      if (!fusible_[static_cast<size_t>(op)]) return "an op of it is not to be fused";
    }
    return model_.WhyNot(ops);
  }

 private:
  const GroupModel& model_;
  const std::vector<bool>& fusible_;
};

}  // namespace

std::vector<int32_t> GroupsByDepth(const BranchGraph& graph, const std::vector<bool>& fusible,
                                   const GroupModel& model, bool from_start) {
  const auto ops = static_cast<int32_t>(graph.size());
  std::vector<int32_t> depth(graph.size(), 0);
  for (int32_t i = 0; i < ops; ++i) {
    const auto op = static_cast<size_t>(from_start ? i : ops - 1 - i);
    for (const int32_t before : graph.predecessors[op]) {
      const auto other = static_cast<size_t>(before);
      if (from_start) {
        depth[op] = std::max(depth[op], depth[other] + 1);
      } else {
        depth[other] = std::max(depth[other], depth[op] + 1);
      }
    }
  }
  std::vector<int32_t> group_of_op(graph.size());
  std::map<int32_t, OpSet> open;  // by depth
  for (int32_t op = 0; op < ops; ++op) {
    const auto at = static_cast<size_t>(op);
    group_of_op[at] = op;
    if (!fusible[at]) continue;
    OpSet& set = open[depth[at]];
    set.push_back(op);
    if (set.size() > 1 && !model.WhyNot(set).empty()) set = {op};
    group_of_op[at] = set[0];
  }
  return group_of_op;
}

void SolveBlocks(const BranchGraph& graph, const std::vector<bool>& fusible,
                 const GroupModel& model, int64_t work_budget, std::vector<int32_t>& group_of_op) {
  const FusibleModel allowed(model, fusible);
  for (const std::vector<int32_t>& block : FindBlocks(graph)) {
    if (block.size() < 3) continue;
    const ExactGroups exact =
        FindExactGroups(PartOf(graph, block), PartModel(allowed, block), work_budget);
    if (!exact.proven) continue;
    for (const OpSet& set : exact.sets) {
      for (const int32_t op : set) {
        const auto in_whole = static_cast<size_t>(block[static_cast<size_t>(op)]);
        group_of_op[in_whole] = block[static_cast<size_t>(set[0])];
      }
    }
  }
}

int64_t ImproveGroups(const BranchGraph& graph, const std::vector<bool>& fusible,
                      const GroupModel& model, int64_t work_budget,
                      std::vector<int32_t>& group_of_op) {
  return GroupImprover(graph, fusible, model, work_budget, group_of_op).Improve();
}

}  // namespace tenon::converter
