// Functions of one tensor, element by element, and casts.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "converter/import/onnx/ops/ops.hpp"

namespace tenon::converter {
namespace {

struct UnaryRow {
  std::string_view op_type;
  UnaryFunction function;
  // Attributes that become `a` and `b`, with ONNX's defaults; null where there are none.
  const char* a = nullptr;
  float default_a = 0.0F;
  const char* b = nullptr;
  float default_b = 0.0F;
  std::string_view limits = {};
};

constexpr std::string_view kZeroAtInfinity = "-infinity gives 0, where ONNX Runtime gives NaN";

constexpr UnaryRow kUnaryRows[] = {
    {"Abs", UnaryFunction::kAbs},
    {"Atan", UnaryFunction::kAtan},
    {"Ceil", UnaryFunction::kCeil},
    {"Cos", UnaryFunction::kCos},
    {"Elu", UnaryFunction::kElu, "alpha", 1.0F},
    {"Erf", UnaryFunction::kErf},
    {"Exp", UnaryFunction::kExp},
    {"Floor", UnaryFunction::kFloor},
    {"HardSigmoid", UnaryFunction::kHardSigmoid, "alpha", 0.2F, "beta", 0.5F},
    {"HardSwish", UnaryFunction::kHardSwish, nullptr, 0.0F, nullptr, 0.0F, kZeroAtInfinity},
    {"LeakyRelu", UnaryFunction::kLeakyRelu, "alpha", 0.01F},
    {"Log", UnaryFunction::kLog},
    {"Mish", UnaryFunction::kMish, nullptr, 0.0F, nullptr, 0.0F, kZeroAtInfinity},
    {"Neg", UnaryFunction::kNeg},
    {"Not", UnaryFunction::kNot},
    {"Reciprocal", UnaryFunction::kReciprocal},
    {"Relu", UnaryFunction::kRelu},
    {"Round", UnaryFunction::kRound},
    {"Selu", UnaryFunction::kSelu, "alpha", 1.67326319217681884765625F, "gamma",
     1.05070102214813232421875F},
    {"Sigmoid", UnaryFunction::kSigmoid},
    {"Sign", UnaryFunction::kSign},
    {"Sin", UnaryFunction::kSin},
    {"Softplus", UnaryFunction::kSoftplus},
    {"Softsign", UnaryFunction::kSoftsign, nullptr, 0.0F, nullptr, 0.0F,
     "infinities give 1 and -1, where ONNX Runtime gives NaN"},
    {"Sqrt", UnaryFunction::kSqrt},
    {"Tanh", UnaryFunction::kTanh},
};

/// A bound of Clip: an attribute before opset 11, then an input.
Result<TensorId> ClipBound(Lowering& node, int input, const char* attribute, DType dtype) {
  if (node.opset() >= 11) {
    if (!node.HasInput(input)) return kNone;
    return node.Input(input);
  }
  if (!node.HasAttribute(attribute)) return kNone;
  return node.Scalar(attribute, dtype, node.Float(attribute, 0.0F));
}

Status LowerUnary(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  for (const UnaryRow& row : kUnaryRows) {
    if (row.op_type != node.op_type()) continue;
    UnaryAttributes attributes;
    attributes.function = row.function;
    if (row.a != nullptr) attributes.a = node.Float(row.a, row.default_a);
    if (row.b != nullptr) attributes.b = node.Float(row.b, row.default_b);
    return node.Unary(x, attributes, 0).status();
  }
  return InternalError("{} is not in the table of unary functions", node.op_type());
}

// The op's bounds are f32 attributes; bounds that are not known, or not exact in f32, become
// Max and Min.
Status LowerClip(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(TensorId x, node.Input(0));
  const DType dtype = node.DTypeOf(x);
  TENON_ASSIGN_OR_RETURN(const TensorId low, ClipBound(node, 1, "min", dtype));
  TENON_ASSIGN_OR_RETURN(const TensorId high, ClipBound(node, 2, "max", dtype));
  const auto is_known = [&](TensorId bound) {
    return bound == kNone ||
           (node.graph().tensor(bound).IsConstant() && node.ShapeOf(bound).Elements() == 1);
  };
  if (low == kNone && high == kNone) {
    node.Alias(0, x);
    return {};
  }
  const bool exact = IsFloat(dtype) && dtype != DType::kF64;
  if (exact && is_known(low) && is_known(high)) {
    UnaryAttributes attributes{UnaryFunction::kClip, -std::numeric_limits<float>::infinity(),
                               std::numeric_limits<float>::infinity()};
    if (low != kNone) {
      TENON_ASSIGN_OR_RETURN(const std::vector<double> value, node.ConstantDoubles(low));
      attributes.a = static_cast<float>(value[0]);
    }
    if (high != kNone) {
      TENON_ASSIGN_OR_RETURN(const std::vector<double> value, node.ConstantDoubles(high));
      attributes.b = static_cast<float>(value[0]);
    }
    return node.Unary(x, attributes, 0).status();
  }
  if (low != kNone) {
    TENON_ASSIGN_OR_RETURN(
        x, node.Binary(BinaryFunction::kMax, x, low, high == kNone ? 0 : kIntermediate));
  }
  if (high == kNone) return {};
  return node.Binary(BinaryFunction::kMin, x, high, 0).status();
}

Status LowerPRelu(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(TensorId slope, node.Input(1));
  const Shape shape = node.ShapeOf(slope);
  if (node.opset() < 7 && shape.rank == 1 && shape[0] != 1) {  // one slope a channel
    std::vector<int64_t> dims(static_cast<size_t>(std::max(1, node.ShapeOf(x).rank - 1)), 1);
    dims[0] = shape[0];
    TENON_ASSIGN_OR_RETURN(slope, node.Reshape(slope, dims));
  }
  return node.Binary(BinaryFunction::kPrelu, x, slope, 0).status();
}

// y = x > alpha ? x : 0
Status LowerThresholdedRelu(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  const DType dtype = node.DTypeOf(x);
  const float alpha = node.Float("alpha", 1.0F);
  TENON_ASSIGN_OR_RETURN(const TensorId threshold, node.Scalar("threshold", dtype, alpha));
  TENON_ASSIGN_OR_RETURN(const TensorId zero, node.Scalar("zero", dtype, 0.0));
  TENON_ASSIGN_OR_RETURN(const TensorId above, node.Binary(BinaryFunction::kGreater, x, threshold));
  return node.Emit(OpKind::kSelect, {above, x, zero}, Attributes(), 0).status();
}

/// exp(x) - 1. Where x is known to be negative, or what positive ones give does not matter, elu is
/// the same with more digits near 0.
Result<TensorId> ExpMinusOne(Lowering& node, TensorId x, bool negative) {
  if (negative) return node.Unary(x, {UnaryFunction::kElu, 1.0F, 0.0F});
  TENON_ASSIGN_OR_RETURN(const TensorId exp, node.Unary(x, {UnaryFunction::kExp, 0.0F, 0.0F}));
  TENON_ASSIGN_OR_RETURN(const TensorId one, node.Scalar("one", node.DTypeOf(x), 1.0));
  return node.Binary(BinaryFunction::kSub, exp, one);
}

// max(0, x) + min(0, alpha * (exp(x / alpha) - 1)), written so that positive x pass unchanged.
Status LowerCelu(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  const float alpha = node.Float("alpha", 1.0F);
  if (alpha == 1.0F) return node.Unary(x, {UnaryFunction::kElu, 1.0F, 0.0F}, 0).status();
  if (!(std::fabs(alpha) > 0.0F)) return InputError("alpha must not be zero");
  const DType dtype = node.DTypeOf(x);
  TENON_ASSIGN_OR_RETURN(const TensorId divisor, node.Scalar("alpha", dtype, alpha));
  TENON_ASSIGN_OR_RETURN(const TensorId scaled, node.Binary(BinaryFunction::kDiv, x, divisor));
  TENON_ASSIGN_OR_RETURN(const TensorId less, ExpMinusOne(node, scaled, alpha > 0.0F));
  TENON_ASSIGN_OR_RETURN(const TensorId product, node.Binary(BinaryFunction::kMul, less, divisor));
  TENON_ASSIGN_OR_RETURN(const TensorId zero, node.Scalar("zero", dtype, 0.0));
  TENON_ASSIGN_OR_RETURN(const TensorId negative, node.Binary(BinaryFunction::kMin, product, zero));
  TENON_ASSIGN_OR_RETURN(const TensorId positive,
                         node.Unary(x, {UnaryFunction::kRelu, 0.0F, 0.0F}));
  return node.Binary(BinaryFunction::kAdd, positive, negative, 0).status();
}

Status LowerGelu(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  const std::string approximate = node.Text("approximate", "none");
  if (approximate == "none") return node.Unary(x, {UnaryFunction::kGelu, 0.0F, 0.0F}, 0).status();
  if (approximate != "tanh") return InputError("approximate '{}' is not known", approximate);
  return node.Unary(x, {UnaryFunction::kGeluTanh, 0.0F, 0.0F}, 0).status();
}

Status LowerCast(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  node.Ignore({"saturate"});  // for 8-bit floats only
  if (node.op_type() == "CastLike") {
    TENON_ASSIGN_OR_RETURN(const TensorId like, node.Input(1));
    return node.Cast(x, node.DTypeOf(like), 0).status();
  }
  constexpr int kNumberSince = 6;  // before, the name of the type
  TENON_ASSIGN_OR_RETURN(const DType to, node.opset() < kNumberSince
                                             ? DTypeFromOnnxName(node.Text("to", ""))
                                             : DTypeFromOnnx(node.Int32("to", 0)));
  return node.Cast(x, to, 0).status();
}

constexpr LoweringRow kOtherActivationRows[] = {
    {"Cast", LowerCast},
    {"CastLike", LowerCast},
    {"Celu", LowerCelu},
    {"Clip", LowerClip},
    {"Gelu", LowerGelu, {}, kZeroAtInfinity},
    {"PRelu", LowerPRelu},
    {"ThresholdedRelu", LowerThresholdedRelu},
};

constexpr auto kActivationRows = RowsOf(kUnaryRows, LowerUnary, kOtherActivationRows);

}  // namespace

Result<UnaryAttributes> ReadActivation(Lowering& node) {
  const std::string name = node.Text("activation", "");
  const std::vector<float> values = node.Floats("activation_params");
  node.Ignore({"activation_alpha", "activation_beta", "activation_gamma"});
  const auto parameter = [&](size_t index, const char* attribute, float otherwise) {
    if (index < values.size()) return values[index];
    return node.Float(fmt::format("activation_{}", attribute), otherwise);
  };
  if (name.empty()) return UnaryAttributes{};
  if (name == "Clip") {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    return UnaryAttributes{UnaryFunction::kClip, parameter(0, "min", -kInfinity),
                           parameter(1, "max", kInfinity)};
  }
  for (const UnaryRow& row : kUnaryRows) {
    if (row.op_type != name) continue;
    UnaryAttributes attributes;
    attributes.function = row.function;
    if (row.a != nullptr) attributes.a = parameter(0, row.a, row.default_a);
    if (row.b != nullptr) attributes.b = parameter(1, row.b, row.default_b);
    return attributes;
  }
  return InputError("activation '{}' is not supported", name);
}

constexpr Span<const LoweringRow> kFunctionLowerings = TableOf(kActivationRows);

}  // namespace tenon::converter
