// The optimal mapping of a graph (--mapping=optimal, docs/methods.md, M5).
#pragma once

#include <string>
#include <vector>

#include "converter/map/kernel_choice.hpp"
#include "converter/solve/map/optimal_map.hpp"

namespace tenon::converter {

struct OptimalChoice {
  std::vector<std::string> backend;  ///< by OpId, for KernelChoiceOptions::assigned
  OptimalMap map;                    ///< as the search sees it: before layouts and views
  bool differs = false;              ///< from the table's mapping
};

/// Of the backends that the board's table gives each op to; pins hold. `options` need a board and
/// costs. Ops that are usually but views (reshape, slice, concatenation) count as nothing. Errors:
/// as ChooseKernels.
[[nodiscard]] Result<OptimalChoice> ChooseOptimalMap(const Graph& graph,
                                                     const KernelChoiceOptions& options,
                                                     MapObjective objective,
                                                     const OptimalMapOptions& search);

}  // namespace tenon::converter
