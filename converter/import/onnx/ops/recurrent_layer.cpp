#include "converter/import/onnx/ops/recurrent_layer.hpp"

#include <algorithm>

#include "converter/import/onnx/ops/indexing.hpp"
#include "converter/import/onnx/ops/integer_products.hpp"
#include "converter/import/onnx/ops/quantization.hpp"
#include "converter/ir/shapes.hpp"

namespace tenon::converter {
namespace {

/// More steps would make a graph that nothing can plan in reasonable time.
constexpr int64_t kMostSteps = 4096;

struct ActivationRow {
  std::string_view name;
  UnaryFunction function;
  float a;  ///< defaults of alpha and beta
  float b;
};

constexpr ActivationRow kActivations[] = {
    {"Elu", UnaryFunction::kElu, 1.0F, 0.0F},
    {"HardSigmoid", UnaryFunction::kHardSigmoid, 0.2F, 0.5F},
    {"LeakyRelu", UnaryFunction::kLeakyRelu, 0.01F, 0.0F},
    {"Relu", UnaryFunction::kRelu, 0.0F, 0.0F},
    {"Sigmoid", UnaryFunction::kSigmoid, 0.0F, 0.0F},
    {"Softplus", UnaryFunction::kSoftplus, 0.0F, 0.0F},
    {"Softsign", UnaryFunction::kSoftsign, 0.0F, 0.0F},
    {"Tanh", UnaryFunction::kTanh, 0.0F, 0.0F},
};

Status ReadActivations(Lowering& node, RecurrentLayer& layer) {
  std::vector<std::string> names = node.Texts("activations");
  const std::vector<float> alphas = node.Floats("activation_alpha");
  const std::vector<float> betas = node.Floats("activation_beta");
  if (names.empty()) {
    for (int64_t i = 0; i < layer.directions; ++i) {
      if (layer.cell != Cell::kRnn) names.emplace_back("Sigmoid");
      names.emplace_back("Tanh");
      if (layer.cell == Cell::kLstm) names.emplace_back("Tanh");
    }
  }
  const int64_t each = layer.cell == Cell::kLstm ? 3 : (layer.cell == Cell::kGru ? 2 : 1);
  if (static_cast<int64_t>(names.size()) != each * layer.directions) {
    return InputError("{} activations are given instead of {}", names.size(),
                      each * layer.directions);
  }
  size_t alpha = 0;
  size_t beta = 0;
  for (const std::string& name : names) {
    const auto* row = std::find_if(std::begin(kActivations), std::end(kActivations),
                                   [&](const ActivationRow& one) { return one.name == name; });
    if (row == std::end(kActivations)) return InputError("activation '{}' is not supported", name);
    // Values are given for those functions that take one, in order.
    UnaryAttributes function{row->function, row->a, row->b};
    if (row->a != 0.0F && alpha < alphas.size()) function.a = alphas[alpha++];
    if (row->b != 0.0F && beta < betas.size()) function.b = betas[beta++];
    layer.activations.push_back(function);
  }
  return {};
}

Status ReadLengths(Lowering& node, RecurrentLayer& layer) {
  if (!node.HasInput(4)) return {};
  TENON_ASSIGN_OR_RETURN(const TensorId input, node.Input(4));
  TENON_ASSIGN_OR_RETURN(layer.lengths, node.ConstantInts(input));
  if (static_cast<int64_t>(layer.lengths.size()) != layer.batch) {
    return InputError("{} sequence lengths for a batch of {}", layer.lengths.size(), layer.batch);
  }
  bool all_full = true;
  for (int64_t length : layer.lengths) {
    if (length < 1 || length > layer.steps) return InputError("length {} is out of range", length);
    all_full &= length == layer.steps;
  }
  if (all_full) layer.lengths.clear();
  return {};
}

/// Input `index` of direction `d`, [H] or [N, H] or ...; nothing if absent.
Result<TensorId> OfDirection(Lowering& node, int index, int64_t d) {
  if (!node.HasInput(index)) return kNone;
  TENON_ASSIGN_OR_RETURN(const TensorId input, node.Input(index));
  return At(node, input, d);
}

/// The state before the first step: an input, or zeros.
Result<TensorId> InitialState(Lowering& node, const RecurrentLayer& layer, int index, int64_t d,
                              DType dtype) {
  TENON_ASSIGN_OR_RETURN(const Shape shape, ShapeFromDims({layer.batch, layer.hidden}));
  if (!node.HasInput(index)) {
    TENON_RETURN_IF_ERROR(node.CheckRoomFor(shape.Elements()));
    return node.Constant("zeros", dtype, shape,
                         std::vector<double>(static_cast<size_t>(shape.Elements())));
  }
  TENON_ASSIGN_OR_RETURN(TensorId state, node.Input(index));
  if (node.ShapeOf(state).rank != 3) return InputError("its input {} has the wrong shape", index);
  if (layer.batch_first) {
    TENON_ASSIGN_OR_RETURN(state, node.Transpose(state, {1, 0, 2}));
  }
  TENON_ASSIGN_OR_RETURN(state, At(node, state, d));
  if (node.ShapeOf(state) != shape) return InputError("its input {} has the wrong shape", index);
  return state;
}

/// Biases of inputs and of recurrence, added up where they are only ever added.
Result<TensorId> AddBiases(Lowering& node, const RecurrentLayer& layer, RecurrentDirection& way) {
  TENON_ASSIGN_OR_RETURN(const TensorId both, OfDirection(node, 3, way.index));
  if (both == kNone) return kNone;
  const int64_t size = layer.gates * layer.hidden;
  TENON_ASSIGN_OR_RETURN(const TensorId first, Part(node, both, 0, 0, size));
  TENON_ASSIGN_OR_RETURN(TensorId second, Part(node, both, 0, size, size));
  if (layer.linear_before_reset) {
    TENON_ASSIGN_OR_RETURN(way.reset_bias, Part(node, second, 0, 2 * layer.hidden, layer.hidden));
    TENON_ASSIGN_OR_RETURN(const TensorId gates, Part(node, second, 0, 0, 2 * layer.hidden));
    const std::vector<double> none(static_cast<size_t>(layer.hidden));
    TENON_ASSIGN_OR_RETURN(const Shape shape, ShapeFromDims({layer.hidden}));
    TENON_ASSIGN_OR_RETURN(const TensorId zeros,
                           node.Constant("zeros", node.DTypeOf(both), shape, none));
    TENON_ASSIGN_OR_RETURN(second, JoinParts(node, {gates, zeros}, 0));
  }
  return node.Binary(BinaryFunction::kAdd, first, second);
}

/// Weights (input 1) or recurrence (input 2) of integers with their scale and zero point; the last
/// is left out where it is 0 all over, as it is for i8.
Result<QuantizedMatrix> IntegersOf(Lowering& node, int index, int64_t d) {
  const int scale = index == 1 ? 8 : 10;
  QuantizedMatrix matrix;
  TENON_ASSIGN_OR_RETURN(matrix.id, OfDirection(node, index, d));
  TENON_ASSIGN_OR_RETURN(matrix.scale, OfDirection(node, scale, d));
  TENON_ASSIGN_OR_RETURN(const TensorId zero_point, OfDirection(node, scale + 1, d));
  if (matrix.scale == kNone) return InputError("the scale of its input {} is missing", index);
  if (zero_point == kNone) return matrix;
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> zeros, node.ConstantInts(zero_point));
  if (std::all_of(zeros.begin(), zeros.end(), [](int64_t zero) { return zero == 0; })) {
    return matrix;
  }
  TENON_ASSIGN_OR_RETURN(matrix.zero_point, ParameterVector(node, zero_point));
  return matrix;
}

/// The products of all steps in integers, and what steps multiply h by.
Result<TensorId> DynamicInputs(Lowering& node, RecurrentDirection& way, TensorId rows,
                               TensorId bias) {
  TENON_ASSIGN_OR_RETURN(const QuantizedMatrix weights, IntegersOf(node, 1, way.index));
  TENON_ASSIGN_OR_RETURN(way.quantized_recurrence, IntegersOf(node, 2, way.index));
  TENON_RETURN_IF_ERROR(FindColumnSums(node, way.quantized_recurrence));
  way.recurrence = way.quantized_recurrence.id;
  TENON_ASSIGN_OR_RETURN(const TensorId sums, DynamicProduct(node, rows, weights));
  if (bias == kNone) return sums;
  return node.Binary(BinaryFunction::kAdd, sums, bias);
}

/// The products of all steps in floats, and what steps multiply h by.
Result<TensorId> FloatInputs(Lowering& node, RecurrentDirection& way, TensorId rows,
                             TensorId bias) {
  TENON_ASSIGN_OR_RETURN(TensorId weights, OfDirection(node, 1, way.index));
  TENON_ASSIGN_OR_RETURN(weights, node.Transpose(weights, {1, 0}));
  TENON_ASSIGN_OR_RETURN(way.recurrence, OfDirection(node, 2, way.index));
  TENON_ASSIGN_OR_RETURN(way.recurrence, node.Transpose(way.recurrence, {1, 0}));
  std::vector<TensorId> operands = {rows, weights};
  if (bias != kNone) operands.push_back(bias);
  return node.Emit(OpKind::kMatMul, operands, Attributes(MatMulAttributes()));
}

}  // namespace

Result<TensorId> Part(Lowering& node, TensorId x, int32_t axis, int64_t begin, int64_t size) {
  return node.Slice(x, SliceAlong(node.ShapeOf(x), axis, begin, size));
}

Result<TensorId> At(Lowering& node, TensorId x, int64_t index) {
  std::vector<int64_t> dims = DimsOf(node.ShapeOf(x));
  if (dims.empty()) return InputError("one of its inputs has no dimensions");
  TENON_ASSIGN_OR_RETURN(const TensorId part, Part(node, x, 0, index, 1));
  dims.erase(dims.begin());
  return node.Reshape(part, dims);
}

Result<TensorId> JoinParts(Lowering& node, const std::vector<TensorId>& parts, int32_t axis,
                           int output) {
  if (parts.size() == 1) {
    if (output >= 0) node.Alias(output, parts[0]);
    return parts[0];
  }
  ConcatAttributes attributes;
  attributes.axis = axis;
  return node.Emit(OpKind::kConcat, parts, Attributes(attributes), output);
}

Result<RecurrentLayer> ReadLayer(Lowering& node, const Shape& x, const Shape& recurrence) {
  RecurrentLayer layer;
  layer.dynamic = node.op_type() == "DynamicQuantizeLSTM";
  const bool is_lstm = layer.dynamic || node.op_type() == "LSTM";
  layer.cell = is_lstm ? Cell::kLstm : (node.op_type() == "GRU" ? Cell::kGru : Cell::kRnn);
  layer.gates = layer.cell == Cell::kLstm ? 4 : (layer.cell == Cell::kGru ? 3 : 1);
  if (x.rank != 3 || recurrence.rank != 3) {
    return InputError("its input and recurrence must have 3 dimensions");
  }
  layer.batch_first = node.opset() >= 14 && node.Flag("layout", false);
  layer.steps = x[layer.batch_first ? 1 : 0];
  layer.batch = x[layer.batch_first ? 0 : 1];
  // Weights of integers are transposed already: [D, H, gates H].
  layer.hidden = recurrence[layer.dynamic ? 1 : 2];
  const std::string direction = node.Text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    return InputError("direction '{}' is not known", direction);
  }
  layer.directions = direction == "bidirectional" ? 2 : 1;
  layer.reverse = direction == "reverse";
  if (recurrence[0] != layer.directions ||
      recurrence[layer.dynamic ? 2 : 1] != layer.gates * layer.hidden ||
      node.Int("hidden_size", layer.hidden) != layer.hidden) {
    return InputError("its weights do not fit {} gates in {} directions", layer.gates,
                      layer.directions);
  }
  if (layer.steps < 1 || layer.batch < 1 || layer.steps > kMostSteps) {
    return InputError("{} steps: 1 to {} are supported", layer.steps, kMostSteps);
  }
  layer.clip = node.Float("clip", 0.0F);
  if (layer.cell == Cell::kGru) {
    layer.linear_before_reset = node.Flag("linear_before_reset", false);
  }
  if (layer.cell == Cell::kLstm) layer.input_forget = node.Flag("input_forget", false);
  if (node.opset() < 7) node.Ignore({"output_sequence"});
  TENON_RETURN_IF_ERROR(ReadActivations(node, layer));
  TENON_RETURN_IF_ERROR(ReadLengths(node, layer));
  return layer;
}

Result<RecurrentDirection> ReadDirection(Lowering& node, const RecurrentLayer& layer, TensorId x,
                                         int64_t d) {
  RecurrentDirection way;
  way.index = d;
  way.reverse = layer.reverse || d == 1;
  const DType dtype = node.DTypeOf(x);
  const Shape shape = node.ShapeOf(x);
  TENON_ASSIGN_OR_RETURN(const TensorId bias, AddBiases(node, layer, way));
  TENON_ASSIGN_OR_RETURN(const TensorId rows,
                         node.Reshape(x, {layer.steps * layer.batch, shape[2]}));
  TENON_ASSIGN_OR_RETURN(way.inputs, layer.dynamic ? DynamicInputs(node, way, rows, bias)
                                                   : FloatInputs(node, way, rows, bias));
  TENON_ASSIGN_OR_RETURN(
      way.inputs, node.Reshape(way.inputs, {layer.steps, layer.batch, layer.gates * layer.hidden}));
  TENON_ASSIGN_OR_RETURN(way.h, InitialState(node, layer, 5, d, dtype));
  if (layer.cell != Cell::kLstm) return way;
  TENON_ASSIGN_OR_RETURN(way.c, InitialState(node, layer, 6, d, dtype));
  TENON_ASSIGN_OR_RETURN(way.peepholes, OfDirection(node, 7, d));
  if (way.peepholes != kNone) {
    TENON_ASSIGN_OR_RETURN(way.peepholes, node.Reshape(way.peepholes, {3, layer.hidden}));
  }
  return way;
}

}  // namespace tenon::converter
