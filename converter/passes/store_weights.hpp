// Stores the constant weights of float convolutions and matrix products in fewer bits. The ops go
// on computing in f32: kernels convert the weights when they pack them.
//
// Requires:   fused ops; weights row-major.
// Guarantees: shapes and dtypes of activations do not change. Values change by the rounding of
//             weights, which the report states; with `kModel` not at all, unless the model's own
//             weights were f16.
//
// f16: each weight rounded to nearest. i8: w = q * scale[m] with one scale per output channel,
// -127 <= q <= 127. Where the f32 weights are exactly such products, they are found again, and
// nothing is lost; other channels of few weights (depthwise), and tensors that would keep
// less than 34 dB of signal to noise, become f16.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "converter/ir/pass.hpp"

namespace tenon::converter {

enum class WeightsForm {
  kModel,  ///< as the model has them (Graph::weights)
  kF32,
  kF16,
  kInt8,
};

struct StoreWeightsOptions {
  WeightsForm form = WeightsForm::kModel;
  /// Smaller constants stay as they are: a scale and the conversion cost more than they save.
  int64_t fewest_bytes = 1024;
  /// Why the op must not be written otherwise, or empty; null: it may always.
  std::function<std::string(const Graph& graph, const Op& before, const Op& after)> why_not;
};

/// What became of all weights that there are.
struct WeightsReport {
  WeightsForm form = WeightsForm::kF32;  ///< that was asked for; kModel: the model's own
  int tensors = 0;                       ///< weights of float convolutions and matrix products
  int stored = 0;                        ///< of these in fewer bits
  int64_t bytes_before = 0;              ///< of all these tensors
  int64_t bytes_after = 0;               ///< with the scales of i8
  double largest_error = 0;  ///< of a stored weight, relative to the largest of its output channel
  /// Of the stored tensor that lost most: energy of its weights over that of their errors. 0: no
  /// weight changed.
  double least_snr_db = 0;
  std::string least_snr_tensor;
};

[[nodiscard]] const char* Name(WeightsForm form);

/// To be asked of a graph as imported, before constants are folded: true if it dequantizes
/// constants of i8, as models with weights of i8 and arithmetic in f32 do.
[[nodiscard]] bool HasInt8Weights(const Graph& graph);

/// Adds to both reports.
[[nodiscard]] Status StoreWeights(Graph& graph, const StoreWeightsOptions& options,
                                  PassReport& report, WeightsReport& weights);

}  // namespace tenon::converter
