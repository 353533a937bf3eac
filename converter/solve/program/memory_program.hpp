// Finds the fastest program within a limit of fast memory by running ops again and by moving
// storages to slow memory and back (docs/methods.md, R3 and R6).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "converter/solve/program/memory_steps.hpp"

namespace tenon::converter {

struct MemoryProgramOptions {
  int64_t most_nodes = 200;     ///< of the solver's tree, per window; below 0: it is not asked
  Index most_window_ops = 48;   ///< what is solved at once
  int depth = 4;                ///< ops in a row that are run again for one storage
  size_t most_repeats = 6;      ///< ops that may be run again ahead of one op
  size_t most_positions = 240;  ///< for repeated runs, per window
  double relative_gap = 0.002;
};

struct MemoryProgram {
  bool fits = false;  ///< else `steps` run every op once
  std::vector<MemoryStep> steps;
  CostOfSteps cost;
  int64_t once_time = 0;    ///< of every op once
  int64_t greedy_time = 0;  ///< of what the greedy search found; 0: nothing
  /// No program with these windows and positions takes less; 0: the solver found none.
  int64_t bound = 0;
  int windows = 0;
  int proved = 0;   ///< windows whose solution was proved the fastest, within the gap
  int stopped = 0;  ///< windows in which the solver reached its node limit
};

/// Never slower than the greedy search alone, and never slower than every op once where that fits.
/// Deterministic.
[[nodiscard]] MemoryProgram SolveMemoryProgram(const MemoryStepsProblem& problem,
                                               const MemoryProgramOptions& options);

}  // namespace tenon::converter
