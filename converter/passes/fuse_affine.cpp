#include <cmath>

#include "converter/ir/elements.hpp"
#include "converter/ir/rewrite.hpp"
#include "converter/passes/channel_constants.hpp"
#include "converter/passes/passes.hpp"

namespace tenon::converter {
namespace {

// `binary` applies a constant to what `main` (a conv or matmul) computes.
struct AffineMatch {
  OpId binary = kNone;
  OpId main = kNone;
  TensorId constant = kNone;
  bool constant_first = false;  ///< k - y, k / y
};

// y = gain * x + shift, per output channel.
struct Affine {
  std::vector<double> gain;
  std::vector<double> shift;
  [[nodiscard]] bool Scales() const {
    return std::any_of(gain.begin(), gain.end(), [](double value) { return value != 1.0; });
  }
};

std::optional<AffineMatch> FindMatch(const Graph& graph, OpId id) {
  const Op& op = graph.op(id);
  if (op.kind != OpKind::kBinary) return std::nullopt;
  const BinaryFunction function = op.attributes.As<BinaryAttributes>().function;
  if (function > BinaryFunction::kDiv) return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    const TensorId constant = op.inputs[1 - i];
    if (!graph.tensor(constant).IsConstant()) continue;
    OpId main = ProducerOfKind(graph, op.inputs[i], OpKind::kConv);
    if (main == kNone) main = ProducerOfKind(graph, op.inputs[i], OpKind::kMatMul);
    if (main != kNone) return AffineMatch{id, main, constant, i == 1};
  }
  return std::nullopt;
}

std::string WhyNotFusable(const Graph& graph, const AffineMatch& match) {
  const Op& main = graph.op(match.main);
  const Tensor& output = graph.tensor(main.outputs.front());
  const Tensor& result = graph.tensor(graph.op(match.binary).outputs.front());
  if (output.dtype != DType::kF32) return "only f32 is fused";
  if (graph.tensor(main.inputs[GemmInput::kWeights]).dtype != DType::kF32) {
    return "the weights before it are stored in fewer bits";
  }
  if (graph.OnlyConsumer(main.outputs.front()) != match.binary) {
    return "the result before it has other readers";
  }
  if (GetActivation(main).function != UnaryFunction::kIdentity) {
    return "the op before it has an activation";
  }
  if (main.InputOrNone(ConvInput::kResidual) != kNone && main.kind == OpKind::kConv) {
    return "the conv before it adds a residual";
  }
  if (result.shape != output.shape) return "the constant broadcasts the result";
  if (result.layout != output.layout) return "it changes the layout";
  return "";
}

// Finds gain and shift. Returns why there are none, or empty.
std::string FindAffine(const Graph& graph, const AffineMatch& match, Affine& affine) {
  const Op& main = graph.op(match.main);
  const Shape& output = graph.tensor(main.outputs.front()).shape;
  const auto values = PerChannel(graph.tensor(match.constant), output, ChannelAxis(graph, main));
  if (!values.has_value()) return "the constant is not one value per channel";
  affine.gain.assign(values->size(), 1.0);
  affine.shift.assign(values->size(), 0.0);
  switch (graph.op(match.binary).attributes.As<BinaryAttributes>().function) {
    case BinaryFunction::kAdd:
      affine.shift = *values;
      break;
    case BinaryFunction::kSub:
      for (size_t i = 0; i < values->size(); ++i) {
        affine.gain[i] = match.constant_first ? -1.0 : 1.0;
        affine.shift[i] = match.constant_first ? (*values)[i] : -(*values)[i];
      }
      break;
    case BinaryFunction::kMul:
      affine.gain = *values;
      break;
    default:  // kDiv
      if (match.constant_first) return "the result is the divisor";
      for (size_t i = 0; i < values->size(); ++i) affine.gain[i] = 1.0 / (*values)[i];
  }
  const auto finite = [](double value) { return std::isfinite(value); };
  if (!std::all_of(affine.gain.begin(), affine.gain.end(), finite)) {
    return "a factor is not finite";
  }
  return "";
}

// Elements of the weights from one channel's to the next, and of one channel in a row.
struct WeightSteps {
  size_t channel_stride;
  size_t channels;
};

WeightSteps StepsOf(const Op& main, const Shape& weights) {
  if (main.kind == OpKind::kConv) {
    const auto channels = static_cast<size_t>(weights[0]);
    return {static_cast<size_t>(weights.Elements()) / std::max<size_t>(channels, 1), channels};
  }
  const bool transposed = main.attributes.As<MatMulAttributes>().transpose_b != 0;
  const int32_t axis = transposed ? weights.rank - 2 : weights.rank - 1;
  const int32_t k = transposed ? weights[weights.rank - 1] : 1;
  return {static_cast<size_t>(k), static_cast<size_t>(weights[axis])};
}

// Why weights and bias cannot take the affine function, or empty. The bias's values go to `bias`.
std::string WhyNotAbsorbable(const Graph& graph, const Op& main, const Affine& affine,
                             std::vector<double>& bias) {
  const TensorId weights = main.inputs[GemmInput::kWeights];
  const Tensor& w = graph.tensor(weights);
  if (affine.Scales() && (!w.IsConstant() || w.dtype != DType::kF32)) {
    return "the weights are no f32 constant";
  }
  bias.assign(affine.gain.size(), 0.0);
  const TensorId old_bias = main.InputOrNone(GemmInput::kBias);
  if (old_bias == kNone) return "";
  const Tensor& b = graph.tensor(old_bias);
  if (!b.IsConstant() || b.dtype != DType::kF32) return "the bias is no f32 constant";
  const Tensor& output = graph.tensor(main.outputs.front());
  const int32_t axis = main.kind == OpKind::kConv ? 0 : output.shape.rank - 1;
  const Shape& aligned = main.kind == OpKind::kConv ? b.shape : output.shape;
  auto values = PerChannel(b, aligned, axis);
  if (!values.has_value()) return "the bias is not one value per channel";
  bias = std::move(*values);
  return "";
}

void ScaleWeights(Graph& graph, OpId main, const std::vector<double>& gain) {
  const TensorId old_weights = graph.op(main).inputs[GemmInput::kWeights];
  const Tensor& w = graph.tensor(old_weights);
  const WeightSteps steps = StepsOf(graph.op(main), w.shape);
  std::vector<double> values = ReadElements(w);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] *= gain[i / steps.channel_stride % steps.channels];
  }
  ReplaceConstant(graph, main, GemmInput::kWeights, w.name, w.shape, values);
}

void SetBias(Graph& graph, OpId main, const Affine& affine, std::vector<double> bias) {
  for (size_t i = 0; i < bias.size(); ++i) bias[i] = bias[i] * affine.gain[i] + affine.shift[i];
  ReplaceBias(graph, main, bias);
}

std::string TryFuse(Graph& graph, const AffineMatch& match) {
  if (std::string reason = WhyNotFusable(graph, match); !reason.empty()) return reason;
  Affine affine;
  if (std::string reason = FindAffine(graph, match, affine); !reason.empty()) return reason;
  std::vector<double> bias;
  const Op& main = graph.op(match.main);
  if (std::string reason = WhyNotAbsorbable(graph, main, affine, bias); !reason.empty()) {
    return reason;
  }
  if (affine.Scales()) ScaleWeights(graph, match.main, affine.gain);
  SetBias(graph, match.main, affine, std::move(bias));
  SetActivation(graph.MutableOp(match.main), GetActivation(graph.op(match.binary)));
  AbsorbResult(graph, match.main, match.binary);
  return "";
}

}  // namespace

Status FuseAffine(Graph& graph, PassContext& context) {
  for (OpId id : graph.OpOrder()) {
    if (!graph.IsOp(id)) continue;
    const std::optional<AffineMatch> match = FindMatch(graph, id);
    if (!match.has_value()) continue;
    const std::string reason = TryFuse(graph, *match);
    if (reason.empty()) {
      ++context.report.changed;
    } else {
      Decline(graph, id, reason, context.report);
    }
  }
  return Status();
}

}  // namespace tenon::converter
