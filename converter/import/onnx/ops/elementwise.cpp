// Functions of two and more tensors, element by element, with NumPy broadcasting.
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

// Base and exponent may differ in type (opset 12); the result has the base's.
Status LowerPow(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(TensorId base, node.Input(0));
  TENON_ASSIGN_OR_RETURN(TensorId exponent, SecondOperand(node, base));
  const DType result = node.DTypeOf(base);
  if (IsFloat(result) || !IsFloat(node.DTypeOf(exponent))) {
    TENON_ASSIGN_OR_RETURN(exponent, node.Cast(exponent, result));
    return node.Binary(BinaryFunction::kPow, base, exponent, 0).status();
  }
  TENON_ASSIGN_OR_RETURN(base, node.Cast(base, node.DTypeOf(exponent)));
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

Status LowerWhere(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const std::vector<TensorId> inputs, node.Inputs());
  return node.Emit(OpKind::kSelect, inputs, Attributes(), 0).status();
}

constexpr LoweringRow kRows[] = {
    {"Add", LowerBinary},    {"And", LowerBinary},         {"Div", LowerBinary},
    {"Equal", LowerBinary},  {"Greater", LowerBinary},     {"GreaterOrEqual", LowerBinary},
    {"Less", LowerBinary},   {"LessOrEqual", LowerBinary}, {"Max", LowerVariadic},
    {"Mean", LowerVariadic}, {"Min", LowerVariadic},       {"Mod", LowerMod},
    {"Mul", LowerBinary},    {"Or", LowerBinary},          {"Pow", LowerPow},
    {"Sub", LowerBinary},    {"Sum", LowerVariadic},       {"Where", LowerWhere},
    {"Xor", LowerBinary},
};

}  // namespace

constexpr Span<const LoweringRow> kElementwiseLowerings = kRows;

}  // namespace tenon::converter
