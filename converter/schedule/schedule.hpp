// The executable steps of one program on a board whose units run concurrently: what each unit
// (worker) runs, in which order, and what it waits for. Exactly these steps are simulated and
// written into the plan.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/board/board.hpp"
#include "converter/cost/cost_model.hpp"
#include "converter/layout/arena_plan.hpp"

namespace tenon::converter {

struct ScheduledWait {
  int32_t worker = 0;
  int32_t step = 0;  ///< index of the worker's step
};

struct ScheduledStep {
  OpId op = kNone;
  std::vector<ScheduledWait> waits;  ///< on other workers only; one per worker at most
};

/// Empty `workers`: one worker runs ArenaPlan::steps in order.
struct Schedule {
  std::vector<std::vector<ScheduledStep>> workers;  ///< by unit of the board; unused units: none
  std::vector<int32_t> unit_of_worker;              ///< index into Board::units
  /// Of a pipeline's workers; shorter: worker i is that of stage i.
  std::vector<int32_t> stage_of_worker;
  /// The ops of each segment. Every step is in one segment, whose steps are neighbours in one
  /// worker. Empty: neighbouring steps of one worker and backend form a segment.
  std::vector<std::vector<OpId>> segments;
};

}  // namespace tenon::converter
