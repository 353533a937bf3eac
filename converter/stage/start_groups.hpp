// Chooses which ops of parallel branches start together on the units that they are mapped to
// (docs/methods.md, F4, F5).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "converter/board/board.hpp"
#include "converter/cost/cost_model.hpp"
#include "converter/fuse/branches_of_graph.hpp"
#include "converter/ir/graph.hpp"
#include "converter/ir/locations.hpp"
#include "converter/solve/fuse/fuse_branches.hpp"

namespace tenon::converter {

struct BranchOptions {
  bool fuse = true;
  int threads = 1;  ///< of the CPU, that a run may use
  /// The time to start work on all threads of the CPU and to wait for them; negative: as for ops
  /// that threads share. Tests want groups that do not pay.
  double region_us = -1;
  /// Of the arena's space, which groups must not exceed; 0: as many as the board has.
  int64_t space_bytes = 0;
  int64_t improve_work = FuseOptions{}.improve_work;  ///< see there
};

/// Reports every group, and every refusal with its reason.
struct BranchReport {
  struct Group {
    std::vector<std::string> ops;
    double alone_us = 0;  ///< predicted, one after the other
    double us = 0;        ///< predicted, together
  };
  struct Refusal {
    std::string kind;              ///< of the group of branches, or "op"
    std::vector<std::string> ops;  ///< that stay alone
    std::string reason;
  };
  bool asked = false;
  size_t ops = 0;           ///< executed; without groups, each is a start
  size_t starts = 0;        ///< groups count as one
  size_t depth = 0;         ///< ops on the longest path: no fewer starts are possible
  size_t groups_found = 0;  ///< groups of branches that were looked at
  std::vector<Group> groups;
  std::vector<Refusal> refusals;
};

struct StartGroups {
  /// Ops of each group, the one that takes longest first.
  std::vector<std::vector<OpId>> groups;
  BranchReport report;
};

/// Chooses groups of a graph whose kernels and locations are known. On the CPU its threads take the
/// ops of a group one by one, so it pays for ops that threads cannot share, or hardly; on OpenCL it
/// saves the ops' launches. Deterministic.
[[nodiscard]] StartGroups ChooseStartGroups(const Graph& graph, const Locations& locations,
                                            const Board& board, const CostModel& model,
                                            const BranchOptions& options);

/// Returns the problem of finding branches among the executed ops.
[[nodiscard]] BranchesOfGraph BranchesOf(const Graph& graph, const Locations& locations);

/// Returns the executed steps with every group as neighbours, and in `placed` the groups as they
/// stand there.
[[nodiscard]] std::vector<OpId> GroupedSteps(const Graph& graph, const Locations& locations,
                                             const std::vector<OpId>& steps,
                                             const std::vector<std::vector<OpId>>& groups,
                                             std::vector<std::vector<OpId>>& placed);

/// Gives up groups in the report, for this reason.
void RefuseGroups(const Graph& graph, const std::vector<std::vector<OpId>>& groups,
                  const std::string& reason, BranchReport& report);

}  // namespace tenon::converter
