// Lists where in a program ops may run: each once, and again ahead of ops that could need them.
#pragma once

#include <vector>

#include "converter/solve/program/memory_steps.hpp"

namespace tenon::converter {

/// A place in the program for one run of one op.
struct Position {
  Index stage = 0;    ///< the op ahead of whose first run it lies; the number of ops: the end
  Index op = 0;       ///< what may run there; the number of ops: nothing, at the end
  bool first = true;  ///< the op's first run, which takes place; the last position counts as one
};

struct PositionOptions {
  int depth = 4;             ///< ops in a row that are run again for one storage
  size_t most_repeats = 8;   ///< ahead of one op
  size_t most_in_all = 400;  ///< positions for other than first runs
};

/// Returns the positions in order: stage by stage, and by op within one. All that are possible, if
/// they are few enough; else those ahead of what could need them. What `start` runs again is among
/// them.
[[nodiscard]] std::vector<Position> FindPositions(const MemoryStepsProblem& problem,
                                                  const PositionOptions& options,
                                                  const std::vector<MemoryStep>& start);

}  // namespace tenon::converter
