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
  kIntra,     ///< threads share every op
  kInter,     ///< independent ops on different threads
  kReplicas,  ///< whole inferences on different threads
  kPipeline,  ///< stages on different threads and devices
};

/// Parses "auto", "intra", ...; returns kUsage for anything else.
[[nodiscard]] Result<ParallelMode> ParseParallelMode(std::string_view text);
[[nodiscard]] const char* ParallelModeName(ParallelMode mode);

/// Contains the predictions for one mode.
struct ParallelCandidate {
  ParallelMode mode = ParallelMode::kIntra;
  std::string why_not;       ///< not possible here; empty if it is
  int threads = 1;           ///< of the CPU that it takes
  Picoseconds latency = 0;   ///< of one input
  Picoseconds period = 0;    ///< between results of a stream of independent inputs
  int64_t memory_bytes = 0;  ///< arenas of all that run
};

struct ParallelChoice {
  ParallelMode mode = ParallelMode::kIntra;  ///< never kAuto
  std::string reason;
  std::vector<ParallelCandidate> candidates;
};

/// Takes the shortest period for an input stream (`for_throughput`), else the shortest latency. A
/// mode other than intra must be at least 2% better; of equal ones, the one with less memory is
/// taken. Errors (kUsage): the mode asked for is not possible; the message says why.
[[nodiscard]] Result<ParallelChoice> ChooseParallel(std::vector<ParallelCandidate> candidates,
                                                    bool for_throughput, ParallelMode asked);

}  // namespace tenon::converter
