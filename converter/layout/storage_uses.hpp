// When ops use which bytes of the storages of an arena plan.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "converter/layout/arena_plan.hpp"

namespace tenon::converter {

/// Bytes of a storage that an op reads or writes.
struct StorageUse {
  int64_t step = 0;
  int64_t begin = 0;
  int64_t end = 0;
  bool writes = false;
};

/// Returns the uses by the ops of the plan's steps, by storage and then by step; none of
/// workspaces.
[[nodiscard]] std::vector<std::vector<StorageUse>> UsesOf(const Graph& graph,
                                                          const Locations& locations,
                                                          const ArenaPlan& plan);

/// Returns, of each step, how many bytes of their arenas the storages take that are alive then and
/// for which `counts` is true, each rounded up to a multiple of `alignment`. Bytes on which several
/// of them lie count once.
[[nodiscard]] std::vector<int64_t> TakenBytes(
    const ArenaPlan& plan, int64_t alignment,
    const std::function<bool(const PlannedStorage& storage)>& counts);

}  // namespace tenon::converter
