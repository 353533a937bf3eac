#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "converter/quantize/choose_scales.hpp"

namespace tenon::converter {
namespace {

Histogram HistogramOf(const std::vector<float>& values) {
  ValueRange range;
  for (const float value : values) range.Include(value);
  Histogram histogram(range);
  histogram.Add(values.data(), values.size());
  return histogram;
}

std::vector<float> Normal(size_t count, double deviation) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal(0, deviation);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(normal(random));
  return values;
}

/// The mean squared error of rounding them, value by value.
double ErrorOf(const std::vector<float>& values, const ActivationScale& scale) {
  double sum = 0;
  for (const float value : values) {
    const double step = scale.scale;
    const double q =
        std::clamp(std::nearbyint(double{value} / step) + scale.zero_point, -128.0, 127.0);
    const double error = (q - scale.zero_point) * step - double{value};
    sum += error * error;
  }
  return sum / static_cast<double>(values.size());
}

TEST_CASE("ScaleOf: the bounds are the smallest and the largest integer, 0 is held exactly") {
  const ActivationScale scale = ScaleOf(-1, 3);
  CHECK(scale.scale == doctest::Approx(4.0 / 255));
  CHECK(scale.zero_point == -64);
  CHECK(ScaleOf(0, 255) == ActivationScale{1, -128});
  CHECK(ScaleOf(-255, 0) == ActivationScale{1, 127});
  CHECK(ScaleOf(10, 255) == ActivationScale{1, -128});
}

TEST_CASE("ScaleOf: nothing but zeros, or less than a float can divide by, has the scale 1") {
  CHECK(ScaleOf(0, 0) == ActivationScale{1, 0});
  CHECK(ScaleOf(-1e-40, 1e-40) == ActivationScale{1, 0});
}

TEST_CASE("ExpectedError: close to the error of rounding the very values") {
  const std::vector<float> values = Normal(20000, 1.0);
  const Histogram histogram = HistogramOf(values);
  for (const double bound : {4.0, 2.0, 1.0}) {
    const ActivationScale scale = ScaleOf(-bound, bound);
    CHECK(ExpectedError(histogram, scale) == doctest::Approx(ErrorOf(values, scale)).epsilon(0.05));
  }
}

TEST_CASE("ChooseRange: min-max takes everything in") {
  const std::vector<float> values = {-2, 0.5F, 6};
  const ChosenRange range = ChooseRange(HistogramOf(values), RangeMethod::kMinMax);
  CHECK(range.scale == ScaleOf(-2, 6));
  CHECK(range.method == RangeMethod::kMinMax);
}

TEST_CASE("ChooseRange: one value far out is given up by the others") {
  std::vector<float> values = Normal(100000, 1.0);
  values.push_back(100);
  const Histogram histogram = HistogramOf(values);
  const double with_it = ErrorOf(values, ChooseRange(histogram, RangeMethod::kMinMax).scale);
  const double by_error = ErrorOf(values, ChooseRange(histogram, RangeMethod::kMse).scale);
  CHECK(by_error < with_it);
  std::vector<float> near(values.begin(), values.end() - 1);
  const ChosenRange percentile = ChooseRange(histogram, RangeMethod::kPercentile);
  CHECK(ErrorOf(near, percentile.scale) <
        ErrorOf(near, ChooseRange(histogram, RangeMethod::kMinMax).scale) / 10);
}

TEST_CASE("ChooseRange: evenly spread values are all kept by every method") {
  std::vector<float> values;
  for (int i = 0; i <= 4000; ++i) values.push_back(static_cast<float>(i) / 1000);
  const Histogram histogram = HistogramOf(values);
  for (const RangeMethod method :
       {RangeMethod::kAuto, RangeMethod::kMse, RangeMethod::kPercentile}) {
    const ActivationScale scale = ChooseRange(histogram, method).scale;
    CHECK(scale.zero_point == -128);
    CHECK(scale.scale * 255 == doctest::Approx(4.0).epsilon(0.02));
  }
}

TEST_CASE("ChooseRange: the automatic choice is no worse than any of the three") {
  for (const double outlier : {0.0, 5.0, 50.0, 5000.0}) {
    std::vector<float> values = Normal(3000, 1.0);
    values.push_back(static_cast<float>(outlier));
    const Histogram histogram = HistogramOf(values);
    const ChosenRange chosen = ChooseRange(histogram, RangeMethod::kAuto);
    for (const RangeMethod method :
         {RangeMethod::kMinMax, RangeMethod::kMse, RangeMethod::kPercentile}) {
      CHECK(chosen.error <= ChooseRange(histogram, method).error);
    }
    CHECK(chosen.method != RangeMethod::kAuto);
  }
}

TEST_CASE("ChooseRange: the zeros of a relu do not move the bounds") {
  std::vector<float> values = Normal(5000, 1.0);
  for (float& value : values) value = std::abs(value);
  const ChosenRange without = ChooseRange(HistogramOf(values), RangeMethod::kMse);
  values.resize(50000);
  const ChosenRange with = ChooseRange(HistogramOf(values), RangeMethod::kMse);
  CHECK(with.scale == without.scale);
}

}  // namespace
}  // namespace tenon::converter
