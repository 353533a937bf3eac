// Makes the programs other than the sequential one, which use several threads and devices at once,
// and chooses which program the plan recommends (docs/methods.md, P1, P2, M4).
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
  ParallelChoice choice;                   ///< no candidates: nothing can run concurrently
  int replicas = 1;                        ///< for an input stream in mode replicas
  std::optional<PipelineReport> pipeline;  ///< if the plan has one
  std::optional<Picoseconds> inter;        ///< latency of the program "inter", if the plan has one
};

struct ParallelPrograms {
  std::optional<PipelineProgram> pipeline;
  std::optional<InterOpProgram> inter;
  ParallelReport report;
};

/// `graph` is the canonical graph from which `fitted` was compiled, with the options `compile`. The
/// plan gets a pipeline for the objective kThroughput and where the user asks for one. It gets a
/// program "inter" where several threads may be used and it is predicted to be faster or asked for.
/// Errors: kUsage, a requested mode that is not possible; the message says why. Deterministic.
[[nodiscard]] Result<ParallelPrograms> MakeParallelPrograms(const Graph& graph,
                                                            const Fitted& fitted,
                                                            const CompileOptions& compile,
                                                            const ParallelOptions& options);

}  // namespace tenon::converter
