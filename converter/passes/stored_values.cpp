#include "converter/passes/stored_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "converter/ir/elements.hpp"

namespace tenon::converter {
namespace {

constexpr int kMostInt8 = 127;

std::vector<float> LargestOfChannels(const WeightValues& weights) {
  std::vector<float> largest(weights.channels, 0.0F);
  for (size_t i = 0; i < weights.values.size(); ++i) {
    float& most = largest[weights.ChannelOf(i)];
    const float magnitude = std::abs(weights.values[i]);
    if (!(magnitude <= most)) most = magnitude;  // NaN stays
  }
  return largest;
}

/// Returns the weights of one channel.
std::vector<float> ChannelValues(const WeightValues& weights, size_t channel) {
  std::vector<float> values;
  values.reserve(weights.values.size() / weights.channels);
  const size_t block = weights.channels * weights.inner;
  for (size_t at = channel * weights.inner; at < weights.values.size(); at += block) {
    const auto first = weights.values.begin() + static_cast<std::ptrdiff_t>(at);
    values.insert(values.end(), first, first + static_cast<std::ptrdiff_t>(weights.inner));
  }
  return values;
}

bool IsExact(const std::vector<float>& values, float scale) {
  return std::all_of(values.begin(), values.end(), [&](float value) {
    const float steps = std::nearbyint(value / scale);
    return std::abs(steps) <= kMostInt8 && steps * scale == value;
  });
}

/// The scale of which all values are whole multiples of at most 127, bit for bit, if there is one:
/// the largest value is one of 127 multiples, and a rounded quotient lies next to its scale.
std::optional<float> ExactScale(const std::vector<float>& values, float largest) {
  for (int multiple = kMostInt8; multiple >= 1; --multiple) {
    const float middle = largest / static_cast<float>(multiple);
    for (const float scale :
         {middle, std::nextafter(middle, 0.0F), std::nextafter(middle, largest)}) {
      if (scale >= std::numeric_limits<float>::min() && IsExact(values, scale)) return scale;
    }
  }
  return std::nullopt;
}

StoredValues Refused(std::string reason) {
  StoredValues refused;
  refused.refusal = std::move(reason);
  return refused;
}

}  // namespace

StorageLoss LossOf(const WeightValues& weights, const std::vector<float>& stored) {
  StorageLoss loss;
  const std::vector<float> largest = LargestOfChannels(weights);
  for (size_t i = 0; i < weights.values.size(); ++i) {
    const auto value = static_cast<double>(weights.values[i]);
    const double error = std::abs(static_cast<double>(stored[i]) - value);
    loss.signal += value * value;
    loss.noise += error * error;
    const auto most = static_cast<double>(largest[weights.ChannelOf(i)]);
    if (most > 0) loss.largest_error = std::max(loss.largest_error, error / most);
  }
  return loss;
}

StoredValues StoreAsHalf(const WeightValues& weights) {
  StoredValues stored;
  stored.bytes.resize(weights.values.size() * sizeof(uint16_t));
  stored.values.reserve(weights.values.size());
  for (size_t i = 0; i < weights.values.size(); ++i) {
    const uint16_t half = HalfFromFloat(weights.values[i]);
    std::memcpy(stored.bytes.data() + i * sizeof half, &half, sizeof half);
    stored.values.push_back(FloatFromHalf(half));
    if (std::isfinite(weights.values[i]) && !std::isfinite(stored.values.back())) {
      return Refused(fmt::format("{} is beyond the range of f16", weights.values[i]));
    }
  }
  // A normal number of f16 is off by 2^-11 of itself at most. Where a weight is off by more than
  // twice that of the channel's largest, all of them lie below f16's normal range; which does not
  // matter where the other channels are so large that this one counts for nothing.
  constexpr float kMostError = 1.0F / (1 << 10);
  constexpr float kNothing = 1.0F / (1 << 20);
  const std::vector<float> largest = LargestOfChannels(weights);
  const float most = *std::max_element(largest.begin(), largest.end());
  for (size_t i = 0; i < weights.values.size(); ++i) {
    const float error = std::abs(stored.values[i] - weights.values[i]);
    if (error > kMostError * largest[weights.ChannelOf(i)] && error > kNothing * most) {
      return Refused("a channel's weights are so small that f16 would lose most of their digits");
    }
  }
  return stored;
}

StoredValues StoreAsInt8(const WeightValues& weights, bool exact_only) {
  const std::vector<float> largest = LargestOfChannels(weights);
  StoredValues stored;
  stored.scales.assign(weights.channels, 1.0F);  // of a channel of zeros
  for (size_t channel = 0; channel < weights.channels; ++channel) {
    if (largest[channel] == 0.0F) continue;
    if (!std::isfinite(largest[channel])) return Refused("a weight is not finite");
    const auto exact = ExactScale(ChannelValues(weights, channel), largest[channel]);
    if (!exact && exact_only) return Refused("its weights are no whole multiples of a scale");
    stored.scales[channel] = exact.value_or(largest[channel] / kMostInt8);
    if (stored.scales[channel] < std::numeric_limits<float>::min()) {
      return Refused("a channel's weights are too small for a scale");
    }
  }
  stored.bytes.reserve(weights.values.size());
  stored.values.reserve(weights.values.size());
  for (size_t i = 0; i < weights.values.size(); ++i) {
    const float scale = stored.scales[weights.ChannelOf(i)];
    const float steps =
        std::clamp<float>(std::nearbyint(weights.values[i] / scale), -kMostInt8, kMostInt8);
    stored.bytes.push_back(static_cast<std::byte>(static_cast<int8_t>(steps)));
    stored.values.push_back(steps * scale);
  }
  return stored;
}

}  // namespace tenon::converter
