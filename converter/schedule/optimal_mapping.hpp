// Finds the optimal mapping of a graph (--mapping=optimal, docs/methods.md, M5).
#pragma once

#include <string>
#include <vector>

#include "converter/map/kernel_choice.hpp"
#include "converter/solve/map/optimal_map.hpp"

namespace tenon::converter {

struct OptimalChoice {
  std::vector<std::string> backend;  ///< by OpId, for KernelChoiceOptions::assigned
  std::vector<std::string> unit;     ///< by OpId, for KernelChoiceOptions::assigned_unit
  OptimalMap map;                    ///< as predicted by the search, before layouts and views
  bool differs = false;              ///< the mapping is not the table's
};

/// Chooses among all units of the backends that the board's table lists for each op; respects pins.
/// `options` need a board and costs. Ops that are usually views (reshape, slice, concatenation)
/// cost nothing. Errors: as ChooseKernels.
[[nodiscard]] Result<OptimalChoice> ChooseOptimalMap(const Graph& graph,
                                                     const KernelChoiceOptions& options,
                                                     MapObjective objective,
                                                     const OptimalMapOptions& search);

}  // namespace tenon::converter
