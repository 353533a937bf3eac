// Which unit runs which op, for the least time (docs/methods.md, M5). Pure: knows nothing of graphs
// or boards.
//
// A mapping is judged by what is done with it: its ops are aggregated into segments, and the units
// run these side by side (segment_times.hpp). That is no sum over ops and edges, so
// the search is: exact by trying all mappings where they are few; else the better of the table's
// mapping, one unit for everything, and the cheapest without parallelism (a minimum cut: sums over
// ops, and a start for every edge that crosses), improved by moving ops and runs of ops.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/solve/map/segment_times.hpp"

namespace tenon::converter {

enum class MapObjective : uint8_t {
  kLatency,  ///< end of everything
  kPeriod,   ///< of a stream: what the busiest unit has to do per input, starts included
};

struct OptimalMapProblem {
  std::vector<SegmentUnit> units;
  std::vector<std::vector<int32_t>> predecessors;  ///< by op; each smaller than its own number
  std::vector<std::vector<Picoseconds>> time;      ///< by op and unit; below 0: cannot run there
  /// By op and unit: what its results take to leave the unit, and to come to it. Empty: nothing.
  std::vector<std::vector<Picoseconds>> leave;
  std::vector<std::vector<Picoseconds>> arrive;
  MapObjective objective = MapObjective::kLatency;

  [[nodiscard]] size_t size() const { return time.size(); }
};

struct OptimalMapOptions {
  int64_t work_budget = 10'000'000;  ///< ops and edges looked at
  uint64_t seed = 1;
};

struct OptimalMap {
  std::vector<int32_t> unit;  ///< by op
  Picoseconds table = 0;      ///< of the mapping that was given
  Picoseconds time = 0;       ///< of this one; never more
  bool exact = false;         ///< no mapping has less
  int64_t tried = 0;          ///< mappings
};

/// Time of one mapping under the objective.
[[nodiscard]] Picoseconds MappingTime(const OptimalMapProblem& problem,
                                      const std::vector<int32_t>& unit);

/// `table`: a mapping that every op can be run by. Deterministic.
[[nodiscard]] OptimalMap FindOptimalMap(const OptimalMapProblem& problem,
                                        const std::vector<int32_t>& table,
                                        const OptimalMapOptions& options);

// The cheapest way to deal ops out to units if nothing ran side by side: a minimum cut.

/// The mapping with the least sum of the ops' times and, for every edge between two units, of what
/// crosses and a start of the unit that it leads to. With two units no mapping has a smaller sum;
/// with more, two at a time are cut anew until nothing gets better. `start`: where to begin.
[[nodiscard]] std::vector<int32_t> CheapestWithoutParallelism(const OptimalMapProblem& problem,
                                                              std::vector<int32_t> start);

/// That sum.
[[nodiscard]] Picoseconds SerialCost(const OptimalMapProblem& problem,
                                     const std::vector<int32_t>& unit);

}  // namespace tenon::converter
