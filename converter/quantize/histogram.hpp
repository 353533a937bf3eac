// Summarises the values of one tensor over all calibration samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "converter/status.hpp"

namespace tenon::converter {

/// Smallest and largest value. Begins empty: `low` above `high`.
struct ValueRange {
  float low = 1.0F;
  float high = -1.0F;

  [[nodiscard]] bool empty() const { return low > high; }
  void Include(float value);
  void Include(const ValueRange& other);
};

/// Counts of values in equal bins of a range. Zeros are counted separately, since every
/// quantisation represents 0 exactly and a relu makes many.
class Histogram {
 public:
  static constexpr int kBins = 2048;

  Histogram() = default;
  /// `range` must include everything that will be added; it is widened to include 0.
  explicit Histogram(const ValueRange& range);

  /// Values must be finite and lie in the range.
  void Add(const float* values, size_t count);
  /// Adds another's counts at the middles of its bins; this range must include the other's.
  void Merge(const Histogram& other);

  [[nodiscard]] float low() const { return low_; }
  [[nodiscard]] float high() const { return high_; }
  [[nodiscard]] uint64_t zeros() const { return zeros_; }
  [[nodiscard]] uint64_t total() const { return total_; }  ///< zeros included
  [[nodiscard]] const std::vector<uint64_t>& counts() const { return counts_; }
  /// Returns the value in the middle of a bin.
  [[nodiscard]] double Middle(int bin) const;

 private:
  [[nodiscard]] int BinOf(double value) const;

  float low_ = 0.0F;
  float high_ = 0.0F;
  uint64_t zeros_ = 0;
  uint64_t total_ = 0;
  std::vector<uint64_t> counts_;
};

}  // namespace tenon::converter
