// Makes a schedule real: transfers become copy ops of the graph, and every step knows its unit,
// what it waits for and where its bytes lie.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/layout/arena_plan.hpp"
#include "converter/schedule/program_problem.hpp"
#include "converter/schedule/schedule.hpp"
#include "converter/solve/time/simulator.hpp"
#include "converter/solve/time/time_schedule.hpp"

namespace tenon::converter {

// Where in fast memory what a schedule holds there lies.

struct PlacedHolds {
  std::vector<int64_t> offsets;  ///< by hold
  int64_t bytes = 0;
  int64_t lower_bound = 0;
  bool proven_optimal = false;
  int64_t work = 0;
};

/// Holds that are handed over lie in one place. Stops as soon as all fits into `limit`; `work` is
/// the placer's budget.
[[nodiscard]] PlacedHolds PlaceHolds(const TimeSchedule& schedule, int64_t limit, int64_t work);

struct LoweredSchedule {
  Schedule schedule;
  ArenaPlan arena;           ///< steps in order of start; arenas: the fast space, then the slow one
  SimulatedProgram program;  ///< step i is arena.steps[i]
  size_t fetches = 0;
  size_t stores = 0;
};

/// Changes the graph: copies between memory spaces are inserted, ops read and write the copies in
/// fast memory, shapes that were seen on the original (elided ops) are seen on the copy; then the
/// order is that of the schedule. `locations` follows. Errors (kInternal): the schedule is not one
/// of this problem.
[[nodiscard]] Result<LoweredSchedule> LowerSchedule(Graph& graph, Locations& locations,
                                                    const Board& board, const CostModel& model,
                                                    const ProgramProblem& problem,
                                                    const TimeSchedule& schedule,
                                                    const PlacedHolds& placed);

}  // namespace tenon::converter
