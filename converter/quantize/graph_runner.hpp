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

/// A compiled copy of a graph. Used by one thread at a time.
class GraphRunner {
 public:
  /// `wanted`: tensors whose values are asked for besides the graph's outputs. The graph may change
  /// afterwards. Errors: kInput, ops that no kernel runs.
  [[nodiscard]] static Result<GraphRunner> Make(Graph graph, const std::vector<TensorId>& wanted);

  GraphRunner(GraphRunner&&) noexcept;
  GraphRunner& operator=(GraphRunner&&) noexcept;
  ~GraphRunner();

  /// Errors: kUsage, a sample of other sizes than the inputs; kInput, what the run reports.
  [[nodiscard]] Status Run(const Sample& sample);

  /// Row-major elements of a graph output, or of `wanted[i]`, after a run and until the next; f32
  /// tensors only.
  [[nodiscard]] Span<const float> Output(size_t i) const;
  [[nodiscard]] Span<const float> Wanted(size_t i) const;

 private:
  struct State;
  explicit GraphRunner(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// What values every activation of a float graph takes on the samples.

/// Histograms of all f32 tensors that are no constants, over all samples: run twice, for the ranges
/// and for the counts. Deterministic on one kind of processor. Errors: as of GraphRunner; kInput, a
/// tensor that takes values that are not finite (named).
[[nodiscard]] Result<std::map<TensorId, Histogram>> CollectRanges(
    const Graph& graph, const std::vector<Sample>& samples);

/// Of every activation of f32 that a convolution reads. Errors: as of GraphRunner.
[[nodiscard]] Result<ChannelMaxima> CollectChannelMaxima(const Graph& graph,
                                                         const std::vector<Sample>& samples);

}  // namespace tenon::converter
