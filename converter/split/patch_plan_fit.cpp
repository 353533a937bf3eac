#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "converter/split/patch_plan.hpp"

namespace tenon::converter {
namespace {

class Fitter {
 public:
  Fitter(PatchPlanner& planner, const MeasureMemory& measure)
      : measure_(measure), planner_(planner) {}

  /// Cuts and measures; keeps the result if it needs the least so far. Returns false if there is no
  /// such plan.
  Result<bool> Try(int64_t target) {
    tried_.insert(target);
    MemorySplit split = planner_.Plan(target, into_);
    if (!split.fits) return false;
    Graph candidate = planner_.graph();
    TENON_RETURN_IF_ERROR(planner_.Apply(candidate));
    TENON_ASSIGN_OR_RETURN(last_, measure_(candidate, split));
    ++fit_.tries;
    ++tries_;
    ++(last_ == kTooSlow ? slow_ : fast_);
    if (fit_.tries == 1 || last_ < fit_.measured_bytes) {
      fit_.measured_bytes = last_;
      fit_.split = std::move(split);
      best_ = std::move(candidate);
    }
    return true;
  }

  [[nodiscard]] bool Tried(int64_t target) const { return tried_.count(target) != 0; }
  [[nodiscard]] int64_t last() const { return last_; }
  [[nodiscard]] int64_t least() const { return fit_.measured_bytes; }
  /// Returns true if plans have been found and all but the first, of the uncut graph, were too
  /// slow.
  [[nodiscard]] bool OnlyWholeIsFastEnough() const { return slow_ > 0 && fast_ <= 1; }
  /// Returns the tries with what chains are cut into now.
  [[nodiscard]] int tries() const { return tries_; }
  [[nodiscard]] int64_t SmallestTarget() { return planner_.SmallestTarget(into_); }
  /// Returns the largest target of which something smaller than what is known may come.
  [[nodiscard]] int64_t Ceiling() const {
    const int64_t unsplit = planner_.UnsplitPeak();
    return into_ == CutInto::kPatches ? unsplit : std::min(unsplit, fit_.measured_bytes);
  }

  /// From now on, chains are cut into tiles.
  void MakeTiles() {
    into_ = CutInto::kTiles;
    tried_.clear();
    tries_ = slow_ = 0;
    fast_ = 1;  // the uncut graph
  }

  MemoryFit Finish(Graph& cut) {
    cut = std::move(best_);
    return std::move(fit_);
  }

 private:
  const MeasureMemory& measure_;
  PatchPlanner& planner_;
  std::set<int64_t> tried_;
  Graph best_;
  MemoryFit fit_;
  int64_t last_ = 0;
  CutInto into_ = CutInto::kPatches;
  int tries_ = 0;
  int slow_ = 0;
  int fast_ = 0;
};

/// Halves what lies between a target that is too slow and one that is not.
Status Narrow(Fitter& fitter, int64_t too_slow, int64_t fast) {
  constexpr int kHalvings = 4;
  for (int i = 0; i < kHalvings && fast - too_slow > 1; ++i) {
    const int64_t middle = too_slow + (fast - too_slow) / 2;
    TENON_ASSIGN_OR_RETURN(const bool made, fitter.Try(middle));
    (made && fitter.last() != kTooSlow ? fast : too_slow) = middle;
  }
  return {};
}

/// Tries targets upwards from the smallest, since the plan with the best estimate may measure
/// worse.
Status SearchSmallest(Fitter& fitter, int64_t limit_bytes, int most_tries) {
  const int64_t smallest = fitter.SmallestTarget();
  constexpr int64_t kSteps[] = {0, 4, 8, 16, 32, 64};  // 64ths above it
  // Continues as long as what fits is too slow.
  constexpr int64_t kSlowSteps[] = {0,  4,  8,   12,  16,  24,  32,  40,  48,  64,
                                    80, 96, 128, 160, 192, 256, 320, 384, 512, 768};
  int64_t too_slow = 0;
  for (const int64_t step : kSlowSteps) {
    const int64_t target = smallest + smallest * step / 64;
    if (!fitter.OnlyWholeIsFastEnough()) {
      if (std::find(std::begin(kSteps), std::end(kSteps), step) == std::end(kSteps)) continue;
      if (step > 0 && fitter.tries() >= most_tries) break;
    }
    if (fitter.Tried(target)) continue;
    if (target > fitter.Ceiling()) break;
    TENON_RETURN_IF_ERROR(fitter.Try(target).status());
    if (fitter.last() <= limit_bytes) break;
    if (fitter.last() == kTooSlow) {
      too_slow = target;
    } else if (too_slow > 0) {
      TENON_RETURN_IF_ERROR(Narrow(fitter, too_slow, target));
      too_slow = 0;
    }
  }
  return {};
}

/// Takes the limit as target, then lowers it by the excess and at least by this share, as long as
/// there are plans.
Status AimAtLimit(Fitter& fitter, int64_t limit_bytes, int most_tries, int64_t least_share) {
  for (int64_t target = limit_bytes; target > 0 && fitter.tries() < most_tries;) {
    TENON_ASSIGN_OR_RETURN(const bool made, fitter.Try(target));
    if (!made || fitter.last() <= limit_bytes) break;
    const int64_t excess = fitter.last() == kTooSlow ? 0 : fitter.last() - limit_bytes;
    target -= std::max({excess, target / least_share, int64_t{1}});
  }
  return {};
}

}  // namespace

Result<MemoryFit> FitMemory(Graph& graph, int64_t limit_bytes, const MemorySplitOptions& options,
                            const MeasureMemory& measure, int most_tries) {
  const Graph uncut = std::move(graph);
  PatchPlanner planner(uncut, options);
  return FitMemory(planner, graph, limit_bytes, measure, most_tries);
}

Result<MemoryFit> FitMemory(PatchPlanner& planner, Graph& cut, int64_t limit_bytes,
                            const MeasureMemory& measure, int most_tries) {
  Fitter fitter(planner, measure);
  // A target that the uncut graph meets changes nothing: the first measurement is of that graph.
  TENON_RETURN_IF_ERROR(fitter.Try(INT64_MAX).status());
  if (fitter.last() <= limit_bytes) return fitter.Finish(cut);
  constexpr int64_t kOfPatches = 64;
  TENON_RETURN_IF_ERROR(AimAtLimit(fitter, limit_bytes, most_tries, kOfPatches));
  if (fitter.last() <= limit_bytes) return fitter.Finish(cut);
  TENON_RETURN_IF_ERROR(SearchSmallest(fitter, limit_bytes, most_tries));
  if (fitter.least() <= limit_bytes || !planner.MayMakeTiles()) return fitter.Finish(cut);
  fitter.MakeTiles();
  constexpr int64_t kOfTiles = 256;  // they differ little from each other
  TENON_RETURN_IF_ERROR(AimAtLimit(fitter, limit_bytes, most_tries, kOfTiles));
  if (fitter.least() <= limit_bytes) return fitter.Finish(cut);
  TENON_RETURN_IF_ERROR(SearchSmallest(fitter, limit_bytes, most_tries));
  return fitter.Finish(cut);
}

}  // namespace tenon::converter
