// Turns what searches reckon with into steps of the simulator, which states times (docs/methods.md,
// C7).
//
// There are two forms of time. The simulator reads steps with their waits and shared ports; plans
// are simulated as they will run. Inside searches quick estimates stand for it: TimesOf for lists
// of segments, TimeEvaluator for orders with transfers. On units with nothing shared the first
// equals the simulation of its steps. The second does too where nothing is moved and memory limits
// nothing; elsewhere it is never shorter, since a simulation of its events waits for their data
// only, not for the room that they found.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/solve/time/segment_times.hpp"
#include "converter/solve/time/simulator.hpp"
#include "converter/solve/time/time_schedule.hpp"

namespace tenon::converter {

/// Returns by step (the ops of the list in their order) the steps whose results it waits for: a
/// started unit waits for everything at a segment's first step.
[[nodiscard]] std::vector<std::vector<int32_t>> NeedsOfSteps(const SegmentProblem& problem,
                                                             const SegmentList& list);

/// Returns one step per op of the list, on units without ports.
[[nodiscard]] SimulatedProgram StepsOf(const SegmentProblem& problem, const SegmentList& list);

/// Returns one step per event of the schedule; the last unit is the transfer engine.
[[nodiscard]] SimulatedProgram StepsOf(const TimeProblem& problem, const TimeSchedule& schedule);

/// Returns the tasks as ops of units that are never started: without transfers and limits of
/// memory, so that no schedule of the problem takes less than the best list of segments.
[[nodiscard]] SegmentProblem WithoutMemory(const TimeProblem& problem);

}  // namespace tenon::converter
