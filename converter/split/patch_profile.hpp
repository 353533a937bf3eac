// What cutting a graph into patches changes, estimated before kernels, layouts and locations are
// known.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/split/chain.hpp"
#include "converter/split/chain_builder.hpp"

namespace tenon::converter {

// Live bytes along a graph's order, estimated before kernels, layouts and locations are known.

/// Reshapes, transposes, slices and concatenations count as views, elementwise ops as working in
/// place where the order allows it; a reshape of a channels-last image is a copy. Workspaces and
/// constants are not counted.
struct LiveProfile {
  LiveProfile(const Graph& graph, const GraphOrder& order);

  std::vector<int64_t> at_step;   ///< bytes live while the op at a position runs
  std::vector<int64_t> entering;  ///< bytes live before a position that are needed from there on
  /// What tensors share bytes with by views alone: an exit of a chain cannot take over what enters
  /// the chain, since its patches are written one by one.
  struct Storage {
    TensorId root = kNone;
    int64_t begin = INT64_MAX;  ///< position at which it becomes live; -1 for graph inputs
    int64_t bytes = 0;
  };
  std::vector<Storage> storages;  ///< by TensorId; constants have none
  int64_t peak = 0;

 private:
  void FindStorages(const Graph& graph, const GraphOrder& order);
};

// What a chain cut into patches needs and costs, by arithmetic alone.

struct PatchEstimate {
  /// Most bytes that live at once of what the chain makes: buffers of patches, rows kept for the
  /// next patch, and its exits, whole from their first row on. What enters the chain or lives
  /// across it is not counted, nor are workspaces.
  int64_t peak = 0;
  int64_t copied_bytes = 0;     ///< rows that are moved, each time they are
  int64_t recomputed_work = 0;  ///< multiply-accumulates and elementary ops done twice
  int64_t ops = 0;              ///< that are executed, copies included
  int64_t effort = 0;           ///< ops looked at
};

/// O(min(parts, 12) x ops): where there are many patches, only the first, the last and some in
/// between are looked at. An op may write over an operand that it reads last, as the arena planner
/// allows; what the estimate cannot know of is layouts' copies and gaps.
[[nodiscard]] PatchEstimate EstimatePatches(const Chain& chain, const Patching& patching);

}  // namespace tenon::converter
