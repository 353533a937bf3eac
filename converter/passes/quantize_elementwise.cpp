#include <cmath>

#include "converter/ir/rewrite.hpp"
#include "converter/passes/patterns.hpp"
#include "converter/passes/quantization.hpp"

namespace tenon::converter {
namespace {

/// The op whose result a quantize op stores, and the bounds between them.
struct ElementwiseMatch {
  OpId main = kNone;
  std::vector<OpId> absorbed;
  Quantization y;
  QuantizedOutput output;
  std::vector<Source> sources;
};

/// The quantized op that replaces a match.
struct Replacement {
  OpKind kind = OpKind::kQuantizedBinary;
  Attributes attributes;
  std::vector<std::pair<std::string, std::vector<float>>> parameters;  ///< further inputs
};

std::string FindMain(const Graph& graph, OpId quantize, ElementwiseMatch& match) {
  match.output = OutputOf(match.y);
  TensorId real = graph.op(quantize).inputs.front();
  OpId reader = quantize;
  while (true) {
    const OpId producer = graph.tensor(real).producer;
    if (producer == kNone) return "what it quantizes is a graph input or a constant";
    if (graph.OnlyConsumer(real) != reader) return "what it quantizes is read elsewhere, too";
    const auto clamp = ClampOf(graph, graph.op(producer));
    if (!clamp.has_value()) {
      match.main = producer;
      return "";
    }
    ApplyClamp(match.y, *clamp, match.output);
    match.absorbed.push_back(producer);
    reader = producer;
    real = clamp->x;
  }
}

std::string FindSources(const Graph& graph, size_t count, ElementwiseMatch& match) {
  for (size_t i = 0; i < count; ++i) {
    auto source = PlainSourceOf(graph, graph.op(match.main).inputs[i]);
    if (!source.has_value()) {
      return "an operand is not dequantized from i8 or u8 with one constant scale";
    }
    match.sources.push_back(std::move(*source));
  }
  return "";
}

QuantizedScale ScaleOf(double scale) {
  QuantizedScale result;
  result.scale = static_cast<float>(scale);
  return result;
}

Replacement QuantizedBinary(const ElementwiseMatch& match, const BinaryAttributes& binary) {
  QuantizedBinaryAttributes attributes;
  attributes.function = binary.function;
  const Quantization& x = match.sources[0].as;
  const Quantization& y = match.sources[1].as;
  attributes.x_zero_point = x.zero_points.front();
  attributes.y_zero_point = y.zero_points.front();
  attributes.x_scale = ScaleOf(x.scales.front());
  attributes.y_scale = ScaleOf(y.scales.front());
  attributes.output_scale = ScaleOf(match.y.scales.front());
  attributes.output = match.output;
  return {OpKind::kQuantizedBinary, Attributes(attributes), {}};
}

Replacement QuantizedAveragePool(const ElementwiseMatch& match, const PoolAttributes& pool) {
  const Quantization& x = match.sources[0].as;
  QuantizedAveragePoolAttributes attributes;
  attributes.pool = pool;
  attributes.x_zero_point = x.zero_points.front();
  attributes.scale = ScaleOf(double{x.scales.front()} / double{match.y.scales.front()});
  attributes.output = match.output;
  return {OpKind::kQuantizedAveragePool, Attributes(attributes), {}};
}

Replacement QuantizedReduce(const ElementwiseMatch& match, const ReduceAttributes& reduce,
                            int64_t count) {
  const Quantization& x = match.sources[0].as;
  const double divisor =
      reduce.function == ReduceFunction::kMean ? static_cast<double>(count) : 1.0;
  QuantizedReduceAttributes attributes;
  attributes.reduce = reduce;
  attributes.reduce.function = ReduceFunction::kSum;
  attributes.x_zero_point = x.zero_points.front();
  attributes.scale = ScaleOf(double{x.scales.front()} / double{match.y.scales.front()} / divisor);
  attributes.output = match.output;
  return {OpKind::kQuantizedReduce, Attributes(attributes), {}};
}

Replacement QuantizedSoftmax(const ElementwiseMatch& match, const SoftmaxAttributes& softmax) {
  QuantizedSoftmaxAttributes attributes;
  attributes.softmax = softmax;
  attributes.scale = ScaleOf(match.sources[0].as.scales.front());
  attributes.output_scale = match.y.scales.front();
  attributes.output = match.output;
  return {OpKind::kQuantizedSoftmax, Attributes(attributes), {}};
}

/// Returns what a parameter of a row adds to or multiplies bytes of y with.
std::vector<float> OfBytes(const std::vector<double>& values, const Quantization& y, int32_t zero) {
  std::vector<float> scaled;
  for (const double value : values) {
    scaled.push_back(static_cast<float>(value / double{y.scales.front()} + zero));
  }
  return scaled;
}

/// A normalisation does not change with its input's scale and zero point, but for epsilon; those of
/// its result become part of its scale and bias. Returns why not, or empty.
std::string NormaliseBytes(const Graph& graph, const ElementwiseMatch& match,
                           Replacement& replacement) {
  const Op& op = graph.op(match.main);
  const Quantization& x = match.sources[0].as;
  const Quantization& y = match.y;
  auto attributes = op.attributes.As<LayerNormAttributes>();
  if (x.dtype != y.dtype) return "its operand and its result are not both i8, or both u8";
  if (attributes.rms != 0 && (x.zero_points.front() != 0 || x.dtype != DType::kI8)) {
    return "without the mean its operand's zero point must be 0";
  }
  const QuantizedOutput whole = OutputOf(y);
  if (match.output.min != whole.min || match.output.max != whole.max) {
    return "what bounds its result is no part of it";
  }
  const auto scale = RealValues(graph, op.inputs[LayerNormInput::kScale]);
  const TensorId bias_id = op.InputOrNone(LayerNormInput::kBias);
  std::vector<double> bias(scale.has_value() ? scale->size() : 0);
  if (bias_id != kNone) {
    const auto values = RealValues(graph, bias_id);
    if (!scale.has_value() || !values.has_value()) return "its parameters are not constant";
    bias = *values;
  }
  if (!scale.has_value()) return "its parameters are not constant";
  const double step = x.scales.front();
  attributes.epsilon = static_cast<float>(double{attributes.epsilon} / (step * step));
  const int32_t zero_point = y.zero_points.front();
  replacement = {OpKind::kLayerNorm, Attributes(attributes), {}};
  replacement.parameters.emplace_back(op.name + ".scale_of_bytes", OfBytes(*scale, y, 0));
  if (bias_id != kNone || zero_point != 0) {
    replacement.parameters.emplace_back(op.name + ".bias_of_bytes", OfBytes(bias, y, zero_point));
  }
  return "";
}

/// Returns the number of elements that each output of a reduction reads.
int64_t Reduced(const Graph& graph, const Op& op) {
  const int64_t outputs = graph.tensor(op.outputs.front()).shape.Elements();
  return graph.tensor(op.inputs.front()).shape.Elements() / std::max<int64_t>(outputs, 1);
}

std::string WhyNotMain(const Graph& graph, ElementwiseMatch& match, Replacement& replacement) {
  const Op& op = graph.op(match.main);
  const bool two = op.kind == OpKind::kBinary;
  switch (op.kind) {
    case OpKind::kBinary: {
      const auto function = op.attributes.As<BinaryAttributes>().function;
      const auto clamp = ClampOf(op.attributes.As<BinaryAttributes>().activation);
      const bool known = function <= BinaryFunction::kDiv || function == BinaryFunction::kMax ||
                         function == BinaryFunction::kMin;
      if (!known) return "its function has no quantized form";
      if (!clamp.has_value()) return "its activation does not only bound";
      ApplyClamp(match.y, *clamp, match.output);
      break;
    }
    case OpKind::kReduce: {
      const auto function = op.attributes.As<ReduceAttributes>().function;
      if (function != ReduceFunction::kMean && function != ReduceFunction::kSum) {
        return "its function has no quantized form";
      }
      break;
    }
    case OpKind::kSoftmax:
      if (op.attributes.As<SoftmaxAttributes>().log != 0) return "it has no quantized form";
      break;
    case OpKind::kAveragePool:
    case OpKind::kLayerNorm:
      break;
    default:
      return "it has no quantized form";
  }
  if (std::string reason = FindSources(graph, two ? 2 : 1, match); !reason.empty()) return reason;
  if (op.kind == OpKind::kLayerNorm) return NormaliseBytes(graph, match, replacement);
  if (two) {
    replacement = QuantizedBinary(match, op.attributes.As<BinaryAttributes>());
  } else if (op.kind == OpKind::kReduce) {
    replacement = QuantizedReduce(match, op.attributes.As<ReduceAttributes>(), Reduced(graph, op));
  } else if (op.kind == OpKind::kSoftmax) {
    replacement = QuantizedSoftmax(match, op.attributes.As<SoftmaxAttributes>());
  } else {
    replacement = QuantizedAveragePool(match, op.attributes.As<PoolAttributes>());
  }
  return "";
}

}  // namespace

Result<std::string> TryQuantizeResult(Graph& graph, OpId id) {
  ElementwiseMatch match;
  const auto target = PlainTargetOf(graph, graph.op(id));
  if (!target.has_value()) return std::string("its scale and zero point are not one constant each");
  match.y = *target;
  Replacement replacement;
  std::string reason = FindMain(graph, id, match);
  if (reason.empty()) reason = WhyNotMain(graph, match, replacement);
  if (!reason.empty()) return reason;
  const Op main = graph.op(match.main);
  std::vector<TensorId> inputs;
  for (const Source& source : match.sources) inputs.push_back(source.quantized);
  for (const auto& [parameter, values] : replacement.parameters) {
    inputs.push_back(AddFloats(graph, parameter, values));
  }
  const std::string name = graph.tensor(graph.op(id).outputs.front()).name;
  auto made =
      graph.InsertOp(id, replacement.kind, main.name, inputs, replacement.attributes, {name});
  if (!made.ok()) return made.error().message;  // for example a scale out of range
  graph.MutableOp(*made).source_ops = main.source_ops;
  for (const OpId absorbed : match.absorbed) RecordFusion(graph, *made, absorbed);
  const TensorId y = graph.op(*made).outputs.front();
  BypassAndErase(graph, id, y);
  graph.RenameTensor(y, name);
  return std::string();
}

}  // namespace tenon::converter
