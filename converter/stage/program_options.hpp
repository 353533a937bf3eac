// Options of every program of a plan, and further ones of programs for several threads and devices.
#pragma once

#include <cstdint>
#include <memory>

#include "converter/layout/arena_plan.hpp"
#include "converter/layout/layouts.hpp"
#include "converter/map/kernel_choice.hpp"
#include "converter/profile/measured_cost_model.hpp"
#include "converter/solve/stage/choose_parallel.hpp"

namespace tenon::converter {

struct ProgramOptions {
  /// Includes the program's board; costs are filled in where kernels are chosen.
  KernelChoiceOptions kernels;
  const Profile* profile = nullptr;  ///< measured costs; null: costs come from the board
  bool fallback = false;             ///< ops on devices get a CPU kernel for the same operands too
  ArenaOptions arena;
  std::shared_ptr<LaidOutWeights> laid_out = {};  ///< of all programs of the graph; may be null

  [[nodiscard]] const Board& board() const { return *kernels.board; }
  /// Returns the options for choosing kernels with the costs of `model`.
  [[nodiscard]] KernelChoiceOptions KernelsWith(const CostModel& model) const {
    KernelChoiceOptions choice = kernels;
    choice.costs = &model;
    return choice;
  }
};

struct ParallelOptions {
  ParallelMode mode = ParallelMode::kAuto;
  int threads = 1;            ///< CPU threads that a run may use in total
  int64_t rows_per_call = 0;  ///< of a model of one row; 0: the model's own first dimension
  int32_t channel_depth = 0;  ///< slots of a pipeline's channels; 0: chosen from the stages' times
  int32_t most_stages = 8;    ///< of a pipeline
  /// True: a pipeline's stages keep the table's choice for every op. False: the cut chooses units
  /// for ops without pins, among the backends that the board's table lists for them.
  bool keep_table = false;
  /// Cuts a pipeline again by what its stages took when they were built, until that gains nothing.
  bool balance = true;
};

}  // namespace tenon::converter
