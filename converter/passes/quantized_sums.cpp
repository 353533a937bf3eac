#include "converter/passes/quantized_sums.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "converter/ir/elements.hpp"
#include "converter/passes/quantization.hpp"
#include "runtime/ops/host/op_host_row.hpp"
#include "runtime/ops/requantize.hpp"

namespace tenon::converter {
namespace {

using In = QuantizedGemmInput;

/// Returns the elements of an integer constant, row-major; none for anything else.
std::optional<std::vector<int64_t>> Integers(const Graph& graph, TensorId id) {
  if (id == kNone) return std::vector<int64_t>();
  const Tensor& tensor = graph.tensor(id);
  if (!tensor.IsConstant() || tensor.layout != Layout::kRowMajor) return std::nullopt;
  std::vector<int64_t> values;
  const auto step = static_cast<int64_t>(DTypeBytes(tensor.dtype));
  for (int64_t i = 0; i < tensor.shape.Elements(); ++i) {
    values.push_back(ReadInteger(tensor.dtype, tensor.constant->data() + i * step));
  }
  return values;
}

/// Makes [depth][output] [output][depth].
std::vector<int64_t> Turned(const std::vector<int64_t>& values, size_t outputs) {
  std::vector<int64_t> turned(values.size());
  const size_t depth = values.size() / outputs;
  for (size_t i = 0; i < values.size(); ++i) turned[i % outputs * depth + i / outputs] = values[i];
  return turned;
}

/// Reads the factors from sums to outputs. Returns false for a form that is not known.
bool ReadFactors(const Graph& graph, const Op& op, QuantizedSums& sums) {
  const TensorId multiplier = op.InputOrNone(In::kMultiplier);
  if (multiplier == kNone) return false;
  if (sums.output.rounding == Rounding::kHalfEven) {
    const Tensor& scale = graph.tensor(multiplier);
    if (!scale.IsConstant() || scale.dtype != DType::kF32) return false;
    sums.scale.resize(static_cast<size_t>(scale.shape.Elements()));
    std::memcpy(sums.scale.data(), scale.constant->data(), sums.scale.size() * sizeof(float));
    return true;
  }
  auto multipliers = Integers(graph, multiplier);
  auto shifts = Integers(graph, op.InputOrNone(In::kShift));
  if (!multipliers || !shifts || shifts->size() != multipliers->size()) return false;
  sums.multiplier = std::move(*multipliers);
  sums.shift = std::move(*shifts);
  return true;
}

}  // namespace

std::optional<int64_t> QuantizedSums::ValueOf(size_t index, int64_t sum) const {
  if (sum < INT32_MIN || sum > INT32_MAX) return std::nullopt;
  const auto narrow = static_cast<int32_t>(sum);
  if (output.rounding == Rounding::kHalfEven) {
    const float factor = scale[scale.size() == 1 ? 0 : index];
    if (!std::isfinite(factor) || factor < 0.0F) return std::nullopt;
    return Saturate(output, RoundHalfEven(static_cast<float>(narrow) * factor));
  }
  const size_t at = multiplier.size() == 1 ? 0 : index;
  if (multiplier[at] < 0 || shift[at] > 0) return std::nullopt;
  const auto factor = static_cast<int32_t>(multiplier[at]);
  const auto by = static_cast<int32_t>(shift[at]);
  const int32_t rounded = output.rounding == Rounding::kFixedPoint
                              ? FixedPointMultiply(narrow, factor, by)
                              : FixedPointMultiplyOnce(narrow, factor, by);
  return Saturate(output, rounded);
}

std::optional<int64_t> QuantizedSums::ConstantValue(size_t index) const {
  const int64_t low = x_least - x_zero_point;
  const int64_t high = x_most - x_zero_point;
  int64_t least = bias[index];
  int64_t most = bias[index];
  for (size_t i = index * depth(); i < (index + 1) * depth(); ++i) {
    // Padding adds nothing, which lies between.
    least += std::min({weights[i] * low, weights[i] * high, int64_t{0}});
    most += std::max({weights[i] * low, weights[i] * high, int64_t{0}});
  }
  const auto value = ValueOf(index, least);
  return value && value == ValueOf(index, most) ? value : std::nullopt;
}

std::optional<QuantizedSums> ReadQuantizedSums(const Graph& graph, const Op& op) {
  const OpTraits traits = TraitsOf(op.kind);
  if (!traits.IsQuantizedGemm() || op.outputs.size() != 1) return std::nullopt;
  const Tensor& x = graph.tensor(op.inputs[In::kX]);
  const Tensor& w = graph.tensor(op.inputs[In::kWeights]);
  const bool is_plain = op.InputOrNone(In::kWeightsZeroPoint) == kNone &&
                        op.InputOrNone(In::kFoldedBias) == kNone && IsByte(x.dtype) &&
                        IsByte(w.dtype) && w.shape.rank == (traits.convolution ? 4 : 2);
  if (!is_plain || w.shape.Elements() == 0) return std::nullopt;
  auto weights = Integers(graph, op.inputs[In::kWeights]);
  auto bias = Integers(graph, op.InputOrNone(In::kBias));
  auto zero_point = Integers(graph, op.InputOrNone(In::kXZeroPoint));
  if (!weights || !bias || !zero_point || zero_point->size() > 1) return std::nullopt;
  QuantizedSums sums;
  const bool outputs_last =
      traits.matrix_product && op.attributes.As<MatMulAttributes>().transpose_b == 0;
  const auto outputs = static_cast<size_t>(w.shape[outputs_last ? 1 : 0]);
  sums.weights = outputs_last ? Turned(*weights, outputs) : std::move(*weights);
  sums.bias = std::move(*bias);
  sums.bias.resize(outputs, 0);
  if (!zero_point->empty()) sums.x_zero_point = zero_point->front();
  sums.x_least = x.dtype == DType::kI8 ? -128 : 0;
  sums.x_most = sums.x_least + 255;
  sums.output = op.attributes.Member<QuantizedOutput>(traits.output_offset);
  if (!ReadFactors(graph, op, sums)) return std::nullopt;
  return sums;
}

bool IsDepthwise(const Graph& graph, const Op& op) {
  if (!TraitsOf(op.kind).convolution) return false;
  const int32_t group = op.attributes.As<ConvAttributes>().group;
  const Shape& w = graph.tensor(op.inputs[In::kWeights]).shape;
  return group > 1 && group == graph.tensor(op.inputs[In::kX]).shape[1] && w[0] == group &&
         w[1] == 1;
}

}  // namespace tenon::converter
