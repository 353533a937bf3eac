// Describes how to cut a program into the stages of a pipeline (docs/methods.md, M4, M5, R1) in
// numbers: how long each op takes on each unit, and how many bytes ops pass to each other. This
// code depends on neither graphs nor files.
//
// A stage runs on one unit; stages work on successive inputs at the same time; stages on one unit
// take turns. In steady state one input is done per period, and
//   period = the largest sum, over the units, of the times of the stages on that unit.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/solve/time/simulator.hpp"

namespace tenon::converter {

/// Is the time of an op on a unit that cannot run it.
inline constexpr Picoseconds kCannotRun = -1;

/// A unit runs one stage at a time: a core or a device's command queue.
struct StageUnit {
  Picoseconds start = 0;  ///< of every stage, per input: costs of hand-over and launch
  /// Rates at which a stage gets what other stages (or the caller) wrote and passes on what others
  /// read; 0 means that this takes no time, because memory is shared.
  double read_bytes_per_second = 0;
  double write_bytes_per_second = 0;
  int32_t same_as = -1;  ///< an earlier unit that is this one's equal (another core), or -1
};

/// Describes a tensor that passes between ops. Its bytes count once per stage that reads them.
struct StageValue {
  int32_t writer = -1;           ///< op, or -1: the caller
  std::vector<int32_t> readers;  ///< ops, ascending
  bool is_output = false;        ///< the caller reads it too
  int64_t bytes = 0;
};

struct StageProblem {
  std::vector<StageUnit> units;                ///< at most 16
  std::vector<std::vector<Picoseconds>> time;  ///< by op, in a topological order, and unit
  std::vector<StageValue> values;
  int32_t least_stages = 1;  ///< unless there are fewer ops
  int32_t most_stages = 8;

  [[nodiscard]] size_t ops() const { return time.size(); }
  [[nodiscard]] bool Runs(size_t op, size_t unit) const { return time[op][unit] != kCannotRun; }
};

/// Says which unit runs which op, and the resulting times. Stages are numbered along the data: no
/// op reads what an op of a later stage writes.
struct StageCut {
  std::vector<int32_t> stage_of_op;
  std::vector<int32_t> unit_of_stage;
  std::vector<Picoseconds> stage_time;
  Picoseconds period = 0;
  Picoseconds latency = 0;  ///< of one input alone: all stages after each other
  int64_t traffic =
      0;               ///< bytes that cross stages: a value counts once if any later stage reads it
  bool exact = false;  ///< no cut of this order has a shorter period, but for the slack
  int64_t work = 0;    ///< what the search took
};

/// Computes everything after `unit_of_stage`, except `exact` and `work`.
void MeasureCut(const StageProblem& problem, StageCut& cut);

/// Returns true if every op's unit can run it, values only go forward, and no stage is empty.
[[nodiscard]] bool IsValidCut(const StageProblem& problem, const StageCut& cut);

}  // namespace tenon::converter
