// Chooses by predicted time how to use several threads and devices at once (docs/methods.md, P1,
// P2).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "converter/solve/time/simulator.hpp"
#include "converter/status.hpp"

namespace tenon::converter {

enum class ParallelMode : uint8_t {
  kAuto,
  kIntra,               ///< threads share every op
  kInter,               ///< independent ops on different threads
  kInterIntra,          ///< the same, and threads that wait share the ops of the others
  kReplicas,            ///< whole inferences, or shards of a batch, on different threads
  kReplicasIntra,       ///< replicas whose ops are shared,
  kReplicasInter,       ///< of which each runs independent ops on different threads,
  kReplicasInterIntra,  ///< or both
  kPipeline,            ///< stages on different threads and devices
};

/// Parses "auto", "intra", "replicas+inter", ..., whose parts may be in any order; returns kUsage
/// for anything else.
[[nodiscard]] Result<ParallelMode> ParseParallelMode(std::string_view text);
[[nodiscard]] const char* ParallelModeName(ParallelMode mode);
/// Returns true where ops that do not need each other run on different threads.
[[nodiscard]] bool RunsBetweenOps(ParallelMode mode);
/// Returns true where several replicas run.
[[nodiscard]] bool RunsReplicas(ParallelMode mode);
/// Returns true where threads share an op.
[[nodiscard]] bool RunsInsideOps(ParallelMode mode);

/// Contains the predictions for one mode.
struct ParallelCandidate {
  ParallelMode mode = ParallelMode::kIntra;
  std::string why_not;       ///< not possible here; empty if it is
  bool too_large = false;    ///< that is why not
  int threads = 1;           ///< of the CPU that it takes
  int replicas = 1;          ///< that run beside each other
  int workers = 1;           ///< threads of a replica that run ops beside each other
  int threads_per_op = 1;    ///< that share an op, at most
  int32_t shard_rows = 0;    ///< rows of a batch that a replica takes at a time; 0: no shards
  Picoseconds latency = 0;   ///< of one call: one input, or all rows of a batch
  Picoseconds period = 0;    ///< between results of a stream of independent inputs
  int64_t memory_bytes = 0;  ///< arenas of all that run
};

struct ParallelChoice {
  ParallelMode mode = ParallelMode::kIntra;  ///< never kAuto
  std::string reason;
  size_t chosen = 0;  ///< index into `candidates`
  std::vector<ParallelCandidate> candidates;
};

/// Takes the shortest period for an input stream (`for_throughput`), else the shortest latency. A
/// mode other than intra must be at least 2% better; of equal ones, the one with less memory is
/// taken. Several candidates may be of one mode, and of a mode that is asked for the best is taken.
/// Errors: the mode asked for is not possible (kUsage), for lack of memory (kDoesNotFit); the
/// message says why.
[[nodiscard]] Result<ParallelChoice> ChooseParallel(std::vector<ParallelCandidate> candidates,
                                                    bool for_throughput, ParallelMode asked);

}  // namespace tenon::converter
