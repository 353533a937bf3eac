// Measures how close a quantized graph's outputs are to the float graph's.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/quantize/graph_runner.hpp"

namespace tenon::converter {

/// Sums of squares of a signal and of its error.
struct SignalToNoise {
  double signal = 0;
  double noise = 0;
  double largest_error = 0;

  void Add(Span<const float> wanted, Span<const float> got);
  /// Returns 10 log10(signal / noise): 200 where there is no noise, -200 where there is no signal
  /// but noise.
  [[nodiscard]] double Decibel() const;
};

/// Outputs of a run on every sample: values[sample][output].
using OutputValues = std::vector<std::vector<std::vector<float>>>;

/// Runs the graph on all samples. Errors: as of GraphRunner.
[[nodiscard]] Result<OutputValues> RunAll(const Graph& graph, const std::vector<Sample>& samples);

/// Returns one ratio for each output, over all samples.
[[nodiscard]] std::vector<SignalToNoise> Compare(const OutputValues& wanted,
                                                 const OutputValues& got);
/// Returns the smallest ratio on any one sample, in dB; 200 where there is no output. An output
/// that is all zeros on a sample has no signal and is ignored there.
[[nodiscard]] double WorstOfSamples(const OutputValues& wanted, const OutputValues& got);

/// Returns the class with the largest score in every row of `classes` elements of the first output,
/// samples in order. Ties go to the first.
[[nodiscard]] std::vector<int64_t> TopClasses(const OutputValues& outputs, size_t classes);
/// Counts equal elements. Both vectors have the same size.
[[nodiscard]] int64_t CountEqual(const std::vector<int64_t>& a, const std::vector<int64_t>& b);

}  // namespace tenon::converter
