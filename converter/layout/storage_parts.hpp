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

// A workspace may also lie on bytes of storages that are alive, where they have yet to be written,
// or have been used for the last time: on the rows of an output that later patches make, say.

/// Places each workspace, whose op starts with no others, as low as it fits beside what is placed.
/// Returns how many bytes of the arena they need.
int64_t PlaceWorkspacesOverParts(const Graph& graph, const Locations& locations, ArenaPlan& arena);

/// As GrowWorkspaces of arena_plan.hpp, over parts.
int64_t GrowWorkspacesOverParts(Graph& graph, const Locations& locations, ArenaPlan& arena,
                                int64_t most_bytes = 0);

}  // namespace tenon::converter
