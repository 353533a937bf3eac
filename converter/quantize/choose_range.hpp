// Which real numbers the 256 values of an i8 tensor stand for, chosen from a histogram.
#pragma once

#include <cstdint>
#include <string_view>

#include "converter/quantize/histogram.hpp"

namespace tenon::converter {

/// How the range of an activation is chosen.
enum class RangeMethod : uint8_t {
  kAuto,        ///< per tensor, whichever of the others has the smallest squared error
  kMinMax,      ///< everything that was seen
  kMse,         ///< bounds moved inwards as long as the expected squared error falls
  kPercentile,  ///< a share of the values at each end is cut off: 1e-5 to 1e-3, the best of them
};
[[nodiscard]] std::string_view Name(RangeMethod method);

/// An i8 value q stands for (q - zero_point) * scale.
struct ActivationScale {
  float scale = 1.0F;
  int32_t zero_point = 0;
  friend bool operator==(const ActivationScale&, const ActivationScale&) = default;
};

struct ChosenRange {
  ActivationScale scale;
  RangeMethod method = RangeMethod::kMinMax;  ///< never kAuto
  double error = 0;                           ///< expected squared error of one value
};

/// Scale and zero point that spread [low, high], widened to hold 0, over -128 to 127. 0 is held
/// exactly. A range of nothing but 0 gets the scale 1.
[[nodiscard]] ActivationScale ScaleOf(double low, double high);

/// Expected squared error of a value drawn from the histogram: step^2 / 12 inside the range (the
/// variance of a uniform error), the squared distance outside, 0 for zeros.
[[nodiscard]] double ExpectedError(const Histogram& histogram, const ActivationScale& scale);

/// Ties go to the earlier of min-max, percentile, MSE.
[[nodiscard]] ChosenRange ChooseRange(const Histogram& histogram, RangeMethod method);

}  // namespace tenon::converter
