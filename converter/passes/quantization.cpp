#include "converter/passes/quantization.hpp"

#include <cmath>

#include "converter/ir/elements.hpp"
#include "converter/ir/rewrite.hpp"
#include "runtime/ops/requantize.hpp"

namespace tenon::converter {
namespace {

Shape VectorOf(size_t count) {
  Shape shape;
  shape.rank = 1;
  shape[0] = static_cast<int32_t>(count);
  return shape;
}

template <typename T>
bool AllEqual(const std::vector<T>& values) {
  return std::all_of(values.begin(), values.end(),
                     [&](const T& value) { return value == values.front(); });
}

bool IsPlainDType(DType dtype) { return dtype == DType::kI8 || dtype == DType::kU8; }
int32_t LeastOf(DType dtype) { return dtype == DType::kI8 ? -128 : 0; }

}  // namespace

std::optional<Quantization> QuantizationOf(const Graph& graph, const Op& op) {
  const Tensor& scale = graph.tensor(op.inputs[QuantizeInput::kScale]);
  if (!scale.IsConstant() || scale.shape.Elements() == 0) return std::nullopt;
  Quantization as;
  if (op.kind == OpKind::kQuantize) {
    as.dtype = graph.tensor(op.outputs.front()).dtype;
    as.axis = op.attributes.As<QuantizeAttributes>().axis;
  } else {
    as.dtype = graph.tensor(op.inputs.front()).dtype;
    as.axis = op.attributes.As<DequantizeAttributes>().axis;
  }
  for (const double value : ReadElements(scale)) as.scales.push_back(static_cast<float>(value));
  const auto usable = [](float value) { return std::isfinite(value) && value > 0.0F; };
  if (!std::all_of(as.scales.begin(), as.scales.end(), usable)) return std::nullopt;
  as.zero_points.assign(as.scales.size(), 0);
  if (op.inputs.size() > QuantizeInput::kZeroPoint &&
      op.inputs[QuantizeInput::kZeroPoint] != kNone) {
    const Tensor& zero_point = graph.tensor(op.inputs[QuantizeInput::kZeroPoint]);
    if (!zero_point.IsConstant()) return std::nullopt;
    const std::vector<double> values = ReadElements(zero_point);
    std::transform(values.begin(), values.end(), as.zero_points.begin(),
                   [](double value) { return static_cast<int32_t>(value); });
  }
  if (AllEqual(as.scales) && AllEqual(as.zero_points)) {
    as.scales.resize(1);
    as.zero_points.resize(1);
    as.axis = 0;
  }
  return as;
}

std::optional<Source> SourceOf(const Graph& graph, TensorId real) {
  const OpId id = ProducerOfKind(graph, real, OpKind::kDequantize);
  if (id == kNone) return std::nullopt;
  auto as = QuantizationOf(graph, graph.op(id));
  if (!as.has_value()) return std::nullopt;
  return Source{id, graph.op(id).inputs.front(), std::move(*as)};
}

std::optional<Source> PlainSourceOf(const Graph& graph, TensorId real) {
  auto source = SourceOf(graph, real);
  if (!source.has_value() || !source->as.IsPlain()) return std::nullopt;
  return source;
}

std::optional<Quantization> PlainTargetOf(const Graph& graph, const Op& quantize) {
  if (quantize.kind != OpKind::kQuantize) return std::nullopt;
  if (quantize.attributes.As<QuantizeAttributes>().rounding != Rounding::kHalfEven) {
    return std::nullopt;
  }
  auto as = QuantizationOf(graph, quantize);
  if (!as.has_value() || !as->IsPlain()) return std::nullopt;
  return as;
}

std::optional<std::vector<double>> RealValues(const Graph& graph, TensorId real) {
  if (!graph.IsTensor(real)) return std::nullopt;
  const Tensor& tensor = graph.tensor(real);
  if (tensor.IsConstant()) {
    if (tensor.dtype != DType::kF32) return std::nullopt;
    return ReadElements(tensor);
  }
  const auto source = SourceOf(graph, real);
  if (!source.has_value() || !graph.tensor(source->quantized).IsConstant()) return std::nullopt;
  const Shape& shape = tensor.shape;
  size_t inner = 1;
  for (int32_t i = source->as.axis + 1; i < shape.rank; ++i) inner *= static_cast<size_t>(shape[i]);
  std::vector<double> values = ReadElements(graph.tensor(source->quantized));
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t at = i / inner % source->as.scales.size();
    values[i] = (values[i] - source->as.zero_points[at]) * double{source->as.scales[at]};
  }
  return values;
}

std::optional<double> RealScalar(const Graph& graph, TensorId real) {
  if (!graph.IsTensor(real) || graph.tensor(real).shape.Elements() != 1) return std::nullopt;
  const auto values = RealValues(graph, real);
  if (!values.has_value()) return std::nullopt;
  return values->front();
}

int32_t QuantizedValue(const Quantization& as, float value) {
  const QuantizedOutput output = OutputOf(as);
  return Saturate(output, RoundHalfEven(value / as.scales.front()));
}

std::optional<Clamp> ClampOf(const Activation& activation) {
  Clamp clamp;
  switch (activation.function) {
    case UnaryFunction::kIdentity:
      return clamp;
    case UnaryFunction::kRelu:
      clamp.low = 0.0F;
      return clamp;
    case UnaryFunction::kClip:
      clamp.low = activation.a;
      clamp.high = activation.b;
      return clamp;
    default:
      return std::nullopt;
  }
}

std::optional<Clamp> ClampOf(const Graph& graph, const Op& op) {
  if (op.kind == OpKind::kUnary) {
    const auto unary = op.attributes.As<UnaryAttributes>();
    if (unary.function == UnaryFunction::kIdentity) return std::nullopt;
    auto clamp = ClampOf(Activation{unary.function, unary.a, unary.b});
    if (clamp.has_value()) clamp->x = op.inputs.front();
    return clamp;
  }
  if (op.kind != OpKind::kBinary) return std::nullopt;
  const auto binary = op.attributes.As<BinaryAttributes>();
  const bool max = binary.function == BinaryFunction::kMax;
  if (!max && binary.function != BinaryFunction::kMin) return std::nullopt;
  if (binary.activation.function != UnaryFunction::kIdentity) return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    const auto bound = RealScalar(graph, op.inputs[1 - i]);
    const Shape& x = graph.tensor(op.inputs[i]).shape;
    if (!bound.has_value() || x != graph.tensor(op.outputs.front()).shape) continue;
    Clamp clamp;
    clamp.x = op.inputs[i];
    (max ? clamp.low : clamp.high) = static_cast<float>(*bound);
    return clamp;
  }
  return std::nullopt;
}

QuantizedOutput OutputOf(const Quantization& as) {
  QuantizedOutput output;
  output.to = static_cast<int32_t>(as.dtype);
  output.zero_point = as.zero_points.front();
  output.min = IsPlainDType(as.dtype) ? LeastOf(as.dtype) : 0;
  output.max = output.min + 255;
  return output;
}

// Quantizing keeps the order of numbers, so bounds may be applied after it.
void ApplyClamp(const Quantization& as, const Clamp& clamp, QuantizedOutput& output) {
  const auto inside = [&](int32_t value) {
    return std::min(std::max(value, output.min), output.max);
  };
  const int32_t high = inside(QuantizedValue(as, clamp.high));
  const int32_t low = std::min(inside(QuantizedValue(as, clamp.low)), high);
  output.min = low;
  output.max = high;
}

TensorId AddFloats(Graph& graph, const std::string& name, const std::vector<float>& values) {
  return graph.AddConstantOf(name, DType::kF32, VectorOf(values.size()), values);
}

TensorId AddIntegers(Graph& graph, const std::string& name, DType dtype,
                     const std::vector<int32_t>& values) {
  const std::vector<double> numbers(values.begin(), values.end());
  return graph.AddConstant(name, dtype, VectorOf(values.size()), WriteElements(dtype, numbers));
}

}  // namespace tenon::converter
