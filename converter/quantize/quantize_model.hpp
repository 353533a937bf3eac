// A float graph becomes one that computes with integers where that costs little: the whole method,
// from samples to a report.
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
  std::vector<std::string> keep;  ///< patterns of op names as of pins: these stay float
  AccuracyGoal goal;
  CanonicaliseGraph canonicalise;  ///< what is judged is the graph after this
};

/// `QuantizedLayer::reason` of layers that the fall-back chose.
inline constexpr const char* kKeptForAccuracy = "it hurts the outputs too much";

/// What channels were evened out by before scales were chosen (equalize.hpp).
enum class Equalization : uint8_t { kOff, kWeights, kActivations };
[[nodiscard]] std::string_view Name(Equalization equalization);  ///< "nothing", "weights", ...

/// One op of the float graph.
struct QuantizedLayer {
  std::string op;
  std::string kind;
  bool integer = false;
  std::string reason;             ///< why it stayed float; empty for an integer one
  std::optional<double> decibel;  ///< of an integer op's result against the float graph's
};

struct QuantizationReport {
  int64_t samples = 0;  ///< that ranges were taken from
  int64_t judged = 0;   ///< that accuracy was judged by
  Equalization equalized = Equalization::kOff;
  RangeMethod ranges = RangeMethod::kAuto;
  std::vector<QuantizedLayer> layers;  ///< every op that could be an integer one, or has a pattern
  size_t kept_for_accuracy = 0;
  size_t integer_layers = 0;  ///< convolutions and matrix products
  size_t float_layers = 0;
  AccuracyGoal goal;
  Accuracy accuracy;
  std::vector<std::string> outputs;
};

/// Requires: batch norms folded into layers, no activation fused yet, no quantized op. Of several
/// ways (ranges as asked for or all values seen; layers equalised by weights, by values, or not)
/// the one with the least noise at the outputs is taken; then the layers that hurt stay float until
/// the goal is reached. The graph gets pairs of quantize and dequantize, and then the form that
/// `canonicalise` gives it. Inputs and outputs stay f32. Deterministic on one kind of processor.
///
/// Errors: kUsage, samples or patterns that do not fit (says what is wanted); kInput, a model that
/// is quantized already or has nothing to quantize.
[[nodiscard]] Result<QuantizationReport> QuantizeModel(Graph& graph,
                                                       const QuantizeOptions& options);

}  // namespace tenon::converter
