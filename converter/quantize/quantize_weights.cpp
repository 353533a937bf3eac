#include <algorithm>
#include <cmath>

#include "converter/ir/elements.hpp"
#include "converter/ir/rewrite.hpp"
#include "converter/quantize/insert_quantization.hpp"

namespace tenon::converter {
namespace {

constexpr int kLargest = 127;
constexpr double kLargestBias = 1 << 30;

/// The index along `axis` of an element.
class IndexAlong {
 public:
  IndexAlong(const Shape& shape, int32_t axis) : count_(static_cast<size_t>(shape[axis])) {
    for (int32_t i = axis + 1; i < shape.rank; ++i) inner_ *= static_cast<size_t>(shape[i]);
  }
  [[nodiscard]] size_t Of(size_t element) const { return element / inner_ % count_; }

 private:
  size_t inner_ = 1;
  size_t count_;
};

}  // namespace

std::vector<float> QuantizedWeights::Dequantize(const Shape& shape) const {
  const IndexAlong index(shape, axis);
  std::vector<float> result(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    result[i] = static_cast<float>(values[i]) * scales[index.Of(i)];
  }
  return result;
}

QuantizedWeights QuantizeWeights(const Graph& graph, const Op& layer, float input_scale) {
  const Tensor& tensor = graph.tensor(layer.inputs[GemmInput::kWeights]);
  const std::vector<double> weights = ReadElements(tensor);
  QuantizedWeights result;
  result.axis = WeightsChannelAxis(graph, layer);
  const IndexAlong index(tensor.shape, result.axis);
  std::vector<double> largest(static_cast<size_t>(tensor.shape[result.axis]));
  for (size_t i = 0; i < weights.size(); ++i) {
    double& value = largest[index.Of(i)];
    value = std::max(value, std::abs(weights[i]));
  }
  std::vector<double> bias;
  if (layer.inputs.size() > GemmInput::kBias && layer.inputs[GemmInput::kBias] != kNone) {
    bias = ReadElements(graph.tensor(layer.inputs[GemmInput::kBias]));
  }
  for (size_t channel = 0; channel < largest.size(); ++channel) {
    double scale = largest[channel] / kLargest;
    if (!bias.empty()) {
      scale = std::max(scale, std::abs(bias[channel]) / (double{input_scale} * kLargestBias));
    }
    // Channels of nothing, or of less than a float's normal numbers, need no scale of their own.
    constexpr double kSmallest = 1e-30;
    result.scales.push_back(scale < kSmallest ? 1.0F : static_cast<float>(scale));
  }
  result.values.reserve(weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    const double rounded = std::nearbyint(weights[i] / double{result.scales[index.Of(i)]});
    result.values.push_back(
        static_cast<int8_t>(std::clamp(rounded, -double{kLargest}, double{kLargest})));
  }
  return result;
}

}  // namespace tenon::converter
