#include "converter/solve/program/memory_program.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "converter/solve/program/greedy_steps.hpp"
#include "converter/solve/program/mip_model.hpp"
#include "converter/solve/program/windows.hpp"

namespace tenon::converter {
namespace {

using Steps = std::vector<MemoryStep>;

bool Fits(const MemoryStepsProblem& problem, const CostOfSteps& cost) {
  return cost.valid && cost.fast_peak <= problem.fast_bytes && cost.slow_peak <= problem.slow_bytes;
}

class Solver {
 public:
  Solver(const MemoryStepsProblem& problem, const MemoryProgramOptions& options)
      : problem_(problem), options_(options) {
    greedy_options_.depth = options.depth;
  }

  MemoryProgram Run() {
    result_.steps = EveryOpOnce(problem_);
    result_.cost = CostOf(problem_, result_.steps);
    result_.once_time = result_.bound = result_.cost.time;
    result_.fits = Fits(problem_, result_.cost);
    if (result_.fits || !result_.cost.valid) return std::move(result_);
    if (std::optional<Steps> greedy = GreedySteps(problem_, greedy_options_)) {
      Offer(std::move(*greedy));
      result_.greedy_time = result_.cost.time;
    }
    if (options_.most_nodes >= 0) OfferWindows();
    return std::move(result_);
  }

 private:
  void Offer(Steps steps) {
    CostOfSteps cost = CostOf(problem_, steps);
    if (!Fits(problem_, cost) || (result_.fits && cost.time >= result_.cost.time)) return;
    result_.fits = true;
    result_.steps = std::move(steps);
    result_.cost = std::move(cost);
  }

  /// Solves window by window; the ops between them run once.
  void OfferWindows() {
    const std::vector<ProgramWindow> windows = FindWindows(problem_, options_.most_window_ops);
    result_.windows = static_cast<int>(windows.size());
    Steps steps;
    double bound = static_cast<double>(result_.once_time);
    Index next = 0;
    const auto run_once = [&](Index end) {
      for (; next < end; ++next) steps.push_back({StepKind::kRun, next});
    };
    bool complete = true;
    for (const ProgramWindow& window : windows) {
      run_once(window.begin);
      const WindowProblem part = ProblemOf(problem_, window);
      const std::optional<Steps> solved = Solve(part.problem, bound);
      if (!solved) complete = false;
      const Steps own =
          StepsOfWhole(part, window.begin, solved.value_or(EveryOpOnce(part.problem)));
      steps.insert(steps.end(), own.begin(), own.end());
      next = window.end;
    }
    run_once(static_cast<Index>(problem_.ops.size()));
    result_.bound = complete ? static_cast<int64_t>(bound) : 0;
    if (complete) Offer(std::move(steps));
    result_.bound = std::min(result_.bound, result_.cost.time);
  }

  /// Adds to `bound` what the window takes at least beyond every op once.
  std::optional<Steps> Solve(const MemoryStepsProblem& part, double& bound) {
    const std::optional<Steps> greedy = GreedySteps(part, greedy_options_);
    PositionOptions positions;
    positions.depth = options_.depth;
    positions.most_repeats = options_.most_repeats;
    positions.most_in_all = options_.most_positions;
    const MipModel model(part, FindPositions(part, positions, greedy.value_or(Steps())));
    MipOptions mip;
    mip.most_nodes = options_.most_nodes;
    mip.relative_gap = options_.relative_gap;
    if (greedy) mip.start = model.ValuesOf(*greedy);
    const MipAnswer answer = SolveMip(model.mip(), mip);
    if (answer.state == MipState::kOptimal) ++result_.proved;
    if (answer.state == MipState::kStopped || answer.state == MipState::kNothing) ++result_.stopped;
    bound += std::max(0.0, model.TimeOf(answer.bound) - model.TimeOf(0));
    std::optional<Steps> best = greedy;
    if (!answer.values.empty()) {
      Steps steps = model.StepsOf(answer.values);
      const CostOfSteps cost = CostOf(part, steps);
      const bool better = Fits(part, cost) && (!best || cost.time < CostOf(part, *best).time);
      if (better) best = std::move(steps);
    }
    return best;
  }

  const MemoryStepsProblem& problem_;
  const MemoryProgramOptions& options_;
  GreedyOptions greedy_options_;
  MemoryProgram result_;
};

}  // namespace

MemoryProgram SolveMemoryProgram(const MemoryStepsProblem& problem,
                                 const MemoryProgramOptions& options) {
  return Solver(problem, options).Run();
}

}  // namespace tenon::converter
