// Assigns ops that do not depend on each other to the cores of a CPU (docs/methods.md, P1: between
// ops).
#pragma once

#include <cstdint>
#include <vector>

#include "converter/solve/time/simulator.hpp"

namespace tenon::converter {

struct CoreTask {
  Picoseconds time = 0;
  std::vector<int32_t> needs;  ///< earlier tasks
  int32_t worker = -1;         ///< that must run it (a device); -1: any core
};

struct CoreAssignment {
  std::vector<int32_t> worker;  ///< by task
  std::vector<int32_t> order;   ///< tasks by start
  Picoseconds makespan = 0;
};

/// Workers 0 to cores - 1 are equal cores; the later ones are those that tasks name. A task that
/// needs one of another worker starts at least `wait` later. This is list scheduling: the task with
/// the longest path to the end comes first, on the core where it is done first (heterogeneous
/// earliest finish time). Never longer than all core tasks on one core. Deterministic.
[[nodiscard]] CoreAssignment AssignCores(const std::vector<CoreTask>& tasks, int32_t cores,
                                         Picoseconds wait);

}  // namespace tenon::converter
