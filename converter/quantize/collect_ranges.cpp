#include <algorithm>
#include <cmath>

#include "converter/quantize/graph_runner.hpp"

namespace tenon::converter {
namespace {

/// Outputs that a run computes at once: bounds the memory that they take.
constexpr int64_t kMostSampleBytes = int64_t{256} << 20;

Status IncludeAll(const Tensor& tensor, Span<const float> values, ValueRange& range) {
  for (const float value : values) {
    if (!std::isfinite(value)) {
      return InputError("calibration: '{}' takes values that are not finite", tensor.name);
    }
    range.Include(value);
  }
  return {};
}

Status CollectSome(const Graph& graph, const std::vector<TensorId>& tensors,
                   const std::vector<Sample>& samples, std::map<TensorId, Histogram>& result) {
  TENON_ASSIGN_OR_RETURN(GraphRunner runner, GraphRunner::Make(graph, tensors));
  std::vector<ValueRange> ranges(tensors.size());
  for (const Sample& sample : samples) {
    TENON_RETURN_IF_ERROR(runner.Run(sample));
    for (size_t i = 0; i < tensors.size(); ++i) {
      const Tensor& tensor = graph.tensor(tensors[i]);
      TENON_RETURN_IF_ERROR(IncludeAll(tensor, runner.Wanted(i), ranges[i]));
    }
  }
  for (size_t i = 0; i < tensors.size(); ++i) result[tensors[i]] = Histogram(ranges[i]);
  for (const Sample& sample : samples) {
    TENON_RETURN_IF_ERROR(runner.Run(sample));
    for (size_t i = 0; i < tensors.size(); ++i) {
      const Span<const float> values = runner.Wanted(i);
      result[tensors[i]].Add(values.data(), values.size());
    }
  }
  return {};
}

}  // namespace

Result<std::map<TensorId, Histogram>> CollectRanges(const Graph& graph,
                                                    const std::vector<Sample>& samples) {
  std::map<TensorId, Histogram> result;
  std::vector<TensorId> some;
  int64_t bytes = 0;
  for (const TensorId id : graph.Tensors()) {
    const Tensor& tensor = graph.tensor(id);
    if (tensor.IsConstant() || tensor.dtype != DType::kF32) continue;
    if (!some.empty() && bytes + tensor.ByteSize() > kMostSampleBytes) {
      TENON_RETURN_IF_ERROR(CollectSome(graph, some, samples, result));
      some.clear();
      bytes = 0;
    }
    some.push_back(id);
    bytes += tensor.ByteSize();
  }
  TENON_RETURN_IF_ERROR(CollectSome(graph, some, samples, result));
  return result;
}

Result<ChannelMaxima> CollectChannelMaxima(const Graph& graph, const std::vector<Sample>& samples) {
  ChannelMaxima maxima;
  for (const OpId id : graph.OpOrder()) {
    if (graph.op(id).kind != OpKind::kConv) continue;
    const TensorId input = graph.op(id).inputs.front();
    const Tensor& tensor = graph.tensor(input);
    if (tensor.IsConstant() || tensor.dtype != DType::kF32 || tensor.ByteSize() == 0) continue;
    maxima[input].assign(static_cast<size_t>(tensor.shape[1]), 0.0);
  }
  std::vector<TensorId> wanted;
  for (const auto& [id, values] : maxima) wanted.push_back(id);
  TENON_ASSIGN_OR_RETURN(GraphRunner runner, GraphRunner::Make(graph, wanted));
  for (const Sample& sample : samples) {
    TENON_RETURN_IF_ERROR(runner.Run(sample));
    for (size_t i = 0; i < wanted.size(); ++i) {
      const Shape& shape = graph.tensor(wanted[i]).shape;
      const auto plane = static_cast<size_t>(shape[2]) * static_cast<size_t>(shape[3]);
      std::vector<double>& largest = maxima[wanted[i]];
      const Span<const float> values = runner.Wanted(i);
      for (size_t at = 0; at < values.size(); ++at) {
        double& value = largest[at / plane % largest.size()];
        value = std::max(value, std::abs(double{values[at]}));
      }
    }
  }
  return maxima;
}

}  // namespace tenon::converter
