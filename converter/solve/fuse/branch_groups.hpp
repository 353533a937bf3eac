// Finds groups of branches that can run side by side (docs/methods.md, F1 to F4). This code depends
// on neither graphs nor boards.
//
// A branch of a group is what is left of a branch of the graph once the ops that are not to be
// fused have been taken out (F4): at least one op. A group has at least two branches, between no
// two of which there is a path. It is as large as it can be: every other branch at the same place
// depends on one of the group's, or one of these depends on it.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/solve/fuse/branch_graph.hpp"

namespace tenon::converter {

enum class GroupKind : uint8_t {
  kClassic,  ///< one parent and one child in common, and branches of at least two ops
  kCommonParent,
  kCommonChild,
  kNoParent,
  kNoChild,
  kLeftOver,  ///< of ops that are in no other group
};
[[nodiscard]] const char* GroupKindName(GroupKind kind);

struct BranchGroup {
  GroupKind kind = GroupKind::kLeftOver;
  int32_t parent = -1;  ///< op, where the branches have one in common by kind
  int32_t child = -1;
  /// Ops that may be fused, in the order of the branch. Branches are ordered by their first op.
  std::vector<std::vector<int32_t>> branches;
};

/// What all searches work on.
class BranchTable {
 public:
  /// `fusible`: by op; false takes the op out of its branch. Borrows the graph.
  BranchTable(const BranchGraph& graph, const std::vector<bool>& fusible);

  [[nodiscard]] const BranchGraph& graph() const { return graph_; }
  [[nodiscard]] const std::vector<std::vector<int32_t>>& successors() const { return successors_; }
  [[nodiscard]] size_t size() const { return whole_.size(); }
  /// First and last op of a branch, fusible or not.
  [[nodiscard]] int32_t head(size_t branch) const { return whole_[branch].front(); }
  [[nodiscard]] int32_t tail(size_t branch) const { return whole_[branch].back(); }
  /// The ops of a branch that may be fused.
  [[nodiscard]] const std::vector<int32_t>& fusible(size_t branch) const {
    return fusible_[branch];
  }
  [[nodiscard]] size_t branch_of(int32_t op) const { return of_op_[static_cast<size_t>(op)]; }
  /// Returns true if one of the branches needs the other.
  [[nodiscard]] bool AreDependent(size_t a, size_t b) const;

 private:
  const BranchGraph& graph_;
  std::vector<std::vector<int32_t>> successors_;
  PathTable paths_;
  std::vector<std::vector<int32_t>> whole_;
  std::vector<std::vector<int32_t>> fusible_;
  std::vector<size_t> of_op_;
};

// Each search returns all groups of its kind, unless one place has so many that listing them would
// take long (kMostGroupsPerPlace): then some of them, such that every branch is in one if it can
// be.

[[nodiscard]] std::vector<BranchGroup> FindClassicGroups(const BranchTable& table);
[[nodiscard]] std::vector<BranchGroup> FindCommonParentGroups(const BranchTable& table);
[[nodiscard]] std::vector<BranchGroup> FindCommonChildGroups(const BranchTable& table);
[[nodiscard]] std::vector<BranchGroup> FindNoParentGroups(const BranchTable& table);
[[nodiscard]] std::vector<BranchGroup> FindNoChildGroups(const BranchTable& table);

/// Groups the branches that have fusible ops of which none is in `groups` (F3). What surrounds such
/// a branch is simplified: all that it needs counts as one parent and all that needs it as one
/// child, so that any of them that do not depend on each other make a group.
[[nodiscard]] std::vector<BranchGroup> FindLeftOverGroups(const BranchTable& table,
                                                          const std::vector<BranchGroup>& groups);

/// Returns the groups of all kinds, in the order of GroupKind.
[[nodiscard]] std::vector<BranchGroup> FindGroups(const BranchTable& table);

inline constexpr size_t kMostGroupsPerPlace = 256;

}  // namespace tenon::converter
