// Makes a graph fit a board: splits what does not fit its memory, compiles, and checks that the
// result does fit (docs/methods.md, C2-C4).
//
//   1. Ops whose working set is over the memory that they run from are split (split/working_set).
//   2. If the arena is over its space, chains of ops are cut into patches (split/patch_plan).
//   3. If that is not enough, kernels with large workspaces or packed weights are left out.
// Where ops work in a second space too (a board's "direct" one), what is not cut is spread over
// both spaces if that is predicted to take less time than the first way above that fits one space,
// or if none does; in the latter case the graph cut to the smallest arena is tried in both spaces
// too. On boards with concurrent units several ways to split are compiled, and the fastest is kept.
#pragma once

#include "converter/driver/compile.hpp"
#include "converter/split/patch_plan.hpp"
#include "converter/split/working_set.hpp"

namespace tenon::converter {

struct SplitOptions {
  bool allowed = true;  ///< false: what does not fit whole is refused
  /// Work budget of one search for chains to cut, see MemorySplitOptions.
  int64_t work_budget = 20'000'000;
  /// For the objective memory: the largest permitted ratio of the predicted time to that of the
  /// unsplit model with the fastest kernels. 0: no limit.
  double most_slowdown = 0;
};

struct Fitted {
  Compiled compiled;
  SplitReport ops;     ///< ops that were split one by one
  MemorySplit chains;  ///< chains that were cut into patches
  bool lean = false;   ///< kernels were left out for their workspaces or packed weights
};

/// Returns the bytes of the board's arena space that a run writes or the plan keeps there: the
/// arena, packed weights, and constants if they are in that space too.
[[nodiscard]] int64_t NeededBytes(const Compiled& compiled, const Board& board);

/// Errors (kDoesNotFit): names the op that needs most, its bytes, the limit, and the smallest limit
/// that works; (kInput): ops that no kernel runs; (kUsage): the objective memory on a board with
/// several units.
[[nodiscard]] Result<Fitted> CompileToFit(const Graph& graph, const CompileOptions& options,
                                          const SplitOptions& split);

}  // namespace tenon::converter
