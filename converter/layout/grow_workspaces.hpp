// Workspaces that were made as small as kernels can do with, in memory that nothing else uses while
// the op runs.
#pragma once

#include <cstdint>

#include "converter/ir/graph.hpp"
#include "converter/layout/arena_plan.hpp"

namespace tenon::converter {

/// Gives ops the workspace that their kernels like best (KernelCaps::workspace_bytes, one thread),
/// or as much of it as lies free in their arena during their step: where it was, or elsewhere.
/// Only of kernels that can run in less; nothing shrinks, no arena grows and nothing else moves.
/// Gives the number of workspaces that have grown.
int64_t GrowWorkspaces(Graph& graph, ArenaPlan& arena);

}  // namespace tenon::converter
