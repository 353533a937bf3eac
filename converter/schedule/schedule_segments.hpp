// Schedules a program whose backends are started once per segment (methods M3): which ops a segment
// has, in which order segments and their ops run, what each waits for, where everything lies.
#pragma once

#include "converter/schedule/make_schedule.hpp"

namespace tenon::converter {

/// The graph's order becomes that of the schedule. Among the orders inside segments the one that
/// needs least memory is taken where nothing ends later by it. Deterministic. Errors: kInput (an op
/// that no unit runs), kDoesNotFit (the arena in its space).
[[nodiscard]] Result<ScheduledProgram> ScheduleSegments(Graph& graph, const Locations& locations,
                                                        const Board& board, const CostModel& model,
                                                        const ScheduleOptions& options);

}  // namespace tenon::converter
