// Describes tasks on units that run in parallel: the part that everything shares that reckons with
// time. Segments (segment_times.hpp) add starts, time problems (time_problem.hpp) add storages and
// transfers, and both become steps of the simulator (task_steps.hpp), which states the times of
// plans. This code depends on neither graphs nor boards.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/solve/time/simulator.hpp"

namespace tenon::converter {

struct TaskUnit {
  Picoseconds start = 0;       ///< what each segment costs in addition to its ops
  bool waits_at_start = true;  ///< false: it is the host itself
};

/// Which task needs which, and where each runs.
struct TaskGraph {
  std::vector<std::vector<int32_t>> predecessors;  ///< by op; each smaller than its own number
  std::vector<int32_t> unit;                       ///< by op
};

}  // namespace tenon::converter
