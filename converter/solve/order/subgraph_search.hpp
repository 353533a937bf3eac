// The search for the smallest peak of one subgraph, as exact as its share of the work allows.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "converter/solve/order/downset_search.hpp"
#include "converter/solve/order/memory_problem.hpp"
#include "converter/solve/search_effort.hpp"

namespace tenon::converter {

/// Forwards and backwards in time alike: which of the two has fewer downsets is not known
/// beforehand.
class SubgraphSearch {
 public:
  SubgraphSearch(const MemoryProblem& problem, uint64_t seed);

  /// Peaks of `enough` and below are as good as any. Without work the source order stays.
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

/// Searches subgraphs that run one after the other: their peak is the largest one's, so that one
/// comes first, and the others need only come below what is left of it then. Gives the work spent.
int64_t RunSearches(std::vector<SubgraphSearch>& searches, int64_t work_budget,
                    const WorkReport& report);

}  // namespace tenon::converter
