// Replaces chains by their patches.
//
// Requires:   the chains were made from this graph or an equal copy, unchanged since; they follow
// one
//             another in its order.
// Guarantees: the same values, bit by bit, where ops compute an element in one way whatever its
//             neighbours are (portable kernels do); exits keep their names and readers; constants
//             are shared by all patches; every other op keeps its place in the order. Patches
//             follow one another: `conv_3/patch_0`, ..., each through the whole chain.
// Slices and concatenations are made so that they become views: a patch is written into the buffer
// that already contains the rows kept for it, or straight into the exit. Rows that must be moved
// are `copy` ops between equal layouts.
#pragma once

#include <vector>

#include "converter/ir/graph.hpp"
#include "converter/split/chain.hpp"

namespace tenon::converter {

struct ChainCut {
  const Chain* chain = nullptr;
  Patching patching;
};

/// Errors (kInternal): the split table gave an op that its shape rule refuses; the graph is then
/// invalid. O(ops and patches), whatever the number of chains.
[[nodiscard]] Status CutIntoPatches(Graph& graph, const std::vector<ChainCut>& cuts);

}  // namespace tenon::converter
