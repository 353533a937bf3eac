// The executable step list of one program on a board whose units run side by side: what each unit
// (worker) runs, in which order, and what it waits for. What is simulated is what the plan holds.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/board/board.hpp"
#include "converter/cost/cost_model.hpp"
#include "converter/layout/arena_plan.hpp"

namespace tenon::converter {

struct ScheduledWait {
  int32_t worker = 0;
  int32_t step = 0;  ///< of that worker
};

struct ScheduledStep {
  OpId op = kNone;
  std::vector<ScheduledWait> waits;  ///< on other workers only; one per worker at most
};

/// Empty `workers`: one worker runs ArenaPlan::steps in order.
struct Schedule {
  std::vector<std::vector<ScheduledStep>> workers;  ///< by unit of the board; unused units: none
  std::vector<int32_t> unit_of_worker;              ///< index into Board::units
  /// What each unit is started for: every step is in one, as neighbours in one worker. Empty:
  /// neighbouring steps of one worker and backend belong together.
  std::vector<std::vector<OpId>> segments;
};

}  // namespace tenon::converter
