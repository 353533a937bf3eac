// Chooses the stages of a pipeline for which a copy engine makes the copies, and how early it makes
// them, in numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/solve/stage/copy_ahead.hpp"
#include "converter/solve/stage/simulate_pipeline.hpp"

namespace tenon::converter {

struct SharingProblem {
  struct Stage {
    PipelineStage own;       ///< with its copies made by its unit
    Picoseconds start = 0;   ///< what it takes beside ops and copies
    StageCopies parts = {};  ///< without copies or ops it cannot be helped
  };
  std::vector<Stage> stages;
  std::vector<PipelineChannel> channels;
  int32_t engine = 0;  ///< its number among the units
  size_t most_helped = 0;
  int64_t spare_bytes = INT64_MAX;  ///< of each stage, see CopyOptions
};

/// Which stages are helped.
struct CopySharing {
  /// By stage: CopyOptions::lead, or -1 where the stage's unit makes its copies.
  std::vector<int32_t> lead;
  Picoseconds period = 0;  ///< simulated, as if memory were reused without waiting
};

/// Returns a stage as it is simulated with copies that begin at `starts`.
[[nodiscard]] PipelineStage HelpedStage(const SharingProblem::Stage& stage,
                                        const CopyStarts& starts, int32_t engine);

/// Returns ways that have a shorter period than without the engine, the shortest first: one for
/// each number of stages. A greedy search: each adds to the one before the stage with which the
/// period is shortest, with the lead with which it is. Deterministic.
[[nodiscard]] std::vector<CopySharing> ShareCopies(const SharingProblem& problem);

}  // namespace tenon::converter
