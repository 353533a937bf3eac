// UNIDIRECTIONAL_SEQUENCE_LSTM and BIDIRECTIONAL_SEQUENCE_LSTM (Hochreiter and Schmidhuber, 1997;
// Sak et al., 2014, for peepholes and projection), step by step. What one inference leaves in its
// output and cell states is there in the next, as TFLite's variable tensors are: the plan's state
// (docs/state.md).
#include "converter/import/import_graph.hpp"
#include "converter/import/tflite/ops/ops.hpp"
#include "converter/import/tflite/ops/recurrent.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

/// Inputs by their numbers; gates in the order input, forget, cell, output.
struct Inputs {
  int weights;
  int recurrent;
  int peepholes;  ///< input, forget, output
  int biases;
  int projection;
  int projection_bias;
  int output_state;
  int cell_state;
  int aux_weights;
};
constexpr Inputs kOneWay = {1, 5, 9, 12, 16, 17, 18, 19, -1};
constexpr Inputs kForward = {1, 5, 9, 12, 16, 17, 35, 36, 40};
constexpr Inputs kBackward = {18, 22, 26, 29, 33, 34, 37, 38, 44};
constexpr int kNormalisation = 20;  ///< of one way, and all after it
constexpr int kAux = 39;
constexpr int kGates = 4;

struct LstmOptions {
  format::ActivationFunctionType activation;
  float cell_clip = 0.0F;  ///< 0: none
  float proj_clip = 0.0F;
  bool time_major = false;
};

struct LstmLayer {
  Inputs inputs;
  LstmOptions options;
  int64_t units = 0;
  bool coupled = false;  ///< no input gate of its own: 1 - forget
  TensorId weights = kNone, recurrent = kNone, bias = kNone;  ///< of all gates that there are
  TensorId aux_weights = kNone;
};

Result<TensorId> Clipped(Node& node, TensorId x, float most) {
  if (most == 0.0F) return x;
  return node.Unary(x, {UnaryFunction::kClip, -most, most});
}

/// The matrices or vectors of all gates, one below the other.
Result<TensorId> JoinGates(Node& node, int first, bool coupled) {
  std::vector<TensorId> parts;
  for (int gate = coupled ? 1 : 0; gate < kGates; ++gate) {
    TENON_ASSIGN_OR_RETURN(parts.emplace_back(), node.Input(first + gate));
  }
  return node.Emit(OpKind::kConcat, parts, Attributes(ConcatAttributes()));
}

Result<LstmLayer> ReadLayer(Node& node, const Inputs& inputs, const LstmOptions& options,
                            bool aux) {
  LstmLayer layer{inputs, options};
  TENON_ASSIGN_OR_RETURN(const DType state, node.InputDType(inputs.cell_state));
  if (state != DType::kF32) return InputError("a cell state of integers is not supported");
  layer.coupled = !node.HasInput(inputs.weights);
  TENON_ASSIGN_OR_RETURN(const TensorId recurrent, node.Input(inputs.recurrent + 1));
  const Shape shape = node.ShapeOf(recurrent);
  if (shape.rank != 2) return InputError("its weights are no matrices");
  layer.units = shape[0];
  TENON_ASSIGN_OR_RETURN(layer.weights, JoinGates(node, inputs.weights, layer.coupled));
  TENON_ASSIGN_OR_RETURN(layer.recurrent, JoinGates(node, inputs.recurrent, layer.coupled));
  TENON_ASSIGN_OR_RETURN(layer.bias, JoinGates(node, inputs.biases, layer.coupled));
  if (aux) {
    TENON_ASSIGN_OR_RETURN(layer.aux_weights, JoinGates(node, inputs.aux_weights, layer.coupled));
  }
  return layer;
}

/// The gates' sums of one step, `at` of `sums`; the input gate's absent where it is coupled.
struct Gates {
  TensorId sums[kGates] = {kNone, kNone, kNone, kNone};
};

Result<Gates> SplitGates(Node& node, const LstmLayer& layer, TensorId sums) {
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

Result<TensorId> InputGate(Node& node, const LstmLayer& layer, const Gates& gates, TensorId forget,
                           TensorId cell) {
  if (!layer.coupled) return Opened(node, gates.sums[0], layer.inputs.peepholes, cell);
  return node.Binary(BinaryFunction::kSub, node.Scalar("one", DType::kF32, 1.0), forget);
}

Result<TensorId> NextCell(Node& node, const LstmLayer& layer, const Gates& gates, TensorId cell) {
  TENON_ASSIGN_OR_RETURN(const TensorId forget,
                         Opened(node, gates.sums[1], layer.inputs.peepholes + 1, cell));
  TENON_ASSIGN_OR_RETURN(const TensorId let_in, InputGate(node, layer, gates, forget, cell));
  TENON_ASSIGN_OR_RETURN(const TensorId given,
                         node.Activate(gates.sums[2], layer.options.activation));
  TENON_ASSIGN_OR_RETURN(const TensorId kept, node.Binary(BinaryFunction::kMul, forget, cell));
  TENON_ASSIGN_OR_RETURN(const TensorId added, node.Binary(BinaryFunction::kMul, let_in, given));
  TENON_ASSIGN_OR_RETURN(const TensorId next, node.Binary(BinaryFunction::kAdd, kept, added));
  return Clipped(node, next, layer.options.cell_clip);
}

Result<TensorId> NextOutput(Node& node, const LstmLayer& layer, const Gates& gates, TensorId cell) {
  TENON_ASSIGN_OR_RETURN(const TensorId open,
                         Opened(node, gates.sums[3], layer.inputs.peepholes + 2, cell));
  TENON_ASSIGN_OR_RETURN(const TensorId shown, node.Activate(cell, layer.options.activation));
  TENON_ASSIGN_OR_RETURN(TensorId y, node.Binary(BinaryFunction::kMul, open, shown));
  if (!node.HasInput(layer.inputs.projection)) return y;
  TENON_ASSIGN_OR_RETURN(const TensorId projection, node.Input(layer.inputs.projection));
  TENON_ASSIGN_OR_RETURN(y, Product(node, y, projection));
  if (node.HasInput(layer.inputs.projection_bias)) {
    TENON_ASSIGN_OR_RETURN(const TensorId bias, node.Input(layer.inputs.projection_bias));
    TENON_ASSIGN_OR_RETURN(y, node.Binary(BinaryFunction::kAdd, y, bias));
  }
  return Clipped(node, y, layer.options.proj_clip);
}

/// What the gates take of all inputs at once, [steps * batch, gates], step by step.
Result<TensorId> SumsOfInputs(Node& node, const LstmLayer& layer, const Sequence& x,
                              const Sequence* aux) {
  TENON_ASSIGN_OR_RETURN(TensorId sums, Product(node, x.rows, layer.weights));
  if (aux != nullptr) {
    TENON_ASSIGN_OR_RETURN(const TensorId more, Product(node, aux->rows, layer.aux_weights));
    TENON_ASSIGN_OR_RETURN(sums, node.Binary(BinaryFunction::kAdd, sums, more));
  }
  return node.Binary(BinaryFunction::kAdd, sums, layer.bias);
}

/// All steps one way, as the file's dims have them.
Result<TensorId> OneWay(Node& node, const LstmLayer& layer, const Sequence& x, const Sequence* aux,
                        bool backward) {
  TENON_ASSIGN_OR_RETURN(const TensorId sums, SumsOfInputs(node, layer, x, aux));
  TENON_ASSIGN_OR_RETURN(TensorId output, node.Kept(layer.inputs.output_state));
  TENON_ASSIGN_OR_RETURN(TensorId cell, node.Kept(layer.inputs.cell_state));
  std::vector<TensorId> steps(static_cast<size_t>(x.steps), kNone);
  for (int64_t i = 0; i < x.steps; ++i) {
    const int64_t step = backward ? x.steps - 1 - i : i;
    TENON_ASSIGN_OR_RETURN(const TensorId given, Rows(node, sums, step * x.batch, x.batch));
    TENON_ASSIGN_OR_RETURN(const TensorId recalled, Product(node, output, layer.recurrent));
    TENON_ASSIGN_OR_RETURN(const TensorId both, node.Binary(BinaryFunction::kAdd, given, recalled));
    TENON_ASSIGN_OR_RETURN(const Gates gates, SplitGates(node, layer, both));
    TENON_ASSIGN_OR_RETURN(cell, NextCell(node, layer, gates, cell));
    TENON_ASSIGN_OR_RETURN(output, NextOutput(node, layer, gates, cell));
    steps[static_cast<size_t>(step)] = output;
  }
  TENON_RETURN_IF_ERROR(node.Keep(layer.inputs.output_state, output));
  TENON_RETURN_IF_ERROR(node.Keep(layer.inputs.cell_state, cell));
  return JoinSteps(node, steps, layer.options.time_major);
}

}  // namespace

Status LowerSequenceLstm(Node& node) {
  const auto* stored = node.stored().builtin_options_as_UnidirectionalSequenceLSTMOptions();
  if (stored == nullptr) return InputError("its options are missing");
  if (node.InputCount() < kNormalisation) return InputError("it has {} inputs", node.InputCount());
  for (int i = kNormalisation; i < node.InputCount(); ++i) {
    if (node.HasInput(i)) return InputError("normalisation of its gates is not supported");
  }
  const LstmOptions options = {stored->fused_activation_function(), stored->cell_clip(),
                               stored->proj_clip(), stored->time_major()};
  TENON_ASSIGN_OR_RETURN(const LstmLayer layer, ReadLayer(node, kOneWay, options, /*aux=*/false));
  TENON_ASSIGN_OR_RETURN(const Sequence x, ReadSequence(node, 0, options.time_major));
  TENON_ASSIGN_OR_RETURN(const TensorId y, OneWay(node, layer, x, nullptr, /*backward=*/false));
  return node.SetOutput(0, y);
}

Status LowerBidirectionalLstm(Node& node) {
  const auto* stored = node.stored().builtin_options_as_BidirectionalSequenceLSTMOptions();
  if (stored == nullptr) return InputError("its options are missing");
  if (node.InputCount() < kAux) return InputError("it has {} inputs", node.InputCount());
  const LstmOptions options = {stored->fused_activation_function(), stored->cell_clip(),
                               stored->proj_clip(), stored->time_major()};
  // A layer above another gets what that one's way back has left: instead of the input on the way
  // back or, with weights of its own, beside it both ways.
  const bool beside = node.HasInput(kForward.aux_weights + 1);
  TENON_ASSIGN_OR_RETURN(const Sequence x, ReadSequence(node, 0, options.time_major));
  Sequence other = x;
  if (node.HasInput(kAux)) {
    TENON_ASSIGN_OR_RETURN(other, ReadSequence(node, kAux, options.time_major));
  }
  TensorId ways[2] = {kNone, kNone};
  for (const bool backward : {false, true}) {
    TENON_ASSIGN_OR_RETURN(const LstmLayer layer,
                           ReadLayer(node, backward ? kBackward : kForward, options, beside));
    TENON_ASSIGN_OR_RETURN(
        ways[backward ? 1 : 0],
        OneWay(node, layer, backward && !beside ? other : x, beside ? &other : nullptr, backward));
  }
  return SetBothWays(node, ways[0], ways[1], stored->merge_outputs());
}

}  // namespace tenon::converter::tflite
