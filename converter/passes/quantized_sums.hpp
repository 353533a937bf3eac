// Reads a quantized convolution or matrix product with constant parameters as numbers: its sums,
// and the bytes that they become.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "converter/ir/graph.hpp"

namespace tenon::converter {

struct QuantizedSums {
  std::vector<int64_t> weights;  ///< [output][depth]
  std::vector<int64_t> bias;     ///< one for each output
  std::vector<int64_t> multiplier;
  std::vector<int64_t> shift;
  std::vector<float> scale;  ///< kHalfEven; the factors are one for each output, or one for all
  int64_t x_zero_point = 0;
  int64_t x_least = 0;  ///< of x's dtype
  int64_t x_most = 0;
  QuantizedOutput output;

  [[nodiscard]] size_t outputs() const { return bias.size(); }
  [[nodiscard]] size_t depth() const { return weights.size() / bias.size(); }
  /// Returns what is stored for a sum; none if it is no i32, or greater sums may give less.
  [[nodiscard]] std::optional<int64_t> ValueOf(size_t index, int64_t sum) const;
  /// Returns the one value of an output whose inputs may be anything; none if it has several.
  [[nodiscard]] std::optional<int64_t> ConstantValue(size_t index) const;
};

/// Returns none for other ops, and for parameters that are not constant or in another form than
/// importers give them.
[[nodiscard]] std::optional<QuantizedSums> ReadQuantizedSums(const Graph& graph, const Op& op);

/// Returns true for a convolution whose outputs each read one input channel, its own.
[[nodiscard]] bool IsDepthwise(const Graph& graph, const Op& op);

}  // namespace tenon::converter
