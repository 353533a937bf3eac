// Workspaces are made as small as kernels allow, and placed with the storages. Afterwards they can
// grow into memory that nothing else uses while the op runs, or move there.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/layout/arena_plan.hpp"

namespace tenon::converter {

/// Where a workspace may lie.
struct WorkspaceRoom {
  /// What a single arena may grow to; others do not grow.
  int64_t most_bytes = 0;
  /// On bytes of storages that are alive, too, which have yet to be written or have been used for
  /// the last time (see storage_parts.hpp): on the rows of an output that later patches make, say.
  bool over_parts = false;
};

/// Gives ops the workspace that their kernels prefer (KernelCaps::workspace_bytes, one thread), or
/// as much of it as is free in their arena during their step: where it was, or elsewhere. Applies
/// only to kernels that can run in less; nothing shrinks and nothing else moves. Returns the number
/// of workspaces that have grown.
int64_t GrowWorkspaces(Graph& graph, const Locations& locations, ArenaPlan& arena,
                       const WorkspaceRoom& room = {});

/// A workspace that would be larger if all that is free during its step lay side by side.
struct CrampedWorkspace {
  OpId op = kNone;
  int64_t bytes = 0;  ///< that it would have
};

/// Returns these, in the order of the steps; of an arena alone.
[[nodiscard]] std::vector<CrampedWorkspace> FindCrampedWorkspaces(const Graph& graph,
                                                                  const Locations& locations,
                                                                  const ArenaPlan& arena,
                                                                  const WorkspaceRoom& room);

/// Places each workspace, whose op starts with no others, as low as it fits beside what is placed,
/// over parts. Returns how many bytes of the arena they need.
int64_t PlaceWorkspacesOverParts(const Graph& graph, const Locations& locations, ArenaPlan& arena);

}  // namespace tenon::converter
