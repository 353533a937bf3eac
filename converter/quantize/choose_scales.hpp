// The scale of every activation that is quantized, from the values that it takes.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>

#include "converter/quantize/choose_ops.hpp"
#include "converter/quantize/histogram.hpp"

namespace tenon::converter {

// Which real numbers the 256 values of an i8 tensor stand for, chosen from a histogram.

/// How the range of an activation is chosen.
enum class RangeMethod : uint8_t {
  kAuto,        ///< per tensor, whichever of the others has the smallest squared error
  kMinMax,      ///< everything that was seen
  kMse,         ///< bounds moved inwards as long as the expected squared error falls
  kPercentile,  ///< a share of the values at each end is cut off: 1e-5 to 1e-3, the best of them
};
[[nodiscard]] std::string_view Name(RangeMethod method);

/// An i8 value q stands for (q - zero_point) * scale.
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

/// Scale and zero point that spread [low, high], widened to hold 0, over -128 to 127. 0 is held
/// exactly. A range of nothing but 0 gets the scale 1.
[[nodiscard]] ActivationScale ScaleOf(double low, double high);

/// Expected squared error of a value drawn from the histogram: step^2 / 12 inside the range (the
/// variance of a uniform error), the squared distance outside, 0 for zeros.
[[nodiscard]] double ExpectedError(const Histogram& histogram, const ActivationScale& scale);

/// Ties go to the earlier of min-max, percentile, MSE.
[[nodiscard]] ChosenRange ChooseRange(const Histogram& histogram, RangeMethod method);

// The scale of every activation that is quantized.

/// How a graph is to be quantized.
struct QuantizationScheme {
  IntegerOps chosen;
  std::map<TensorId, ChosenRange> tensors;  ///< every one of QuantizedTensors, constants included
};

/// True for what a dequantize op makes of integers that come into the graph: they have their scale,
/// and are not rounded again.
[[nodiscard]] bool IsGivenInIntegers(const Graph& graph, TensorId id);

/// Tensors at both ends of an op that keeps values get one scale, chosen from the values of all
/// that flow together there. `histograms`: of all activations, as CollectRanges gives.
[[nodiscard]] QuantizationScheme MakeScheme(const Graph& graph, IntegerOps chosen,
                                            const std::map<TensorId, Histogram>& histograms,
                                            RangeMethod method);

}  // namespace tenon::converter
