// Schedules a program on a board whose units run concurrently (docs/methods.md, C6, C7): which unit
// runs which op when, what is moved between memories, and where everything is placed.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/board/board.hpp"
#include "converter/cost/cost_model.hpp"
#include "converter/ir/locations.hpp"
#include "converter/layout/arena_plan.hpp"
#include "converter/schedule/schedule.hpp"
#include "converter/solve/time/time_search.hpp"

namespace tenon::converter {

struct ScheduleOptions {
  TimeSearchOptions search;
  bool search_order = true;  ///< false: the graph's order, and no other
  bool aggregate = true;     ///< false: a backend is started for every op
  ArenaOptions arena;
  /// By OpId: index into Board::units; shorter or kNone: the first unit that runs the op. Read only
  /// where NeedsSchedule is true of the board.
  std::vector<int32_t> unit_of_op = {};
};

/// The results of aggregation (docs/methods.md, M3).
struct SegmentReport {
  size_t ops = 0;           ///< executed ops; without aggregation also the number of starts
  size_t segments = 0;      ///< in the plan; 0: the board's units are not started per segment
  size_t source_order = 0;  ///< segments if only neighbours in the graph's order were merged
  size_t fewest = 0;        ///< segments if only their number mattered
  bool fewest_is_exact = false;
  size_t device_ops = 0;        ///< ops on devices,
  size_t device_starts = 0;     ///< segments on devices
  size_t waits = 0;             ///< waits of steps for steps of other units
  Picoseconds time = 0;         ///< predicted, as planned
  Picoseconds per_op_time = 0;  ///< with a segment for every op, in the graph's order
  Picoseconds fewest_time = 0;  ///< with the fewest segments
};

struct ScheduledProgram {
  Schedule schedule;  ///< no workers: one unit runs all steps in order
  ArenaPlan arena;
  SimulatedProgram program;  ///< exactly the plan's steps: step i is arena.steps[i]
  Simulation simulation;     ///< of `program`; its makespan is the predicted latency
  SegmentReport segments;
  /// The search, with the times of all orders; empty if there is nothing to search.
  TimeOrder order;
  int64_t fast_bytes = 0;  ///< fast memory given to the last search, whose result could be placed
  int64_t largest_fast_root = 0;  ///< larger storages are in slow memory
  size_t fetches = 0;             ///< transfers from slow memory
  size_t stores = 0;              ///< transfers to slow memory
};

/// Returns true if MakeSchedule does more on this board than keep the order.
[[nodiscard]] bool NeedsSchedule(const Board& board);

/// Changes the graph (transfers become copy ops, see LowerSchedule) and its order. On a board with
/// one unit that reads constants in place, it only plans the arena and adds up the time.
/// Deterministic. Errors: kInput (an op that no unit runs), kDoesNotFit (the op whose operands do
/// not fit into fast memory together, or a program that does not fit and may not be moved out).
[[nodiscard]] Result<ScheduledProgram> MakeSchedule(Graph& graph, Locations& locations,
                                                    const Board& board, const CostModel& model,
                                                    const ScheduleOptions& options);

// Schedules a program whose backends are started once per segment (docs/methods.md, M3): the ops of
// each segment, the order of segments and of their ops, their waits, and the placement.

/// Changes the graph's order to that of the schedule. Inside segments takes the order that needs
/// least memory, unless something ends later because of it. Deterministic. Errors: kInput (an op
/// that no unit runs), kDoesNotFit (the arena in its space).
[[nodiscard]] Result<ScheduledProgram> ScheduleSegments(Graph& graph, const Locations& locations,
                                                        const Board& board, const CostModel& model,
                                                        const ScheduleOptions& options);

// Cuts copies that are too large for fast memory into copies of windows. Such copies arise when
// layouts and views are chosen, after ops have been split.

/// Every copy whose input and output have more than `most_bytes` together becomes several, along
/// the axis with the largest extent: windows of the input (slices) are copied into windows of the
/// output (a concatenation), both of which are views. `locations` follows.
[[nodiscard]] Status SplitCopies(Graph& graph, Locations& locations, int64_t most_bytes);

}  // namespace tenon::converter
