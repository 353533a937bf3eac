// Computes bounds for the time between two cuts of a time problem, with units in parallel.
#pragma once

#include <vector>

#include "converter/solve/time/time_cuts.hpp"
#include "converter/solve/time/time_problem.hpp"

namespace tenon::converter {

/// A job of a machine starts at `head` or later and takes `length`; at least `tail` follows.
struct MachineJob {
  Picoseconds head = 0;
  Picoseconds length = 0;
  Picoseconds tail = 0;
};

/// Returns the makespan of the jobs on one machine if they may be interrupted: the one with the
/// longest tail always runs first (J. R. Jackson 1955; Carlier 1982). No schedule without
/// interruptions is shorter.
[[nodiscard]] Picoseconds OneMachineBound(std::vector<MachineJob> jobs);

/// Returns by level the least time from one cut (or the start) to the next (or the end): a task
/// that is a cut counts from its start, a storage from when it is complete. Heads come from the
/// paths and from the work that all ancestors between the cuts need of each unit: `ancestor_work`,
/// by task and unit, or empty.
[[nodiscard]] std::vector<Picoseconds> SegmentBounds(const TimeProblem& problem,
                                                     const TimeCuts& cuts,
                                                     const std::vector<Picoseconds>& tails,
                                                     const std::vector<Picoseconds>& ancestor_work);

}  // namespace tenon::converter
