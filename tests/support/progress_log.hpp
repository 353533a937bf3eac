// What a search says of its progress, and whether that is as promised.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "converter/progress.hpp"

namespace tenon::test {

class ProgressLog {
 public:
  [[nodiscard]] converter::ProgressFunction Listener() {
    return [this](double share) { shares_.push_back(share); };
  }
  [[nodiscard]] const std::vector<double>& shares() const { return shares_; }
  /// Growing shares above 0 and at most 1, no more than a hundred.
  [[nodiscard]] bool IsOrderly() const {
    const bool grows =
        std::adjacent_find(shares_.begin(), shares_.end(), std::greater_equal<>()) == shares_.end();
    return grows && shares_.size() <= 100 &&
           (shares_.empty() || (shares_.front() > 0.0 && shares_.back() <= 1.0));
  }

 private:
  std::vector<double> shares_;
};

}  // namespace tenon::test
