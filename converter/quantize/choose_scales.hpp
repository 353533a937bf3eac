// Chooses the scale of every quantized activation from its values.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>

#include "converter/quantize/choose_ops.hpp"
#include "converter/quantize/histogram.hpp"

namespace tenon::converter {

// Chooses from a histogram which real numbers the 256 values of an i8 tensor represent.

/// How the range of an activation is chosen.
enum class RangeMethod : uint8_t {
  kAuto,        ///< per tensor, whichever of the others has the smallest squared error
  kMinMax,      ///< the smallest and largest value that occurred
  kMse,         ///< bounds moved inwards as long as the expected squared error falls
  kPercentile,  ///< a share of the values at each end is cut off: 1e-5 to 1e-3, the best of them
};
[[nodiscard]] std::string_view Name(RangeMethod method);

/// An i8 value q represents (q - zero_point) * scale.
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

/// Returns the scale and zero point that map [low, high], widened to include 0, to -128 to 127. 0
/// is represented exactly. A range of only 0 gets the scale 1.
[[nodiscard]] ActivationScale ScaleOf(double low, double high);

/// Returns the expected squared error of a value drawn from the histogram: step^2 / 12 inside the
/// range (the variance of a uniform error), the squared distance outside, 0 for zeros.
[[nodiscard]] double ExpectedError(const Histogram& histogram, const ActivationScale& scale);

/// Chooses the range by `method`. Ties go to the earlier of min-max, percentile, MSE.
[[nodiscard]] ChosenRange ChooseRange(const Histogram& histogram, RangeMethod method);

// Chooses the scale of every quantized activation.

/// The ops and tensors of a graph to quantize, with their scales.
struct QuantizationScheme {
  IntegerOps chosen;
  std::map<TensorId, ChosenRange> tensors;  ///< all of QuantizedTensors, constants included
};

/// Returns true for the result of a dequantize op that reads integers from outside the graph: they
/// have a scale already and are not rounded again.
[[nodiscard]] bool IsGivenInIntegers(const Graph& graph, TensorId id);

/// Makes the scheme. The input and output tensors of an op that keeps values share one scale,
/// chosen from the values of all tensors so connected. `histograms`: those of all activations, from
/// CollectRanges.
[[nodiscard]] QuantizationScheme MakeScheme(const Graph& graph, IntegerOps chosen,
                                            const std::map<TensorId, Histogram>& histograms,
                                            RangeMethod method);

}  // namespace tenon::converter
