// Ops of a pipeline's stages on boards where constants are fetched before use.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/board/board.hpp"
#include "converter/cost/cost_model.hpp"
#include "converter/ir/pass.hpp"
#include "converter/stage/staged_graph.hpp"

namespace tenon::converter {

/// Where the board stages constants, gives every op of these stages copies of the constants that it
/// reads, made just before it, in its stage: on the stage's own worker, which the copy occupies.
/// Neighbours that read the same constant share a copy. `fetches`: by stage, true if its unit runs
/// from the arena's memory. Requires: kernels chosen, layouts assigned.
[[nodiscard]] Status FetchConstants(StagedGraph& staged, const Board& board,
                                    const std::vector<bool>& fetches, PassReport& report);

/// Returns true for an op that FetchConstants has inserted.
[[nodiscard]] bool IsFetch(const Graph& graph, const Op& op);

/// Returns what the op's copy takes on the board's link.
[[nodiscard]] Picoseconds FetchTime(const Graph& graph, const Op& op, const Board& board);

}  // namespace tenon::converter
