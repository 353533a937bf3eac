#include "converter/quantize/histogram.hpp"

#include <algorithm>

namespace tenon::converter {

void ValueRange::Include(float value) {
  if (empty()) {
    low = high = value;
    return;
  }
  low = std::min(low, value);
  high = std::max(high, value);
}

void ValueRange::Include(const ValueRange& other) {
  if (other.empty()) return;
  Include(other.low);
  Include(other.high);
}

Histogram::Histogram(const ValueRange& range) : counts_(kBins) {
  if (range.empty()) return;
  low_ = std::min(range.low, 0.0F);
  high_ = std::max(range.high, 0.0F);
}

int Histogram::BinOf(double value) const {
  const double width = double{high_} - low_;
  if (width <= 0) return 0;
  const int bin = static_cast<int>((value - low_) / width * kBins);
  return std::clamp(bin, 0, kBins - 1);
}

double Histogram::Middle(int bin) const {
  return low_ + (double{high_} - low_) * (bin + 0.5) / kBins;
}

void Histogram::Add(const float* values, size_t count) {
  total_ += count;
  for (size_t i = 0; i < count; ++i) {
    if (values[i] == 0.0F) {
      ++zeros_;
    } else {
      ++counts_[static_cast<size_t>(BinOf(values[i]))];
    }
  }
}

void Histogram::Merge(const Histogram& other) {
  total_ += other.total_;
  zeros_ += other.zeros_;
  for (int bin = 0; bin < static_cast<int>(other.counts_.size()); ++bin) {
    const uint64_t count = other.counts_[static_cast<size_t>(bin)];
    if (count != 0) counts_[static_cast<size_t>(BinOf(other.Middle(bin)))] += count;
  }
}

}  // namespace tenon::converter
