#include <algorithm>
#include <set>
#include <utility>

#include "converter/split/memory_plan.hpp"

namespace tenon::converter {
namespace {

class Fitter {
 public:
  Fitter(const Graph& graph, const MemorySplitOptions& options, const MeasureMemory& measure)
      : graph_(graph), measure_(measure), planner_(graph, options) {}

  /// Cuts and measures; keeps the result if it needs least so far.
  Status Try(int64_t target) {
    tried_.insert(target);
    Graph candidate = graph_;
    MemorySplit split = planner_.Plan(target);
    if (Status status = planner_.Apply(candidate); !status.ok()) return status;
    TENON_ASSIGN_OR_RETURN(last_, measure_(candidate));
    ++fit_.tries;
    if (fit_.tries == 1 || last_ < fit_.measured_bytes) {
      fit_.measured_bytes = last_;
      fit_.split = std::move(split);
      best_ = std::move(candidate);
    }
    return {};
  }

  [[nodiscard]] bool Tried(int64_t target) const { return tried_.count(target) != 0; }
  [[nodiscard]] int64_t last() const { return last_; }
  [[nodiscard]] MemoryPlanner& planner() { return planner_; }

  MemoryFit Finish(Graph& graph) {
    graph = std::move(best_);
    return std::move(fit_);
  }

 private:
  const Graph& graph_;
  const MeasureMemory& measure_;
  MemoryPlanner planner_;
  std::set<int64_t> tried_;
  Graph best_;
  MemoryFit fit_;
  int64_t last_ = 0;
};

/// Targets upwards from the smallest: what is best by estimate may be worse in truth.
Status SearchSmallest(Fitter& fitter, int64_t smallest, int most_tries) {
  constexpr int64_t kSteps[] = {0, 4, 8, 16, 32, 64};  // 64ths above it
  for (const int64_t step : kSteps) {
    const int64_t target = smallest + smallest * step / 64;
    if (most_tries-- <= 0 || fitter.Tried(target)) break;
    if (target > fitter.planner().UnsplitPeak()) break;
    if (Status status = fitter.Try(target); !status.ok()) return status;
  }
  return {};
}

}  // namespace

Result<MemoryFit> FitMemory(Graph& graph, int64_t limit_bytes, const MemorySplitOptions& options,
                            const MeasureMemory& measure, int most_tries) {
  Fitter fitter(graph, options, measure);
  // A target that the graph meets as it is changes nothing: the first measurement is of that.
  if (Status status = fitter.Try(INT64_MAX); !status.ok()) return status.error();
  if (fitter.last() <= limit_bytes) return fitter.Finish(graph);
  const int64_t smallest = fitter.planner().SmallestTarget();
  int64_t target = std::max(limit_bytes, smallest);
  for (int tries = 1; tries < most_tries && limit_bytes > 0 && !fitter.Tried(target); ++tries) {
    if (Status status = fitter.Try(target); !status.ok()) return status.error();
    if (fitter.last() <= limit_bytes) return fitter.Finish(graph);
    const int64_t missed = fitter.last() - limit_bytes;
    target = std::max(smallest, target - std::max(missed, target / 64));
  }
  if (Status status = SearchSmallest(fitter, smallest, most_tries); !status.ok()) {
    return status.error();
  }
  return fitter.Finish(graph);
}

}  // namespace tenon::converter
