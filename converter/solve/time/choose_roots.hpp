// Which storages lie in slow memory although they would fit into the fast one, so that ops work on
// copies of the windows they touch and the rest takes no room.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/solve/time/time_problem.hpp"

namespace tenon::converter {

/// Turns `slow` of single storages over while the order gets shorter by that, the largest first;
/// those in `fixed` stay. `work`: tasks issued in all evaluations together. True if any has turned.
bool ImproveRoots(TimeProblem& problem, const std::vector<Index>& order,
                  const std::vector<bool>& fixed, int64_t work);

}  // namespace tenon::converter
