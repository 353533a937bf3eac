// What every program of a plan is made with, and what its programs for several threads and devices
// are made with beside that.
#pragma once

#include <cstdint>

#include "converter/layout/arena_plan.hpp"
#include "converter/map/kernel_choice.hpp"
#include "converter/profile/measured_cost_model.hpp"
#include "converter/solve/stage/choose_parallel.hpp"

namespace tenon::converter {

struct ProgramOptions {
  /// With the board that the program is for; costs are filled in where kernels are chosen.
  KernelChoiceOptions kernels;
  const Profile* profile = nullptr;  ///< measured costs; null: the board's figures
  bool fallback = false;             ///< ops on devices get a CPU kernel for the same operands too
  ArenaOptions arena;

  [[nodiscard]] const Board& board() const { return *kernels.board; }
  /// How kernels are chosen where ops cost what `model` says.
  [[nodiscard]] KernelChoiceOptions KernelsWith(const CostModel& model) const {
    KernelChoiceOptions choice = kernels;
    choice.costs = &model;
    return choice;
  }
};

struct ParallelOptions {
  ParallelMode mode = ParallelMode::kAuto;
  int threads = 1;            ///< of the CPU, that a run may use in all
  int32_t channel_depth = 0;  ///< of a pipeline's channels; 0: from the stages' times
  int32_t most_stages = 8;    ///< of a pipeline
};

}  // namespace tenon::converter
