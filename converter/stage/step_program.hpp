// Makes the steps of a compiled program for the simulator, which unrolls them over replicas and
// rows of a batch.
#pragma once

#include "converter/ir/locations.hpp"
#include "converter/layout/arena_plan.hpp"
#include "converter/profile/measured_cost_model.hpp"
#include "converter/schedule/schedule.hpp"
#include "converter/solve/time/simulator.hpp"

namespace tenon::converter {

/// What a program is made of, and where its costs come from. Borrowed.
struct ProgramSource {
  const Graph& graph;
  const Locations& locations;
  const ArenaPlan& arena;
  const Schedule& schedule;  ///< no workers: one runs the arena plan's steps in order
  const Board& board;        ///< whose units the schedule names
  const Profile* profile = nullptr;
};

/// Returns the program with a step for every op, on the board's units, with every op of the CPU
/// shared between `threads_per_op` threads. Without transfers between memories, and without what
/// segments save: a program whose makespan is known is better scaled by it. Where an op's unit is
/// not known, the step takes no time.
[[nodiscard]] SimulatedProgram StepsOf(const ProgramSource& source, int threads_per_op);

}  // namespace tenon::converter
