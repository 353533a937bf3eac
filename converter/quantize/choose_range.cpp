#include <algorithm>
#include <cmath>

#include "converter/quantize/choose_scales.hpp"

namespace tenon::converter {
namespace {

constexpr int kSteps = 255;  // from the smallest to the largest i8
constexpr int kLeast = -128;

struct Bounds {
  double low = 0;
  double high = 0;
};

ChosenRange Candidate(const Histogram& histogram, const Bounds& bounds, RangeMethod method) {
  ChosenRange range;
  range.scale = ScaleOf(bounds.low, bounds.high);
  range.method = method;
  range.error = ExpectedError(histogram, range.scale);
  return range;
}

void KeepBetter(const ChosenRange& candidate, ChosenRange& best) {
  if (candidate.error < best.error) best = candidate;
}

Bounds Everything(const Histogram& histogram) { return {histogram.low(), histogram.high()}; }

/// Returns the bounds that each leave the share `share` of all values outside.
Bounds CutOff(const Histogram& histogram, double share) {
  const double wanted = share * static_cast<double>(histogram.total());
  const auto& counts = histogram.counts();
  Bounds bounds = Everything(histogram);
  double beyond = 0;
  for (int bin = 0; bin < Histogram::kBins; ++bin) {
    beyond += static_cast<double>(counts[static_cast<size_t>(bin)]);
    if (beyond <= wanted) continue;
    if (histogram.Middle(bin) < 0) bounds.low = histogram.Middle(bin);
    break;
  }
  beyond = 0;
  for (int bin = Histogram::kBins - 1; bin >= 0; --bin) {
    beyond += static_cast<double>(counts[static_cast<size_t>(bin)]);
    if (beyond <= wanted) continue;
    if (histogram.Middle(bin) > 0) bounds.high = histogram.Middle(bin);
    break;
  }
  return bounds;
}

ChosenRange BestPercentile(const Histogram& histogram) {
  ChosenRange best = Candidate(histogram, CutOff(histogram, 1e-5), RangeMethod::kPercentile);
  for (const double share : {1e-4, 1e-3}) {
    KeepBetter(Candidate(histogram, CutOff(histogram, share), RangeMethod::kPercentile), best);
  }
  return best;
}

/// Moves one bound after the other, by hundredths of the whole, while that helps.
ChosenRange BestMse(const Histogram& histogram) {
  const Bounds all = Everything(histogram);
  Bounds bounds = all;
  ChosenRange best = Candidate(histogram, bounds, RangeMethod::kMse);
  constexpr int kRounds = 3;
  constexpr int kHundredths = 95;
  for (int round = 0; round < kRounds; ++round) {
    const double before = best.error;
    for (double Bounds::*const bound : {&Bounds::low, &Bounds::high}) {
      Bounds tried = bounds;
      for (int i = 0; i < kHundredths; ++i) {
        tried.*bound = all.*bound * (1.0 - i / 100.0);
        const ChosenRange candidate = Candidate(histogram, tried, RangeMethod::kMse);
        if (candidate.error >= best.error) continue;
        best = candidate;
        bounds = tried;
      }
    }
    if (best.error >= before) break;
  }
  return best;
}

}  // namespace

std::string_view Name(RangeMethod method) {
  switch (method) {
    case RangeMethod::kAuto:
      return "auto";
    case RangeMethod::kMinMax:
      return "minmax";
    case RangeMethod::kMse:
      return "mse";
    case RangeMethod::kPercentile:
      break;
  }
  return "percentile";
}

ActivationScale ScaleOf(double low, double high) {
  low = std::min(low, 0.0);
  high = std::max(high, 0.0);
  ActivationScale result;
  const auto scale = static_cast<float>((high - low) / kSteps);
  // A step below the smallest normal float could not be divided by.
  if (!(scale >= 1.17549435e-38F)) return result;
  result.scale = scale;
  result.zero_point = kLeast + static_cast<int32_t>(std::lround(-low / double{scale}));
  result.zero_point = std::clamp(result.zero_point, kLeast, kLeast + kSteps);
  return result;
}

double ExpectedError(const Histogram& histogram, const ActivationScale& scale) {
  if (histogram.total() == 0) return 0;
  const double step = scale.scale;
  const double low = (kLeast - scale.zero_point) * step;
  const double high = (kLeast + kSteps - scale.zero_point) * step;
  const double inside = step * step / 12;
  double sum = 0;
  for (int bin = 0; bin < Histogram::kBins; ++bin) {
    const auto count = static_cast<double>(histogram.counts()[static_cast<size_t>(bin)]);
    if (count == 0) continue;
    const double value = histogram.Middle(bin);
    const double beyond = value < low ? low - value : std::max(0.0, value - high);
    sum += count * (inside + beyond * beyond);
  }
  return sum / static_cast<double>(histogram.total());
}

ChosenRange ChooseRange(const Histogram& histogram, RangeMethod method) {
  if (method == RangeMethod::kMse) return BestMse(histogram);
  if (method == RangeMethod::kPercentile) return BestPercentile(histogram);
  ChosenRange best = Candidate(histogram, Everything(histogram), RangeMethod::kMinMax);
  if (method == RangeMethod::kMinMax) return best;
  KeepBetter(BestPercentile(histogram), best);
  KeepBetter(BestMse(histogram), best);
  return best;
}

}  // namespace tenon::converter
