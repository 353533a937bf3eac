// Functions that are put together from those that the kernels have: exponentials, logarithms,
// roots, sine, cosine, arc tangent and hyperbolic tangent. Each keeps its digits near 0, and does
// not overflow where its value is a number.
#include "converter/import/onnx/ops/indexing.hpp"
#include "converter/import/onnx/ops/ops.hpp"

namespace tenon::converter {
namespace {

constexpr BinaryFunction kAdd = BinaryFunction::kAdd;
constexpr BinaryFunction kSub = BinaryFunction::kSub;
constexpr BinaryFunction kMul = BinaryFunction::kMul;
constexpr BinaryFunction kDiv = BinaryFunction::kDiv;
constexpr BinaryFunction kEqual = BinaryFunction::kEqual;
constexpr BinaryFunction kLess = BinaryFunction::kLess;

Result<TensorId> Apply(Lowering& node, UnaryFunction function, TensorId x,
                       int output = kIntermediate) {
  return node.Unary(x, {function, 0.0F, 0.0F}, output);
}

Result<TensorId> Number(Lowering& node, TensorId like, double value) {
  return node.Scalar("number", node.DTypeOf(like), value);
}

/// sqrt((1 - x) (1 + x)): no digits are lost near 1.
Result<TensorId> Leg(Lowering& node, TensorId x) {
  TENON_ASSIGN_OR_RETURN(const TensorId one, Number(node, x, 1));
  TENON_ASSIGN_OR_RETURN(const TensorId difference, node.Binary(kSub, one, x));
  TENON_ASSIGN_OR_RETURN(const TensorId sum, node.Binary(kAdd, one, x));
  TENON_ASSIGN_OR_RETURN(const TensorId product, node.Binary(kMul, difference, sum));
  return Apply(node, UnaryFunction::kSqrt, product);
}

Status LowerTan(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId sine, Apply(node, UnaryFunction::kSin, x));
  TENON_ASSIGN_OR_RETURN(const TensorId cosine, Apply(node, UnaryFunction::kCos, x));
  return node.Binary(kDiv, sine, cosine, 0).status();
}

// asin(x) = atan(x / sqrt(1 - x^2))
Status LowerAsin(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId leg, Leg(node, x));
  TENON_ASSIGN_OR_RETURN(const TensorId tangent, node.Binary(kDiv, x, leg));
  return Apply(node, UnaryFunction::kAtan, tangent, 0).status();
}

// acos(x) = 2 atan(sqrt((1 - x) / (1 + x)))
Status LowerAcos(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId one, Number(node, x, 1));
  TENON_ASSIGN_OR_RETURN(const TensorId two, Number(node, x, 2));
  TENON_ASSIGN_OR_RETURN(const TensorId below, node.Binary(kSub, one, x));
  TENON_ASSIGN_OR_RETURN(const TensorId above, node.Binary(kAdd, one, x));
  TENON_ASSIGN_OR_RETURN(const TensorId ratio, node.Binary(kDiv, below, above));
  TENON_ASSIGN_OR_RETURN(const TensorId tangent, Apply(node, UnaryFunction::kSqrt, ratio));
  TENON_ASSIGN_OR_RETURN(const TensorId half, Apply(node, UnaryFunction::kAtan, tangent));
  return node.Binary(kMul, half, two, 0).status();
}

/// log(1 + z). What 1 + z loses of a small z, the ratio gives back (HP-15C Advanced Functions
/// Handbook, appendix).
Result<TensorId> LogOfOneAnd(Lowering& node, TensorId z) {
  TENON_ASSIGN_OR_RETURN(const TensorId one, Number(node, z, 1));
  TENON_ASSIGN_OR_RETURN(const TensorId zero, Number(node, z, 0));
  TENON_ASSIGN_OR_RETURN(const TensorId sum, node.Binary(kAdd, one, z));
  TENON_ASSIGN_OR_RETURN(const TensorId kept, node.Binary(kSub, sum, one));
  TENON_ASSIGN_OR_RETURN(const TensorId ratio, node.Binary(kDiv, z, kept));
  TENON_ASSIGN_OR_RETURN(const TensorId whole, node.Binary(kEqual, kept, z));
  TENON_ASSIGN_OR_RETURN(const TensorId factor, Select(node, whole, one, ratio));
  TENON_ASSIGN_OR_RETURN(const TensorId logarithm, Apply(node, UnaryFunction::kLog, sum));
  TENON_ASSIGN_OR_RETURN(const TensorId product, node.Binary(kMul, logarithm, factor));
  TENON_ASSIGN_OR_RETURN(const TensorId none, node.Binary(kEqual, kept, zero));
  return Select(node, none, z, product);
}

/// `small` where x is below 10^9, else log(2 x), without x^2, which would overflow.
Result<TensorId> UnlessLarge(Lowering& node, TensorId x, TensorId small,
                             int output = kIntermediate) {
  TENON_ASSIGN_OR_RETURN(const TensorId limit, Number(node, x, 1e9));
  TENON_ASSIGN_OR_RETURN(const TensorId log_two, Number(node, x, 0.69314718055994530942));
  TENON_ASSIGN_OR_RETURN(const TensorId logarithm, Apply(node, UnaryFunction::kLog, x));
  TENON_ASSIGN_OR_RETURN(const TensorId large, node.Binary(kAdd, logarithm, log_two));
  TENON_ASSIGN_OR_RETURN(const TensorId is_small, node.Binary(kLess, x, limit));
  return Select(node, is_small, small, large, output);
}

// acosh(1 + d) = log(1 + d + sqrt(d) sqrt(d + 2))
Status LowerAcosh(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId one, Number(node, x, 1));
  TENON_ASSIGN_OR_RETURN(const TensorId below, node.Binary(kSub, x, one));
  TENON_ASSIGN_OR_RETURN(const TensorId above, node.Binary(kAdd, x, one));
  TENON_ASSIGN_OR_RETURN(const TensorId root_below, Apply(node, UnaryFunction::kSqrt, below));
  TENON_ASSIGN_OR_RETURN(const TensorId root_above, Apply(node, UnaryFunction::kSqrt, above));
  TENON_ASSIGN_OR_RETURN(const TensorId leg, node.Binary(kMul, root_below, root_above));
  TENON_ASSIGN_OR_RETURN(const TensorId sum, node.Binary(kAdd, below, leg));
  TENON_ASSIGN_OR_RETURN(const TensorId small, LogOfOneAnd(node, sum));
  return UnlessLarge(node, x, small, 0).status();
}

// asinh(x) = sign(x) log(1 + a + a (a / (1 + sqrt(a^2 + 1)))) with a = |x|
Status LowerAsinh(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId one, Number(node, x, 1));
  TENON_ASSIGN_OR_RETURN(const TensorId size, Apply(node, UnaryFunction::kAbs, x));
  TENON_ASSIGN_OR_RETURN(const TensorId square, node.Binary(kMul, size, size));
  TENON_ASSIGN_OR_RETURN(const TensorId sum, node.Binary(kAdd, square, one));
  TENON_ASSIGN_OR_RETURN(const TensorId root, Apply(node, UnaryFunction::kSqrt, sum));
  TENON_ASSIGN_OR_RETURN(const TensorId divisor, node.Binary(kAdd, one, root));
  TENON_ASSIGN_OR_RETURN(const TensorId ratio, node.Binary(kDiv, size, divisor));
  TENON_ASSIGN_OR_RETURN(const TensorId rest, node.Binary(kMul, size, ratio));
  TENON_ASSIGN_OR_RETURN(const TensorId total, node.Binary(kAdd, size, rest));
  TENON_ASSIGN_OR_RETURN(const TensorId small, LogOfOneAnd(node, total));
  TENON_ASSIGN_OR_RETURN(const TensorId logarithm, UnlessLarge(node, size, small));
  TENON_ASSIGN_OR_RETURN(const TensorId sign, Apply(node, UnaryFunction::kSign, x));
  return node.Binary(kMul, sign, logarithm, 0).status();
}

// atanh(x) = sign(x) log(1 + 2 a / (1 - a)) / 2 with a = |x|
Status LowerAtanh(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId one, Number(node, x, 1));
  TENON_ASSIGN_OR_RETURN(const TensorId half, Number(node, x, 0.5));
  TENON_ASSIGN_OR_RETURN(const TensorId size, Apply(node, UnaryFunction::kAbs, x));
  TENON_ASSIGN_OR_RETURN(const TensorId twice, node.Binary(kAdd, size, size));
  TENON_ASSIGN_OR_RETURN(const TensorId below, node.Binary(kSub, one, size));
  TENON_ASSIGN_OR_RETURN(const TensorId ratio, node.Binary(kDiv, twice, below));
  TENON_ASSIGN_OR_RETURN(const TensorId logarithm, LogOfOneAnd(node, ratio));
  TENON_ASSIGN_OR_RETURN(const TensorId sign, Apply(node, UnaryFunction::kSign, x));
  TENON_ASSIGN_OR_RETURN(const TensorId halved, node.Binary(kMul, sign, half));
  return node.Binary(kMul, halved, logarithm, 0).status();
}

/// exp(x / 2)^2 / 2 of exp(x / 2), which is a number as long as the result is.
Result<TensorId> HalfOfExp(Lowering& node, TensorId half_x) {
  TENON_ASSIGN_OR_RETURN(const TensorId half, Number(node, half_x, 0.5));
  TENON_ASSIGN_OR_RETURN(const TensorId root, Apply(node, UnaryFunction::kExp, half_x));
  TENON_ASSIGN_OR_RETURN(const TensorId halved, node.Binary(kMul, root, half));
  return node.Binary(kMul, root, halved);
}

/// sinh(x) = 2 t / (1 - t^2) with t = tanh(x / 2), which keeps the digits of a small x.
Result<TensorId> SmallSinh(Lowering& node, TensorId half_x) {
  TENON_ASSIGN_OR_RETURN(const TensorId one, Number(node, half_x, 1));
  TENON_ASSIGN_OR_RETURN(const TensorId t, Apply(node, UnaryFunction::kTanh, half_x));
  TENON_ASSIGN_OR_RETURN(const TensorId twice, node.Binary(kAdd, t, t));
  TENON_ASSIGN_OR_RETURN(const TensorId square, node.Binary(kMul, t, t));
  TENON_ASSIGN_OR_RETURN(const TensorId divisor, node.Binary(kSub, one, square));
  return node.Binary(kDiv, twice, divisor);
}

// cosh(x), sinh(x) = (exp(x) +- exp(-x)) / 2, each half an exponential of its own.
Status LowerHyperbolic(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId half, Number(node, x, 0.5));
  TENON_ASSIGN_OR_RETURN(const TensorId half_x, node.Binary(kMul, x, half));
  TENON_ASSIGN_OR_RETURN(const TensorId minus, Apply(node, UnaryFunction::kNeg, half_x));
  TENON_ASSIGN_OR_RETURN(const TensorId rising, HalfOfExp(node, half_x));
  TENON_ASSIGN_OR_RETURN(const TensorId falling, HalfOfExp(node, minus));
  if (node.op_type() == "Cosh") return node.Binary(kAdd, rising, falling, 0).status();
  TENON_ASSIGN_OR_RETURN(const TensorId large, node.Binary(kSub, rising, falling));
  TENON_ASSIGN_OR_RETURN(const TensorId small, SmallSinh(node, half_x));
  TENON_ASSIGN_OR_RETURN(const TensorId size, Apply(node, UnaryFunction::kAbs, half_x));
  TENON_ASSIGN_OR_RETURN(const TensorId is_small, node.Binary(kLess, size, half));
  return Select(node, is_small, small, large, 0).status();
}

constexpr LoweringRow kTrigonometryRows[] = {
    {"Acos", LowerAcos},       {"Acosh", LowerAcosh}, {"Asin", LowerAsin},
    {"Asinh", LowerAsinh},     {"Atanh", LowerAtanh}, {"Cosh", LowerHyperbolic},
    {"Sinh", LowerHyperbolic}, {"Tan", LowerTan},
};

}  // namespace

constexpr Span<const LoweringRow> kTrigonometryLowerings = kTrigonometryRows;

}  // namespace tenon::converter
