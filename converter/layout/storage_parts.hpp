// When which bytes of the storages of an arena plan are alive.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/layout/arena_plan.hpp"

namespace tenon::converter {

/// Bytes of a storage that are alive for these steps: from when they are first written until they
/// are used last.
struct StoragePart {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t first_step = 0;
  int64_t last_step = 0;
};

/// Returns the parts of each storage, by address. Where nothing is known of single bytes, as of
/// workspaces and of graphs with states, a storage is one part.
[[nodiscard]] std::vector<std::vector<StoragePart>> PartsOf(const Graph& graph,
                                                            const Locations& locations,
                                                            const ArenaPlan& plan);

}  // namespace tenon::converter
