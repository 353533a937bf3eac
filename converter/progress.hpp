// How far a search with a budget of work has come, told to whoever wants to know.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

namespace tenon::converter {

/// Called with the share of the work budget used so far: above 0, at most 1, larger each time. A
/// search that ends early ends below 1, one that has nothing to do makes no call.
using ProgressFunction = std::function<void(double share)>;

/// Passes on what is spent of a budget: at most a hundred times.
class Progress {
 public:
  Progress(ProgressFunction tell, int64_t budget)
      : tell_(std::move(tell)),
        budget_(budget),
        step_(budget / 100 + (budget % 100 != 0 ? 1 : 0)),
        next_(tell_ && budget > 0 ? step_ : INT64_MAX) {}

  /// Cheap enough for inner loops.
  void Report(int64_t spent) {
    if (spent < next_) return;
    next_ = spent < budget_ ? std::min((spent / step_ + 1) * step_, budget_) : INT64_MAX;
    tell_(std::min(static_cast<double>(spent) / static_cast<double>(budget_), 1.0));
  }

 private:
  ProgressFunction tell_;
  int64_t budget_;
  int64_t step_;
  int64_t next_;  ///< the next that is passed on
};

}  // namespace tenon::converter
