// Proves how large an arena must be at least, however a graph is cut into patches by height, or
// into tiles.
#pragma once

#include <cstdint>
#include <string>

#include "converter/ir/graph.hpp"
#include "converter/ir/outside_inputs.hpp"
#include "converter/split/chain.hpp"

namespace tenon::converter {

/// The bytes that must be alive at once, and why.
struct LeastPatched {
  int64_t bytes = 0;
  std::string reason;  ///< words for people
};

/// Returns the most that one of these shows, of a graph whose ops are cut into rows of any number,
/// in any order, and computed again as often as one likes:
/// - The inputs lie in the arena until something reads them, and the outputs once all is computed.
/// - While an op makes a row of its output, the rows of the input that it needs for that row are
///   there; of convolutions, whose operands are tensors of their own in every plan. Of tiles, the
///   columns that it needs for one pixel of the row.
/// - Of an input that comes by rows, what is kept when some rows have come must suffice, with the
///   rows to come, for the outputs: the least bytes of rows of tensors that lie on all paths from
///   the first rows to what needs later ones (a minimum cut). Beside them lie the rows that come
///   next.
/// Kernels' workspaces are not counted, and an average counts as one sum of a byte per channel that
/// may be begun at any time. Without tiles, cuts in width may need less. Graphs with an input that
/// comes by rows have none.
[[nodiscard]] LeastPatched FindLeastPatched(const Graph& graph, const OutsideInputs& outside,
                                            CutInto into = CutInto::kPatches);

}  // namespace tenon::converter
