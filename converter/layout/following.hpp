// Finds storages that may lie on bytes of another one that is still in use: where patches of a
// chain read an image from its first row on and write another one in the same order, the one that
// is written can follow behind what has been read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "converter/layout/arena_plan.hpp"

namespace tenon::converter {

/// Two storages that are alive at the same time. Where `source` begins at least `distance` bytes,
/// which may be below 0, behind the beginning of `target`, each byte that both have has been used
/// for the last time in `source` when it is written in `target`.
struct Following {
  size_t source = 0;  ///< index into ArenaPlan::storages
  size_t target = 0;
  int64_t distance = 0;  ///< a multiple of kStorageAlignment
};

/// Returns the pairs that save bytes over places beside each other, those that save most first. The
/// steps and storages of `plan` are set.
[[nodiscard]] std::vector<Following> FindFollowing(const Graph& graph, const Locations& locations,
                                                   const ArenaPlan& plan);

}  // namespace tenon::converter
