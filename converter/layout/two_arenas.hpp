// Spreads a program's storages over two memory spaces that ops work in alike, as a fast memory with
// a large slow one beside it: for what one of them has no room for.
//
// Which storages go where: those stay in the faster space of which many bytes are read and written
// in a run. The others are taken out one by one: at each time the one of least traffic per byte
// that it relieves, that is, summed over the steps at which the space is over its limit. (A greedy
// form of what register allocators do when they spill; what turns out to have room is put back.) If
// that leaves more than the slower space holds, two other ways are tried: least bytes for their
// time, and from the slower space to the faster one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

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

/// The storages of `one`, a plan of one arena for this graph, in an arena of `first` (its number 0)
/// and one of `second`, each within its limit; an arena that nothing lies in is left out. Steps and
/// hand-overs stay as they are. None if no way to spread them is found. `work_budget`: as
/// PlaceOptions', of all placements together; O(storages^2 * steps) beside that at worst.
/// Deterministic.
[[nodiscard]] std::optional<ArenaPlan> SpreadOverTwoArenas(const Graph& graph,
                                                           const Locations& locations,
                                                           const ArenaPlan& one,
                                                           const TwoSpaces& spaces,
                                                           int64_t work_budget);

/// Bytes of the op's operands, each once, that lie in the arena of `space` (as
/// PlannedArena::space).
[[nodiscard]] int64_t OperandBytesIn(const Graph& graph, const Locations& locations,
                                     const ArenaPlan& plan, const std::string& space, const Op& op);

}  // namespace tenon::converter
