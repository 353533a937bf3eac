#include <algorithm>

#include "converter/solve/program/memory_steps.hpp"

namespace tenon::converter {
namespace {

constexpr size_t kNever = SIZE_MAX;

/// Bytes of a storage from when they are made to their last use.
struct Life {
  Index storage = 0;
  size_t first = 0;
  size_t last = 0;
  int64_t ready = 0;  ///< time at which they have been made
};

class Counter {
 public:
  Counter(const MemoryStepsProblem& problem, const std::vector<MemoryStep>& steps)
      : problem_(problem),
        steps_(steps),
        life_(problem.storages.size(), kNever),
        slow_first_(problem.storages.size(), kNever),
        slow_last_(problem.storages.size(), 0),
        slow_ready_(problem.storages.size(), 0) {}

  CostOfSteps Run() {
    for (Index s = 0; s < problem_.storages.size(); ++s) {
      if (problem_.storages[s].from_start) Begin(s, 0, 0);
    }
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (!Do(i)) return {};
    }
    if (next_first_ != problem_.ops.size()) return {};
    for (Index s = 0; s < problem_.storages.size(); ++s) {
      if (!problem_.storages[s].to_end) continue;
      if (life_[s] == kNever) return {};
      lives_[life_[s]].last = steps_.size();  // behind the last step, so that none takes it over
      compute_ = std::max(compute_, lives_[life_[s]].ready);
    }
    result_.valid = true;
    result_.time = std::max(compute_, engine_);
    CountBytes();
    return std::move(result_);
  }

 private:
  void Begin(Index s, size_t step, int64_t ready) {
    life_[s] = lives_.size();
    lives_.push_back({s, step, step, ready});
  }

  bool Do(size_t i) {
    const MemoryStep& step = steps_[i];
    switch (step.kind) {
      case StepKind::kRun:
        return RunOp(i, step.what);
      case StepKind::kMoveOut:
        return MoveOut(i, step.what);
      case StepKind::kMoveIn:
        return MoveIn(i, step.what);
    }
    return false;
  }

  bool RunOp(size_t i, Index number) {
    const RepeatableOp& op = problem_.ops[number];
    const bool first = number == next_first_;
    if (!first && (number > next_first_ || !op.may_repeat)) return false;
    if (first) ++next_first_;
    int64_t start = std::max(compute_, outs_end_);
    for (const Index s : op.reads) {
      if (life_[s] == kNever) return false;
      lives_[life_[s]].last = i;
      start = std::max(start, lives_[life_[s]].ready);
    }
    compute_ = start + op.time;
    if (!problem_.copy_engine) engine_ = compute_;
    for (const HandOver& hand_over : op.hand_overs) {
      const bool opens = !first || life_[hand_over.to] == kNever;
      if (opens) hand_overs_.push_back({i, hand_over.from, life_[hand_over.from]});
    }
    for (const Index s : op.writes) {
      // Several ops write parts of one storage, each once.
      if (!first || life_[s] == kNever) Begin(s, i, compute_);
      lives_[life_[s]].last = i;
      lives_[life_[s]].ready = compute_;
    }
    return true;
  }

  bool MoveOut(size_t i, Index s) {
    if (!problem_.storages[s].may_move || problem_.slow_bytes == 0 || life_[s] == kNever) {
      return false;
    }
    Life& life = lives_[life_[s]];
    life.last = i;
    if (slow_first_[s] == kNever) slow_first_[s] = slow_last_[s] = i;
    const int64_t start = std::max(engine_, problem_.copy_engine ? life.ready : compute_);
    engine_ = outs_end_ = slow_ready_[s] = start + problem_.storages[s].out_time;
    if (!problem_.copy_engine) compute_ = engine_;
    return true;
  }

  bool MoveIn(size_t i, Index s) {
    if (slow_first_[s] == kNever) return false;
    slow_last_[s] = i;
    engine_ = std::max({engine_, compute_, slow_ready_[s]}) + problem_.storages[s].in_time;
    if (!problem_.copy_engine) compute_ = engine_;
    Begin(s, i, engine_);
    return true;
  }

  void CountBytes() {
    std::vector<int64_t> fast(steps_.size() + 1, 0);
    std::vector<int64_t> slow(steps_.size() + 1, 0);
    for (const Life& life : lives_) {
      fast[life.first] += problem_.storages[life.storage].bytes;
      fast[std::min(life.last + 1, steps_.size())] -= problem_.storages[life.storage].bytes;
    }
    for (Index s = 0; s < problem_.storages.size(); ++s) {
      if (slow_first_[s] == kNever) continue;
      slow[slow_first_[s]] += problem_.storages[s].bytes;
      slow[slow_last_[s] + 1] -= problem_.storages[s].bytes;
    }
    int64_t fast_live = 0;
    int64_t slow_live = 0;
    for (size_t i = 0; i < steps_.size(); ++i) {
      fast_live += fast[i];
      slow_live += slow[i];
      int64_t during = fast_live;
      if (steps_[i].kind == StepKind::kRun) during += problem_.ops[steps_[i].what].workspace;
      during -= SavedAt(i);
      result_.live.push_back(during);
      result_.fast_peak = std::max(result_.fast_peak, during);
      result_.slow_peak = std::max(result_.slow_peak, slow_live);
    }
  }

  /// Returns the bytes that an op at the step takes over.
  int64_t SavedAt(size_t step) {
    int64_t saved = 0;
    for (; next_hand_over_ < hand_overs_.size() && hand_overs_[next_hand_over_].step == step;
         ++next_hand_over_) {
      const Candidate& candidate = hand_overs_[next_hand_over_];
      if (saved > 0 || candidate.life == kNever || lives_[candidate.life].last != step) continue;
      saved = problem_.storages[candidate.from].bytes;
    }
    return saved;
  }

  struct Candidate {
    size_t step;
    Index from;
    size_t life;
  };

  const MemoryStepsProblem& problem_;
  const std::vector<MemoryStep>& steps_;
  std::vector<size_t> life_;  ///< by storage: the latest in fast memory
  std::vector<size_t> slow_first_;
  std::vector<size_t> slow_last_;
  std::vector<int64_t> slow_ready_;
  std::vector<Candidate> hand_overs_;
  size_t next_hand_over_ = 0;
  std::vector<Life> lives_;
  size_t next_first_ = 0;
  int64_t compute_ = 0;   ///< end of the latest op
  int64_t engine_ = 0;    ///< end of the latest move
  int64_t outs_end_ = 0;  ///< end of the latest move out
  CostOfSteps result_;
};

}  // namespace

CostOfSteps CostOf(const MemoryStepsProblem& problem, const std::vector<MemoryStep>& steps) {
  return Counter(problem, steps).Run();
}

std::vector<MemoryStep> EveryOpOnce(const MemoryStepsProblem& problem) {
  std::vector<MemoryStep> steps;
  for (Index i = 0; i < problem.ops.size(); ++i) steps.push_back({StepKind::kRun, i});
  return steps;
}

}  // namespace tenon::converter
