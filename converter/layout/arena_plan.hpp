// Gives every storage of a program its bytes: decides which storages share bytes by an in-place
// hand-over, how long each lives, and where it lies in the arena.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "converter/ir/graph.hpp"
#include "converter/ir/locations.hpp"
#include "converter/ir/outside_inputs.hpp"
#include "converter/solve/place/place.hpp"
#include "converter/solve/place/place_memo.hpp"
#include "runtime/base/round_up.hpp"

namespace tenon::converter {

/// Offsets of storages in an arena are multiples of this: a cache line, and a vector register.
inline constexpr int64_t kStorageAlignment = 64;
/// Returns the bytes that a storage takes with the gap to the next one.
[[nodiscard]] constexpr int64_t PaddedBytes(int64_t bytes) {
  return RoundUp(bytes, kStorageAlignment);
}

struct PlannedStorage {
  TensorId root = kNone;               ///< the tensor that owns the bytes; kNone for a workspace
  OpId workspace_of = kNone;           ///< the op that uses it; kNone for a tensor
  std::vector<OpId> fallback_of = {};  ///< ops whose fall-back kernels use it, one at a time
  int64_t bytes = 0;
  bool on_chip = false;    ///< stays inside an accelerator: it is in no arena
  int32_t arena = 0;       ///< index into ArenaPlan::arenas
  int64_t offset = 0;      ///< in the arena
  int64_t first_step = 0;  ///< first write (0 for graph inputs)
  int64_t last_step = 0;   ///< last read (the last step for graph outputs)
};

/// Describes one block of one memory space. Arena 0 is the one that ops run from.
struct PlannedArena {
  std::string space;  ///< its memory space's name on the board; empty: the board's arena space
  int64_t bytes = 0;
  int64_t lower_bound = 0;  ///< largest sum of live bytes
  bool proven_optimal = false;
  int32_t slots = 1;  ///< above 1: a ring, `bytes` is one slot's
};

struct ArenaPlan {
  std::vector<OpId> steps;               ///< ops that execute, in order
  std::vector<PlannedStorage> storages;  ///< all but constants and outside inputs
  OutsideInputs outside;                 ///< an arena each, behind those of `arenas`
  std::vector<PlannedArena> arenas;      ///< empty: one, of `bytes` and `lower_bound`
  std::vector<int> in_place;             ///< by OpId: input that output 0 takes over, or -1
  int64_t bytes = 0;
  int64_t lower_bound = 0;  ///< largest sum of live bytes
  bool proven_optimal = false;
  int64_t place_work = 0;
  /// Ops that start together: neighbours in `steps`. All that they use is alive during all of them.
  std::vector<std::vector<OpId>> groups;
};

struct ArenaOptions {
  bool in_place = true;
  PlaceOptions place = {};
  std::shared_ptr<PlacementMemo> memo;  ///< placements that are known; may be null
  /// As ArenaPlan::groups. Ops of a group are neighbours in the graph's order of executed ops.
  std::vector<std::vector<OpId>> groups = {};
  OutsideInputs outside = {};
  /// A storage may lie where another one that is still in use has been used for the last time. Only
  /// for ops that run one after the other, in this order.
  bool follow = false;
};

/// Returns the inputs whose bytes the op's output may take over where the order allows it, that is,
/// where the op is the last to use them and the first to use the output. That is safe because the
/// op reads each element before it writes the one in its place. Ascending; the first possible one
/// is taken. None of `outside`: that memory is only read.
[[nodiscard]] std::vector<size_t> HandOverInputs(const Graph& graph, const Locations& locations,
                                                 const Op& op, const OutsideInputs& outside = {});

/// What one op needs at once: the storages that it uses, whole unless one may lie where another one
/// has been used, and its workspace.
struct LargestOp {
  OpId op = kNone;
  int64_t bytes = 0;
};

/// Returns the op of `steps` that needs most, where it takes over an input if it may. No order of
/// these ops, and no program that runs them again or moves tensors between them, needs less.
[[nodiscard]] LargestOp FindLargestOp(const Graph& graph, const Locations& locations,
                                      const std::vector<OpId>& steps,
                                      const ArenaOptions& options = {});

[[nodiscard]] ArenaPlan PlanArena(const Graph& graph, const Locations& locations,
                                  const ArenaOptions& options);

}  // namespace tenon::converter
