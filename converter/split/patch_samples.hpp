// Which patches of a chain, and which tiles of a patch, an estimate examines where there are many.
#pragma once

#include <cstdint>
#include <vector>

namespace tenon::converter {

/// Returns the patches examined, ascending; they include the first and the last. Of those that add
/// one share together, in so many steps, all are examined, or none.
[[nodiscard]] std::vector<int32_t> SampledParts(int32_t parts, int32_t steps);

/// Returns the tiles of a patch that are examined: both edges, and one between.
[[nodiscard]] std::vector<int32_t> SampledTiles(int32_t tiles);

}  // namespace tenon::converter
