// Replaces a chain by its patches.
//
// Requires:   the chain was made from this graph, which has not been changed since.
// Guarantees: the same values, bit by bit, where ops compute an element in one way whatever its
//             neighbours are (portable kernels do); exits keep their names and readers; constants
//             are shared by all patches; every other op keeps its place in the order. Patches
//             follow one another: `conv_3/patch_0`, ..., each through the whole chain.
// Slices and concatenations are made so that they become views: a patch is written into the buffer
// where the rows kept for it already lie, or straight into the exit. Rows that must be moved are
// `copy` ops between equal layouts.
#pragma once

#include "converter/ir/graph.hpp"
#include "converter/split/chain.hpp"

namespace tenon::converter {

/// Errors (kInternal): the split table gave an op that its shape rule refuses.
[[nodiscard]] Status CutIntoPatches(Graph& graph, const Chain& chain, const Patching& patching);

}  // namespace tenon::converter
