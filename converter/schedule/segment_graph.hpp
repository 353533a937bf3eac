// Expresses a graph on a board whose units are started once per segment as a segment problem.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/board/board.hpp"
#include "converter/cost/cost_model.hpp"
#include "converter/ir/locations.hpp"
#include "converter/solve/order/memory_problem.hpp"
#include "converter/solve/time/segment_times.hpp"
#include "converter/solve/time/time_problem.hpp"

namespace tenon::converter {

/// Ops that execute are numbered in the graph's order, in both problems alike.
struct SegmentGraph {
  SegmentProblem problem;  ///< unit i is the board's i-th
  MemoryProblem memory;
  TimeProblem time;  ///< the same ops and durations, if units were not started per segment
  std::vector<OpId> op_of_node;
  /// By node: the time for its operands to cross between memories. It is part of the node's
  /// duration.
  std::vector<Picoseconds> crossing;
};

/// Returns true if the board's backends are started once per segment: some op is on a device, and
/// all ops run from one memory, or from memories that the device itself fetches from.
[[nodiscard]] bool RunsInSegments(const Graph& graph, const Locations& locations,
                                  const Board& board);

/// Makes the problem. The first reader of a crossing tensor on a device pays for copying it there,
/// and the writer pays for copying it back, at the speed of the link between the arena's space and
/// the unit's. Units that run from the arena's space pay nothing. `unit_of_op`: as
/// ScheduleOptions::unit_of_op. Errors (kInput): an op that no unit of the board runs.
[[nodiscard]] Result<SegmentGraph> MakeSegmentGraph(const Graph& graph, const Locations& locations,
                                                    const Board& board, const CostModel& model,
                                                    const std::vector<int32_t>& unit_of_op = {});

/// Returns the time to move `bytes` between the arena's space and the one that `unit` runs from: 0
/// where they are the same, or where the board has no link between them.
[[nodiscard]] Picoseconds CrossingTime(const Board& board, const Unit& unit, bool to_unit,
                                       int64_t bytes);

/// Returns a lower bound of the time of any schedule of these ops: the larger of the longest path,
/// with a start wherever a device waits for another unit, and the busiest unit's time with one
/// start.
[[nodiscard]] Picoseconds SegmentBound(const SegmentProblem& problem);

}  // namespace tenon::converter
