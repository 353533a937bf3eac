// Measures the accuracy that a quantization costs on the samples.
#pragma once

#include <functional>
#include <vector>

#include "converter/quantize/accuracy.hpp"
#include "converter/quantize/calibration.hpp"
#include "converter/quantize/choose_scales.hpp"

namespace tenon::converter {

/// The accuracy that the outputs of a quantized graph must reach.
struct AccuracyGoal {
  double decibel = 30;       ///< least signal to noise, of the worst output of the worst sample
  double lost_share = 0.005; /**< fewer than this share of the rows that the float model gets right
                                may be lost; replaces the decibels where there are enough labels */

  /// Labels below this many cannot show a loss of half a percent.
  static constexpr int64_t kFewestLabels = 200;
};

struct Accuracy {
  std::vector<SignalToNoise> outputs;
  double decibel = 0;       ///< of the worst output on the worst sample
  int64_t rows = 0;         ///< of the first output, over all samples; 0: it has no classes
  int64_t same_class = 0;   ///< rows with the float model's top class
  int64_t labelled = 0;     ///< rows with a label
  int64_t float_right = 0;  ///< labelled rows that the float model classifies correctly
  int64_t right = 0;

  [[nodiscard]] bool Reaches(const AccuracyGoal& goal) const;
};

/// Gives a graph with pairs of quantize and dequantize its final form, with quantized ops. Empty:
/// such graphs run unchanged, which computes nearly the same.
using CanonicaliseGraph = std::function<Status(Graph& graph)>;

/// Judges accuracy on samples, against the float graph's outputs for them.
class AccuracyJudge {
 public:
  /// With labels, uses all samples; else at most `most` of them. Errors: as of GraphRunner.
  [[nodiscard]] static Result<AccuracyJudge> Make(const Graph& float_graph,
                                                  const CalibrationSet& calibration, size_t most);

  /// Returns the accuracy of a graph with the same inputs and outputs.
  [[nodiscard]] Result<Accuracy> Judge(const Graph& graph) const;
  /// Returns the accuracy of the float graph quantized by a scheme, in its final form.
  [[nodiscard]] Result<Accuracy> JudgeScheme(Graph graph, const QuantizationScheme& scheme,
                                             const CanonicaliseGraph& canonicalise) const;

  [[nodiscard]] const std::vector<Sample>& samples() const { return samples_; }

 private:
  std::vector<Sample> samples_;
  std::vector<int64_t> labels_;
  OutputValues wanted_;
  size_t classes_ = 0;
};

}  // namespace tenon::converter
