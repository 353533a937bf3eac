// Bounds from below what any mapping of ops to units can reach, and proves mappings optimal with
// them (docs/methods.md, M5). This code depends on neither graphs nor boards.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/solve/map/optimal_map.hpp"

namespace tenon::converter {

/// Bounds hold whatever segments and orders are chosen, as segment_times.hpp counts time. They are
/// the larger of two: the longest path, on which every op has its best unit (with what crosses, and
/// the start of a unit that waits for its inputs); and the work, divided among units as if ops
/// could be cut anywhere (the dual of that linear program).
class MapBound {
 public:
  explicit MapBound(const OptimalMapProblem& problem);

  /// Returns the bound over all mappings.
  [[nodiscard]] Picoseconds bound() const { return bound_; }
  /// Returns the mapping that is best along paths: the best of all if the graph is a chain.
  [[nodiscard]] std::vector<int32_t> PathMapping() const;

  /// Ops are given units one after the other, in their order, and taken back in reverse.
  void Assign(int32_t unit);
  void TakeBack();
  [[nodiscard]] size_t assigned() const { return unit_.size(); }
  [[nodiscard]] const std::vector<int32_t>& unit() const { return unit_; }
  /// Returns the bound over all mappings that give the assigned ops these units.
  [[nodiscard]] Picoseconds BoundNow() const;
  /// Returns the units that can run the next op, the one with the least bound first.
  [[nodiscard]] std::vector<int32_t> ChoicesForNext();

 private:
  [[nodiscard]] Picoseconds Time(size_t op, size_t unit) const { return problem_.time[op][unit]; }
  [[nodiscard]] Picoseconds EdgeTime(size_t from, size_t on, size_t unit) const;
  [[nodiscard]] Picoseconds StartOf(size_t unit) const;
  [[nodiscard]] Picoseconds EndAfter(size_t op, size_t unit,
                                     const std::vector<Picoseconds>& end_of_first) const;
  void FindTails();
  void FindHeads();
  void FindWeights();
  [[nodiscard]] int64_t LeastWeighted(size_t op) const;

  const OptimalMapProblem& problem_;
  const size_t units_;
  std::vector<int32_t> readers_;          ///< by op
  std::vector<Picoseconds> head_, tail_;  ///< by op and unit: end at best, and what comes after
  std::vector<int64_t> weight_;           ///< by unit; sums to kWeights
  std::vector<double> rest_;              ///< by op: least weighted work of it and all behind it
  Picoseconds bound_ = 0;
  // State of the assignment: one entry per op that has a unit.
  std::vector<int32_t> unit_;
  std::vector<Picoseconds> end_, path_;  ///< earliest end; the longest path seen so far
  std::vector<double> work_;             ///< weighted, of all so far
  std::vector<Picoseconds> busy_;        ///< by unit
};

struct MapProof {
  Picoseconds bound = 0;  ///< no mapping takes less
  bool complete = false;  ///< every mapping was tried or ruled out
  int64_t tried = 0;      ///< mappings whose time was computed
  int64_t work = 0;       ///< ops and edges looked at
};

/// Looks for mappings that take less than `best.time`, depth first, and leaves out those that a
/// bound rules out. Updates `unit` and `time` of `best`.
[[nodiscard]] MapProof BranchAndBound(const OptimalMapProblem& problem, int64_t work_budget,
                                      OptimalMap& best);

}  // namespace tenon::converter
