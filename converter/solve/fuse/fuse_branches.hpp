// Chooses which ops of parallel branches are started together (docs/methods.md, F5). This code
// depends on neither graphs nor boards.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converter/solve/fuse/branch_graph.hpp"
#include "converter/solve/fuse/branch_groups.hpp"
#include "converter/solve/fuse/group_model.hpp"

namespace tenon::converter {

struct FuseOptions {
  /// Combinations of a group that are scored one by one; of more, a sample of this size is.
  size_t most_combinations = 2048;
  uint64_t seed = 1;
  int64_t improve_work = 20'000'000;  ///< moves and edges that ImproveGroups may look at
  /// Sets that FindExactGroups may look at in each block of the graph; 0: no exact search.
  int64_t exact_work = 100'000;
};

/// Ops that start together, at least two.
struct FusedGroup {
  OpSet ops;
  double alone_seconds = 0;  ///< sum of the ops' times, started one by one
  double seconds = 0;        ///< of one start of them all
};

/// A group of branches of which ops were left unfused, and why.
struct GroupRefusal {
  GroupKind kind = GroupKind::kLeftOver;
  OpSet ops;
  std::string reason;
};

struct FusedBranches {
  std::vector<FusedGroup> groups;  ///< no op is in two; ordered by their first op
  std::vector<GroupRefusal> refusals;
  size_t groups_found = 0;
};

/// Returns combinations of one op per branch of at least two branches: all, or if there are more
/// than `most`, a sample. Ops of one branch are never in the same combination.
[[nodiscard]] std::vector<OpSet> ListCombinations(const std::vector<std::vector<int32_t>>& branches,
                                                  size_t most, uint64_t seed);

/// Chooses up to m disjoint combinations of the ones given, with 2m <= `branches`, that save most
/// together, each of which saves something and can be held by the unit. `paths` has everything
/// contracted that is fused already; with the chosen ones contracted too it has no cycle. Exact for
/// few combinations; for many never worse than taking the best one at a time.
[[nodiscard]] std::vector<OpSet> ChooseCombinations(const std::vector<OpSet>& combinations,
                                                    size_t branches, const PathTable& paths,
                                                    const GroupModel& model);

/// Finds all groups of branches, and takes combinations of each until fewer than two unfused ops
/// are left or nothing is saved; then improves the result over group boundaries. Contracting every
/// group leaves the graph acyclic. `fusible`: by op. Deterministic.
[[nodiscard]] FusedBranches FuseBranches(const BranchGraph& graph, const std::vector<bool>& fusible,
                                         const GroupModel& model, const FuseOptions& options = {});

/// Merges groups, moves ops between them and exchanges ops, as long as the sum of times falls.
/// `group_of_op`: by op, numbers below the number of ops; every op is in one, ops that start alone
/// too. Returns the work done.
int64_t ImproveGroups(const BranchGraph& graph, const std::vector<bool>& fusible,
                      const GroupModel& model, int64_t work_budget,
                      std::vector<int32_t>& group_of_op);

/// Returns a group for the fusible ops of each depth, as far as the unit can hold them: the longest
/// way to them from the start (`from_start`), or from them to the end.
[[nodiscard]] std::vector<int32_t> GroupsByDepth(const BranchGraph& graph,
                                                 const std::vector<bool>& fusible,
                                                 const GroupModel& model, bool from_start);

/// Replaces the groups of every block by the best ones, where an exact search of `work_budget` sets
/// finds them.
void SolveBlocks(const BranchGraph& graph, const std::vector<bool>& fusible,
                 const GroupModel& model, int64_t work_budget, std::vector<int32_t>& group_of_op);

/// Returns the sum of the times of all groups, one start after the other.
[[nodiscard]] double TimeOfGroups(const GroupModel& model, const std::vector<int32_t>& group_of_op);

}  // namespace tenon::converter
