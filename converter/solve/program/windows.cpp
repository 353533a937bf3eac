#include "converter/solve/program/windows.hpp"

#include <algorithm>

namespace tenon::converter {
namespace {

/// The ops that use a storage first and last; one of the caller's is used beyond the ends.
struct Use {
  int64_t first = INT64_MAX;
  int64_t last = -1;
};

std::vector<Use> UsesOf(const MemoryStepsProblem& problem) {
  std::vector<Use> uses(problem.storages.size());
  const auto ops = static_cast<int64_t>(problem.ops.size());
  for (int64_t i = 0; i < ops; ++i) {
    const RepeatableOp& op = problem.ops[static_cast<size_t>(i)];
    for (const auto* list : {&op.reads, &op.writes}) {
      for (const Index s : *list) {
        uses[s].first = std::min(uses[s].first, i);
        uses[s].last = std::max(uses[s].last, i);
      }
    }
  }
  for (size_t s = 0; s < uses.size(); ++s) {
    if (problem.storages[s].from_start) uses[s].first = -1;
    if (problem.storages[s].to_end) uses[s].last = ops;
  }
  return uses;
}

/// Returns the bytes alive between op b - 1 and op b, by b.
std::vector<int64_t> LiveBetween(const MemoryStepsProblem& problem, const std::vector<Use>& uses) {
  std::vector<int64_t> live(problem.ops.size() + 1, 0);
  for (size_t s = 0; s < uses.size(); ++s) {
    for (int64_t b = std::max<int64_t>(uses[s].first + 1, 0);
         b <= std::min<int64_t>(uses[s].last, static_cast<int64_t>(problem.ops.size())); ++b) {
      live[static_cast<size_t>(b)] += problem.storages[s].bytes;
    }
  }
  return live;
}

class WindowFinder {
 public:
  WindowFinder(const MemoryStepsProblem& problem, Index most_ops)
      : problem_(problem),
        most_(most_ops),
        uses_(UsesOf(problem)),
        between_(LiveBetween(problem, uses_)) {}

  std::vector<ProgramWindow> Run() {
    const CostOfSteps cost = CostOf(problem_, EveryOpOnce(problem_));
    if (!cost.valid) return {};
    for (Index i = 0; i < problem_.ops.size(); ++i) {
      if (cost.live[i] <= problem_.fast_bytes) continue;
      if (!windows_.empty() && i < windows_.back().end) continue;
      Add(i);
    }
    return windows_;
  }

 private:
  void Add(Index full) {
    // Reaches over all that is alive there.
    int64_t begin = full;
    int64_t end = full + 1;
    for (const Use& use : uses_) {
      if (use.first > full || use.last < full) continue;
      begin = std::min(begin, std::max<int64_t>(use.first, 0));
      end = std::max(end, std::min<int64_t>(use.last + 1, Size()));
    }
    const int64_t least = windows_.empty() ? 0 : windows_.back().end;
    begin = std::max(begin, least);
    if (end - begin > most_) {
      // Takes as many ops on both sides, then gives up those beyond the emptiest place.
      const int64_t half = most_ / 2;
      const int64_t from = std::clamp<int64_t>(full - half, begin, std::max(begin, end - most_));
      end = std::min<int64_t>(end, from + most_);
      begin = Emptiest(from, full);
      end = Emptiest(full + 1, end);
    }
    windows_.push_back({static_cast<Index>(begin), static_cast<Index>(end)});
  }

  [[nodiscard]] int64_t Size() const { return static_cast<int64_t>(problem_.ops.size()); }

  /// Returns the place where the fewest bytes are alive, of equal ones the outermost.
  [[nodiscard]] int64_t Emptiest(int64_t first, int64_t last) const {
    const auto begin = between_.begin();
    return std::min_element(begin + first, begin + last + 1) - begin;
  }

  const MemoryStepsProblem& problem_;
  const int64_t most_;
  const std::vector<Use> uses_;
  const std::vector<int64_t> between_;
  std::vector<ProgramWindow> windows_;
};

}  // namespace

std::vector<ProgramWindow> FindWindows(const MemoryStepsProblem& problem, Index most_ops) {
  return WindowFinder(problem, most_ops).Run();
}

WindowProblem ProblemOf(const MemoryStepsProblem& problem, const ProgramWindow& window) {
  const std::vector<Use> uses = UsesOf(problem);
  WindowProblem result;
  result.problem.fast_bytes = problem.fast_bytes;
  result.problem.slow_bytes = problem.slow_bytes;
  result.problem.copy_engine = problem.copy_engine;
  std::vector<Index> number(problem.storages.size(), 0);
  for (Index s = 0; s < problem.storages.size(); ++s) {
    // Alive in the window if some op uses it there, or ops on both sides of it do.
    if (uses[s].first >= int64_t{window.end} || uses[s].last < int64_t{window.begin}) continue;
    MovableStorage storage = problem.storages[s];
    storage.from_start = uses[s].first < int64_t{window.begin};
    storage.to_end = uses[s].last >= int64_t{window.end};
    number[s] = static_cast<Index>(result.problem.storages.size());
    result.problem.storages.push_back(storage);
    result.storages.push_back(s);
  }
  const auto renumber = [&](std::vector<Index>& storages) {
    for (Index& s : storages) s = number[s];
  };
  for (Index i = window.begin; i < window.end; ++i) {
    RepeatableOp op = problem.ops[i];
    renumber(op.reads);
    renumber(op.writes);
    for (HandOver& hand_over : op.hand_overs) {
      hand_over = {number[hand_over.from], number[hand_over.to]};
    }
    result.problem.ops.push_back(std::move(op));
  }
  return result;
}

std::vector<MemoryStep> StepsOfWhole(const WindowProblem& window, Index begin,
                                     const std::vector<MemoryStep>& steps) {
  std::vector<MemoryStep> whole = steps;
  for (MemoryStep& step : whole) {
    step.what = step.kind == StepKind::kRun ? step.what + begin : window.storages[step.what];
  }
  return whole;
}

}  // namespace tenon::converter
