#include "converter/quantize/insert_quantization.hpp"

#include <algorithm>
#include <cmath>

#include "converter/ir/elements.hpp"
#include "runtime/ops/host/op_host_row.hpp"

namespace tenon::converter {
namespace {

Result<TensorId> InsertOne(Graph& graph, OpId position, OpKind kind, const std::string& name,
                           const std::vector<TensorId>& inputs, const Attributes& attributes) {
  TENON_ASSIGN_OR_RETURN(const OpId added,
                         graph.InsertOp(position, kind, name, inputs, attributes, {name}));
  return graph.op(added).outputs.front();
}

int8_t Rounded(double value, const ActivationScale& scale) {
  const double steps = std::nearbyint(value / double{scale.scale}) + scale.zero_point;
  return static_cast<int8_t>(std::clamp(steps, -128.0, 127.0));
}

/// Quantizes a float constant to i8.
std::vector<int8_t> RoundConstant(const Tensor& tensor, const ActivationScale& scale) {
  std::vector<int8_t> values;
  for (const double value : ReadElements(tensor)) values.push_back(Rounded(value, scale));
  return values;
}

TensorId AddZeroPoint(Graph& graph, const std::string& name, int32_t zero_point) {
  return graph.AddConstantOf(name, DType::kI8, Shape({1}),
                             std::vector<int8_t>{static_cast<int8_t>(zero_point)});
}

/// Adds an integer constant and its dequantize op before `reader`.
Result<TensorId> InsertDequantized(Graph& graph, OpId reader, TensorId integers,
                                   const std::vector<float>& scales, int32_t axis) {
  const std::string name = graph.tensor(integers).name;
  const TensorId scale = graph.AddConstantOf(name + ".scale", DType::kF32,
                                             Shape({static_cast<int32_t>(scales.size())}), scales);
  return InsertOne(graph, reader, OpKind::kDequantize, name + ".dequantize", {integers, scale},
                   Attributes(DequantizeAttributes{axis}));
}

Status QuantizeLayerWeights(Graph& graph, OpId id, const QuantizedWeights& weights,
                            QuantizationForm form) {
  const TensorId old = graph.op(id).inputs[GemmInput::kWeights];
  const Shape shape = graph.tensor(old).shape;
  const std::string name = graph.tensor(old).name;
  if (form == QuantizationForm::kSimulated) {
    graph.SetInput(
        id, GemmInput::kWeights,
        graph.AddConstantOf(name + ".rounded", DType::kF32, shape, weights.Dequantize(shape)));
    return {};
  }
  const TensorId integers = graph.AddConstantOf(name + ".i8", DType::kI8, shape, weights.values);
  TENON_ASSIGN_OR_RETURN(const TensorId dequantized,
                         InsertDequantized(graph, id, integers, weights.scales, weights.axis));
  graph.SetInput(id, GemmInput::kWeights, dequantized);
  return {};
}

/// The bias in units of input_scale * weight scale. With kSimulated it stays: 32 bits hold it.
Status QuantizeLayerBias(Graph& graph, OpId id, const QuantizedWeights& weights,
                         float input_scale) {
  const TensorId old = graph.op(id).inputs[GemmInput::kBias];
  const std::vector<double> bias = ReadElements(graph.tensor(old));
  std::vector<int32_t> integers;
  std::vector<float> scales;
  for (size_t i = 0; i < bias.size(); ++i) {
    scales.push_back(input_scale * weights.scales[i]);
    // Weight scales are such that this fits; float rounding of the product cannot undo that.
    const double steps = scales.back() > 0 ? std::nearbyint(bias[i] / double{scales.back()}) : 0;
    integers.push_back(static_cast<int32_t>(std::clamp(steps, -2147483647.0, 2147483647.0)));
  }
  const auto count = static_cast<int32_t>(integers.size());
  const TensorId constant =
      graph.AddConstantOf(graph.tensor(old).name + ".i32", DType::kI32, Shape({count}), integers);
  TENON_ASSIGN_OR_RETURN(const TensorId dequantized,
                         InsertDequantized(graph, id, constant, scales, 0));
  graph.SetInput(id, GemmInput::kBias, dequantized);
  return {};
}

Status QuantizeLayer(Graph& graph, OpId id, float input_scale, QuantizationForm form) {
  const QuantizedWeights weights = QuantizeWeights(graph, graph.op(id), input_scale);
  TENON_RETURN_IF_ERROR(QuantizeLayerWeights(graph, id, weights, form));
  const Op& op = graph.op(id);
  const bool has_bias = op.inputs.size() > GemmInput::kBias && op.inputs[GemmInput::kBias] != kNone;
  if (!has_bias || form == QuantizationForm::kSimulated) return {};
  return QuantizeLayerBias(graph, id, weights, input_scale);
}

/// Returns the readers that read the rounded tensor.
std::vector<OpId> ReadersOf(const Graph& graph, TensorId id, const QuantizationScheme& scheme,
                            bool all) {
  std::vector<OpId> readers = graph.Consumers(id);
  if (all) return readers;
  std::erase_if(readers, [&](OpId reader) { return !scheme.chosen.Has(reader); });
  return readers;
}

Result<TensorId> QuantizeTensor(Graph& graph, TensorId id, const QuantizationScheme& scheme,
                                QuantizationForm form) {
  const OpId producer = graph.tensor(id).producer;
  const bool all = producer != kNone && scheme.chosen.Has(producer);
  const std::vector<OpId> readers = ReadersOf(graph, id, scheme, all);
  TENON_ASSIGN_OR_RETURN(const TensorId rounded,
                         AddRounded(graph, readers.empty() ? kNone : readers.front(), id,
                                    scheme.tensors.at(id).scale, form));
  for (const OpId reader : readers) {
    const size_t inputs = graph.op(reader).inputs.size();
    for (size_t i = 0; i < inputs; ++i) {
      if (graph.op(reader).inputs[i] == id) graph.SetInput(reader, i, rounded);
    }
  }
  if (!all) return rounded;
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    if (graph.outputs()[i].tensor == id) graph.SetPortTensor(/*output=*/true, i, rounded);
  }
  return rounded;
}

void EraseUnreadConstants(Graph& graph) {
  for (const TensorId id : graph.Tensors()) {
    if (graph.tensor(id).IsConstant() && !graph.IsRead(id)) graph.EraseTensor(id);
  }
}

}  // namespace

Result<TensorId> AddRounded(Graph& graph, OpId position, TensorId x, const ActivationScale& scale,
                            QuantizationForm form) {
  const Tensor& tensor = graph.tensor(x);
  const std::string name = tensor.name;
  const Shape shape = tensor.shape;
  const bool is_constant = tensor.IsConstant();
  TensorId integers = kNone;
  if (is_constant) {
    const std::vector<int8_t> values = RoundConstant(tensor, scale);
    if (form == QuantizationForm::kSimulated) {
      std::vector<float> floats;
      for (const int8_t q : values) {
        floats.push_back(static_cast<float>(q - scale.zero_point) * scale.scale);
      }
      return graph.AddConstantOf(name + ".rounded", DType::kF32, shape, floats);
    }
    integers = graph.AddConstantOf(name + ".i8", DType::kI8, shape, values);
  }
  const TensorId step = graph.AddConstantOf(name + ".scale", DType::kF32, Shape({1}),
                                            std::vector<float>{scale.scale});
  const TensorId zero = AddZeroPoint(graph, name + ".zero_point", scale.zero_point);
  if (!is_constant) {
    TENON_ASSIGN_OR_RETURN(
        integers, InsertOne(graph, position, OpKind::kQuantize, name + ".quantize", {x, step, zero},
                            Attributes(QuantizeAttributes{})));
  }
  return InsertOne(graph, position, OpKind::kDequantize, name + ".dequantize",
                   {integers, step, zero}, Attributes(DequantizeAttributes{}));
}

Result<DequantizedTensors> InsertQuantization(Graph& graph, const QuantizationScheme& scheme,
                                              QuantizationForm form) {
  for (const OpId id : scheme.chosen.ops) {
    if (!TraitsOf(graph.op(id).kind).IsFloatGemm()) continue;
    const float input_scale = scheme.tensors.at(graph.op(id).inputs.front()).scale.scale;
    TENON_RETURN_IF_ERROR(QuantizeLayer(graph, id, input_scale, form));
  }
  DequantizedTensors dequantized;
  for (const auto& [id, range] : scheme.tensors) {
    (void)range;
    if (IsGivenInIntegers(graph, id)) {
      dequantized[id] = id;
      continue;
    }
    TENON_ASSIGN_OR_RETURN(dequantized[id], QuantizeTensor(graph, id, scheme, form));
  }
  EraseUnreadConstants(graph);
  return dequantized;
}

}  // namespace tenon::converter
