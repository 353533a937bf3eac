// Makes the programs other than the sequential one, which use several threads and devices at once,
// and chooses which program the plan recommends (docs/methods.md, P1, P2, M4).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "converter/driver/fit.hpp"
#include "converter/solve/stage/choose_parallel.hpp"
#include "converter/stage/build_pipeline.hpp"
#include "converter/stage/inter_op.hpp"

namespace tenon::converter {

struct ParallelReport {
  ParallelChoice choice;        ///< no candidates: nothing can run concurrently
  int replicas = 1;             ///< of the chosen mode,
  int threads_per_op = 1;       ///< and threads that each op of a replica is shared between
  int64_t rows_per_call = 0;    ///< that latencies are for; 0: inputs and outputs have no rows
  int32_t shard_rows = 0;       ///< of the plan's program "shards"; 0: it has none
  std::string why_whole_batch;  ///< why rows cannot be divided; empty if they can
  std::optional<PipelineReport> pipeline;  ///< if the plan has one
  std::optional<Picoseconds> inter;        ///< latency of the program "inter", if the plan has one
};

struct ParallelPrograms {
  std::optional<PipelineProgram> pipeline;
  std::optional<InterOpProgram> inter;
  /// The program "shards": the model for a part of its batch, as one worker or as several.
  std::optional<Compiled> shards;
  std::optional<InterOpProgram> inter_shards;
  ParallelReport report;
};

/// `graph` is the canonical graph from which `fitted` was compiled, with `compile` and `split`. The
/// plan gets a pipeline for the objective kThroughput and where the user asks for one. It gets a
/// program "inter" where several threads may be used and it is predicted to be faster or asked for,
/// and a program "shards" where replicas are to divide a batch that the graph has.
/// Errors: kUsage, a requested mode or number of rows that is not possible; the message says why.
/// Deterministic.
[[nodiscard]] Result<ParallelPrograms> MakeParallelPrograms(const Graph& graph,
                                                            const Fitted& fitted,
                                                            const CompileOptions& compile,
                                                            const SplitOptions& split,
                                                            const ParallelOptions& options);

}  // namespace tenon::converter
