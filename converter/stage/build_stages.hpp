// Builds the stages of a pipeline whose cut is given: kernels, copies, arenas, workers, times.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/stage/build_pipeline.hpp"
#include "converter/stage/stage_units.hpp"

namespace tenon::converter {

/// Returns the options for choosing the kernels of a pipeline's ops.
[[nodiscard]] KernelChoiceOptions ChoiceOf(const PipelineOptions& options, const CostModel& costs);

/// As BuildPipelineFromCut; `unit_of_stage` are indices into `units`. The report's rounds, bounds
/// of the cut and best unit alone are left empty. Where the board has a copy engine, it fetches the
/// constants of those stages with which a result takes less time than with copies by the stages'
/// own workers.
[[nodiscard]] Result<PipelineProgram> BuildStages(const Graph& graph,
                                                  const PipelineOptions& options,
                                                  const PipelineUnits& units,
                                                  std::vector<int32_t> stage_of_op,
                                                  const std::vector<int32_t>& unit_of_stage);

}  // namespace tenon::converter
