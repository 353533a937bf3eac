// Stores weights in fewer bits and measures the loss.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tenon::converter {

/// Row-major f32 weights and their output channels: value i belongs to channel i / inner %
/// channels.
struct WeightValues {
  std::vector<float> values;
  size_t channels = 1;
  size_t inner = 1;

  [[nodiscard]] size_t ChannelOf(size_t i) const { return i / inner % channels; }
};

/// A stored form. `refusal` says why there is none; then the rest is empty.
struct StoredValues {
  std::string refusal;
  std::vector<std::byte> bytes;  ///< f16, or i8
  std::vector<float> scales;     ///< of i8: one for each channel
  std::vector<float> values;     ///< the real values that the bytes represent
};

/// Refuses weights beyond f16's range, and channels so small that f16's smallest steps would lose
/// too much of them, unless other channels are so large that these do not matter.
[[nodiscard]] StoredValues StoreAsHalf(const WeightValues& weights);

/// Refuses weights that are not finite, and channels whose scale would be no normal number. With
/// `exact_only`, also refuses weights that would change.
[[nodiscard]] StoredValues StoreAsInt8(const WeightValues& weights, bool exact_only);

struct StorageLoss {
  double largest_error = 0;  ///< relative to the largest weight of the channel
  double signal = 0;         ///< sum of squares of the weights
  double noise = 0;          ///< sum of squares of their errors
};
[[nodiscard]] StorageLoss LossOf(const WeightValues& weights, const std::vector<float>& stored);

}  // namespace tenon::converter
