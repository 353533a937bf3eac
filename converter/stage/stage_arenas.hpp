// Places the tensors of a pipeline: those of one stage in an arena of its own, those passed between
// stages in rings, so that stages share bytes only through channels.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/schedule/program_to_emit.hpp"
#include "converter/stage/staged_graph.hpp"

namespace tenon::converter {

struct StageArenas {
  /// Arenas: one per stage that has tensors of its own, then one per channel, whose slots are still
  /// 1. `bytes` is the sum of all arenas, each slot counted.
  ArenaPlan plan;
  /// One per pair of the stage that writes and the last that reads, in that order.
  std::vector<PlannedChannel> channels;
  std::vector<int32_t> arena_of_stage;  ///< or -1
};

/// Plans the arenas. What a device's segment with fall-back kernels reads stays unchanged until the
/// segment ends, so that the segment can be run again; its ops share a workspace for that. In a
/// stage's own arena, storages that are not alive together share bytes; only inputs of the graph
/// are never overwritten in place, since they may be the caller's memory. In a ring each storage
/// has its own bytes.
[[nodiscard]] StageArenas PlanStageArenas(const StagedGraph& staged, int32_t stages,
                                          const ArenaOptions& options);

/// Sets the slots of every channel's arena, and the plan's `bytes`.
void SetDepths(const std::vector<int32_t>& depth_of_channel, StageArenas& arenas);

}  // namespace tenon::converter
