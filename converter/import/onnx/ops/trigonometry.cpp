// Functions that are put together from those that the kernels have: exponentials, logarithms,
// roots, sine, cosine and arc tangent.
#include "converter/import/onnx/ops/ops.hpp"

namespace tenon::converter {
namespace {

constexpr BinaryFunction kAdd = BinaryFunction::kAdd;
constexpr BinaryFunction kSub = BinaryFunction::kSub;
constexpr BinaryFunction kMul = BinaryFunction::kMul;
constexpr BinaryFunction kDiv = BinaryFunction::kDiv;

Result<TensorId> Apply(Lowering& node, UnaryFunction function, TensorId x,
                       int output = kIntermediate) {
  return node.Unary(x, {function, 0.0F, 0.0F}, output);
}

Result<TensorId> Number(Lowering& node, TensorId like, double value) {
  return node.Scalar("number", node.DTypeOf(like), value);
}

/// sqrt((1 - x) (1 + x)), or with `minus_one` sqrt((x - 1) (x + 1)): no digits are lost near 1.
Result<TensorId> Leg(Lowering& node, TensorId x, bool minus_one) {
  TENON_ASSIGN_OR_RETURN(const TensorId one, Number(node, x, 1));
  TENON_ASSIGN_OR_RETURN(const TensorId difference,
                         minus_one ? node.Binary(kSub, x, one) : node.Binary(kSub, one, x));
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
  TENON_ASSIGN_OR_RETURN(const TensorId leg, Leg(node, x, false));
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

// acosh(x) = log(x + sqrt(x^2 - 1))
Status LowerAcosh(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId leg, Leg(node, x, true));
  TENON_ASSIGN_OR_RETURN(const TensorId sum, node.Binary(kAdd, x, leg));
  return Apply(node, UnaryFunction::kLog, sum, 0).status();
}

// asinh(x) = sign(x) log(|x| + sqrt(x^2 + 1)): for either sign a sum of positive numbers.
Status LowerAsinh(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId one, Number(node, x, 1));
  TENON_ASSIGN_OR_RETURN(const TensorId size, Apply(node, UnaryFunction::kAbs, x));
  TENON_ASSIGN_OR_RETURN(const TensorId square, node.Binary(kMul, x, x));
  TENON_ASSIGN_OR_RETURN(const TensorId sum, node.Binary(kAdd, square, one));
  TENON_ASSIGN_OR_RETURN(const TensorId root, Apply(node, UnaryFunction::kSqrt, sum));
  TENON_ASSIGN_OR_RETURN(const TensorId total, node.Binary(kAdd, size, root));
  TENON_ASSIGN_OR_RETURN(const TensorId logarithm, Apply(node, UnaryFunction::kLog, total));
  TENON_ASSIGN_OR_RETURN(const TensorId sign, Apply(node, UnaryFunction::kSign, x));
  return node.Binary(kMul, sign, logarithm, 0).status();
}

// atanh(x) = log((1 + x) / (1 - x)) / 2
Status LowerAtanh(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId one, Number(node, x, 1));
  TENON_ASSIGN_OR_RETURN(const TensorId half, Number(node, x, 0.5));
  TENON_ASSIGN_OR_RETURN(const TensorId above, node.Binary(kAdd, one, x));
  TENON_ASSIGN_OR_RETURN(const TensorId below, node.Binary(kSub, one, x));
  TENON_ASSIGN_OR_RETURN(const TensorId ratio, node.Binary(kDiv, above, below));
  TENON_ASSIGN_OR_RETURN(const TensorId logarithm, Apply(node, UnaryFunction::kLog, ratio));
  return node.Binary(kMul, logarithm, half, 0).status();
}

// cosh(x), sinh(x) = (exp(x) +- exp(-x)) / 2, each half an exponential of its own.
Status LowerHyperbolic(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId half, Number(node, x, 0.5));
  TENON_ASSIGN_OR_RETURN(const TensorId minus, Apply(node, UnaryFunction::kNeg, x));
  TENON_ASSIGN_OR_RETURN(TensorId rising, Apply(node, UnaryFunction::kExp, x));
  TENON_ASSIGN_OR_RETURN(TensorId falling, Apply(node, UnaryFunction::kExp, minus));
  TENON_ASSIGN_OR_RETURN(rising, node.Binary(kMul, rising, half));
  TENON_ASSIGN_OR_RETURN(falling, node.Binary(kMul, falling, half));
  return node.Binary(node.op_type() == "Cosh" ? kAdd : kSub, rising, falling, 0).status();
}

constexpr LoweringRow kRows[] = {
    {"Acos", LowerAcos},       {"Acosh", LowerAcosh}, {"Asin", LowerAsin},
    {"Asinh", LowerAsinh},     {"Atanh", LowerAtanh}, {"Cosh", LowerHyperbolic},
    {"Sinh", LowerHyperbolic}, {"Tan", LowerTan},
};

}  // namespace

constexpr Span<const LoweringRow> kTrigonometryLowerings = kRows;

}  // namespace tenon::converter
