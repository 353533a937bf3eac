#include "converter/quantize/collect_ranges.hpp"

#include <cmath>

namespace tenon::converter {
namespace {

/// Outputs that a run computes at once: bounds the memory that they take.
constexpr int64_t kMostBytes = int64_t{256} << 20;

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
    if (Status status = runner.Run(sample); !status.ok()) return status;
    for (size_t i = 0; i < tensors.size(); ++i) {
      const Tensor& tensor = graph.tensor(tensors[i]);
      if (Status status = IncludeAll(tensor, runner.Wanted(i), ranges[i]); !status.ok()) {
        return status;
      }
    }
  }
  for (size_t i = 0; i < tensors.size(); ++i) result[tensors[i]] = Histogram(ranges[i]);
  for (const Sample& sample : samples) {
    if (Status status = runner.Run(sample); !status.ok()) return status;
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
    if (!some.empty() && bytes + tensor.ByteSize() > kMostBytes) {
      if (Status status = CollectSome(graph, some, samples, result); !status.ok()) return status;
      some.clear();
      bytes = 0;
    }
    some.push_back(id);
    bytes += tensor.ByteSize();
  }
  if (Status status = CollectSome(graph, some, samples, result); !status.ok()) return status;
  return result;
}

}  // namespace tenon::converter
