// How long the ops of a graph without kernels take on the units of a board, and which units may run
// them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "converter/map/kernel_choice.hpp"
#include "converter/solve/stage/stage_problem.hpp"

namespace tenon::converter {

/// The input of the cut search, by op and unit. Borrows its arguments.
class UnitTimes {
 public:
  /// `keep_table`: every op stays on the backend that the board's table gives it.
  UnitTimes(const Graph& graph, const KernelChoiceOptions& choice, bool keep_table)
      : graph_(graph), choice_(choice), keep_table_(keep_table) {}

  /// Errors as ChooseKernels.
  Status Run();

  /// Returns the time of the op at `index` in the order; kCannotRun where it must not run.
  [[nodiscard]] Picoseconds At(size_t index, const Op& op, const Unit& unit) const;

  /// Returns what the unit would take for the whole model; kCannotRun if it cannot run some op.
  [[nodiscard]] Picoseconds Alone(const std::vector<OpId>& order, const Unit& unit) const;

 private:
  [[nodiscard]] Picoseconds Anywhere(size_t index, const Op& op, const Unit& unit) const;

  const Graph& graph_;
  const KernelChoiceOptions& choice_;
  bool keep_table_;
  std::vector<std::vector<Mark>> marks_;  ///< by op in the order
  std::vector<std::string> bound_;        ///< by op in the order: its backend; empty: any listed
};

}  // namespace tenon::converter
