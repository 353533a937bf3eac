// Where the tensors of a pipeline lie: what one stage works on in an arena of its own, what stages
// hand on in rings, so that no two stages ever share a byte but through a channel.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/schedule/program_to_emit.hpp"
#include "converter/stage/staged_graph.hpp"

namespace tenon::converter {

struct StageArenas {
  /// Arenas: one per stage that keeps something to itself, then one per channel, whose slots are
  /// still 1. `bytes` is the sum of all arenas, each slot counted.
  ArenaPlan plan;
  /// One per pair of the stage that writes and the last that reads, in that order.
  std::vector<PlannedChannel> channels;
  std::vector<int32_t> arena_of_stage;  ///< or -1
};

/// What a device's segment with fall-back kernels reads stays as it is until the segment ends, so
/// that it can be run again; its ops share a workspace for that. In a stage's own arena storages
/// share bytes when they are not alive together, as in a program of one stage; only inputs of the
/// graph are never overwritten in place, since they may be the caller's memory. In a ring each
/// storage has its own bytes.
[[nodiscard]] StageArenas PlanStageArenas(const StagedGraph& staged, int32_t stages,
                                          const ArenaOptions& options);

/// Sets the slots of every channel's arena, and the plan's `bytes`.
void SetDepths(const std::vector<int32_t>& depth_of_channel, StageArenas& arenas);

}  // namespace tenon::converter
