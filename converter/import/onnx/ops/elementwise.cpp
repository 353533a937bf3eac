// Functions of two and more tensors, element by element, with NumPy broadcasting.
#include <algorithm>
#include <cmath>
#include <limits>

#include "converter/import/onnx/ops/indexing.hpp"
#include "converter/import/onnx/ops/ops.hpp"

namespace tenon::converter {
namespace {

struct BinaryRow {
  std::string_view op_type;
  BinaryFunction function;
};

constexpr BinaryRow kBinaryRows[] = {
    {"Add", BinaryFunction::kAdd},         {"And", BinaryFunction::kAnd},
    {"Div", BinaryFunction::kDiv},         {"Equal", BinaryFunction::kEqual},
    {"Greater", BinaryFunction::kGreater}, {"GreaterOrEqual", BinaryFunction::kGreaterOrEqual},
    {"Less", BinaryFunction::kLess},       {"LessOrEqual", BinaryFunction::kLessOrEqual},
    {"Max", BinaryFunction::kMax},         {"Mean", BinaryFunction::kAdd},
    {"Min", BinaryFunction::kMin},         {"Mul", BinaryFunction::kMul},
    {"Or", BinaryFunction::kOr},           {"Sub", BinaryFunction::kSub},
    {"Sum", BinaryFunction::kAdd},         {"Xor", BinaryFunction::kXor},
};

Result<BinaryFunction> FunctionOf(const Lowering& node) {
  for (const BinaryRow& row : kBinaryRows) {
    if (row.op_type == node.op_type()) return row.function;
  }
  return InternalError("{} is not in the table of binary functions", node.op_type());
}

/// Before opset 7, `axis` says which dimension of x the first of y is aligned with.
Result<TensorId> SecondOperand(Lowering& node, TensorId x) {
  TENON_ASSIGN_OR_RETURN(const TensorId y, node.Input(1));
  if (node.opset() >= 7) return y;
  node.Ignore({"broadcast"});  // where it is not set the shapes are equal
  if (!node.HasAttribute("axis")) return y;
  const Shape shape = node.ShapeOf(y);
  const int32_t rank = node.ShapeOf(x).rank;
  TENON_ASSIGN_OR_RETURN(const int32_t axis, node.Axis(node.Int("axis", 0), rank));
  std::vector<int64_t> dims(shape.dims, shape.dims + shape.rank);
  while (axis + static_cast<int32_t>(dims.size()) < rank) dims.push_back(1);
  return node.Reshape(y, dims);
}

Status LowerBinary(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId y, SecondOperand(node, x));
  TENON_ASSIGN_OR_RETURN(const BinaryFunction function, FunctionOf(node));
  return node.Binary(function, x, y, 0).status();
}

/// The exponent as numbers of an integer type, if it is a constant of which each is one; else
/// kNone.
Result<TensorId> WholeExponent(Lowering& node, TensorId exponent, DType dtype) {
  if (!node.graph().tensor(exponent).IsConstant()) return kNone;
  TENON_ASSIGN_OR_RETURN(const std::vector<double> values, node.ConstantDoubles(exponent));
  // Fits every integer type; powers beyond are seldom numbers of one.
  const bool whole = std::all_of(values.begin(), values.end(), [](double value) {
    return value >= 0 && value < 128 && std::trunc(value) == value;
  });
  if (!whole) return kNone;
  return node.Constant("exponent", dtype, node.ShapeOf(exponent), values);
}

// Base and exponent may differ in type (opset 12); the result has the base's.
Status LowerPow(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(TensorId base, node.Input(0));
  TENON_ASSIGN_OR_RETURN(TensorId exponent, SecondOperand(node, base));
  const DType result = node.DTypeOf(base);
  if (IsFloat(result) || !IsFloat(node.DTypeOf(exponent))) {
    TENON_ASSIGN_OR_RETURN(exponent, node.Cast(exponent, result));
    return node.Binary(BinaryFunction::kPow, base, exponent, 0).status();
  }
  TENON_ASSIGN_OR_RETURN(const TensorId whole, WholeExponent(node, exponent, result));
  if (whole != kNone) return node.Binary(BinaryFunction::kPow, base, whole, 0).status();
  TENON_ASSIGN_OR_RETURN(base, node.Cast(base, DType::kF64));
  TENON_ASSIGN_OR_RETURN(exponent, node.Cast(exponent, DType::kF64));
  TENON_ASSIGN_OR_RETURN(const TensorId power, node.Binary(BinaryFunction::kPow, base, exponent));
  return node.Cast(power, result, 0).status();
}

Status LowerMod(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId y, node.Input(1));
  const bool fmod = node.Flag("fmod", false);
  if (!fmod && IsFloat(node.DTypeOf(x))) return InputError("fmod must be 1 for floats");
  return node.Binary(fmod ? BinaryFunction::kFmod : BinaryFunction::kMod, x, y, 0).status();
}

// Max, Min, Sum and Mean of any number of tensors.
Status LowerVariadic(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const std::vector<TensorId> inputs, node.Inputs());
  TENON_ASSIGN_OR_RETURN(const BinaryFunction function, FunctionOf(node));
  const bool mean = node.op_type() == "Mean";
  TensorId result = inputs[0];
  for (size_t i = 1; i < inputs.size(); ++i) {
    const bool last = i + 1 == inputs.size() && !mean;
    TENON_ASSIGN_OR_RETURN(result,
                           node.Binary(function, result, inputs[i], last ? 0 : kIntermediate));
  }
  if (inputs.size() == 1) {
    node.Alias(0, result);
  } else if (mean) {
    TENON_ASSIGN_OR_RETURN(const TensorId count, node.Scalar("count", node.DTypeOf(result),
                                                             static_cast<double>(inputs.size())));
    return node.Binary(BinaryFunction::kDiv, result, count, 0).status();
  }
  return {};
}

// x << y is x * 2^y, x >> y is x / 2^y: products wrap, and where y is the width or more 2^y is 0,
// by which a division gives 0.
Status LowerBitShift(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId y, node.Input(1));
  const std::string direction = node.Text("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") {
    return InputError("direction '{}' is neither LEFT nor RIGHT", direction);
  }
  const DType dtype = node.DTypeOf(x);
  const bool is_unsigned =
      dtype == DType::kU8 || dtype == DType::kU16 || dtype == DType::kU32 || dtype == DType::kU64;
  if (!is_unsigned) return InputError("it shifts {}, only unsigned integers are", DTypeName(dtype));
  const bool left = direction == "LEFT";
  TENON_ASSIGN_OR_RETURN(const TensorId two, node.Scalar("two", dtype, 2));
  TENON_ASSIGN_OR_RETURN(const TensorId power, node.Binary(BinaryFunction::kPow, two, y));
  return node.Binary(left ? BinaryFunction::kMul : BinaryFunction::kDiv, x, power, 0).status();
}

// Only what is not a number differs from itself.
Status LowerIsNan(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId same, node.Binary(BinaryFunction::kEqual, x, x));
  return node.Unary(same, {UnaryFunction::kNot, 0.0F, 0.0F}, 0).status();
}

Status LowerIsInf(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(TensorId x, node.Input(0));
  const bool positive = node.Flag("detect_positive", true);
  const bool negative = node.Flag("detect_negative", true);
  if ((!positive && !negative) || !IsFloat(node.DTypeOf(x))) {
    TENON_ASSIGN_OR_RETURN(const TensorId no, node.Scalar("no", DType::kBool, 0));
    return node.Expand(no, node.ShapeOf(x), 0).status();
  }
  if (positive && negative) {
    TENON_ASSIGN_OR_RETURN(x, node.Unary(x, {UnaryFunction::kAbs, 0.0F, 0.0F}));
  }
  const double infinity = std::numeric_limits<double>::infinity();
  TENON_ASSIGN_OR_RETURN(const TensorId bound,
                         node.Scalar("infinity", node.DTypeOf(x), positive ? infinity : -infinity));
  return node.Binary(BinaryFunction::kEqual, x, bound, 0).status();
}

/// The floats in which a function of an integer tensor is computed: they hold its numbers, those of
/// 64 bits up to 2^53.
DType FloatsFor(DType dtype) {
  if (IsFloat(dtype)) return dtype;
  return DTypeBytes(dtype) <= 2 ? DType::kF32 : DType::kF64;
}

// x < -lambda ? x + bias : (x > lambda ? x - bias : 0)
Status LowerShrink(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(TensorId x, node.Input(0));
  const DType result = node.DTypeOf(x);
  const DType dtype = FloatsFor(result);
  TENON_ASSIGN_OR_RETURN(x, node.Cast(x, dtype));
  const float lambda = node.Float("lambd", 0.5F);
  TENON_ASSIGN_OR_RETURN(const TensorId bias, node.Scalar("bias", dtype, node.Float("bias", 0.0F)));
  TENON_ASSIGN_OR_RETURN(const TensorId low, node.Scalar("low", dtype, -lambda));
  TENON_ASSIGN_OR_RETURN(const TensorId high, node.Scalar("high", dtype, lambda));
  TENON_ASSIGN_OR_RETURN(const TensorId zero, node.Scalar("zero", dtype, 0));
  TENON_ASSIGN_OR_RETURN(const TensorId below, node.Binary(BinaryFunction::kLess, x, low));
  TENON_ASSIGN_OR_RETURN(const TensorId above, node.Binary(BinaryFunction::kGreater, x, high));
  TENON_ASSIGN_OR_RETURN(const TensorId raised, node.Binary(BinaryFunction::kAdd, x, bias));
  TENON_ASSIGN_OR_RETURN(const TensorId lowered, node.Binary(BinaryFunction::kSub, x, bias));
  TENON_ASSIGN_OR_RETURN(const TensorId upper, Select(node, above, lowered, zero));
  if (dtype == result) return Select(node, below, raised, upper, 0).status();
  TENON_ASSIGN_OR_RETURN(const TensorId shrunk, Select(node, below, raised, upper));
  return node.Cast(shrunk, result, 0).status();
}

Status LowerWhere(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const std::vector<TensorId> inputs, node.Inputs());
  return node.Emit(OpKind::kSelect, inputs, Attributes(), 0).status();
}

constexpr LoweringRow kElementwiseRows[] = {
    {"BitShift", LowerBitShift, {}, "unsigned; to the right not u64"},
    {"IsInf", LowerIsInf},
    {"IsNaN", LowerIsNan},
    {"Shrink", LowerShrink},
    {"Add", LowerBinary},
    {"And", LowerBinary},
    {"Div", LowerBinary, {}, "not u64"},
    {"Equal", LowerBinary},
    {"Greater", LowerBinary},
    {"GreaterOrEqual", LowerBinary},
    {"Less", LowerBinary},
    {"LessOrEqual", LowerBinary},
    {"Max", LowerVariadic},
    {"Mean", LowerVariadic},
    {"Min", LowerVariadic},
    {"Mod", LowerMod, {}, "floats with fmod = 1; not u64"},
    {"Mul", LowerBinary},
    {"Or", LowerBinary},
    {"Pow", LowerPow},
    {"Sub", LowerBinary},
    {"Sum", LowerVariadic},
    {"Where", LowerWhere},
    {"Xor", LowerBinary},
};

}  // namespace

constexpr Span<const LoweringRow> kElementwiseLowerings = kElementwiseRows;

}  // namespace tenon::converter
