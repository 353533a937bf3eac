#include "converter/quantize/histogram.hpp"

#include <doctest/doctest.h>

#include <numeric>

namespace tenon::converter {
namespace {

TEST_CASE("Histogram: zeros are counted apart, everything else once") {
  Histogram histogram(ValueRange{-1, 3});
  const float values[] = {0, -1, 3, 0.5F, 0, -0.0F};
  histogram.Add(values, 6);
  CHECK(histogram.total() == 6);
  CHECK(histogram.zeros() == 3);
  const auto& counts = histogram.counts();
  CHECK(std::accumulate(counts.begin(), counts.end(), uint64_t{0}) == 3);
  CHECK(counts.front() == 1);
  CHECK(counts.back() == 1);
}

TEST_CASE("Histogram: the range is widened to hold 0") {
  CHECK(Histogram(ValueRange{2, 3}).low() == 0);
  CHECK(Histogram(ValueRange{-3, -2}).high() == 0);
}

TEST_CASE("Histogram: merging keeps values within a bin of where they were") {
  Histogram small(ValueRange{0, 1});
  const float values[] = {0.25F, 0.75F, 0};
  small.Add(values, 3);
  Histogram large(ValueRange{-4, 4});
  large.Merge(small);
  CHECK(large.total() == 3);
  CHECK(large.zeros() == 1);
  double sum = 0;
  for (int bin = 0; bin < Histogram::kBins; ++bin) {
    sum += static_cast<double>(large.counts()[static_cast<size_t>(bin)]) * large.Middle(bin);
  }
  CHECK(sum == doctest::Approx(1.0).epsilon(0.02));
}

TEST_CASE("ValueRange: an empty one takes whatever comes first") {
  ValueRange range;
  CHECK(range.empty());
  range.Include(5);
  CHECK(range.low == 5);
  CHECK(range.high == 5);
  range.Include(ValueRange{});
  range.Include(ValueRange{-2, 1});
  CHECK(range.low == -2);
  CHECK(range.high == 5);
}

}  // namespace
}  // namespace tenon::converter
