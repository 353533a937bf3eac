// How near a quantized graph's outputs come to the float graph's.
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
  /// 10 log10(signal / noise): 200 where there is no noise, -200 where there is no signal but
  /// noise.
  [[nodiscard]] double Decibel() const;
};

/// Outputs of a run on every sample: values[sample][output].
using OutputValues = std::vector<std::vector<std::vector<float>>>;

/// Errors: as of GraphRunner.
[[nodiscard]] Result<OutputValues> RunAll(const Graph& graph, const std::vector<Sample>& samples);

/// One for each output, over all samples.
[[nodiscard]] std::vector<SignalToNoise> Compare(const OutputValues& wanted,
                                                 const OutputValues& got);
/// The smallest on any one sample, in dB; 200 where there is no output. An output that is all zeros
/// on a sample has no signal to compare with, and does not count there.
[[nodiscard]] double WorstOfSamples(const OutputValues& wanted, const OutputValues& got);

/// The class with the largest score in every row of `classes` elements of the first output, samples
/// in order. Ties go to the first.
[[nodiscard]] std::vector<int64_t> TopClasses(const OutputValues& outputs, size_t classes);
/// How many are equal. As many of both.
[[nodiscard]] int64_t CountEqual(const std::vector<int64_t>& a, const std::vector<int64_t>& b);

}  // namespace tenon::converter
