// UNIDIRECTIONAL_SEQUENCE_LSTM (Hochreiter and Schmidhuber, 1997; Sak et al., 2014, for peepholes
// and projection), step by step. What one inference leaves in its output and cell state is there in
// the next, as TFLite's variable tensors are: the plan's state (docs/state.md).
#include "converter/import/import_graph.hpp"
#include "converter/import/tflite/ops/ops.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

/// Inputs by their numbers; gates in the order input, forget, cell, output.
enum : int {
  kX = 0,
  kWeights = 1,
  kRecurrentWeights = 5,
  kPeepholes = 9,  // input, forget, output
  kBiases = 12,
  kProjection = 16,
  kProjectionBias = 17,
  kOutputState = 18,
  kCellState = 19,
  kNormalisation = 20,
};
constexpr int kGates = 4;
constexpr int64_t kMostSteps = 4096;

struct Layer {
  const format::UnidirectionalSequenceLSTMOptions* options = nullptr;
  int64_t steps = 0, batch = 0, units = 0, outputs = 0;
  bool coupled = false;  ///< no input gate of its own: 1 - forget
  TensorId weights = kNone, recurrent = kNone, bias = kNone;  ///< of all gates that there are
};

Result<TensorId> JoinRows(Node& node, const std::vector<TensorId>& parts) {
  return node.Emit(OpKind::kConcat, parts, Attributes(ConcatAttributes()));
}

Result<TensorId> Product(Node& node, TensorId x, TensorId weights) {
  MatMulAttributes attributes;
  attributes.transpose_b = 1;
  return node.Emit(OpKind::kMatMul, {x, weights}, Attributes(attributes));
}

Result<TensorId> Clipped(Node& node, TensorId x, float most) {
  if (most == 0.0F) return x;
  return node.Unary(x, {UnaryFunction::kClip, -most, most});
}

/// Columns [begin, begin + size) of a matrix.
Result<TensorId> Columns(Node& node, TensorId x, int64_t begin, int64_t size) {
  SliceAttributes slice;
  slice.rank = 2;
  slice.begins[1] = static_cast<int32_t>(begin);
  slice.sizes[0] = node.ShapeOf(x)[0];
  slice.sizes[1] = static_cast<int32_t>(size);
  slice.steps[0] = slice.steps[1] = 1;
  return node.Slice(x, slice);
}

Result<Layer> ReadLayer(Node& node) {
  Layer layer;
  layer.options = node.stored().builtin_options_as_UnidirectionalSequenceLSTMOptions();
  if (layer.options == nullptr) return InputError("its options are missing");
  if (node.InputCount() < kNormalisation) return InputError("it has {} inputs", node.InputCount());
  for (int i = kNormalisation; i < node.InputCount(); ++i) {
    if (node.HasInput(i)) return InputError("normalisation of its gates is not supported");
  }
  TENON_ASSIGN_OR_RETURN(const DType state, node.InputDType(kCellState));
  if (state != DType::kF32) return InputError("a cell state of integers is not supported");
  layer.coupled = !node.HasInput(kWeights);
  std::vector<TensorId> weights;
  std::vector<TensorId> recurrent;
  std::vector<TensorId> biases;
  for (int gate = layer.coupled ? 1 : 0; gate < kGates; ++gate) {
    TENON_ASSIGN_OR_RETURN(weights.emplace_back(), node.Input(kWeights + gate));
    TENON_ASSIGN_OR_RETURN(recurrent.emplace_back(), node.Input(kRecurrentWeights + gate));
    TENON_ASSIGN_OR_RETURN(biases.emplace_back(), node.Input(kBiases + gate));
  }
  const Shape shape = node.ShapeOf(recurrent[0]);
  if (shape.rank != 2) return InputError("its weights are no matrices");
  layer.units = shape[0];
  layer.outputs = shape[1];
  TENON_ASSIGN_OR_RETURN(layer.weights, JoinRows(node, weights));
  TENON_ASSIGN_OR_RETURN(layer.recurrent, JoinRows(node, recurrent));
  TENON_ASSIGN_OR_RETURN(layer.bias, JoinRows(node, biases));
  return layer;
}

/// The gates' sums of one step, `at` of `sums`; the input gate's absent where it is coupled.
struct Gates {
  TensorId sums[kGates] = {kNone, kNone, kNone, kNone};
};

Result<Gates> SplitGates(Node& node, const Layer& layer, TensorId sums) {
  Gates gates;
  int64_t begin = 0;
  for (int gate = layer.coupled ? 1 : 0; gate < kGates; ++gate, begin += layer.units) {
    TENON_ASSIGN_OR_RETURN(gates.sums[gate], Columns(node, sums, begin, layer.units));
  }
  return gates;
}

/// The sigmoid of a gate's sum, with what it sees of the cell through its peephole.
Result<TensorId> Opened(Node& node, TensorId sum, int peephole, TensorId cell) {
  if (node.HasInput(peephole)) {
    TENON_ASSIGN_OR_RETURN(const TensorId weights, node.Input(peephole));
    TENON_ASSIGN_OR_RETURN(const TensorId seen, node.Binary(BinaryFunction::kMul, cell, weights));
    TENON_ASSIGN_OR_RETURN(sum, node.Binary(BinaryFunction::kAdd, sum, seen));
  }
  return node.Unary(sum, {UnaryFunction::kSigmoid});
}

Result<TensorId> InputGate(Node& node, const Layer& layer, const Gates& gates, TensorId forget,
                           TensorId cell) {
  if (!layer.coupled) return Opened(node, gates.sums[0], kPeepholes, cell);
  return node.Binary(BinaryFunction::kSub, node.Scalar("one", DType::kF32, 1.0), forget);
}

Result<TensorId> NextCell(Node& node, const Layer& layer, const Gates& gates, TensorId cell) {
  TENON_ASSIGN_OR_RETURN(const TensorId forget, Opened(node, gates.sums[1], kPeepholes + 1, cell));
  TENON_ASSIGN_OR_RETURN(const TensorId let_in, InputGate(node, layer, gates, forget, cell));
  TENON_ASSIGN_OR_RETURN(const TensorId given,
                         node.Activate(gates.sums[2], layer.options->fused_activation_function()));
  TENON_ASSIGN_OR_RETURN(const TensorId kept, node.Binary(BinaryFunction::kMul, forget, cell));
  TENON_ASSIGN_OR_RETURN(const TensorId added, node.Binary(BinaryFunction::kMul, let_in, given));
  TENON_ASSIGN_OR_RETURN(const TensorId next, node.Binary(BinaryFunction::kAdd, kept, added));
  return Clipped(node, next, layer.options->cell_clip());
}

Result<TensorId> NextOutput(Node& node, const Layer& layer, const Gates& gates, TensorId cell) {
  TENON_ASSIGN_OR_RETURN(const TensorId open, Opened(node, gates.sums[3], kPeepholes + 2, cell));
  TENON_ASSIGN_OR_RETURN(const TensorId shown,
                         node.Activate(cell, layer.options->fused_activation_function()));
  TENON_ASSIGN_OR_RETURN(TensorId y, node.Binary(BinaryFunction::kMul, open, shown));
  if (!node.HasInput(kProjection)) return y;
  TENON_ASSIGN_OR_RETURN(const TensorId projection, node.Input(kProjection));
  TENON_ASSIGN_OR_RETURN(y, Product(node, y, projection));
  if (node.HasInput(kProjectionBias)) {
    TENON_ASSIGN_OR_RETURN(const TensorId bias, node.Input(kProjectionBias));
    TENON_ASSIGN_OR_RETURN(y, node.Binary(BinaryFunction::kAdd, y, bias));
  }
  return Clipped(node, y, layer.options->proj_clip());
}

/// What the gates take of all inputs at once, [steps * batch, gates], step by step.
Result<TensorId> SumsOfInputs(Node& node, Layer& layer) {
  TENON_ASSIGN_OR_RETURN(TensorId x, node.Input(kX));
  if (node.ShapeOf(x).rank != 3) return InputError("its input must have 3 dimensions");
  if (!layer.options->time_major()) {
    TENON_ASSIGN_OR_RETURN(x, node.Transpose(x, {1, 0, 2}));
  }
  const Shape shape = node.ShapeOf(x);
  layer.steps = shape[0];
  layer.batch = shape[1];
  if (layer.steps < 1 || layer.steps > kMostSteps) {
    return InputError("{} steps are out of range: 1 to {}", layer.steps, kMostSteps);
  }
  TENON_ASSIGN_OR_RETURN(const TensorId rows,
                         node.Reshape(x, {layer.steps * layer.batch, shape[2]}));
  TENON_ASSIGN_OR_RETURN(const TensorId sums, Product(node, rows, layer.weights));
  return node.Binary(BinaryFunction::kAdd, sums, layer.bias);
}

Result<TensorId> Rows(Node& node, TensorId x, int64_t begin, int64_t size) {
  SliceAttributes slice;
  slice.rank = 2;
  slice.begins[0] = static_cast<int32_t>(begin);
  slice.sizes[0] = static_cast<int32_t>(size);
  slice.sizes[1] = node.ShapeOf(x)[1];
  slice.steps[0] = slice.steps[1] = 1;
  return node.Slice(x, slice);
}

}  // namespace

Status LowerSequenceLstm(Node& node) {
  TENON_ASSIGN_OR_RETURN(Layer layer, ReadLayer(node));
  TENON_ASSIGN_OR_RETURN(const TensorId sums, SumsOfInputs(node, layer));
  TENON_ASSIGN_OR_RETURN(TensorId output, node.Kept(kOutputState));
  TENON_ASSIGN_OR_RETURN(TensorId cell, node.Kept(kCellState));
  std::vector<TensorId> outputs;
  for (int64_t step = 0; step < layer.steps; ++step) {
    TENON_ASSIGN_OR_RETURN(const TensorId given, Rows(node, sums, step * layer.batch, layer.batch));
    TENON_ASSIGN_OR_RETURN(const TensorId recalled, Product(node, output, layer.recurrent));
    TENON_ASSIGN_OR_RETURN(const TensorId both, node.Binary(BinaryFunction::kAdd, given, recalled));
    TENON_ASSIGN_OR_RETURN(const Gates gates, SplitGates(node, layer, both));
    TENON_ASSIGN_OR_RETURN(cell, NextCell(node, layer, gates, cell));
    TENON_ASSIGN_OR_RETURN(output, NextOutput(node, layer, gates, cell));
    outputs.push_back(output);
  }
  TENON_RETURN_IF_ERROR(node.Keep(kOutputState, output));
  TENON_RETURN_IF_ERROR(node.Keep(kCellState, cell));
  TensorId y = outputs[0];
  if (outputs.size() > 1) {
    TENON_ASSIGN_OR_RETURN(y, JoinRows(node, outputs));
  }
  TENON_ASSIGN_OR_RETURN(y, node.Reshape(y, {layer.steps, layer.batch, layer.outputs}));
  if (!layer.options->time_major()) {
    TENON_ASSIGN_OR_RETURN(y, node.Transpose(y, {1, 0, 2}));
  }
  return node.SetOutput(0, y);
}

}  // namespace tenon::converter::tflite
