// LSTM, GRU and RNN; of com.microsoft DynamicQuantizeLSTM. The products with the inputs of all
// steps are one matrix product; the steps follow each other, each with a product with the state
// before.
#include <algorithm>

#include "converter/import/onnx/ops/indexing.hpp"
#include "converter/import/onnx/ops/integer_products.hpp"
#include "converter/import/onnx/ops/ops.hpp"
#include "converter/import/onnx/ops/recurrent_layer.hpp"

namespace tenon::converter {
namespace {

using Ids = std::vector<TensorId>;

constexpr BinaryFunction kAdd = BinaryFunction::kAdd;
constexpr BinaryFunction kSub = BinaryFunction::kSub;
constexpr BinaryFunction kMul = BinaryFunction::kMul;

struct Results {
  TensorId sequence;  ///< [T, N, H], in the order of time
  TensorId h;         ///< [N, H]
  TensorId c;
};

Result<TensorId> Product(Lowering& node, TensorId a, TensorId b) {
  return node.Emit(OpKind::kMatMul, {a, b}, Attributes(MatMulAttributes()));
}

// --- one step ---------------------------------------------------------------------------------

class Step {
 public:
  Step(Lowering& node, const RecurrentLayer& layer, RecurrentDirection& way)
      : node_(node), layer_(layer), way_(way) {}

  /// Replaces h (and c) of the direction by those after the step. `x`: [N, gates H].
  Status Run(TensorId x) {
    if (layer_.cell == Cell::kLstm) return Lstm(x);
    if (layer_.cell == Cell::kGru) return Gru(x);
    TENON_ASSIGN_OR_RETURN(const TensorId sum, Add(x, way_.h, way_.recurrence));
    TENON_ASSIGN_OR_RETURN(way_.h, Activate(0, sum));
    return {};
  }

 private:
  /// x + h R
  Result<TensorId> Add(TensorId x, TensorId h, TensorId recurrence) {
    if (layer_.dynamic) {
      TENON_ASSIGN_OR_RETURN(const TensorId sums,
                             DynamicProduct(node_, h, way_.quantized_recurrence));
      return node_.Binary(kAdd, x, sums);
    }
    TENON_ASSIGN_OR_RETURN(const TensorId product, Product(node_, h, recurrence));
    return node_.Binary(kAdd, x, product);
  }

  /// The direction's activation number `which` of clipped x.
  Result<TensorId> Activate(size_t which, TensorId x, bool clips = true) {
    if (clips && layer_.clip > 0.0F) {
      TENON_ASSIGN_OR_RETURN(x, node_.Unary(x, {UnaryFunction::kClip, -layer_.clip, layer_.clip}));
    }
    const size_t each = layer_.activations.size() / static_cast<size_t>(layer_.directions);
    return node_.Unary(x, layer_.activations[static_cast<size_t>(way_.index) * each + which]);
  }

  Result<TensorId> Gate(TensorId gates, int64_t which) {
    return Part(node_, gates, 1, which * layer_.hidden, layer_.hidden);
  }

  /// gate + peephole * c
  Result<TensorId> Peep(TensorId gate, int64_t which, TensorId c) {
    if (way_.peepholes == kNone) return gate;
    TENON_ASSIGN_OR_RETURN(const TensorId weights, At(node_, way_.peepholes, which));
    TENON_ASSIGN_OR_RETURN(const TensorId product, node_.Binary(kMul, weights, c));
    return node_.Binary(kAdd, gate, product);
  }

  Result<TensorId> OneMinus(TensorId x) {
    TENON_ASSIGN_OR_RETURN(const TensorId one, node_.Scalar("one", node_.DTypeOf(x), 1));
    return node_.Binary(kSub, one, x);
  }

  /// The first three gates of an LSTM, activated one by one, because each may see the state.
  struct LstmGates {
    TensorId input;
    TensorId forget;
    TensorId output;  ///< kNone: it sees the state after the step
  };

  Result<LstmGates> LstmGatesOf(TensorId gates) {
    if (way_.peepholes == kNone && !layer_.input_forget) return LstmGatesAtOnce(gates);
    TENON_ASSIGN_OR_RETURN(TensorId input, Gate(gates, 0));
    TENON_ASSIGN_OR_RETURN(input, Peep(input, 0, way_.c));
    TENON_ASSIGN_OR_RETURN(input, Activate(0, input));
    TensorId forget = kNone;
    if (layer_.input_forget) {
      TENON_ASSIGN_OR_RETURN(forget, OneMinus(input));
    } else {
      TENON_ASSIGN_OR_RETURN(forget, Gate(gates, 2));
      TENON_ASSIGN_OR_RETURN(forget, Peep(forget, 2, way_.c));
      TENON_ASSIGN_OR_RETURN(forget, Activate(0, forget));
    }
    return LstmGates{input, forget, kNone};
  }

  /// They are neighbours with one activation: one op of three times the length, where steps are so
  /// small that starting an op takes as long as its work.
  Result<LstmGates> LstmGatesAtOnce(TensorId gates) {
    LstmGates made = {};
    TENON_ASSIGN_OR_RETURN(TensorId all, Part(node_, gates, 1, 0, 3 * layer_.hidden));
    TENON_ASSIGN_OR_RETURN(all, Activate(0, all));
    TENON_ASSIGN_OR_RETURN(made.input, Gate(all, 0));
    TENON_ASSIGN_OR_RETURN(made.output, Gate(all, 1));
    TENON_ASSIGN_OR_RETURN(made.forget, Gate(all, 2));
    return made;
  }

  // Gates in the order input, output, forget, cell.
  Status Lstm(TensorId x) {
    TENON_ASSIGN_OR_RETURN(const TensorId gates, Add(x, way_.h, way_.recurrence));
    TENON_ASSIGN_OR_RETURN(LstmGates gate, LstmGatesOf(gates));
    TENON_ASSIGN_OR_RETURN(TensorId candidate, Gate(gates, 3));
    TENON_ASSIGN_OR_RETURN(candidate, Activate(1, candidate));
    TENON_ASSIGN_OR_RETURN(const TensorId kept, node_.Binary(kMul, gate.forget, way_.c));
    TENON_ASSIGN_OR_RETURN(const TensorId added, node_.Binary(kMul, gate.input, candidate));
    // In this order the candidate's function, product and sum are one op.
    TENON_ASSIGN_OR_RETURN(way_.c, node_.Binary(kAdd, added, kept));
    if (gate.output == kNone) {
      TENON_ASSIGN_OR_RETURN(gate.output, Gate(gates, 1));
      TENON_ASSIGN_OR_RETURN(gate.output, Peep(gate.output, 1, way_.c));
      TENON_ASSIGN_OR_RETURN(gate.output, Activate(0, gate.output));
    }
    TENON_ASSIGN_OR_RETURN(const TensorId shown, Activate(2, way_.c, /*clips=*/false));
    TENON_ASSIGN_OR_RETURN(way_.h, node_.Binary(kMul, gate.output, shown));
    return {};
  }

  // Gates in the order update, reset, hidden.
  Status Gru(TensorId x) {
    const int64_t two = 2 * layer_.hidden;
    TENON_ASSIGN_OR_RETURN(const TensorId x_gates, Part(node_, x, 1, 0, two));
    TENON_ASSIGN_OR_RETURN(const TensorId x_hidden, Gate(x, 2));
    TENON_ASSIGN_OR_RETURN(const TensorId r_gates, Part(node_, way_.recurrence, 1, 0, two));
    TENON_ASSIGN_OR_RETURN(const TensorId r_hidden, Gate(way_.recurrence, 2));
    TENON_ASSIGN_OR_RETURN(TensorId gates, Add(x_gates, way_.h, r_gates));
    TENON_ASSIGN_OR_RETURN(gates, Activate(0, gates));
    TENON_ASSIGN_OR_RETURN(const TensorId update, Gate(gates, 0));
    TENON_ASSIGN_OR_RETURN(const TensorId reset, Gate(gates, 1));
    TensorId candidate = kNone;
    if (layer_.linear_before_reset) {
      TENON_ASSIGN_OR_RETURN(TensorId linear, Product(node_, way_.h, r_hidden));
      if (way_.reset_bias != kNone) {
        TENON_ASSIGN_OR_RETURN(linear, node_.Binary(kAdd, linear, way_.reset_bias));
      }
      TENON_ASSIGN_OR_RETURN(linear, node_.Binary(kMul, reset, linear));
      TENON_ASSIGN_OR_RETURN(candidate, node_.Binary(kAdd, x_hidden, linear));
    } else {
      TENON_ASSIGN_OR_RETURN(const TensorId seen, node_.Binary(kMul, reset, way_.h));
      TENON_ASSIGN_OR_RETURN(candidate, Add(x_hidden, seen, r_hidden));
    }
    TENON_ASSIGN_OR_RETURN(candidate, Activate(1, candidate));
    // (1 - z) candidate + z h = candidate + z (h - candidate)
    TENON_ASSIGN_OR_RETURN(const TensorId difference, node_.Binary(kSub, way_.h, candidate));
    TENON_ASSIGN_OR_RETURN(const TensorId moved, node_.Binary(kMul, update, difference));
    TENON_ASSIGN_OR_RETURN(way_.h, node_.Binary(kAdd, candidate, moved));
    return {};
  }

  Lowering& node_;
  const RecurrentLayer& layer_;
  RecurrentDirection& way_;
};

// --- all steps --------------------------------------------------------------------------------

/// Where step `t` changes the state: [N, 1] bool; nothing where it does for all.
Result<TensorId> Running(Lowering& node, const RecurrentLayer& layer, int64_t t) {
  std::vector<double> runs;
  for (int64_t length : layer.lengths) runs.push_back(t < length ? 1.0 : 0.0);
  if (std::all_of(runs.begin(), runs.end(), [](double run) { return run != 0.0; })) return kNone;
  TENON_ASSIGN_OR_RETURN(const Shape shape, ShapeFromDims({layer.batch, 1}));
  return node.Constant("running", DType::kBool, shape, runs);
}

/// Backwards, a shorter sequence waits in its first state until its last element comes.
Result<Results> RunSteps(Lowering& node, const RecurrentLayer& layer, RecurrentDirection& way) {
  Ids sequence(static_cast<size_t>(layer.steps));
  for (int64_t i = 0; i < layer.steps; ++i) {
    const int64_t t = way.reverse ? layer.steps - 1 - i : i;
    TENON_ASSIGN_OR_RETURN(const TensorId x, At(node, way.inputs, t));
    const TensorId h = way.h;
    const TensorId c = way.c;
    TENON_RETURN_IF_ERROR(Step(node, layer, way).Run(x));
    TensorId shown = way.h;
    TENON_ASSIGN_OR_RETURN(const TensorId running, Running(node, layer, t));
    if (running != kNone) {
      TENON_ASSIGN_OR_RETURN(const TensorId zero, node.Scalar("zero", node.DTypeOf(h), 0));
      TENON_ASSIGN_OR_RETURN(shown, Select(node, running, way.h, zero));
      TENON_ASSIGN_OR_RETURN(way.h, Select(node, running, way.h, h));
      if (c != kNone) {
        TENON_ASSIGN_OR_RETURN(way.c, Select(node, running, way.c, c));
      }
    }
    TENON_ASSIGN_OR_RETURN(sequence[static_cast<size_t>(t)],
                           node.Reshape(shown, {1, layer.batch, layer.hidden}));
  }
  Results results{kNone, way.h, way.c};
  if (node.OutputUsed(0)) {
    TENON_ASSIGN_OR_RETURN(results.sequence, JoinParts(node, sequence, 0));
  }
  return results;
}

/// Y [T, D, N, H] or, batch first, [N, T, D, H].
Status SequenceOutput(Lowering& node, const RecurrentLayer& layer,
                      const std::vector<Results>& ways) {
  Ids parts;
  for (const Results& way : ways) {
    TENON_ASSIGN_OR_RETURN(const TensorId part,
                           node.Reshape(way.sequence, {layer.steps, 1, layer.batch, layer.hidden}));
    parts.push_back(part);
  }
  if (!layer.batch_first) return JoinParts(node, parts, 1, 0).status();
  TENON_ASSIGN_OR_RETURN(const TensorId y, JoinParts(node, parts, 1));
  return node.Transpose(y, {2, 0, 1, 3}, 0).status();
}

/// Y_h and Y_c [D, N, H] or, batch first, [N, D, H].
Status StateOutput(Lowering& node, const RecurrentLayer& layer, const Ids& states, int output) {
  Ids parts;
  for (const TensorId state : states) {
    TENON_ASSIGN_OR_RETURN(const TensorId part,
                           node.Reshape(state, {1, layer.batch, layer.hidden}));
    parts.push_back(part);
  }
  if (!layer.batch_first) return JoinParts(node, parts, 0, output).status();
  TENON_ASSIGN_OR_RETURN(const TensorId y, JoinParts(node, parts, 0));
  return node.Transpose(y, {1, 0, 2}, output).status();
}

Status LowerRecurrent(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId recurrence, node.Input(2));
  TENON_ASSIGN_OR_RETURN(const RecurrentLayer layer,
                         ReadLayer(node, node.ShapeOf(x), node.ShapeOf(recurrence)));
  if (layer.batch_first) {
    TENON_ASSIGN_OR_RETURN(x, node.Transpose(x, {1, 0, 2}));
  }
  std::vector<Results> ways;
  for (int64_t d = 0; d < layer.directions; ++d) {
    TENON_ASSIGN_OR_RETURN(RecurrentDirection way, ReadDirection(node, layer, x, d));
    TENON_ASSIGN_OR_RETURN(const Results results, RunSteps(node, layer, way));
    ways.push_back(results);
  }
  if (node.OutputUsed(0)) TENON_RETURN_IF_ERROR(SequenceOutput(node, layer, ways));
  Ids hidden;
  Ids cells;
  for (const Results& way : ways) {
    hidden.push_back(way.h);
    cells.push_back(way.c);
  }
  if (node.OutputUsed(1)) TENON_RETURN_IF_ERROR(StateOutput(node, layer, hidden, 1));
  if (node.OutputUsed(2)) TENON_RETURN_IF_ERROR(StateOutput(node, layer, cells, 2));
  return {};
}

constexpr char kRecurrentLimits[] =
    "up to 4096 steps, which become ops of their own; sequence_lens constant, at least 1; "
    "activations Elu, "
    "HardSigmoid, LeakyRelu, Relu, Sigmoid, Softplus, Softsign, Tanh";

constexpr LoweringRow kRecurrentRows[] = {
    {"GRU", LowerRecurrent, {}, kRecurrentLimits},
    {"LSTM", LowerRecurrent, {}, kRecurrentLimits},
    {"RNN", LowerRecurrent, {}, kRecurrentLimits},
    {"DynamicQuantizeLSTM", LowerRecurrent, "com.microsoft", kRecurrentLimits},
};

}  // namespace

constexpr Span<const LoweringRow> kRecurrentLowerings = kRecurrentRows;

}  // namespace tenon::converter
