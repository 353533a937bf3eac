// Finds the best groups of ops that start together, exactly, where the graph is small enough
// (docs/methods.md, F5). This code depends on neither graphs nor boards.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/solve/fuse/branch_graph.hpp"
#include "converter/solve/fuse/group_model.hpp"

namespace tenon::converter {

struct ExactGroups {
  bool proven = false;  ///< false: the budget ran out, or there are more than 64 ops
  double seconds = 0;
  std::vector<OpSet> sets;  ///< in the order in which they start; ops that start alone too
  int64_t work = 0;         ///< sets looked at
};

/// Returns the sequence of sets of independent ops with the least sum of times, by dynamic
/// programming over downsets: after each set, what has run is closed under predecessors. All ops
/// may be in sets with others. With `work_budget` used up, nothing is found.
[[nodiscard]] ExactGroups FindExactGroups(const BranchGraph& graph, const GroupModel& model,
                                          int64_t work_budget);

/// Returns the part of the graph that consists of these ops (ascending), numbered from 0.
[[nodiscard]] BranchGraph PartOf(const BranchGraph& graph, const std::vector<int32_t>& ops);

/// A model of such a part.
class PartModel final : public GroupModel {
 public:
  PartModel(const GroupModel& whole, std::vector<int32_t> ops)
      : whole_(whole), ops_(std::move(ops)) {}
  [[nodiscard]] double Time(const OpSet& ops) const override { return whole_.Time(InWhole(ops)); }
  [[nodiscard]] std::string WhyNot(const OpSet& ops) const override {
    return whole_.WhyNot(InWhole(ops));
  }

 private:
  [[nodiscard]] OpSet InWhole(const OpSet& ops) const {
    OpSet set;
    for (const int32_t op : ops) set.push_back(ops_[static_cast<size_t>(op)]);
    return set;
  }

  const GroupModel& whole_;
  std::vector<int32_t> ops_;
};

}  // namespace tenon::converter
