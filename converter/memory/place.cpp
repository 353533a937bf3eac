#include "converter/memory/place.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "converter/memory/place_greedy.hpp"
#include "converter/memory/place_instance.hpp"
#include "converter/memory/place_search.hpp"

namespace tenon::converter {
namespace {

using Clock = std::chrono::steady_clock;

class Placer {
 public:
  Placer(const std::vector<Buffer>& buffers, const PlaceOptions& options)
      : buffers_(buffers), options_(options) {
    if (options.time_limit_seconds) {
      deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                     std::chrono::duration<double>(*options.time_limit_seconds));
    }
    best_.lower_bound = proved_ = LowerBound(buffers);
  }

  Placement Place() {
    TryGreedy();
    if (!Done()) {
      if (const auto instance = MakeInstance(buffers_)) Search(*instance);
    }
    best_.proven_optimal = best_.peak == proved_;
    return std::move(best_);
  }

 private:
  [[nodiscard]] int64_t Goal() const { return std::max(proved_, options_.limit.value_or(proved_)); }
  [[nodiscard]] bool Done() const { return best_.peak <= Goal(); }

  void Offer(std::vector<int64_t> offsets) {
    const int64_t peak = Peak(buffers_, offsets);
    if (!best_.offsets.empty() && peak >= best_.peak) return;
    // Fixed offsets may collide, and saturated sums too: then the least peak is no use.
    best_.peak = peak;
    best_.offsets = std::move(offsets);
  }

  void TryGreedy() {
    for (const GreedyOrder order : kGreedyOrders) {
      for (const GreedyFit fit : {GreedyFit::kLowest, GreedyFit::kTightest}) {
        Offer(PlaceGreedily(buffers_, order, fit));
        if (Done()) return;
      }
    }
  }

  void Search(const Instance& instance);

  const std::vector<Buffer>& buffers_;
  const PlaceOptions& options_;
  std::optional<Clock::time_point> deadline_;
  int64_t proved_ = 0;  // no placement has a smaller peak
  Placement best_;
};

void Placer::Search(const Instance& instance) {
  PlacementSearch search(instance);
  const int64_t limit = Goal();
  search.SetLimit(limit);
  uint64_t run = 0;
  int64_t slice = static_cast<int64_t>(instance.buffers.size()) * 4 + 100;
  while (search.work() < options_.work_budget) {
    SearchStrategy strategy;
    strategy.order = static_cast<SearchOrder>(run % kSearchOrders);
    strategy.seed = options_.seed + run;
    strategy.noise = run < kSearchOrders ? 0.0 : 0.2;
    const SearchOutcome outcome = search.Run(strategy, slice, deadline_);
    ++run;
    if (run % kSearchOrders == 0) slice += slice / 2;
    if (outcome == SearchOutcome::kOutOfTime) {
      best_.stopped_by_clock = true;
      break;
    }
    if (outcome == SearchOutcome::kInfeasible) {
      proved_ = limit + 1;
      break;
    }
    if (outcome == SearchOutcome::kFound) {
      std::vector<int64_t> offsets(buffers_.size(), 0);
      const std::vector<int64_t> found = search.Offsets();
      for (size_t b = 0; b < found.size(); ++b) offsets[instance.buffers[b].source] = found[b];
      Offer(std::move(offsets));
      break;
    }
  }
  best_.work = search.work();
}

}  // namespace

Placement PlaceBuffers(const std::vector<Buffer>& buffers, const PlaceOptions& options) {
  return Placer(buffers, options).Place();
}

}  // namespace tenon::converter
