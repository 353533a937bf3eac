#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "converter/ir/rewrite.hpp"
#include "converter/passes/image_layouts.hpp"
#include "converter/passes/passes.hpp"
#include "converter/passes/quantization.hpp"

namespace tenon::converter {
namespace {

/// The axis of a normalisation, counted from the end: the last, or the channels of an image.
constexpr int32_t kLast = -1;
constexpr int32_t kChannels = -3;

/// What a normalisation is made of; the op is put in the place of `last`.
struct LayerNormMatch {
  OpId last = kNone;
  TensorId x = kNone;
  TensorId scale = kNone;  ///< a constant of one element for each of a row; kNone: ones
  TensorId bias = kNone;   ///< the same; kNone: none
  int32_t axis = kLast;
  LayerNormAttributes attributes;
};

const Op* ProducerOf(const Graph& graph, TensorId id, OpKind kind) {
  const OpId producer = ProducerOfKind(graph, id, kind);
  return producer == kNone ? nullptr : &graph.op(producer);
}

/// The op's two operands, if it is a plain binary op of this function.
const std::vector<TensorId>* OperandsOf(const Graph& graph, OpId id, BinaryFunction function) {
  if (id == kNone || graph.op(id).kind != OpKind::kBinary) return nullptr;
  const auto attributes = graph.op(id).attributes.As<BinaryAttributes>();
  const bool is_plain =
      attributes.function == function && attributes.activation.function == UnaryFunction::kIdentity;
  return is_plain ? &graph.op(id).inputs : nullptr;
}

/// The same of the op that makes the tensor.
const std::vector<TensorId>* TermsOf(const Graph& graph, TensorId id, BinaryFunction function) {
  return OperandsOf(graph, graph.tensor(id).producer, function);
}

/// The tensor before reshapes: what there is one of for each row (its mean, say) is often computed
/// without the last axis, which a reshape gives back.
TensorId BeforeReshapes(const Graph& graph, TensorId id) {
  while (const Op* reshape = ProducerOf(graph, id, OpKind::kReshape)) id = reshape->inputs[0];
  return id;
}

/// True for one element for each row of x, shaped so that binary ops take it for the whole row.
bool IsColumn(const Graph& graph, TensorId id, TensorId x, int32_t axis) {
  Shape column = graph.tensor(x).shape;
  if (column.rank + axis < 0) return false;
  column[column.rank + axis] = 1;
  return graph.tensor(id).shape == column;
}

/// True if the axes are this one and others of one element; channels are those of an image.
bool IsAxis(int32_t axes_mask, const Shape& shape, int32_t axis) {
  if (shape.rank == 0 || (axis == kChannels && shape.rank != 4)) return false;
  for (int32_t k = 0; k < shape.rank; ++k) {
    if ((axes_mask >> k & 1) != 0 && k != shape.rank + axis && shape[k] != 1) return false;
  }
  return (axes_mask >> (shape.rank + axis) & 1) != 0;
}

/// x, if the tensor is its mean along the axis, of which one element may be kept.
TensorId MeanArgument(const Graph& graph, TensorId id, int32_t axis) {
  const Op* reduce = ProducerOf(graph, BeforeReshapes(graph, id), OpKind::kReduce);
  if (reduce == nullptr) return kNone;
  const auto attributes = reduce->attributes.As<ReduceAttributes>();
  const bool is_mean = attributes.function == ReduceFunction::kMean &&
                       IsAxis(attributes.axes_mask, graph.tensor(reduce->inputs[0]).shape, axis);
  return is_mean ? reduce->inputs[0] : kNone;
}

/// v, if the tensor is v * v or v^2.
TensorId SquareArgument(const Graph& graph, TensorId id) {
  if (const auto* factors = TermsOf(graph, id, BinaryFunction::kMul)) {
    if ((*factors)[0] == (*factors)[1]) return (*factors)[0];
  }
  if (const auto* power = TermsOf(graph, id, BinaryFunction::kPow)) {
    if (ScalarValue(graph, (*power)[1]) == 2.0) return (*power)[0];
  }
  return kNone;
}

TensorId ArgumentOf(const Graph& graph, TensorId id, UnaryFunction function) {
  const Op* unary = ProducerOf(graph, BeforeReshapes(graph, id), OpKind::kUnary);
  const bool is_it =
      unary != nullptr && unary->attributes.As<UnaryAttributes>().function == function;
  return is_it ? unary->inputs[0] : kNone;
}

struct Deviation {
  TensorId of = kNone;  ///< v: the tensor is sqrt(mean of v^2 + epsilon)
  double epsilon = 0;
};

std::optional<Deviation> MatchDeviation(const Graph& graph, TensorId id, int32_t axis) {
  TensorId sum = ArgumentOf(graph, id, UnaryFunction::kSqrt);
  if (sum == kNone) return std::nullopt;
  Deviation deviation;
  sum = BeforeReshapes(graph, sum);
  if (const auto* terms = TermsOf(graph, sum, BinaryFunction::kAdd)) {
    for (size_t i = 0; i < 2; ++i) {
      const auto epsilon = ScalarValue(graph, (*terms)[i]);
      if (!epsilon || !(*epsilon >= 0) || *epsilon > std::numeric_limits<float>::max()) continue;
      deviation.epsilon = *epsilon;
      sum = (*terms)[1 - i];
      break;
    }
  }
  const TensorId squares = MeanArgument(graph, sum, axis);
  if (squares == kNone) return std::nullopt;
  deviation.of = SquareArgument(graph, squares);
  if (deviation.of == kNone) return std::nullopt;
  return deviation;
}

/// v, and x with v = x - mean of x; x is v where v is anything else.
TensorId CentredArgument(const Graph& graph, TensorId v, int32_t axis, bool* is_centred) {
  *is_centred = false;
  const auto* terms = TermsOf(graph, v, BinaryFunction::kSub);
  if (terms == nullptr || MeanArgument(graph, (*terms)[1], axis) != (*terms)[0]) return v;
  if (!IsColumn(graph, (*terms)[1], (*terms)[0], axis)) return v;
  *is_centred = true;
  return (*terms)[0];
}

/// True for a constant, which may be dequantized, with one element for each of a row of x, whatever
/// its rank.
bool IsRowParameter(const Graph& graph, TensorId id, TensorId x, int32_t axis) {
  const Tensor& parameter = graph.tensor(id);
  const Shape& shape = graph.tensor(x).shape;
  const int32_t count = shape[shape.rank + axis];
  const int32_t own = parameter.shape.rank + axis;
  return parameter.dtype == DType::kF32 && parameter.layout == Layout::kRowMajor && own >= 0 &&
         parameter.shape.Elements() == count && parameter.shape[own] == count &&
         RealValues(graph, id).has_value();
}

std::optional<LayerNormMatch> MatchOf(const Graph& graph, OpId last, TensorId v,
                                      const Deviation& deviation, int32_t axis) {
  if (deviation.of != v) return std::nullopt;
  LayerNormMatch match;
  match.last = last;
  match.axis = axis;
  bool is_centred = false;
  match.x = CentredArgument(graph, v, axis, &is_centred);
  match.attributes.rms = is_centred ? 0 : 1;
  match.attributes.epsilon = static_cast<float>(deviation.epsilon);
  const Tensor& x = graph.tensor(match.x);
  const Tensor& y = graph.tensor(graph.op(last).outputs[0]);
  if (x.dtype != DType::kF32 || x.shape != y.shape || x.IsConstant()) return std::nullopt;
  return match;
}

/// v / deviation, or v times its reciprocal.
std::optional<LayerNormMatch> MatchQuotient(const Graph& graph, OpId id, int32_t axis) {
  if (axis == kChannels && graph.tensor(graph.op(id).outputs[0]).shape.rank != 4) {
    return std::nullopt;
  }
  if (const auto* div = OperandsOf(graph, id, BinaryFunction::kDiv)) {
    if (!IsColumn(graph, (*div)[1], (*div)[0], axis)) return std::nullopt;
    const auto deviation = MatchDeviation(graph, (*div)[1], axis);
    return deviation ? MatchOf(graph, id, (*div)[0], *deviation, axis) : std::nullopt;
  }
  const auto* mul = OperandsOf(graph, id, BinaryFunction::kMul);
  if (mul == nullptr) return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    const TensorId root = ArgumentOf(graph, (*mul)[i], UnaryFunction::kReciprocal);
    if (root == kNone || !IsColumn(graph, (*mul)[i], (*mul)[1 - i], axis)) continue;
    const auto deviation = MatchDeviation(graph, root, axis);
    if (deviation) return MatchOf(graph, id, (*mul)[1 - i], *deviation, axis);
  }
  return std::nullopt;
}

/// Takes the product with a row's constant, then the sum with another, that alone read the result.
void TakeScaleAndBias(const Graph& graph, LayerNormMatch& match) {
  const auto take = [&](BinaryFunction function, TensorId* parameter) {
    const TensorId result = graph.op(match.last).outputs[0];
    const OpId next = graph.OnlyConsumer(result);
    const auto* operands = OperandsOf(graph, next, function);
    if (operands == nullptr) return;
    const TensorId other = (*operands)[0] == result ? (*operands)[1] : (*operands)[0];
    if (!IsRowParameter(graph, other, match.x, match.axis)) return;
    if (graph.tensor(graph.op(next).outputs[0]).shape != graph.tensor(result).shape) return;
    *parameter = other;
    match.last = next;
  };
  take(BinaryFunction::kMul, &match.scale);
  take(BinaryFunction::kAdd, &match.bias);
}

/// The other factor, if the tensor is a product with g; else kNone. Reshapes of g are g.
TensorId FactorBeside(const Graph& graph, TensorId id, TensorId g) {
  const auto* factors = TermsOf(graph, id, BinaryFunction::kMul);
  if (factors == nullptr) return kNone;
  const TensorId wanted = BeforeReshapes(graph, g);
  if (BeforeReshapes(graph, (*factors)[0]) == wanted) return (*factors)[1];
  return BeforeReshapes(graph, (*factors)[1]) == wanted ? (*factors)[0] : kNone;
}

struct Shift {
  TensorId mean = kNone;
  TensorId bias = kNone;
};

/// bias - mean g, or bias + (-mean) g.
std::optional<Shift> MatchShift(const Graph& graph, TensorId id, TensorId g) {
  id = BeforeReshapes(graph, id);
  if (const auto* terms = TermsOf(graph, id, BinaryFunction::kSub)) {
    const TensorId mean = FactorBeside(graph, (*terms)[1], g);
    return mean == kNone ? std::nullopt : std::optional<Shift>({mean, (*terms)[0]});
  }
  const auto* terms = TermsOf(graph, id, BinaryFunction::kAdd);
  if (terms == nullptr) return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    const TensorId negative = FactorBeside(graph, (*terms)[i], g);
    if (negative == kNone) continue;
    const TensorId mean = ArgumentOf(graph, negative, UnaryFunction::kNeg);
    if (mean != kNone) return Shift{mean, (*terms)[1 - i]};
  }
  return std::nullopt;
}

struct Gain {
  Deviation deviation;
  TensorId scale = kNone;  ///< kNone: 1
};

/// 1 / deviation as a column of x, or its product with a scale.
std::optional<Gain> MatchGain(const Graph& graph, TensorId g, TensorId x) {
  const auto reciprocal = [&](TensorId id) {
    const TensorId root = ArgumentOf(graph, id, UnaryFunction::kReciprocal);
    return root == kNone || !IsColumn(graph, id, x, kLast) ? std::nullopt
                                                           : MatchDeviation(graph, root, kLast);
  };
  if (const auto deviation = reciprocal(g)) return Gain{*deviation, kNone};
  const auto* factors = TermsOf(graph, g, BinaryFunction::kMul);
  if (factors == nullptr) return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    const auto deviation = reciprocal((*factors)[i]);
    if (deviation) return Gain{*deviation, (*factors)[1 - i]};
  }
  return std::nullopt;
}

/// True if what the gain scales by and the shift adds can be a normalisation's parameters.
bool AreParameters(const Graph& graph, const Gain& gain, const Shift& shift, TensorId shift_id,
                   TensorId x) {
  // Without a scale the shift is one number for each row, which stands for no bias.
  if (gain.scale == kNone) {
    return ScalarValue(graph, shift.bias) == 0.0 && IsColumn(graph, shift_id, x, kLast);
  }
  return IsColumn(graph, shift.mean, x, kLast) && IsRowParameter(graph, gain.scale, x, kLast) &&
         IsRowParameter(graph, shift.bias, x, kLast);
}

/// x g + shift with g = scale / deviation.
std::optional<LayerNormMatch> MatchTerms(const Graph& graph, OpId id, TensorId x, TensorId g,
                                         TensorId shift_id) {
  const auto shift = MatchShift(graph, shift_id, g);
  if (!shift || MeanArgument(graph, shift->mean, kLast) != x) return std::nullopt;
  const auto gain = MatchGain(graph, g, x);
  if (!gain || !AreParameters(graph, *gain, *shift, shift_id, x)) return std::nullopt;
  auto match = MatchOf(graph, id, gain->deviation.of, gain->deviation, kLast);
  if (!match || match->x != x || match->attributes.rms != 0) return std::nullopt;
  if (gain->scale == kNone) {
    TakeScaleAndBias(graph, *match);
  } else {
    match->scale = gain->scale;
    match->bias = shift->bias;
  }
  return match;
}

/// x g + (bias - mean g) with g = scale / deviation, as TensorFlow and Keras write it, or without
/// scale and bias, as LiteRT Torch does.
std::optional<LayerNormMatch> MatchFactored(const Graph& graph, OpId id) {
  const auto* sum = OperandsOf(graph, id, BinaryFunction::kAdd);
  if (sum == nullptr) return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    const auto* product = TermsOf(graph, (*sum)[i], BinaryFunction::kMul);
    if (product == nullptr) continue;
    for (size_t k = 0; k < 2; ++k) {
      auto match = MatchTerms(graph, id, (*product)[k], (*product)[1 - k], (*sum)[1 - i]);
      if (match) return match;
    }
  }
  return std::nullopt;
}

/// The parameter as a constant of rank 1.
TensorId AsRow(Graph& graph, TensorId id) {
  const Tensor& tensor = graph.tensor(id);
  if (!tensor.IsConstant()) {
    const std::vector<double> values = *RealValues(graph, id);
    return AddFloats(graph, tensor.name + ".row", {values.begin(), values.end()});
  }
  if (tensor.shape.rank == 1) return id;
  const int32_t dims[] = {static_cast<int32_t>(tensor.shape.Elements())};
  return graph.AddConstant(tensor.name + ".row", tensor.dtype, Shape(dims, 1), tensor.constant);
}

TensorId Ones(Graph& graph, const LayerNormMatch& match) {
  const Shape& shape = graph.tensor(match.x).shape;
  const int32_t count = shape[shape.rank + match.axis];
  const std::vector<float> ones(static_cast<size_t>(count), 1.0F);
  auto bytes = std::make_shared<std::vector<std::byte>>(ones.size() * sizeof(float));
  std::memcpy(bytes->data(), ones.data(), bytes->size());
  const int32_t dims[] = {count};
  return graph.AddConstant(graph.op(match.last).name + ".ones", DType::kF32, Shape(dims, 1),
                           Bytes(std::move(bytes)));
}

/// Normalises along the channels, between transposes that put them last and back.
Status NormaliseChannels(Graph& graph, const LayerNormMatch& match, std::vector<TensorId> inputs) {
  const std::string name = graph.op(match.last).name;
  const auto add = [&](OpKind kind, const std::string& called, const std::vector<TensorId>& of,
                       const Attributes& attributes) {
    Result<TensorId> made = graph.AddOpTensor(kind, called, of, attributes, called);
    if (made.ok()) graph.MoveOp(graph.tensor(*made).producer, match.last);
    return made;
  };
  TENON_ASSIGN_OR_RETURN(inputs[0], add(OpKind::kTranspose, name + ".channels_last", {match.x},
                                        Attributes(TransposeBy(kToChannelsLast))));
  TENON_ASSIGN_OR_RETURN(const TensorId normalised, add(OpKind::kLayerNorm, name + ".normalised",
                                                        inputs, Attributes(match.attributes)));
  Op& op = graph.MutableOp(match.last);
  op.kind = OpKind::kTranspose;
  op.attributes = Attributes(TransposeBy(kToChannelsFirst));
  op.inputs = {normalised};
  return {};
}

Status Replace(Graph& graph, const LayerNormMatch& match) {
  const TensorId scale = match.scale == kNone ? Ones(graph, match) : AsRow(graph, match.scale);
  std::vector<TensorId> inputs = {match.x, scale};
  if (match.bias != kNone) inputs.push_back(AsRow(graph, match.bias));
  const std::vector<TensorId> old_inputs = graph.op(match.last).inputs;
  if (match.axis == kChannels) {
    TENON_RETURN_IF_ERROR(NormaliseChannels(graph, match, std::move(inputs)));
  } else {
    Op& op = graph.MutableOp(match.last);
    op.kind = OpKind::kLayerNorm;
    op.attributes = Attributes(match.attributes);
    op.inputs = std::move(inputs);
  }
  for (const TensorId input : old_inputs) {
    if (!graph.IsTensor(input)) continue;
    const OpId producer = graph.tensor(input).producer;
    if (producer != kNone) EraseIfUnread(graph, producer);
  }
  return {};
}

template <typename MatchOp>
Status FuseMatches(Graph& graph, PassContext& context, const MatchOp& match_op) {
  const std::vector<OpId> order = graph.OpOrder();
  for (const OpId id : order) {
    if (!graph.IsOp(id) || graph.op(id).kind != OpKind::kBinary) continue;
    const std::optional<LayerNormMatch> match = match_op(id);
    if (!match) continue;
    TENON_RETURN_IF_ERROR(Replace(graph, *match));
    ++context.report.changed;
  }
  return {};
}

}  // namespace

Status FuseLayerNorm(Graph& graph, PassContext& context) {
  return FuseMatches(graph, context, [&](OpId id) {
    std::optional<LayerNormMatch> match = MatchFactored(graph, id);
    if (match) return match;
    match = MatchQuotient(graph, id, kLast);
    if (match) TakeScaleAndBias(graph, *match);
    return match;
  });
}

Status FuseChannelNorm(Graph& graph, PassContext& context) {
  return FuseMatches(graph, context, [&](OpId id) {
    std::optional<LayerNormMatch> match = MatchQuotient(graph, id, kChannels);
    if (match) TakeScaleAndBias(graph, *match);
    return match;
  });
}

}  // namespace tenon::converter
