// UNIDIRECTIONAL_SEQUENCE_LSTM of integers: inputs and outputs of 8 bits, gates and the cell of 16,
// with the bits of TFLite's kernel (lstm_eval.cc, LstmStepInteger8x8_16). A gate's sum is brought
// to Q3 (three bits before the point, requantize.hpp) and saturated after each of its parts.
#include <algorithm>
#include <cmath>

#include "converter/import/import_graph.hpp"
#include "converter/import/tflite/ops/ops.hpp"
#include "converter/import/tflite/ops/recurrent.hpp"
#include "converter/import/tflite/ops/wide_integers.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

constexpr int kInputGate = 0, kForgetGate = 1, kCellGate = 2, kOutputGate = 3, kGates = 4;

// Inputs by their numbers, the first of those that there are several of.
struct LstmInput {
  enum : int {
    kX = 0,
    kWeights = 1,
    kRecurrent = 5,
    kPeepholes = 9,
    kBiases = 12,
    kProjection = 16,
    kProjectionBias = 17,
    kOutputState = 18,
    kCellState = 19,
    kNormalisation = 20,
  };
};

constexpr int kHiddenIntermediate = 4;
constexpr float kGateScale = 1.0F / 4096;  // Q3 of 16 bits
constexpr float kOneStep = 1.0F / 32768;   // Q0 of 16 bits
constexpr int32_t kFractionBits = 15;      // of Q0
constexpr float kGateBits = 3.0F;

struct QuantizedLstmLayer {
  int64_t units = 0;
  bool coupled = false;  ///< no input gate of its own: 1 - forget
  bool time_major = false;
  Quantization x, output;
  int32_t cell_exponent = 0;  ///< the cell's scale is 2^cell_exponent
  QuantizedOutput cell;
  QuantizedOutput hidden;  ///< before the projection
  float hidden_scale = 1.0F;
  QuantizedOutput projected;
  TensorId weights = kNone, recurrent = kNone, bias = kNone;  ///< of all gates that there are
  QuantizedScale given_factor[kGates], recalled_factor[kGates];
};

int FirstGate(const QuantizedLstmLayer& layer) { return layer.coupled ? kForgetGate : kInputGate; }

Result<TensorId> JoinGates(Node& node, const QuantizedLstmLayer& layer, int first) {
  std::vector<TensorId> parts;
  for (int gate = FirstGate(layer); gate < kGates; ++gate) {
    TENON_ASSIGN_OR_RETURN(parts.emplace_back(), node.Input(first + gate));
  }
  return node.Emit(OpKind::kConcat, parts, Attributes(ConcatAttributes()));
}

Result<float> ScaleOfInput(const Node& node, int index) {
  TENON_ASSIGN_OR_RETURN(const Quantization quantization, node.InputQuantization(index));
  if (!quantization.IsPerTensor()) return InputError("input {} has no one scale", index);
  return quantization.scale();
}

QuantizedOutput Bytes(int32_t zero_point) {
  QuantizedOutput output;
  output.rounding = Rounding::kFixedPoint;
  output.zero_point = zero_point;
  return output;
}

/// The cell's scale is a power of two, and clips are in its steps, or those of the output.
Status ReadBounds(Node& node, const format::UnidirectionalSequenceLSTMOptions& options,
                  QuantizedLstmLayer& layer) {
  TENON_ASSIGN_OR_RETURN(const float cell, ScaleOfInput(node, LstmInput::kCellState));
  int exponent = 0;
  const bool is_power = std::frexp(cell, &exponent) == 0.5F;
  layer.cell_exponent = exponent - 1;
  if (!is_power || layer.cell_exponent > -9 || layer.cell_exponent < -kFractionBits) {
    return InputError("the scale {} of its cell is not a power of two from 2^-15 to 2^-9", cell);
  }
  const float cell_clip = std::min(options.cell_clip() / cell, float{INT16_MAX});
  layer.cell = cell_clip >= 1.0F ? Words(static_cast<int32_t>(cell_clip)) : Words();
  layer.projected = Bytes(layer.output.zero_point());
  const float clip = std::min(options.proj_clip() / layer.output.scale(), float{INT8_MAX});
  if (clip >= 1.0F) {
    layer.projected.min = -static_cast<int32_t>(clip);
    layer.projected.max = static_cast<int32_t>(clip);
  }
  return {};
}

Status ReadHidden(Node& node, QuantizedLstmLayer& layer) {
  TENON_ASSIGN_OR_RETURN(const Quantization hidden, node.Intermediate(kHiddenIntermediate));
  if (!hidden.IsPerTensor()) return InputError("what it hides has no one scale");
  layer.hidden_scale = hidden.scale();
  layer.hidden = Bytes(hidden.zero_point());
  // TFLite takes the zero point away in front of a projection, which shows where bytes saturate.
  const bool projects = node.HasInput(LstmInput::kProjection) && hidden.zero_point() > INT8_MIN;
  if (projects) layer.hidden.zero_point = -hidden.zero_point();
  return {};
}

Status ReadFactors(Node& node, QuantizedLstmLayer& layer) {
  for (int gate = FirstGate(layer); gate < kGates; ++gate) {
    TENON_ASSIGN_OR_RETURN(const float weights, ScaleOfInput(node, LstmInput::kWeights + gate));
    TENON_ASSIGN_OR_RETURN(const float recurrent, ScaleOfInput(node, LstmInput::kRecurrent + gate));
    TENON_ASSIGN_OR_RETURN(layer.given_factor[gate],
                           FactorOf(weights * layer.x.scale() / kGateScale));
    TENON_ASSIGN_OR_RETURN(layer.recalled_factor[gate],
                           FactorOf(recurrent * layer.output.scale() / kGateScale));
  }
  return {};
}

Result<QuantizedLstmLayer> ReadLayer(Node& node,
                                     const format::UnidirectionalSequenceLSTMOptions& options) {
  QuantizedLstmLayer layer;
  layer.coupled = !node.HasInput(LstmInput::kWeights);
  layer.time_major = options.time_major();
  TENON_ASSIGN_OR_RETURN(layer.x, node.InputQuantization(LstmInput::kX));
  TENON_ASSIGN_OR_RETURN(layer.output, node.InputQuantization(LstmInput::kOutputState));
  if (!layer.x.IsPerTensor() || !layer.output.IsPerTensor()) {
    return InputError("its input or its output has no one scale");
  }
  TENON_ASSIGN_OR_RETURN(const TensorId recurrent, node.Input(LstmInput::kRecurrent + kForgetGate));
  if (node.ShapeOf(recurrent).rank != 2) return InputError("its weights are no matrices");
  layer.units = node.ShapeOf(recurrent)[0];
  TENON_RETURN_IF_ERROR(ReadBounds(node, options, layer));
  TENON_RETURN_IF_ERROR(ReadHidden(node, layer));
  TENON_RETURN_IF_ERROR(ReadFactors(node, layer));
  TENON_ASSIGN_OR_RETURN(layer.weights, JoinGates(node, layer, LstmInput::kWeights));
  TENON_ASSIGN_OR_RETURN(layer.recurrent, JoinGates(node, layer, LstmInput::kRecurrent));
  TENON_ASSIGN_OR_RETURN(layer.bias, JoinGates(node, layer, LstmInput::kBiases));
  return layer;
}

/// A gate's columns of the sums of all gates.
Result<TensorId> OfGate(Node& node, const QuantizedLstmLayer& layer, TensorId sums, int gate) {
  return Columns(node, sums, (gate - FirstGate(layer)) * layer.units, layer.units);
}

/// One step of a layer: what its gates have been given, by gate, and what the last step left.
struct Step {
  const TensorId* given;
  TensorId recalled = kNone;
  TensorId cell = kNone;
};

Result<TensorId> WithPeephole(Node& node, TensorId sum, int input, TensorId cell,
                              int32_t cell_exponent) {
  if (!node.HasInput(input)) return sum;
  TENON_ASSIGN_OR_RETURN(const float scale, ScaleOfInput(node, input));
  TENON_ASSIGN_OR_RETURN(
      const QuantizedScale factor,
      FactorOf(static_cast<float>(std::ldexp(1.0, cell_exponent) * double{scale} / kGateScale)));
  TENON_ASSIGN_OR_RETURN(const TensorId stored, node.Input(input));
  TENON_ASSIGN_OR_RETURN(const TensorId weights, node.Cast(stored, DType::kI32));
  TENON_ASSIGN_OR_RETURN(const TensorId wide, node.Cast(cell, DType::kI32));
  TENON_ASSIGN_OR_RETURN(const TensorId seen, node.Binary(BinaryFunction::kMul, wide, weights));
  return ScaledPlus(node, seen, factor, sum, Words());
}

/// A gate's sum of one step; but the cell's gate sees the cell through its peephole.
Result<TensorId> GateSum(Node& node, const QuantizedLstmLayer& layer, const Step& step, int gate) {
  TENON_ASSIGN_OR_RETURN(const TensorId recalled, OfGate(node, layer, step.recalled, gate));
  TENON_ASSIGN_OR_RETURN(const TensorId sum, ScaledPlus(node, recalled, layer.recalled_factor[gate],
                                                        step.given[gate], Words()));
  if (gate == kCellGate) return sum;
  const int peephole = LstmInput::kPeepholes + std::min<int>(gate, kCellGate);
  return WithPeephole(node, sum, peephole, step.cell, layer.cell_exponent);
}

Result<TensorId> Opened(Node& node, const QuantizedLstmLayer& layer, const Step& step, int gate) {
  TENON_ASSIGN_OR_RETURN(const TensorId sum, GateSum(node, layer, step, gate));
  const UnaryFunction curve = gate == kCellGate ? UnaryFunction::kTanh : UnaryFunction::kSigmoid;
  return node.Unary(sum, {curve, kGateBits});
}

Result<TensorId> InputGate(Node& node, const QuantizedLstmLayer& layer, const Step& step,
                           TensorId forget) {
  if (!layer.coupled) return Opened(node, layer, step, kInputGate);
  QuantizedBinaryAttributes rest;
  rest.function = BinaryFunction::kSub;
  rest.x_scale = rest.y_scale = rest.output_scale = PowerOfTwo(0);
  rest.output = Words();
  const TensorId one = node.Scalar("one", DType::kI16, INT16_MAX);
  return node.Emit(OpKind::kQuantizedBinary, {one, forget}, Attributes(rest));
}

Result<TensorId> NextCell(Node& node, const QuantizedLstmLayer& layer, const Step& step) {
  TENON_ASSIGN_OR_RETURN(const TensorId forget, Opened(node, layer, step, kForgetGate));
  TENON_ASSIGN_OR_RETURN(const TensorId let_in, InputGate(node, layer, step, forget));
  TENON_ASSIGN_OR_RETURN(const TensorId given, Opened(node, layer, step, kCellGate));
  TENON_ASSIGN_OR_RETURN(const TensorId kept, ScaledProduct(node, forget, step.cell,
                                                            PowerOfTwo(kFractionBits), Words()));
  const QuantizedScale to_cell = PowerOfTwo(2 * kFractionBits + layer.cell_exponent);
  TENON_ASSIGN_OR_RETURN(const TensorId added,
                         ScaledProduct(node, let_in, given, to_cell, Words()));
  return ScaledPlus(node, kept, PowerOfTwo(0), added, layer.cell);
}

Result<TensorId> Projected(Node& node, const QuantizedLstmLayer& layer, TensorId hidden) {
  if (!node.HasInput(LstmInput::kProjection)) return hidden;
  TENON_ASSIGN_OR_RETURN(const TensorId weights, node.Input(LstmInput::kProjection));
  TENON_ASSIGN_OR_RETURN(const float scale, ScaleOfInput(node, LstmInput::kProjection));
  TensorId bias = kNone;
  if (node.HasInput(LstmInput::kProjectionBias)) {
    TENON_ASSIGN_OR_RETURN(bias, node.Input(LstmInput::kProjectionBias));
  }
  TENON_ASSIGN_OR_RETURN(const QuantizedScale factor,
                         FactorOf(scale * layer.hidden_scale / layer.output.scale()));
  TENON_ASSIGN_OR_RETURN(const TensorId sums,
                         IntegerSums(node, hidden, layer.hidden.zero_point, weights, bias));
  return Rescaled(node, sums, factor, layer.projected);
}

Result<TensorId> NextOutput(Node& node, const QuantizedLstmLayer& layer, const Step& step) {
  TENON_ASSIGN_OR_RETURN(const TensorId open, Opened(node, layer, step, kOutputGate));
  const auto bits = static_cast<float>(kFractionBits + layer.cell_exponent);
  TENON_ASSIGN_OR_RETURN(const TensorId shown, node.Unary(step.cell, {UnaryFunction::kTanh, bits}));
  TENON_ASSIGN_OR_RETURN(const QuantizedScale factor,
                         FactorOf(kOneStep / layer.hidden_scale * kOneStep));
  TENON_ASSIGN_OR_RETURN(const TensorId hidden,
                         ScaledProduct(node, open, shown, factor, layer.hidden));
  return Projected(node, layer, hidden);
}

/// What each gate is given by all inputs, [steps * batch, units].
Result<std::vector<TensorId>> GivenToGates(Node& node, const QuantizedLstmLayer& layer,
                                           const Sequence& x) {
  std::vector<TensorId> given(kGates, kNone);
  TENON_ASSIGN_OR_RETURN(const TensorId sums, IntegerSums(node, x.rows, layer.x.zero_point(),
                                                          layer.weights, layer.bias));
  for (int gate = FirstGate(layer); gate < kGates; ++gate) {
    TENON_ASSIGN_OR_RETURN(const TensorId columns, OfGate(node, layer, sums, gate));
    TENON_ASSIGN_OR_RETURN(given[static_cast<size_t>(gate)],
                           Rescaled(node, columns, layer.given_factor[gate], Words()));
  }
  return given;
}

Result<TensorId> AllSteps(Node& node, const QuantizedLstmLayer& layer, const Sequence& x) {
  TENON_ASSIGN_OR_RETURN(const std::vector<TensorId> given, GivenToGates(node, layer, x));
  TENON_ASSIGN_OR_RETURN(TensorId output, node.Kept(LstmInput::kOutputState));
  TENON_ASSIGN_OR_RETURN(TensorId cell, node.Kept(LstmInput::kCellState));
  std::vector<TensorId> steps;
  for (int64_t i = 0; i < x.steps; ++i) {
    TensorId now[kGates] = {kNone, kNone, kNone, kNone};
    for (int gate = FirstGate(layer); gate < kGates; ++gate) {
      TENON_ASSIGN_OR_RETURN(now[gate],
                             Rows(node, given[static_cast<size_t>(gate)], i * x.batch, x.batch));
    }
    Step step = {now, kNone, cell};
    TENON_ASSIGN_OR_RETURN(step.recalled,
                           IntegerSums(node, output, layer.output.zero_point(), layer.recurrent));
    TENON_ASSIGN_OR_RETURN(cell, NextCell(node, layer, step));
    step.cell = cell;
    TENON_ASSIGN_OR_RETURN(output, NextOutput(node, layer, step));
    steps.push_back(output);
  }
  TENON_RETURN_IF_ERROR(node.Keep(LstmInput::kOutputState, output));
  TENON_RETURN_IF_ERROR(node.Keep(LstmInput::kCellState, cell));
  return JoinSteps(node, steps, layer.time_major);
}

}  // namespace

Status LowerQuantizedSequenceLstm(Node& node) {
  const auto* options = node.stored().builtin_options_as_UnidirectionalSequenceLSTMOptions();
  if (options == nullptr) return InputError("its options are missing");
  if (node.InputCount() < LstmInput::kNormalisation)
    return InputError("it has {} inputs", node.InputCount());
  TENON_ASSIGN_OR_RETURN(const DType cell, node.InputDType(LstmInput::kCellState));
  if (cell != DType::kI16) {  // only its weights are integers
    node.ComputeInFloats();
    return LowerSequenceLstm(node);
  }
  for (int i = LstmInput::kNormalisation; i < node.InputCount(); ++i) {
    if (node.HasInput(i)) return InputError("normalisation of its gates is not supported");
  }
  TENON_ASSIGN_OR_RETURN(const QuantizedLstmLayer layer, ReadLayer(node, *options));
  TENON_ASSIGN_OR_RETURN(const Sequence x, ReadSequence(node, LstmInput::kX, layer.time_major));
  TENON_ASSIGN_OR_RETURN(const TensorId y, AllSteps(node, layer, x));
  return node.SetOutput(0, y);
}

}  // namespace tenon::converter::tflite
