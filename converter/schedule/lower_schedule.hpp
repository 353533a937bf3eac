// Lowers a schedule to executable steps: transfers become copy ops of the graph, and every step
// gets its unit, its waits and the locations of its bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/layout/arena_plan.hpp"
#include "converter/schedule/program_problem.hpp"
#include "converter/schedule/schedule.hpp"
#include "converter/solve/time/simulator.hpp"
#include "converter/solve/time/time_schedule.hpp"

namespace tenon::converter {

// Places what a schedule keeps in fast memory.

struct PlacedHolds {
  std::vector<int64_t> offsets;  ///< by hold
  int64_t bytes = 0;
  int64_t lower_bound = 0;
  bool proven_optimal = false;
  int64_t work = 0;
};

/// Places every hold; one that takes over another's bytes gets the same place. Stops as soon as all
/// fits into `limit`; `work` is the placer's budget.
[[nodiscard]] PlacedHolds PlaceHolds(const TimeSchedule& schedule, int64_t limit, int64_t work);

struct LoweredSchedule {
  Schedule schedule;
  ArenaPlan arena;           ///< steps in order of start; arenas: the fast space, then the slow one
  SimulatedProgram program;  ///< step i is arena.steps[i]
  size_t fetches = 0;
  size_t stores = 0;
};

/// Changes the graph: inserts copies between memory spaces, makes ops read and write the copies in
/// fast memory, moves views of the original (elided ops) to the copy, and applies the schedule's
/// order. Updates `locations`. Errors (kInternal): the schedule is for another problem.
[[nodiscard]] Result<LoweredSchedule> LowerSchedule(Graph& graph, Locations& locations,
                                                    const Board& board, const CostModel& model,
                                                    const ProgramProblem& problem,
                                                    const TimeSchedule& schedule,
                                                    const PlacedHolds& placed);

}  // namespace tenon::converter
