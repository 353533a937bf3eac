#include "converter/solve/place/place.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "converter/solve/place/place_greedy.hpp"
#include "converter/solve/place/place_instance.hpp"
#include "converter/solve/place/place_search.hpp"

namespace tenon::converter {
namespace {

using Clock = std::chrono::steady_clock;

// A gap of one part in this many of the peak only justifies a short search.
constexpr int64_t kNegligiblePart = 10'000;
constexpr int64_t kFirstRoundWork = 1 << 19;
// There is slack if the limit exceeds the lower bound by more than one part in this many.
constexpr int64_t kSlackPart = 200;
// Runs after restarts get longer once each order has been tried.
constexpr int64_t kFirstRunWorkPerBuffer = 512;
constexpr double kRunGrowth = 1.5;
constexpr double kNoise = 0.2;

class Placer {
 public:
  Placer(const std::vector<Buffer>& buffers, const PlaceOptions& options)
      : buffers_(buffers), options_(options), progress_(options.progress, options.work_budget) {
    if (options.time_limit_seconds) {
      deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                     std::chrono::duration<double>(*options.time_limit_seconds));
    }
    best_.lower_bound = proved_ = LowerBound(buffers);
  }

  Placement Place() {
    TryGreedy();
    if (!Done() && !best_.stopped_by_clock) {
      if (const auto instance = MakeInstance(buffers_)) {
        instance_ = &*instance;
        search_.emplace(*instance, progress_);
        Search();
        best_.work = search_->work();
      }
    }
    // If fixed offsets collide or sums saturate, there is no valid placement and none is optimal.
    best_.proven_optimal = best_.peak == proved_ && IsValidPlacement(buffers_, best_.offsets);
    return std::move(best_);
  }

 private:
  [[nodiscard]] int64_t Goal() const { return std::max(proved_, options_.limit.value_or(proved_)); }
  [[nodiscard]] bool Done() const {
    return best_.peak <= Goal() || (options_.only_below && proved_ >= *options_.only_below);
  }

  void Offer(std::vector<int64_t> offsets) {
    const int64_t peak = Peak(buffers_, offsets);
    if (!best_.offsets.empty() && peak >= best_.peak) return;
    best_.peak = peak;
    best_.offsets = std::move(offsets);
  }

  void TryGreedy() {
    for (const GreedyOrder order : kGreedyOrders) {
      for (const GreedyFit fit : {GreedyFit::kLowest, GreedyFit::kTightest}) {
        Offer(PlaceGreedily(buffers_, order, fit));
        if (Done()) return;
        if (deadline_ && Clock::now() >= *deadline_) {
          best_.stopped_by_clock = true;
          return;
        }
      }
    }
  }

  void OfferFound() {
    std::vector<int64_t> offsets(buffers_.size(), 0);
    for (size_t i = 0; i < offsets.size(); ++i) offsets[i] = buffers_[i].offset.value_or(0);
    const std::vector<int64_t> found = search_->Offsets();
    for (size_t b = 0; b < found.size(); ++b) offsets[instance_->buffers[b].source] = found[b];
    Offer(std::move(offsets));
  }

  /// Returns another order for each restart: first each without noise, then with a little.
  SearchStrategy NextStrategy(bool slack) {
    SearchStrategy strategy;
    strategy.order = static_cast<SearchOrder>(runs_ % kSearchOrders);
    strategy.seed = options_.seed + static_cast<uint64_t>(runs_);
    strategy.noise = runs_ < kSearchOrders ? 0.0 : kNoise;
    const int64_t turn = runs_ / kSearchOrders;
    strategy.lowest_first = slack ? turn % 2 == 0 : turn % 4 == 3;
    ++runs_;
    return strategy;
  }

  bool TryLimit(int64_t limit, int64_t work);
  void Search();

  const std::vector<Buffer>& buffers_;
  const PlaceOptions& options_;
  Progress progress_;
  std::optional<Clock::time_point> deadline_;
  const Instance* instance_ = nullptr;
  std::optional<PlacementSearch> search_;
  int64_t runs_ = 0;
  int64_t proved_ = 0;  // no placement has a smaller peak
  Placement best_;
};

/// Searches for a placement within `limit` until `work` more units are spent. Returns true unless
/// the search as a whole must end.
bool Placer::TryLimit(int64_t limit, int64_t work) {
  search_->SetLimit(limit);
  const bool slack = limit > best_.lower_bound + best_.lower_bound / kSlackPart;
  const int64_t work_end = std::min(search_->work() + work, options_.work_budget);
  auto slice = static_cast<double>(instance_->buffers.size() * kFirstRunWorkPerBuffer);
  for (int run = 1; search_->work() < work_end; ++run) {
    const int64_t left = work_end - search_->work();
    const int64_t run_work = slice < static_cast<double>(left) ? static_cast<int64_t>(slice) : left;
    if (run % kSearchOrders == 0) slice *= kRunGrowth;
    switch (search_->Run(NextStrategy(slack), run_work, deadline_)) {
      case SearchOutcome::kOutOfWork:
        break;
      case SearchOutcome::kOutOfTime:
        best_.stopped_by_clock = true;
        return false;
      case SearchOutcome::kInfeasible:
        proved_ = search_->NextLimit();
        return true;
      case SearchOutcome::kFound:
        OfferFound();
        return true;
    }
  }
  return true;
}

/// Narrows the gap between what is proved and what is found, in rounds of growing effort: first at
/// the caller's limit, then by halving the gap as if a limit not reached were infeasible.
void Placer::Search() {
  // By how much the limit is exceeded only matters if it cannot be met.
  if (options_.limit && Goal() == *options_.limit &&
      !TryLimit(Goal(), options_.work_budget / 4 * 3)) {
    return;
  }
  const auto buffers = static_cast<int64_t>(instance_->buffers.size());
  int64_t work = std::max(kFirstRoundWork, buffers * kFirstRunWorkPerBuffer * kSearchOrders);
  for (; !Done() && search_->work() < options_.work_budget;
       work = std::min(work * 2, options_.work_budget)) {
    if (best_.peak - proved_ <= proved_ / kNegligiblePart) {
      (void)TryLimit(Goal(), kFirstRoundWork);
      return;
    }
    if (!TryLimit(Goal(), work)) return;
    int64_t low = Goal();
    while (!Done() && low + 1 < best_.peak && search_->work() < options_.work_budget) {
      const int64_t middle = low + (best_.peak - low) / 2;
      if (!TryLimit(middle, work / 2)) return;
      low = std::max(middle, proved_);
    }
  }
}

}  // namespace

Placement PlaceBuffers(const std::vector<Buffer>& buffers, const PlaceOptions& options) {
  return Placer(buffers, options).Place();
}

}  // namespace tenon::converter
