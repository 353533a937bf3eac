// Quantizes a float graph where that costs little accuracy: the whole method, from samples to a
// report.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "converter/ir/pass.hpp"
#include "converter/quantize/calibration.hpp"
#include "converter/quantize/choose_scales.hpp"
#include "converter/quantize/trial.hpp"

namespace tenon::converter {

struct QuantizeOptions {
  std::vector<CalibrationArray> arrays;
  RangeMethod ranges = RangeMethod::kAuto;
  std::vector<std::string> keep;  ///< patterns of op names, as for pins; these ops stay float
  AccuracyGoal goal;
  CanonicaliseGraph canonicalise;  ///< accuracy is judged on the graph after this
};

/// The `QuantizedLayer::reason` of layers that stay float to reach the accuracy goal.
inline constexpr const char* kKeptForAccuracy = "it hurts the outputs too much";

/// What equalised the channels before scales were chosen (equalize.hpp).
enum class Equalization : uint8_t { kOff, kWeights, kActivations };
[[nodiscard]] std::string_view Name(Equalization equalization);  ///< "nothing", "weights", ...

/// One op of the float graph.
struct QuantizedLayer {
  std::string op;
  std::string kind;
  bool integer = false;
  std::string reason;  ///< why it stayed float; empty for an integer one
  std::optional<double>
      decibel;  ///< signal to noise of an integer op's result against the float graph's
};

struct QuantizationReport {
  int64_t samples = 0;  ///< samples from which ranges were taken
  int64_t judged = 0;   ///< samples on which accuracy was judged
  Equalization equalized = Equalization::kOff;
  RangeMethod ranges = RangeMethod::kAuto;
  std::vector<QuantizedLayer>
      layers;  ///< every op that could compute with integers, or matches a pattern
  size_t kept_for_accuracy = 0;
  size_t integer_layers = 0;  ///< convolutions and matrix products
  size_t float_layers = 0;
  AccuracyGoal goal;
  Accuracy accuracy;
  std::vector<std::string> outputs;
};

/// Requires: batch norms folded into layers, no activation fused yet, no quantized op. Tries
/// several ways (ranges as requested or of all values; layers equalised by weights, by values, or
/// not) and takes the one with the least noise at the outputs; then the layers with most noise stay
/// float until the goal is reached. Inserts pairs of quantize and dequantize, then runs
/// `canonicalise`. Inputs and outputs stay f32. Deterministic on one kind of processor.
///
/// Errors: kUsage, samples or patterns that do not fit (the message says what is needed); kInput, a
/// model that is quantized already or has nothing to quantize.
[[nodiscard]] Result<QuantizationReport> QuantizeModel(Graph& graph,
                                                       const QuantizeOptions& options);

}  // namespace tenon::converter
