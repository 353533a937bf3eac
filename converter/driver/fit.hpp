// Makes a graph fit a board: what it really needs of every memory space is within the space's limit
// (docs/methods.md, C2-C4).
//
//   1. The program that would be made if memory did not matter is taken if it fits.
//   2. Else it is made sure that something fits: the smallest program that is found for this board,
//      whatever its limits are. Without one the graph is refused, with the limits of that program.
//   3. Then faster programs are searched that fit: with kernels in place, chains cut into patches,
//      ops split for the memory of the unit that they are mapped to, or storages spread over two
//      spaces. What several backends cannot fit, the CPU alone may.
//   4. Under a limit that was asked for, the faster of the board's own mapping and the CPU alone.
// So a limit that is accepted is accepted however much larger it is made, and the smallest limit
// that a refusal names was compiled before it is named.
#pragma once

#include <memory>
#include <string>

#include "converter/driver/compile.hpp"
#include "converter/split/patch_plan.hpp"
#include "converter/split/working_set.hpp"

namespace tenon::converter {

struct SplitOptions {
  bool allowed = true;  ///< false: what does not fit whole is refused
  /// The caller asks for this limit of the arena's space, which is not just what the board has: of
  /// the priority table's mapping and the CPU alone, the one that is predicted to be faster is
  /// taken (docs/decisions/0034-limits-compare-mappings.md).
  bool limit_asked = false;
  bool program = true;  ///< run ops again and move tensors, where that is faster or fits at all
  /// What does not fit whole runs ops again or moves tensors even where splitting alone is faster,
  /// or would fit less (one unit).
  bool force_program = false;
  /// Work budget of one search for chains to cut, see MemorySplitOptions.
  int64_t work_budget = 20'000'000;
  /// For the objective memory: the largest permitted ratio of the predicted time to that of the
  /// unsplit model with the fastest kernels. 0: no limit.
  double most_slowdown = 0;
  /// CompileToFit sets it when patches have not been enough: they are cut into tiles too.
  bool tiles = false;
  /// CompileToFit clears it to try patches whose exits lie beside what they are made of, too: those
  /// that follow it may be estimated to need less, and need more.
  bool follow = true;
};

struct Fitted {
  Compiled compiled;
  SplitReport ops;     ///< ops that were split one by one
  MemorySplit chains;  ///< chains that were cut into patches
  bool lean = false;   ///< kernels were left out for their workspaces or packed weights
  /// The unit that alone runs everything because the program of several needs too much, or is
  /// slower within a limit that was asked for; else empty.
  std::string only_unit;
  /// The graph with its parts, before kernels were chosen; null: nothing was cut or split.
  std::shared_ptr<const Graph> cut = {};
};

/// Errors (kDoesNotFit): as RefusalOf says; (kInput): ops that no kernel runs; (kUsage): a most
/// slowdown where several units work.
[[nodiscard]] Result<Fitted> CompileToFit(const Graph& graph, const CompileOptions& options,
                                          const SplitOptions& split);

}  // namespace tenon::converter
