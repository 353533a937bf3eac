// Bounds for what happens between two cuts of a time problem, units side by side.
#pragma once

#include <vector>

#include "converter/solve/time/time_cuts.hpp"
#include "converter/solve/time/time_problem.hpp"

namespace tenon::converter {

/// One job of a machine: not before `head`, then `length`, then at least `tail` more.
struct MachineJob {
  Picoseconds head = 0;
  Picoseconds length = 0;
  Picoseconds tail = 0;
};

/// Makespan of the jobs on one machine if they may be interrupted: always the one with the longest
/// tail first (J. R. Jackson 1955; Carlier 1982). No schedule without interruptions is shorter.
[[nodiscard]] Picoseconds OneMachineBound(std::vector<MachineJob> jobs);

/// By level: the least time from one cut (or the start) to the next (or the end): a task that is a
/// cut counts from its start, a storage from when it is complete. Heads come from the paths and
/// from what all ancestors between the cuts need of each unit: `ancestor_work`, by task and unit,
/// or empty.
[[nodiscard]] std::vector<Picoseconds> SegmentBounds(const TimeProblem& problem,
                                                     const TimeCuts& cuts,
                                                     const std::vector<Picoseconds>& tails,
                                                     const std::vector<Picoseconds>& ancestor_work);

}  // namespace tenon::converter
