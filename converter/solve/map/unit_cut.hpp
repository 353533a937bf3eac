// The cheapest way to deal ops out to units if nothing ran side by side: a minimum cut.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/solve/map/optimal_map.hpp"

namespace tenon::converter {

/// The mapping with the least sum of the ops' times and, for every edge between two units, of what
/// crosses and a start of the unit that it leads to. With two units no mapping has a smaller sum;
/// with more, two at a time are cut anew until nothing gets better. `start`: where to begin.
[[nodiscard]] std::vector<int32_t> CheapestWithoutParallelism(const OptimalMapProblem& problem,
                                                              std::vector<int32_t> start);

/// That sum.
[[nodiscard]] Picoseconds SerialCost(const OptimalMapProblem& problem,
                                     const std::vector<int32_t>& unit);

}  // namespace tenon::converter
