// Searches for the smallest peak of one subgraph, as exactly as its share of the work allows.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "converter/solve/order/downset_search.hpp"
#include "converter/solve/order/memory_problem.hpp"
#include "converter/solve/search_effort.hpp"

namespace tenon::converter {

/// Searches both forwards and backwards in time, because it is not known beforehand which direction
/// has fewer downsets.
class SubgraphSearch {
 public:
  SubgraphSearch(const MemoryProblem& problem, uint64_t seed);

  /// Peaks of `enough` and below are equally good. Without work the source order stays.
  void Run(int64_t enough, int64_t work_budget, const WorkReport& report);

  [[nodiscard]] size_t nodes() const { return directions_[0].nodes.size(); }
  [[nodiscard]] const std::vector<Index>& order() const { return order_; }
  [[nodiscard]] int64_t source_peak() const { return source_peak_; }
  [[nodiscard]] int64_t peak() const { return peak_; }
  [[nodiscard]] int64_t lower_bound() const { return lower_bound_; }  ///< no order needs less
  [[nodiscard]] const SearchEffort& effort() const { return effort_; }

 private:
  [[nodiscard]] int64_t Floor() const;
  [[nodiscard]] bool IsDone() const { return peak_ <= Floor(); }
  [[nodiscard]] bool HasWork() const { return effort_.work < end_; }
  void Take(std::vector<Index> order, size_t direction);
  void TryGreedy();
  void TryBeam(size_t width, double noise, const WorkReport& report);
  void RunExact(int64_t work, const WorkReport& report);
  bool RunSlice(DownsetSearch& search, int64_t work, const WorkReport& report);
  void RunWindows(const WorkReport& report);

  std::array<MemoryProblem, 2> directions_;  ///< forwards and backwards in time
  uint64_t seed_;
  std::vector<Index> order_;
  int64_t source_peak_ = 0;
  int64_t peak_ = 0;
  int64_t lower_bound_ = 0;
  SearchEffort effort_;
  int64_t enough_ = 0;
  int64_t end_ = 0;
};

/// Searches subgraphs that run one after the other. Their peak is that of the largest one, so that
/// one is searched first, and the others only need to get below the peak found for it. Returns the
/// work spent.
int64_t RunSearches(std::vector<SubgraphSearch>& searches, int64_t work_budget,
                    const WorkReport& report);

}  // namespace tenon::converter
