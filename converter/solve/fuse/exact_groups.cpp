#include "converter/solve/fuse/exact_groups.hpp"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace tenon::converter {
namespace {

/// Ops as bits.
using Ops = uint64_t;
constexpr Ops kOne = 1;

class DownsetSearch {
 public:
  DownsetSearch(const BranchGraph& graph, const GroupModel& model, int64_t work_budget)
      : model_(model), work_budget_(work_budget), needs_(graph.size(), 0) {
    all_ = graph.size() == 64 ? ~Ops{0} : (kOne << graph.size()) - 1;
    for (size_t op = 0; op < graph.size(); ++op) {
      for (const int32_t predecessor : graph.predecessors[op]) needs_[op] |= kOne << predecessor;
    }
  }

  ExactGroups Search() {
    ExactGroups result;
    result.seconds = LeastAfter(0);
    result.work = work_;
    result.proven = work_ <= work_budget_;
    for (Ops done = 0; result.proven && done != all_;) {
      const Ops set = known_.at(done).first_set;
      result.sets.push_back(Members(set));
      done |= set;
    }
    return result;
  }

 private:
  struct Known {
    double seconds = 0;
    Ops first_set = 0;
  };

  static OpSet Members(Ops set) {
    OpSet ops;
    for (int op = 0; op < 64; ++op) {
      if ((set >> op & 1) != 0) ops.push_back(op);
    }
    return ops;
  }

  /// What the set takes; infinite if the unit cannot hold it. Sets come again and again.
  double TimeOf(Ops set) {
    const auto [entry, added] = times_.try_emplace(set, 0);
    if (added) {
      const OpSet ops = Members(set);
      const bool fits = ops.size() == 1 || model_.WhyNot(ops).empty();
      entry->second = fits ? model_.Time(ops) : std::numeric_limits<double>::infinity();
    }
    return entry->second;
  }

  /// The least time of everything that is left once `done` has run.
  double LeastAfter(Ops done) {
    if (done == all_) return 0;
    if (const auto found = known_.find(done); found != known_.end()) return found->second.seconds;
    Ops ready = 0;
    for (size_t op = 0; op < needs_.size(); ++op) {
      if ((done >> op & 1) == 0 && (needs_[op] & ~done) == 0) ready |= kOne << op;
    }
    Known best{std::numeric_limits<double>::infinity(), 0};
    for (Ops set = ready; set != 0; set = (set - 1) & ready) {  // all subsets but the empty one
      if (++work_ > work_budget_) break;
      const double first = TimeOf(set);
      if (first >= best.seconds) continue;
      const double seconds = first + LeastAfter(done | set);
      if (seconds < best.seconds) best = {seconds, set};
    }
    known_[done] = best;
    return best.seconds;
  }

  const GroupModel& model_;
  int64_t work_budget_;
  int64_t work_ = 0;
  Ops all_ = 0;
  std::vector<Ops> needs_;
  std::unordered_map<Ops, Known> known_;
  std::unordered_map<Ops, double> times_;
};

}  // namespace

ExactGroups FindExactGroups(const BranchGraph& graph, const GroupModel& model,
                            int64_t work_budget) {
  if (graph.size() > 64) return {};
  if (graph.size() == 0) return {true, 0, {}, 0};
  return DownsetSearch(graph, model, work_budget).Search();
}

BranchGraph PartOf(const BranchGraph& graph, const std::vector<int32_t>& ops) {
  BranchGraph part;
  for (const int32_t op : ops) {
    std::vector<int32_t> predecessors;
    for (const int32_t predecessor : graph.predecessors[static_cast<size_t>(op)]) {
      const auto at = std::lower_bound(ops.begin(), ops.end(), predecessor);
      if (at != ops.end() && *at == predecessor) {
        predecessors.push_back(static_cast<int32_t>(at - ops.begin()));
      }
    }
    part.predecessors.push_back(std::move(predecessors));
  }
  return part;
}

}  // namespace tenon::converter
