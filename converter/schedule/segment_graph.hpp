// A graph on a board whose units are started once per segment, in numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/board/board.hpp"
#include "converter/cost/cost_model.hpp"
#include "converter/ir/locations.hpp"
#include "converter/solve/map/segment_times.hpp"
#include "converter/solve/order/memory_problem.hpp"

namespace tenon::converter {

/// Ops that execute are numbered in the graph's order, in both problems alike.
struct SegmentGraph {
  SegmentProblem problem;  ///< unit i is the board's i-th
  MemoryProblem memory;
  std::vector<OpId> op_of_node;
  /// By node: what its operands take to cross between memories. Part of its duration.
  std::vector<Picoseconds> crossing;
};

/// True if the board's backends are started once per segment: some op is on a device, and all ops
/// run from one memory, or from memories that the device itself fetches from.
[[nodiscard]] bool RunsInSegments(const Graph& graph, const Locations& locations,
                                  const Board& board);

/// Of crossing tensors the first reader on a device pays for bringing them there, the writer for
/// bringing them back, at the board's link between the arena's space and the unit's; nothing where
/// a unit runs from the arena's space. `unit_of_op`: as ScheduleOptions::unit_of_op. Errors
/// (kInput): an op that no unit of the board runs.
[[nodiscard]] Result<SegmentGraph> MakeSegmentGraph(const Graph& graph, const Locations& locations,
                                                    const Board& board, const CostModel& model,
                                                    const std::vector<int32_t>& unit_of_op = {});

/// Time of `bytes` between the arena's space and the one that `unit` runs from: none where that is
/// the same, or where the board has no link between them.
[[nodiscard]] Picoseconds CrossingTime(const Board& board, const Unit& unit, bool to_unit,
                                       int64_t bytes);

/// The least time in which any schedule of these ops can end: the longest path, and the busiest
/// unit with one start.
[[nodiscard]] Picoseconds SegmentBound(const SegmentProblem& problem);

}  // namespace tenon::converter
