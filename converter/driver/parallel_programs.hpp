// The programs beside the sequential one that use several threads and devices at once, and which
// way of doing so the plan recommends (docs/methods.md, P1, P2, M4).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "converter/driver/fit.hpp"
#include "converter/stage/build_pipeline.hpp"
#include "converter/stage/inter_op.hpp"

namespace tenon::converter {

struct ParallelReport {
  ParallelChoice choice;                   ///< no candidates: nothing can run beside anything else
  int replicas = 1;                        ///< for a stream in mode replicas
  std::optional<PipelineReport> pipeline;  ///< if the plan has one
  std::optional<Picoseconds> inter;        ///< latency of the program "inter", if the plan has one
};

struct ParallelPrograms {
  std::optional<PipelineProgram> pipeline;
  std::optional<InterOpProgram> inter;
  ParallelReport report;
};

/// `graph`: canonical, what `fitted` was compiled from; `compile` how. For a stream (objective
/// kThroughput) and where it is asked for, the plan gets a pipeline; where threads are to be used
/// and it is predicted to be faster or asked for, a program "inter". Errors: kUsage, a mode that
/// was asked for and is not possible, says why. Deterministic.
[[nodiscard]] Result<ParallelPrograms> MakeParallelPrograms(const Graph& graph,
                                                            const Fitted& fitted,
                                                            const CompileOptions& compile,
                                                            const ParallelOptions& options);

}  // namespace tenon::converter
