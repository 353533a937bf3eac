// A moment after which searches settle for the best that they have.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

namespace tenon::converter {

/// None by default: then results depend on no clock. With a limit they may differ from run to run.
class TimeLimit {
 public:
  TimeLimit() = default;
  [[nodiscard]] static TimeLimit After(double seconds) {
    TimeLimit limit;
    limit.end_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                    std::chrono::duration<double>(std::min(seconds, kMostSeconds)));
    return limit;
  }

  [[nodiscard]] bool Passed() const { return end_ && Clock::now() >= *end_; }

  /// `work` units of a search that take about so many seconds each, or as many as there is time
  /// for; at least 1.
  [[nodiscard]] int64_t Within(int64_t work, double seconds_each) const {
    if (!end_) return work;
    const double left = std::chrono::duration<double>(*end_ - Clock::now()).count();
    const double most = std::max(left / seconds_each, 1.0);
    return most < static_cast<double>(work) ? static_cast<int64_t>(most) : work;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr double kMostSeconds = 1e8;  // three years, which clocks can count

  std::optional<Clock::time_point> end_;
};

}  // namespace tenon::converter
