#include "converter/solve/program/greedy_steps.hpp"

#include <algorithm>
#include <set>

namespace tenon::converter {
namespace {

/// A stretch of steps between two uses of a storage's bytes.
struct Gap {
  Index storage = 0;
  size_t before = 0;  ///< the bytes are used just before this step,
  size_t after = 0;   ///< and next by this one; the number of steps: at the end
};

class Greedy {
 public:
  Greedy(const MemoryStepsProblem& problem, const GreedyOptions& options)
      : problem_(problem),
        options_(options),
        writers_(RepeatableWriters(problem)),
        last_writer_(problem.storages.size(), 0),
        steps_(EveryOpOnce(problem)) {
    for (Index i = 0; i < problem.ops.size(); ++i) {
      for (const Index s : problem.ops[i].writes) last_writer_[s] = i;
    }
  }

  std::optional<std::vector<MemoryStep>> Run() {
    cost_ = CostOf(problem_, steps_);
    if (!cost_.valid) return std::nullopt;
    while (Excess(cost_) > 0) {
      if (!Improve()) return std::nullopt;
    }
    TakeBack();
    return steps_;
  }

 private:
  /// Returns the bytes above the limits, summed over steps.
  [[nodiscard]] int64_t Excess(const CostOfSteps& cost) const {
    int64_t excess = std::max<int64_t>(0, cost.slow_peak - problem_.slow_bytes);
    for (const int64_t live : cost.live) {
      excess += std::max<int64_t>(0, live - problem_.fast_bytes);
    }
    return excess;
  }

  bool Improve() {
    const int64_t excess = Excess(cost_);
    best_gain_ = 0;
    const auto fullest = static_cast<size_t>(
        std::max_element(cost_.live.begin(), cost_.live.end()) - cost_.live.begin());
    for (const Gap& gap : GapsAround(fullest)) {
      TryMove(gap, excess);
      for (int depth = 1; depth <= options_.depth; ++depth) {
        if (!TryRepeat(gap, depth, excess)) break;
      }
      if (tries_ > options_.most_tries) return false;
    }
    if (best_gain_ <= 0) return false;
    steps_ = std::move(best_steps_);
    cost_ = std::move(best_cost_);
    return true;
  }

  /// Returns the storages that are alive at the step without being used there.
  [[nodiscard]] std::vector<Gap> GapsAround(size_t step) const {
    std::vector<Gap> gaps(problem_.storages.size());
    std::vector<bool> alive(problem_.storages.size(), false);
    std::vector<bool> found(problem_.storages.size(), false);
    std::vector<bool> passed(problem_.storages.size(), false);
    for (Index s = 0; s < gaps.size(); ++s) {
      gaps[s].storage = s;
      alive[s] = problem_.storages[s].from_start;
    }
    for (size_t i = 0; i < steps_.size(); ++i) {
      const auto use = [&](Index s, bool makes) {
        if (i < step) {
          gaps[s].before = i + 1;
          alive[s] = true;
        } else if (i == step || makes) {
          passed[s] = true;
        } else if (!passed[s] && !found[s] && alive[s]) {
          gaps[s].after = i;
          found[s] = true;
        }
      };
      const MemoryStep& at = steps_[i];
      if (at.kind != StepKind::kRun) {
        use(at.what, at.kind == StepKind::kMoveIn);
        continue;
      }
      for (const Index s : problem_.ops[at.what].reads) use(s, false);
      for (const Index s : problem_.ops[at.what].writes) use(s, true);
    }
    std::vector<Gap> result;
    for (Index s = 0; s < gaps.size(); ++s) {
      if (passed[s] || !alive[s]) continue;
      if (!found[s] && !problem_.storages[s].to_end) continue;
      if (!found[s]) gaps[s].after = steps_.size();
      result.push_back(gaps[s]);
    }
    return result;
  }

  void Offer(std::vector<MemoryStep> steps, int64_t excess) {
    ++tries_;
    CostOfSteps cost = CostOf(problem_, steps);
    if (!cost.valid) return;
    const int64_t relief = excess - Excess(cost);
    if (relief <= 0) return;
    const int64_t added = std::max<int64_t>(cost.time - cost_.time, 0);
    const double gain = static_cast<double>(relief) / (static_cast<double>(added) + 1);
    if (gain <= best_gain_) return;
    best_gain_ = gain;
    best_steps_ = std::move(steps);
    best_cost_ = std::move(cost);
  }

  void TryMove(const Gap& gap, int64_t excess) {
    const MovableStorage& storage = problem_.storages[gap.storage];
    if (!storage.may_move || problem_.slow_bytes == 0) return;
    std::vector<MemoryStep> steps = steps_;
    const auto at = [&](size_t i) { return steps.begin() + static_cast<std::ptrdiff_t>(i); };
    steps.insert(at(gap.after), {StepKind::kMoveIn, gap.storage});
    const MemoryStep out = {StepKind::kMoveOut, gap.storage};
    const bool is_there = std::find(steps.begin(), at(gap.before), out) != at(gap.before);
    if (!is_there) {
      // A storage is complete once its last writer has run.
      const MemoryStep writer = {StepKind::kRun, last_writer_[gap.storage]};
      const auto written = std::find(steps.begin(), at(gap.before), writer);
      if (!storage.from_start && written == at(gap.before)) return;
      steps.insert(at(gap.before), out);
    }
    Offer(std::move(steps), excess);
  }

  /// Returns false if no deeper chain exists.
  bool TryRepeat(const Gap& gap, int depth, int64_t excess) {
    std::set<Index> ops;
    std::vector<Index> wanted = {gap.storage};
    for (int k = 0; k < depth && !wanted.empty(); ++k) {
      std::vector<Index> next;
      for (const Index s : wanted) {
        const Index writer = writers_[s];
        if (writer == kNoOp) {
          if (k == 0) return false;
          continue;
        }
        if (!ops.insert(writer).second) continue;
        for (const Index read : problem_.ops[writer].reads) {
          if (!IsAliveAt(read, gap.after)) next.push_back(read);
        }
      }
      wanted = std::move(next);
    }
    std::vector<MemoryStep> steps = steps_;
    std::vector<MemoryStep> runs;
    for (const Index op : ops) runs.push_back({StepKind::kRun, op});
    steps.insert(steps.begin() + static_cast<std::ptrdiff_t>(gap.after), runs.begin(), runs.end());
    Offer(std::move(steps), excess);
    return !wanted.empty();
  }

  /// Returns true if the bytes that a step would read there are used by it or a later one anyway.
  [[nodiscard]] bool IsAliveAt(Index storage, size_t step) const {
    if (problem_.storages[storage].to_end) return true;
    for (size_t i = step; i < steps_.size(); ++i) {
      const MemoryStep& at = steps_[i];
      if (at.kind == StepKind::kMoveIn && at.what == storage) return false;
      if (at.kind == StepKind::kMoveOut && at.what == storage) return true;
      if (at.kind != StepKind::kRun) continue;
      const RepeatableOp& op = problem_.ops[at.what];
      if (std::find(op.reads.begin(), op.reads.end(), storage) != op.reads.end()) return true;
      if (std::find(op.writes.begin(), op.writes.end(), storage) != op.writes.end()) return false;
    }
    return false;
  }

  /// Leaves out what the program can do without, latest first.
  void TakeBack() {
    for (size_t i = steps_.size(); i-- > 0;) {
      std::vector<MemoryStep> steps = steps_;
      steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(i));
      CostOfSteps cost = CostOf(problem_, steps);
      if (!cost.valid || Excess(cost) > 0 || cost.time > cost_.time) continue;
      steps_ = std::move(steps);
      cost_ = std::move(cost);
    }
  }

  const MemoryStepsProblem& problem_;
  const GreedyOptions& options_;
  const std::vector<Index> writers_;
  std::vector<Index> last_writer_;
  std::vector<MemoryStep> steps_;
  CostOfSteps cost_;
  double best_gain_ = 0;
  std::vector<MemoryStep> best_steps_;
  CostOfSteps best_cost_;
  int64_t tries_ = 0;
};

}  // namespace

std::vector<Index> RepeatableWriters(const MemoryStepsProblem& problem) {
  std::vector<Index> writers(problem.storages.size(), kNoOp);
  for (Index i = 0; i < problem.ops.size(); ++i) {
    const RepeatableOp& op = problem.ops[i];
    if (op.may_repeat && op.writes.size() == 1) writers[op.writes[0]] = i;
  }
  return writers;
}

std::optional<std::vector<MemoryStep>> GreedySteps(const MemoryStepsProblem& problem,
                                                   const GreedyOptions& options) {
  return Greedy(problem, options).Run();
}

}  // namespace tenon::converter
