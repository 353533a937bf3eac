#include <cmath>
#include <limits>
#include <numbers>

#include "converter/ir/rewrite.hpp"
#include "converter/passes/patterns.hpp"

namespace tenon::converter {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A float binary op with nothing fused into it.
bool IsPlainBinary(const Graph& graph, OpId id, BinaryFunction function) {
  const Op& op = graph.op(id);
  if (op.kind != OpKind::kBinary) return false;
  const auto attributes = op.attributes.As<BinaryAttributes>();
  return attributes.function == function &&
         attributes.activation.function == UnaryFunction::kIdentity &&
         IsFloat(graph.tensor(op.outputs.front()).dtype);
}

bool IsAbout(double value, double exact) { return std::abs(value - exact) <= 1e-4 * exact; }

// `tensor` = f(result, scalar) for the plain binary function f, in either order of operands.
struct WithScalar {
  TensorId tensor = kNone;
  double scalar = 0.0;
  bool scalar_first = false;
};

std::optional<WithScalar> MatchScalar(const Graph& graph, OpId id, BinaryFunction function) {
  if (id == kNone || !IsPlainBinary(graph, id, function)) return std::nullopt;
  const Op& op = graph.op(id);
  for (size_t i = 0; i < 2; ++i) {
    const auto scalar = ScalarValue(graph, op.inputs[1 - i]);
    if (!scalar.has_value()) continue;
    const TensorId x = op.inputs[i];
    // A scalar of higher rank would change the shape.
    if (graph.tensor(x).shape != graph.tensor(op.outputs.front()).shape) continue;
    return WithScalar{x, *scalar, i == 1};
  }
  return std::nullopt;
}

// The op that writes the tensor, if `reader` alone reads it.
OpId PrivateProducer(const Graph& graph, TensorId id, OpId reader) {
  return graph.OnlyConsumer(id) == reader ? graph.tensor(id).producer : kNone;
}

void BecomeUnary(Graph& graph, OpId id, TensorId x, const UnaryAttributes& attributes) {
  const std::vector<TensorId> old_inputs = graph.op(id).inputs;
  Op& op = graph.MutableOp(id);
  op.kind = OpKind::kUnary;
  op.inputs = {x};
  op.attributes = Attributes(attributes);
  for (TensorId input : old_inputs) {
    if (!graph.IsTensor(input)) continue;
    const Tensor& tensor = graph.tensor(input);
    if (tensor.producer != kNone) {
      EraseIfUnread(graph, tensor.producer);
    } else if (tensor.IsConstant() && !graph.IsRead(input)) {
      graph.EraseTensor(input);
    }
  }
}

// --- min and max --------------------------------------------------------------------------------

bool SetsBoundsBefore(const Graph& graph, OpId id) {
  if (id == kNone || graph.op(id).kind != OpKind::kUnary) return false;
  const UnaryFunction function = graph.op(id).attributes.As<UnaryAttributes>().function;
  return function == UnaryFunction::kClip || function == UnaryFunction::kRelu;
}

// [a, b] that the function before `x` clips to; everything if it is another function.
UnaryAttributes BoundsOf(const Op& op) {
  const auto attributes = op.attributes.As<UnaryAttributes>();
  if (attributes.function == UnaryFunction::kRelu) {
    return {UnaryFunction::kClip, 0.0F, kInfinity};
  }
  return attributes;
}

bool TryClip(Graph& graph, OpId id) {
  auto match = MatchScalar(graph, id, BinaryFunction::kMax);
  const bool is_max = match.has_value();
  if (!is_max) match = MatchScalar(graph, id, BinaryFunction::kMin);
  if (!match.has_value()) return false;
  const auto bound = static_cast<float>(match->scalar);
  if (static_cast<double>(bound) != match->scalar) return false;  // NaN, or an f64 of more digits
  UnaryAttributes clip = {UnaryFunction::kClip, -kInfinity, kInfinity};
  TensorId x = match->tensor;
  const OpId before = PrivateProducer(graph, x, id);
  // max(clip(x)) is a clip only if the new lower bound does not pass the upper one.
  if (SetsBoundsBefore(graph, before)) {
    const UnaryAttributes inner = BoundsOf(graph.op(before));
    if (!is_max || bound <= inner.b) {
      clip = inner;
      x = graph.op(before).inputs.front();
    }
  }
  if (is_max) clip.a = std::max(clip.a, bound);
  if (!is_max) clip.b = std::min(clip.b, bound);
  if (clip.a == 0.0F && clip.b == kInfinity) clip = {UnaryFunction::kRelu, 0.0F, 0.0F};
  BecomeUnary(graph, id, x, clip);
  return true;
}

// --- products -----------------------------------------------------------------------------------

// A product as its factors and one number: x 0.5 (1 + erf(...)) is {x, 1 + erf(...)} and 0.5.
struct Product {
  std::vector<TensorId> factors;
  double scale = 1.0;
};

// Multiplies out products and quotients by a number, as far as `id` alone reads the inner ones; at
// most two factors. `depth` bounds the walk: patterns are short, chains of products may not be.
bool Expand(const Graph& graph, OpId id, Product& product, int depth = 4);

// Adds a factor, multiplied out if it can be.
void AddFactor(const Graph& graph, OpId reader, TensorId factor, Product& product, int depth) {
  Product part = product;
  const OpId inner = PrivateProducer(graph, factor, reader);
  if (inner != kNone && Expand(graph, inner, part, depth - 1)) {
    product = part;
  } else {
    product.factors.push_back(factor);
  }
}

bool Expand(const Graph& graph, OpId id, Product& product, int depth) {
  if (depth == 0) return false;
  if (const auto match = MatchScalar(graph, id, BinaryFunction::kDiv)) {
    if (match->scalar_first) return false;
    product.scale /= match->scalar;
    AddFactor(graph, id, match->tensor, product, depth);
    return product.factors.size() <= 2;
  }
  if (!IsPlainBinary(graph, id, BinaryFunction::kMul)) return false;
  for (TensorId input : graph.op(id).inputs) {
    if (const auto scalar = ScalarValue(graph, input)) {
      product.scale *= *scalar;
    } else {
      AddFactor(graph, id, input, product, depth);
    }
  }
  return product.factors.size() <= 2;
}

std::optional<UnaryAttributes> MatchUnary(const Graph& graph, OpId id, TensorId x,
                                          UnaryFunction function) {
  if (id == kNone || graph.op(id).kind != OpKind::kUnary) return std::nullopt;
  const auto attributes = graph.op(id).attributes.As<UnaryAttributes>();
  if (attributes.function != function || graph.op(id).inputs.front() != x) return std::nullopt;
  return attributes;
}

bool IsHardSigmoid(const Graph& graph, OpId id, TensorId x, double scale) {
  if (const auto match = MatchUnary(graph, id, x, UnaryFunction::kHardSigmoid)) {
    return scale == 1.0 && IsAbout(static_cast<double>(match->a), 1.0 / 6.0) && match->b == 0.5F;
  }
  // clip(x + 3, 0, 6), scaled by 1/6 outside.
  if (graph.op(id).kind != OpKind::kUnary || !IsAbout(scale, 1.0 / 6.0)) return false;
  const TensorId sum = graph.op(id).inputs.front();
  const auto clip = MatchUnary(graph, id, sum, UnaryFunction::kClip);
  if (!clip.has_value() || clip->a != 0.0F || clip->b != 6.0F) return false;
  const auto plus = MatchScalar(graph, PrivateProducer(graph, sum, id), BinaryFunction::kAdd);
  return plus.has_value() && plus->tensor == x && plus->scalar == 3.0;
}

// 1 + erf(x / sqrt 2), scaled by 1/2 outside.
bool IsGeluFactor(const Graph& graph, OpId id, TensorId x, double scale) {
  if (!IsAbout(scale, 0.5)) return false;
  const auto plus = MatchScalar(graph, id, BinaryFunction::kAdd);
  if (!plus.has_value() || plus->scalar != 1.0) return false;
  const OpId erf = PrivateProducer(graph, plus->tensor, id);
  if (erf == kNone || graph.op(erf).kind != OpKind::kUnary) return false;
  const TensorId argument = graph.op(erf).inputs.front();
  if (!MatchUnary(graph, erf, argument, UnaryFunction::kErf)) return false;
  const OpId scaled = PrivateProducer(graph, argument, erf);
  if (const auto div = MatchScalar(graph, scaled, BinaryFunction::kDiv)) {
    return !div->scalar_first && div->tensor == x && IsAbout(div->scalar, std::numbers::sqrt2);
  }
  const auto mul = MatchScalar(graph, scaled, BinaryFunction::kMul);
  return mul.has_value() && mul->tensor == x && IsAbout(mul->scalar, 1.0 / std::numbers::sqrt2);
}

bool IsCube(const Graph& graph, OpId id, TensorId x) {
  if (const auto power = MatchScalar(graph, id, BinaryFunction::kPow)) {
    return !power->scalar_first && power->tensor == x && power->scalar == 3.0;
  }
  if (id == kNone || !IsPlainBinary(graph, id, BinaryFunction::kMul)) return false;
  for (size_t i = 0; i < 2; ++i) {
    const Op& op = graph.op(id);
    const OpId square = graph.tensor(op.inputs[1 - i]).producer;
    if (op.inputs[i] == x && square != kNone &&
        IsPlainBinary(graph, square, BinaryFunction::kMul) &&
        graph.op(square).inputs == std::vector<TensorId>{x, x}) {
      return true;
    }
  }
  return false;
}

// x + 0.044715 x^3
bool IsGeluTanhArgument(const Graph& graph, OpId id, TensorId x) {
  if (id == kNone || !IsPlainBinary(graph, id, BinaryFunction::kAdd)) return false;
  const std::vector<TensorId>& terms = graph.op(id).inputs;
  const TensorId other = terms[0] == x ? terms[1] : terms[0];
  if (terms[0] != x && terms[1] != x) return false;
  const OpId scaled = PrivateProducer(graph, other, id);
  const auto factor = MatchScalar(graph, scaled, BinaryFunction::kMul);
  return factor.has_value() && IsAbout(factor->scalar, 0.044715) &&
         IsCube(graph, PrivateProducer(graph, factor->tensor, scaled), x);
}

// 1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)), scaled by 1/2 outside.
bool IsGeluTanhFactor(const Graph& graph, OpId id, TensorId x, double scale) {
  if (!IsAbout(scale, 0.5)) return false;
  const auto plus = MatchScalar(graph, id, BinaryFunction::kAdd);
  if (!plus.has_value() || plus->scalar != 1.0) return false;
  const OpId tanh = PrivateProducer(graph, plus->tensor, id);
  if (tanh == kNone || graph.op(tanh).kind != OpKind::kUnary) return false;
  const TensorId argument = graph.op(tanh).inputs.front();
  if (!MatchUnary(graph, tanh, argument, UnaryFunction::kTanh)) return false;
  const OpId scaled = PrivateProducer(graph, argument, tanh);
  const auto factor = MatchScalar(graph, scaled, BinaryFunction::kMul);
  return factor.has_value() &&
         IsAbout(factor->scalar, std::numbers::sqrt2 * std::numbers::inv_sqrtpi) &&
         IsGeluTanhArgument(graph, PrivateProducer(graph, factor->tensor, scaled), x);
}

// The function f with f(x) = scale * x * factor, kIdentity if there is none.
UnaryFunction FunctionOf(const Graph& graph, TensorId x, TensorId factor, double scale) {
  const OpId id = graph.tensor(factor).producer;
  // One reader only: else the factor would have to be computed all the same.
  if (id == kNone || graph.OnlyConsumer(factor) == kNone) return UnaryFunction::kIdentity;
  if (scale == 1.0 && MatchUnary(graph, id, x, UnaryFunction::kSigmoid)) {
    return UnaryFunction::kSilu;
  }
  if (IsHardSigmoid(graph, id, x, scale)) return UnaryFunction::kHardSwish;
  if (IsGeluFactor(graph, id, x, scale)) return UnaryFunction::kGelu;
  if (IsGeluTanhFactor(graph, id, x, scale)) return UnaryFunction::kGeluTanh;
  return UnaryFunction::kIdentity;
}

bool TryProduct(Graph& graph, OpId id) {
  Product product;
  if (!Expand(graph, id, product) || product.factors.size() != 2) return false;
  const Tensor& output = graph.tensor(graph.op(id).outputs.front());
  for (size_t i = 0; i < 2; ++i) {
    const TensorId x = product.factors[i];
    const UnaryFunction function = FunctionOf(graph, x, product.factors[1 - i], product.scale);
    const Tensor& argument = graph.tensor(x);
    if (function == UnaryFunction::kIdentity || argument.shape != output.shape) continue;
    BecomeUnary(graph, id, x, {function, 0.0F, 0.0F});
    return true;
  }
  return false;
}

}  // namespace

bool TryRecogniseActivation(Graph& graph, OpId id) {
  if (graph.op(id).kind != OpKind::kBinary) return false;
  return TryClip(graph, id) || TryProduct(graph, id);
}

}  // namespace tenon::converter
