// Runs a graph at conversion on samples, through the public C interface, with all of this build's
// CPU kernels on one thread.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "converter/ir/graph.hpp"
#include "converter/quantize/equalize.hpp"
#include "converter/quantize/histogram.hpp"

namespace tenon::converter {

/// One inference's inputs: row-major bytes, one array per graph input, in their order.
using Sample = std::vector<std::vector<std::byte>>;

/// A compiled copy of a graph. May be used by one thread at a time.
class GraphRunner {
 public:
  /// Compiles a copy. `wanted`: tensors whose values are returned in addition to the graph's
  /// outputs. Errors: kInput, ops that no kernel runs.
  [[nodiscard]] static Result<GraphRunner> Make(Graph graph, const std::vector<TensorId>& wanted);

  GraphRunner(GraphRunner&&) noexcept;
  GraphRunner& operator=(GraphRunner&&) noexcept;
  ~GraphRunner();

  /// Runs one sample. Errors: kUsage, a sample whose sizes differ from the inputs'; kInput, errors
  /// of the run.
  [[nodiscard]] Status Run(const Sample& sample);

  /// Returns the row-major elements of a graph output, or of `wanted[i]`. Valid from one run to the
  /// next; f32 tensors only.
  [[nodiscard]] Span<const float> Output(size_t i) const;
  [[nodiscard]] Span<const float> Wanted(size_t i) const;

 private:
  struct State;
  explicit GraphRunner(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Collects the values of every activation of a float graph on the samples.

/// Returns histograms of all f32 tensors that are not constants, over all samples. Runs the samples
/// twice, for the ranges and for the counts. Deterministic on one kind of processor. Errors: as of
/// GraphRunner; kInput, a tensor with values that are not finite (named).
[[nodiscard]] Result<std::map<TensorId, Histogram>> CollectRanges(
    const Graph& graph, const std::vector<Sample>& samples);

/// Returns the channel maxima of every f32 activation that a convolution reads. Errors: as of
/// GraphRunner.
[[nodiscard]] Result<ChannelMaxima> CollectChannelMaxima(const Graph& graph,
                                                         const std::vector<Sample>& samples);

}  // namespace tenon::converter
