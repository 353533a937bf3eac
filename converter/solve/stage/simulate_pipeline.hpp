// Finds the real period of a pipeline and the depths that its channels need: the stages are
// unrolled over inputs, with the waits of their channels, for the simulator that gives all other
// times too.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/solve/time/simulator.hpp"

namespace tenon::converter {

/// A step of a stage that several units run.
struct StageStep {
  Picoseconds time = 0;
  int32_t unit = 0;
  std::vector<int32_t> waits;  ///< steps of the stage, the worker's last among them
};

struct PipelineStage {
  Picoseconds time = 0;               ///< of one input, if nothing else runs
  int32_t unit = 0;                   ///< runs one stage at a time
  std::vector<StageStep> steps = {};  ///< empty: one step on `unit`
};

/// Stages after `from` up to `to` start on an input when `from` is done with it; `from` starts on
/// an input when they are all done with the input `depth` before it.
struct PipelineChannel {
  int32_t from = 0;
  int32_t to = 0;
  int32_t depth = 1;
};

struct PipelineRun {
  Picoseconds period = 0;      ///< between results, over the middle half of the stream
  Picoseconds first_done = 0;  ///< the first input's latency
  Picoseconds makespan = 0;
};

/// Simulates `inputs` inputs passing through the stages. A stage takes inputs in order, one at a
/// time; a unit with several steps ready runs the one with the oldest input. Deterministic.
[[nodiscard]] PipelineRun SimulatePipeline(const std::vector<PipelineStage>& stages,
                                           const std::vector<PipelineChannel>& channels,
                                           int32_t inputs);

/// Returns the least period that units and stages allow: the largest sum of the times of a unit's
/// steps, or of one stage.
[[nodiscard]] Picoseconds PeriodBound(const std::vector<PipelineStage>& stages);

/// Sets every channel's depth: two, so that one buffer is written while the other is read; one more
/// for each stage that the channel skips, and where an end shares its unit with other stages, which
/// run at irregular times; and more while the simulated period is over the bound by 2% and gets
/// shorter by half a percent. No depth exceeds `most`.
void ChooseDepths(const std::vector<PipelineStage>& stages, int32_t most,
                  std::vector<PipelineChannel>& channels);

}  // namespace tenon::converter
