// Makes a program fit by one decision at a time: a start for the mixed-integer program, and what
// remains where that is too large.
#pragma once

#include <optional>
#include <vector>

#include "converter/solve/program/memory_steps.hpp"

namespace tenon::converter {

struct GreedyOptions {
  int depth = 4;                ///< ops in a row that are run again for one storage
  int64_t most_tries = 20'000;  ///< changes that are tried
};

/// Adds moves and repeated runs to `steps` until the program is within its limits: each time, of
/// all storages that no op uses at the fullest step, the change with the largest relief for its
/// time; a change's relief is what it takes of the bytes above the limit, summed over steps. In the
/// end, what turned out to be needless is taken back. Returns none if nothing brings more relief.
/// Deterministic.
[[nodiscard]] std::optional<std::vector<MemoryStep>> GreedySteps(const MemoryStepsProblem& problem,
                                                                 const GreedyOptions& options);

/// Returns by storage the only op that writes it if that may run again; else kNoOp.
[[nodiscard]] std::vector<Index> RepeatableWriters(const MemoryStepsProblem& problem);
inline constexpr Index kNoOp = UINT32_MAX;

}  // namespace tenon::converter
