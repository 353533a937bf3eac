#include "converter/solve/stage/share_copies.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tenon::converter {
namespace {

constexpr int32_t kInputsToSimulate = 32;
/// Leads that are tried, in this order.
constexpr int32_t kLeads[] = {0, 1, 2, 4, 8};

class Sharer {
 public:
  explicit Sharer(const SharingProblem& problem) : problem_(problem) {
    for (const SharingProblem::Stage& stage : problem.stages) stages_.push_back(stage.own);
    lead_.assign(stages_.size(), -1);
  }

  std::vector<CopySharing> Run() {
    std::vector<CopySharing> found;
    const Picoseconds without = Period();
    for (size_t helped = 0; helped < problem_.most_helped && HelpOneMore(); ++helped) {
      const Picoseconds period = Period();
      if (period < without) found.push_back({lead_, period});
    }
    std::stable_sort(found.begin(), found.end(), [](const CopySharing& a, const CopySharing& b) {
      return a.period < b.period;
    });
    return found;
  }

 private:
  [[nodiscard]] Picoseconds Period() const {
    // Of few inputs the mean can be a little too short.
    return std::max(SimulatePipeline(stages_, problem_.channels, kInputsToSimulate).period,
                    PeriodBound(stages_));
  }

  /// False: there is none left.
  bool HelpOneMore() {
    Picoseconds shortest = 0;
    size_t best = stages_.size();
    int32_t best_lead = 0;
    for (size_t s = 0; s < stages_.size(); ++s) {
      const StageCopies& parts = problem_.stages[s].parts;
      if (lead_[s] >= 0 || parts.copies.empty() || parts.ops.empty()) continue;
      for (const int32_t lead : kLeads) {
        Help(s, lead);
        const Picoseconds period = Period();
        if (best < stages_.size() && period >= shortest) continue;
        shortest = period;
        best = s;
        best_lead = lead;
      }
      stages_[s] = problem_.stages[s].own;
    }
    if (best == stages_.size()) return false;
    Help(best, best_lead);
    lead_[best] = best_lead;
    return true;
  }

  void Help(size_t s, int32_t lead) {
    const SharingProblem::Stage& stage = problem_.stages[s];
    const CopyStarts starts = StartCopies(stage.parts, {lead, problem_.spare_bytes});
    stages_[s] = HelpedStage(stage, starts, problem_.engine);
  }

  const SharingProblem& problem_;
  std::vector<PipelineStage> stages_;
  std::vector<int32_t> lead_;
};

}  // namespace

PipelineStage HelpedStage(const SharingProblem::Stage& stage, const CopyStarts& starts,
                          int32_t engine) {
  const StageCopies& parts = stage.parts;
  const auto ops = static_cast<int32_t>(parts.ops.size());
  PipelineStage result;
  result.unit = stage.own.unit;
  result.steps.push_back({stage.start, result.unit, {}});
  // Op i is step 1 + i; copies follow.
  for (int32_t op = 0; op < ops; ++op) {
    result.steps.push_back({parts.ops[static_cast<size_t>(op)].time, result.unit, {op}});
  }
  std::vector<size_t> order(parts.copies.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return starts.before[a] < starts.before[b]; });
  int32_t before = 0;
  for (const size_t i : order) {
    const auto step = static_cast<int32_t>(result.steps.size());
    result.steps.push_back({parts.copies[i].time, engine, {before}});
    if (starts.before[i] > 0) result.steps.back().waits.push_back(starts.before[i]);
    result.steps[static_cast<size_t>(parts.copies[i].reader) + 1].waits.push_back(step);
    before = step;
  }
  result.time = SimulatePipeline({result}, {}, 1).makespan;
  return result;
}

std::vector<CopySharing> ShareCopies(const SharingProblem& problem) {
  return Sharer(problem).Run();
}

}  // namespace tenon::converter
