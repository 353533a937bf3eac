// Describes what an order of ops means for time on units that run in parallel. There is one fast
// memory that ops run from and a slow one behind it; tasks run on units, and a transfer engine
// moves values between the two memories. This code depends on neither graphs nor boards.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/solve/order/memory_problem.hpp"
#include "converter/solve/time/simulator.hpp"

namespace tenon::converter {

/// No task, value or storage.
constexpr Index kNobody = UINT32_MAX;

/// A storage contains the bytes of values.
struct TimeStorage {
  int64_t bytes = 0;
  /// The storage lies in slow memory: tasks work on copies of its values, one copy per value.
  /// Otherwise it lies in fast memory from the first task that uses it to the last, and may be
  /// moved out between two of them once it is complete.
  bool slow = false;
  bool from_start = false;  ///< a fast one: already there before the first task
  bool to_end = false;      ///< a fast one: stays to the end
};

/// A value is what a task reads or writes: a window of a storage.
struct TimeValue {
  Index storage = 0;
  int64_t bytes = 0;  ///< of a copy in fast memory
  Picoseconds fetch_time = 0;
  Picoseconds store_time = 0;
  bool from_start = false;  ///< in slow memory before the first task: a constant, an input
  bool to_end = false;      ///< in slow memory at the end: an output; only on slow storages
  /// Values that tasks write and whose bytes these are; only itself if a task writes just this one.
  std::vector<Index> parts;
};

struct TimeTask {
  Index unit = 0;
  Picoseconds duration = 0;
  std::vector<Index> predecessors;   ///< each once; smaller than the task's own number
  std::vector<Index> reads;          ///< values, each once
  std::vector<Index> writes;         ///< values, each once; no value is written twice
  int64_t transient_bytes = 0;       ///< of fast memory, needed only while this task runs
  std::vector<HandOver> hand_overs;  ///< see there; without effect if one is slow
};

/// The numbers of the tasks are an order that respects the predecessors: the source order.
struct TimeProblem {
  std::vector<TimeTask> tasks;
  std::vector<TimeValue> values;
  std::vector<TimeStorage> storages;
  Index units = 1;  ///< without the transfer engine, of which there is one
  /// By unit: how long it still works on what came before, if this is a part of a problem; empty:
  /// all are idle.
  std::vector<Picoseconds> busy = {};
  int64_t fast_bytes = INT64_MAX / 4;
  bool may_move_out = true;  ///< there is slow memory for what does not fit
  /// Everything in fast memory gets an address at once, and is contiguous; otherwise only the sum
  /// counts, and placement must follow later.
  bool with_addresses = false;
  /// What no task reads for so many more tasks makes way early for what would otherwise come late;
  /// 0: things make way only where there is no space at all.
  Index idle_tasks = 0;
};

/// Contains lower bounds for the makespan of every schedule of the problem.
struct TimeBound {
  Picoseconds critical_path = 0;  ///< with the transfers that no schedule can avoid
  Picoseconds busiest_unit = 0;   ///< the transfer engine too
  /// Is at least the largest of these. It also includes one-machine bounds on every unit (Jackson's
  /// preemptive rule with heads and tails from the paths), and the time to fetch, between points
  /// that all paths pass through, what does not fit into fast memory at such a point.
  Picoseconds bound = 0;
};
[[nodiscard]] TimeBound TimeBoundOf(const TimeProblem& problem);

/// Returns by task the longest time from its start to the end of everything that comes after it:
/// durations and stores of outputs.
[[nodiscard]] std::vector<Picoseconds> TailsOf(const TimeProblem& problem);

/// Returns the tasks and the storages that must be in fast memory at the same time, without time:
/// for key nodes, counting, and orders with small peaks.
[[nodiscard]] MemoryProblem MemoryViewOf(const TimeProblem& problem);

}  // namespace tenon::converter
