// Finds the heights at which a buffer can rest in a stack with little slack.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::converter {

/// Stores a set of heights above a floor, [0, heights): the subset sums of the sizes that may lie
/// below, each with up to `slack` of gaps. It is a bit set, so that adding a size is one shift.
class ReachableHeights {
 public:
  static constexpr int64_t kMaxHeights = 4096;

  /// Begins with nothing stacked, so with 0 to `slack`. 0 <= slack; 0 < heights <= kMaxHeights.
  ReachableHeights(int64_t heights, int64_t slack);

  /// Allows a buffer of `size` > 0 that cannot start below `lowest` to lie below. Must be called in
  /// the order of `lowest`: a stack in that order is never higher than in any other.
  void Add(int64_t lowest, int64_t size);

  /// Returns the least height in the set that is at least `height`, or a larger one outside the
  /// range if there is none. 0 <= height < heights.
  [[nodiscard]] int64_t Next(int64_t height) const;

 private:
  size_t words_;
  uint64_t bits_[kMaxHeights / 64];
};

}  // namespace tenon::converter
