// Searches exactly for the order with the smallest peak, by Dijkstra's algorithm over downsets,
// where the length of a path is the largest cost of its steps.
//
// Downsets are taken by the smallest peak with which they can be reached, the largest first among
// equals. So when a complete one is taken, no order has a smaller peak, and until then the level
// reached is a lower bound. A downset whose next nodes all cost more than the level waits, without
// its successors being made, for the level that the cheapest of them needs. Nodes that can be done
// without loss are done at once (MemoryState::ApplyForced), which keeps the number of downsets
// small.
//
// Source of downsets as the states of the search: Ahn et al., "Ordering Chaos: Memory-Aware
// Scheduling of Irregularly Wired Neural Networks for Edge Devices", MLSys 2020.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "converter/solve/order/downset_table.hpp"
#include "converter/solve/order/memory_state.hpp"
#include "converter/solve/search_effort.hpp"

namespace tenon::converter {

class DownsetSearch {
 public:
  /// No order has a peak below `bound`, and one with `upper` is known, so only smaller ones are
  /// searched for. The problem must outlive the search.
  DownsetSearch(const MemoryProblem& problem, int64_t bound, int64_t upper);

  enum class Outcome {
    kFound,      ///< order() is optimal
    kNoneBelow,  ///< proved: no order has a peak below `upper`
    kOutOfWork,  ///< may be continued
  };
  /// Continues until `work` more is spent.
  Outcome Run(int64_t work);

  [[nodiscard]] std::vector<Index> order() const;  ///< once found
  [[nodiscard]] int64_t lower_bound() const;       ///< proved so far
  [[nodiscard]] const SearchEffort& effort() const { return effort_; }

 private:
  static constexpr uint32_t kNoParent = UINT32_MAX;
  struct Record {
    int64_t expanded = -1;  ///< level it has been expanded at
    uint32_t parent = kNoParent;
    uint32_t moves = 0;  ///< nodes done since the parent: in moves_, move_count of them
    uint32_t move_count = 0;
  };
  struct Successor {
    int64_t live;
    uint32_t number;
  };

  void Expand(uint32_t number);
  void AddSuccessor(uint32_t parent, const std::vector<Index>& moves);

  MemoryState state_;
  DownsetTable table_;
  std::vector<Record> records_;  ///< by number in the table
  std::vector<Index> moves_;
  std::map<int64_t, std::vector<uint32_t>> waiting_;  ///< by level; the last is taken first
  int64_t level_;
  int64_t upper_;
  SearchEffort effort_;
  uint32_t complete_ = kNoParent;

  std::vector<Index> ready_;  // scratch
  std::vector<Index> step_;
  std::vector<Successor> successors_;
};

}  // namespace tenon::converter
