// Decides when the copies of a stage begin that a copy engine makes beside the stage's ops, in
// numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/solve/time/simulator.hpp"

namespace tenon::converter {

/// Of one input: ops run one after the other on the stage's unit, copies one after the other on the
/// engine, and an op waits for the copies that it reads.
struct StageCopies {
  struct Op {
    Picoseconds time = 0;
    int64_t live_bytes = 0;  ///< of all that is alive while it runs, but for what copies write
  };
  struct Copy {
    Picoseconds time = 0;
    int32_t reader = 0;       ///< the first op that reads it; ascending
    int32_t last_reader = 0;  ///< after which its bytes are free
    int64_t bytes = 0;
  };
  std::vector<Op> ops;       ///< in order
  std::vector<Copy> copies;  ///< in order
};

/// Returns what the engine takes for all copies.
[[nodiscard]] Picoseconds TimeOfCopies(const StageCopies& stage);

struct CopyOptions {
  /// How many ops earlier than it must a copy begins, so that it need not be in time to the last
  /// moment where the engine copies for other stages too.
  int32_t lead = 0;
  /// Bytes that may be alive beyond those of copies that begin when their readers do; below 0: that
  /// is already too much where most is alive.
  int64_t spare_bytes = INT64_MAX;
};

struct CopyStarts {
  std::vector<int32_t> before;  ///< by copy: the op that runs or begins next when it begins
  Picoseconds time = 0;         ///< of the stage
};

/// Returns starts with which every op begins as early as it can: the latest ones, less the lead,
/// and later where too many bytes would be alive. A copy is alive from the op that it begins at.
/// O(ops + copies log copies + places that copies move by).
[[nodiscard]] CopyStarts StartCopies(const StageCopies& stage, const CopyOptions& options);

}  // namespace tenon::converter
