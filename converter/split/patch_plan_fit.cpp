#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "converter/split/patch_plan.hpp"

namespace tenon::converter {
namespace {

class Fitter {
 public:
  Fitter(PatchPlanner& planner, const MeasureMemory& measure, int64_t limit_bytes, Wanted wanted)
      : measure_(measure), planner_(planner), limit_(limit_bytes), wanted_(wanted) {}

  /// Cuts and measures; keeps the result if it is the best so far. Returns false if there is no
  /// such plan, or no time: then a few are tried until one fits, and no more.
  Result<bool> Try(int64_t target) {
    constexpr int kLeastTries = 4;
    const bool may_end = fit_.tries >= kLeastTries || (fit_.tries > 0 && Fits());
    if (may_end && planner_.IsOutOfTime()) return false;
    tried_.insert(target);
    MemorySplit split = planner_.Plan(target, into_);
    if (!split.fits) return false;
    Graph candidate = planner_.graph();
    TENON_RETURN_IF_ERROR(planner_.Apply(candidate));
    TENON_ASSIGN_OR_RETURN(const MeasuredCut measured, measure_(candidate, split));
    last_ = measured.bytes;
    last_peak_ = split.estimated_peak;
    if (fit_.tries == 0) uncut_time_ = measured.time;
    ++fit_.tries;
    ++tries_;
    ++(last_ == kTooSlow ? slow_ : fast_);
    if (last_ > limit_) fails_.insert(target);
    if (IsBest(split, measured)) {
      target_ = split.target_bytes;
      fit_.measured_bytes = last_;
      fit_.predicted_time = measured.time;
      fit_.split = std::move(split);
      best_ = std::move(candidate);
    }
    return true;
  }

  /// Takes note that a target brings nothing.
  void Refuse(int64_t target) { fails_.insert(target); }
  [[nodiscard]] bool Tried(int64_t target) const { return tried_.count(target) != 0; }
  [[nodiscard]] int64_t last() const { return last_; }
  /// Returns what the last plan was estimated to need.
  [[nodiscard]] int64_t last_peak() const { return last_peak_; }
  [[nodiscard]] bool Fits() const { return fit_.measured_bytes <= limit_; }
  /// Returns the target of what is kept.
  [[nodiscard]] int64_t target() const { return target_; }
  /// Returns the smallest target above that which is known not to fit: what cuts nothing does not.
  [[nodiscard]] int64_t FailsAbove() const {
    const auto fails = fails_.upper_bound(target_);
    const int64_t uncut = planner_.UnsplitPeak();
    return fails == fails_.end() ? uncut : std::min(*fails, uncut);
  }
  [[nodiscard]] bool WantsCheapest() const { return wanted_ == Wanted::kCheapest; }
  /// Returns true if what is kept is predicted to take much longer than the uncut graph.
  [[nodiscard]] bool IsSlow() const {
    constexpr int64_t kMostSlower = 16;  // a 16th
    return fit_.predicted_time > uncut_time_ + uncut_time_ / kMostSlower;
  }
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
    fails_.clear();
    tries_ = slow_ = 0;
    fast_ = 1;  // the uncut graph
  }

  MemoryFit Finish(Graph& cut) {
    cut = std::move(best_);
    return std::move(fit_);
  }

 private:
  [[nodiscard]] bool IsBest(const MemorySplit& split, const MeasuredCut& measured) const {
    if (fit_.tries == 1) return true;
    const bool both_fit = Fits() && last_ <= limit_;
    if (!WantsCheapest() || !both_fit) return last_ < fit_.measured_bytes;
    if (measured.time != fit_.predicted_time) return measured.time < fit_.predicted_time;
    return split.cost < fit_.split.cost;
  }

  const MeasureMemory& measure_;
  PatchPlanner& planner_;
  const int64_t limit_;
  const Wanted wanted_;
  std::set<int64_t> tried_;
  std::set<int64_t> fails_;  ///< targets of plans that need more than the limit
  int64_t target_ = 0;
  Graph best_;
  MemoryFit fit_;
  int64_t last_ = 0;
  int64_t last_peak_ = 0;
  int64_t uncut_time_ = 0;
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

/// Halves what lies between the target of what fits and the next one that is known not to.
Status MakeCheaper(Fitter& fitter) {
  constexpr int kHalvings = 3;
  constexpr int64_t kPrecision = 64;
  for (int i = 0; i < kHalvings && fitter.WantsCheapest() && fitter.Fits(); ++i) {
    const int64_t fits = fitter.target();
    const int64_t fails = fitter.FailsAbove();
    if (fails - fits <= fits / kPrecision) break;
    const int64_t middle = fits + (fails - fits) / 2;
    TENON_ASSIGN_OR_RETURN(const bool made, fitter.Try(middle));
    if (!made || fitter.target() != middle) fitter.Refuse(middle);
  }
  return {};
}

/// Tries targets that no limit changes: finer cuts may leave faster kernels to the ops than coarser
/// ones do, and what is found within less memory is to be found within more.
Status TryFiner(Fitter& fitter, int64_t uncut, int64_t limit_bytes) {
  constexpr int64_t kSixteenths[] = {8, 6, 4};
  for (const int64_t sixteenths : kSixteenths) {
    if (!fitter.WantsCheapest() || !fitter.Fits() || !fitter.IsSlow()) break;
    const int64_t target = uncut * sixteenths / 16;
    if (target > limit_bytes || fitter.Tried(target)) continue;
    TENON_RETURN_IF_ERROR(fitter.Try(target).status());
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

/// Tries the plans below the limit one after the other: each is the cheapest of those that need
/// less than the one before it. What is aimed at by the excess misses some.
Status WalkDown(Fitter& fitter, int64_t limit_bytes) {
  constexpr int kMostTries = 12;
  constexpr int kMostSlow = 2;  // plans that need less take longer, as a rule
  int slow = 0;
  int64_t target = limit_bytes;
  for (int tries = 0; target > 0 && tries < kMostTries && slow < kMostSlow; ++tries) {
    TENON_ASSIGN_OR_RETURN(const bool made, fitter.Try(target));
    if (!made || fitter.Fits()) break;
    if (fitter.last() == kTooSlow) ++slow;
    target = std::min(target, fitter.last_peak()) - 1;
  }
  return {};
}

}  // namespace

Result<MemoryFit> FitMemory(Graph& graph, int64_t limit_bytes, const MemorySplitOptions& options,
                            const MeasureMemory& measure, Wanted wanted, int most_tries) {
  const Graph uncut = std::move(graph);
  PatchPlanner planner(uncut, options);
  return FitMemory(planner, graph, limit_bytes, measure, wanted, most_tries);
}

Result<MemoryFit> FitMemory(PatchPlanner& planner, Graph& cut, int64_t limit_bytes,
                            const MeasureMemory& measure, Wanted wanted, int most_tries) {
  Fitter fitter(planner, measure, limit_bytes, wanted);
  // A target that the uncut graph meets changes nothing: the first measurement is of that graph.
  TENON_RETURN_IF_ERROR(fitter.Try(INT64_MAX).status());
  if (fitter.Fits()) return fitter.Finish(cut);
  constexpr int64_t kOfPatches = 64;
  TENON_RETURN_IF_ERROR(AimAtLimit(fitter, limit_bytes, most_tries, kOfPatches));
  if (!fitter.Fits()) TENON_RETURN_IF_ERROR(SearchSmallest(fitter, limit_bytes, most_tries));
  if (!fitter.Fits() && !fitter.WantsCheapest()) {
    TENON_RETURN_IF_ERROR(WalkDown(fitter, limit_bytes));
  }
  TENON_RETURN_IF_ERROR(MakeCheaper(fitter));
  TENON_RETURN_IF_ERROR(TryFiner(fitter, planner.UnsplitPeak(), limit_bytes));
  if (fitter.Fits() || !planner.MayMakeTiles()) return fitter.Finish(cut);
  fitter.MakeTiles();
  constexpr int64_t kOfTiles = 256;  // they differ little from each other
  TENON_RETURN_IF_ERROR(AimAtLimit(fitter, limit_bytes, most_tries, kOfTiles));
  if (!fitter.Fits()) TENON_RETURN_IF_ERROR(SearchSmallest(fitter, limit_bytes, most_tries));
  TENON_RETURN_IF_ERROR(MakeCheaper(fitter));
  return fitter.Finish(cut);
}

}  // namespace tenon::converter
