// Spreads a program's storages over two memory spaces in both of which ops work, such as a fast
// memory and a large slow one, if one of them is too small for all.
//
// Storages with many bytes read and written per run stay in the faster space. The others are taken
// out one by one: each time the one with the least traffic per byte by which it relieves the space,
// summed over the steps at which the space is over its limit. (This is a greedy form of register
// allocators' spilling; storages that turn out to fit are put back.) If that leaves more than the
// slower space can contain, two other ways are tried: least bytes for their time, and from the
// slower space to the faster one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "converter/layout/arena_plan.hpp"

namespace tenon::converter {

struct ArenaSpace {
  std::string name;             ///< on the board; empty: the board's arena space
  int64_t limit = 0;            ///< bytes that the arena may have
  double bytes_per_second = 0;  ///< 0: not known, counts as fastest
};

struct TwoSpaces {
  ArenaSpace first;
  ArenaSpace second;
};

/// Puts the storages of `one`, a plan of one arena for this graph, into an arena of `first` (its
/// number 0) and one of `second`, each within its limit; an empty arena is left out. Steps and
/// hand-overs stay as they are. Returns none if no way to spread them is found. `work_budget` is
/// that of PlaceOptions, for all placements together; in addition it takes O(storages^2 * steps) at
/// worst. Deterministic.
[[nodiscard]] std::optional<ArenaPlan> SpreadOverTwoArenas(const Graph& graph,
                                                           const Locations& locations,
                                                           const ArenaPlan& one,
                                                           const TwoSpaces& spaces,
                                                           int64_t work_budget);

/// Works likewise, but the storages of the tensors `second`, and no others, go to the second space.
[[nodiscard]] std::optional<ArenaPlan> PutIntoTwoArenas(
    const Graph& graph, const Locations& locations, const ArenaPlan& one, const TwoSpaces& spaces,
    const std::vector<TensorId>& second, int64_t work_budget);

/// Returns the bytes of the op's operands, each once, that lie in the arena of `space` (as
/// PlannedArena::space).
[[nodiscard]] int64_t OperandBytesIn(const Graph& graph, const Locations& locations,
                                     const ArenaPlan& plan, const std::string& space, const Op& op);

}  // namespace tenon::converter
