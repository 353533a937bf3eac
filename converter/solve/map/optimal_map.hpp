// Chooses which unit runs which op, for the least time (docs/methods.md, M5). This code depends on
// neither graphs nor boards.
//
// The cost of a mapping is that of executing it: its ops are aggregated into segments, and the
// units run these in parallel (segment_times.hpp). That is no sum over ops and edges, so a search
// is needed. It takes the best of the table's mapping, one unit for everything, the best along
// paths (the optimum of a chain), and the cheapest one without parallelism (a minimum cut: sums
// over ops, and a start for every edge that crosses), and improves it by moving ops and runs of
// ops. A bound (map_bound.hpp) says how far from the optimum the result can be, and branching
// proves it where mappings are few or the bound is close.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/solve/map/aggregate.hpp"
#include "converter/solve/time/segment_times.hpp"

namespace tenon::converter {

enum class MapObjective : uint8_t {
  kLatency,  ///< end of everything
  kPeriod,   ///< of an input stream: the busiest unit's work per input, including starts
};

struct OptimalMapProblem {
  std::vector<TaskUnit> units;
  std::vector<std::vector<int32_t>> predecessors;  ///< by op; each smaller than its own number
  std::vector<std::vector<Picoseconds>> time;      ///< by op and unit; below 0: cannot run there
  /// By op and unit: the time its results take to leave the unit, and to get to it. Empty: none.
  std::vector<std::vector<Picoseconds>> leave;
  std::vector<std::vector<Picoseconds>> arrive;
  /// False: results may turn out not to cross, so that a bound must not count on it.
  bool crossings_are_certain = true;
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
  Picoseconds bound = 0;      ///< no mapping has less, however it is ordered
  bool exact = false;         ///< proved: `time` is the bound
  bool complete = false;      ///< every mapping was tried, or ruled out by a bound
  int64_t tried = 0;          ///< mappings
};

/// Returns the time of one mapping under the objective.
[[nodiscard]] Picoseconds MappingTime(const OptimalMapProblem& problem,
                                      const std::vector<int32_t>& unit);

/// `table` is a mapping in which every op's unit can run it. Deterministic.
[[nodiscard]] OptimalMap FindOptimalMap(const OptimalMapProblem& problem,
                                        const std::vector<int32_t>& table,
                                        const OptimalMapOptions& options);

// Assigns ops to units at the least cost if nothing ran in parallel, by a minimum cut.

/// Returns the mapping with the least sum of the ops' times and, for every edge between two units,
/// of what crosses and a start of the unit that it leads to. With two units no mapping has a
/// smaller sum; with more, two at a time are cut anew until nothing improves, beginning at `start`.
[[nodiscard]] std::vector<int32_t> CheapestWithoutParallelism(const OptimalMapProblem& problem,
                                                              std::vector<int32_t> start);

/// Returns the sum that CheapestWithoutParallelism minimises.
[[nodiscard]] Picoseconds SerialCost(const OptimalMapProblem& problem,
                                     const std::vector<int32_t>& unit);

}  // namespace tenon::converter
