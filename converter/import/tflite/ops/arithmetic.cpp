// Functions of two and more tensors, element by element, with NumPy broadcasting.
#include <iterator>

#include "converter/import/tflite/ops/ops.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

using Op = format::BuiltinOperator;
using format::ActivationFunctionType;

struct BinaryRow {
  Op op;
  BinaryFunction function;
};

constexpr BinaryRow kArithmeticRows[] = {
    {Op::ADD, BinaryFunction::kAdd},         {Op::DIV, BinaryFunction::kDiv},
    {Op::EQUAL, BinaryFunction::kEqual},     {Op::FLOOR_MOD, BinaryFunction::kMod},
    {Op::GREATER, BinaryFunction::kGreater}, {Op::GREATER_EQUAL, BinaryFunction::kGreaterOrEqual},
    {Op::LESS, BinaryFunction::kLess},       {Op::LESS_EQUAL, BinaryFunction::kLessOrEqual},
    {Op::LOGICAL_AND, BinaryFunction::kAnd}, {Op::LOGICAL_OR, BinaryFunction::kOr},
    {Op::MAXIMUM, BinaryFunction::kMax},     {Op::MINIMUM, BinaryFunction::kMin},
    {Op::MUL, BinaryFunction::kMul},         {Op::POW, BinaryFunction::kPow},
    {Op::PRELU, BinaryFunction::kPrelu},     {Op::SUB, BinaryFunction::kSub},
};

ActivationFunctionType FusedActivation(const format::Operator& node) {
  if (const auto* add = node.builtin_options_as_AddOptions()) {
    return add->fused_activation_function();
  }
  if (const auto* sub = node.builtin_options_as_SubOptions()) {
    return sub->fused_activation_function();
  }
  if (const auto* mul = node.builtin_options_as_MulOptions()) {
    return mul->fused_activation_function();
  }
  if (const auto* div = node.builtin_options_as_DivOptions()) {
    return div->fused_activation_function();
  }
  return ActivationFunctionType::NONE;
}

/// x / y of integers, rounded down. Division rounds towards zero; its remainder and FLOOR_MOD's,
/// which has the sign of y, differ by y where that is one too many, and are equal elsewhere.
Result<TensorId> FloorQuotient(Node& node, TensorId x, TensorId y) {
  const auto binary = [&](BinaryFunction function, TensorId a, TensorId b) {
    return node.Binary(function, a, b);
  };
  TENON_ASSIGN_OR_RETURN(const TensorId quotient, binary(BinaryFunction::kDiv, x, y));
  TENON_ASSIGN_OR_RETURN(const TensorId whole, binary(BinaryFunction::kMul, quotient, y));
  TENON_ASSIGN_OR_RETURN(const TensorId remainder, binary(BinaryFunction::kSub, x, whole));
  TENON_ASSIGN_OR_RETURN(const TensorId modulus, binary(BinaryFunction::kMod, x, y));
  TENON_ASSIGN_OR_RETURN(TensorId excess, binary(BinaryFunction::kSub, remainder, modulus));
  TENON_ASSIGN_OR_RETURN(excess, binary(BinaryFunction::kDiv, excess, y));
  return binary(BinaryFunction::kAdd, quotient, excess);
}

/// Integers of 16 bits, which no kernel computes with, as those of 32; others as they are.
Status Widen(Node& node, Operands& operands) {
  for (TensorId& id : operands.ids) {
    if (node.DTypeOf(id) != DType::kI16) continue;
    TENON_ASSIGN_OR_RETURN(id, node.Cast(id, DType::kI32));
  }
  return {};
}

/// Sets the output to z, which may be wider than it or not.
Status SetNarrowed(Node& node, TensorId z, Order order) {
  TENON_ASSIGN_OR_RETURN(const DType to, node.OutputDType(0));
  if (to == DType::kI16 && node.DTypeOf(z) == DType::kI32) {
    TENON_ASSIGN_OR_RETURN(z, node.Cast(z, to));
  }
  return node.SetOutput(0, z, order);
}

/// condition ? x : y.
Result<TensorId> Chosen(Node& node, TensorId condition, TensorId x, TensorId y) {
  return node.Emit(OpKind::kSelect, {condition, x, y}, Attributes());
}

/// True of elements with a sign, -0 among them: its reciprocal is the least of all numbers.
Result<TensorId> HasSign(Node& node, TensorId x) {
  const TensorId zero = node.Scalar("zero", node.DTypeOf(x), 0.0);
  const TensorId one = node.Scalar("one", node.DTypeOf(x), 1.0);
  TENON_ASSIGN_OR_RETURN(const TensorId below, node.Binary(BinaryFunction::kLess, x, zero));
  TENON_ASSIGN_OR_RETURN(TensorId inverse, node.Binary(BinaryFunction::kDiv, one, x));
  TENON_ASSIGN_OR_RETURN(inverse, node.Binary(BinaryFunction::kLess, inverse, zero));
  return node.Binary(BinaryFunction::kOr, below, inverse);
}

}  // namespace

Status LowerBinary(Node& node) {
  const auto* row = std::find_if(std::begin(kArithmeticRows), std::end(kArithmeticRows),
                                 [&](const BinaryRow& one) { return one.op == node.op(); });
  if (row == std::end(kArithmeticRows))
    return InternalError("it is in no table of binary functions");
  TENON_ASSIGN_OR_RETURN(Operands x, node.Aligned({0, 1}));
  TENON_RETURN_IF_ERROR(Widen(node, x));
  TENON_ASSIGN_OR_RETURN(TensorId z, node.Binary(row->function, x.ids[0], x.ids[1]));
  TENON_ASSIGN_OR_RETURN(z, node.Activate(z, FusedActivation(node.stored())));
  return SetNarrowed(node, z, x.order);
}

Status LowerNotEqual(Node& node) {
  TENON_ASSIGN_OR_RETURN(const Operands x, node.Aligned({0, 1}));
  TENON_ASSIGN_OR_RETURN(TensorId z, node.Binary(BinaryFunction::kEqual, x.ids[0], x.ids[1]));
  TENON_ASSIGN_OR_RETURN(z, node.Unary(z, {UnaryFunction::kNot, 0.0F, 0.0F}));
  return node.SetOutput(0, z, x.order);
}

Status LowerFloorDiv(Node& node) {
  TENON_ASSIGN_OR_RETURN(Operands x, node.Aligned({0, 1}));
  TENON_RETURN_IF_ERROR(Widen(node, x));
  if (!IsFloat(node.DTypeOf(x.ids[0]))) {
    TENON_ASSIGN_OR_RETURN(const TensorId z, FloorQuotient(node, x.ids[0], x.ids[1]));
    return SetNarrowed(node, z, x.order);
  }
  TENON_ASSIGN_OR_RETURN(TensorId z, node.Binary(BinaryFunction::kDiv, x.ids[0], x.ids[1]));
  TENON_ASSIGN_OR_RETURN(z, node.Unary(z, {UnaryFunction::kFloor, 0.0F, 0.0F}));
  return node.SetOutput(0, z, x.order);
}

// The angle of |x| and |y|, put into the quadrant of (x, y) that their signs say; at the origin
// too.
Status LowerAtan2(Node& node) {
  TENON_ASSIGN_OR_RETURN(const Operands operands, node.Aligned({0, 1}));
  const TensorId y = operands.ids[0];
  const TensorId x = operands.ids[1];
  const DType dtype = node.DTypeOf(x);
  const auto unary = [&](UnaryFunction function, TensorId a) {
    return node.Unary(a, {function, 0.0F, 0.0F});
  };
  const TensorId zero = node.Scalar("zero", dtype, 0.0);
  const TensorId pi = node.Scalar("pi", dtype, 3.14159265358979323846);
  TENON_ASSIGN_OR_RETURN(const TensorId height, unary(UnaryFunction::kAbs, y));
  TENON_ASSIGN_OR_RETURN(const TensorId width, unary(UnaryFunction::kAbs, x));
  TENON_ASSIGN_OR_RETURN(const TensorId slope, node.Binary(BinaryFunction::kDiv, height, width));
  TENON_ASSIGN_OR_RETURN(const TensorId steep, unary(UnaryFunction::kAtan, slope));
  TENON_ASSIGN_OR_RETURN(const TensorId flat, node.Binary(BinaryFunction::kEqual, height, zero));
  TENON_ASSIGN_OR_RETURN(const TensorId acute, Chosen(node, flat, zero, steep));
  TENON_ASSIGN_OR_RETURN(const TensorId obtuse, node.Binary(BinaryFunction::kSub, pi, acute));
  TENON_ASSIGN_OR_RETURN(const TensorId left, HasSign(node, x));
  TENON_ASSIGN_OR_RETURN(const TensorId angle, Chosen(node, left, obtuse, acute));
  TENON_ASSIGN_OR_RETURN(const TensorId below, HasSign(node, y));
  TENON_ASSIGN_OR_RETURN(const TensorId negated, unary(UnaryFunction::kNeg, angle));
  TENON_ASSIGN_OR_RETURN(const TensorId z, Chosen(node, below, negated, angle));
  return node.SetOutput(0, z, operands.order);
}

Status LowerCompare(Node& node) {
  const auto* options = node.stored().builtin_options_2_as_StablehloCompareOptions();
  if (options == nullptr) return InputError("its options are missing");
  using format::ComparisonDirection;
  TENON_ASSIGN_OR_RETURN(const Operands x, node.Aligned({0, 1}));
  BinaryFunction function = BinaryFunction::kEqual;
  switch (options->comparison_direction()) {
    case ComparisonDirection::EQ:
      break;
    case ComparisonDirection::NE:
      return LowerNotEqual(node);
    case ComparisonDirection::GE:
      function = BinaryFunction::kGreaterOrEqual;
      break;
    case ComparisonDirection::GT:
      function = BinaryFunction::kGreater;
      break;
    case ComparisonDirection::LE:
      function = BinaryFunction::kLessOrEqual;
      break;
    case ComparisonDirection::LT:
      function = BinaryFunction::kLess;
      break;
    default:
      return InputError("its direction is not known");
  }
  TENON_ASSIGN_OR_RETURN(const TensorId z, node.Binary(function, x.ids[0], x.ids[1]));
  return node.SetOutput(0, z, x.order);
}

Status LowerSquaredDifference(Node& node) {
  TENON_ASSIGN_OR_RETURN(const Operands x, node.Aligned({0, 1}));
  TENON_ASSIGN_OR_RETURN(const TensorId difference,
                         node.Binary(BinaryFunction::kSub, x.ids[0], x.ids[1]));
  TENON_ASSIGN_OR_RETURN(const TensorId z,
                         node.Binary(BinaryFunction::kMul, difference, difference));
  return node.SetOutput(0, z, x.order);
}

Status LowerAddN(Node& node) {
  if (node.InputCount() < 1) return InputError("it has nothing to add");
  std::vector<int> all;
  for (int i = 0; i < node.InputCount(); ++i) all.push_back(i);
  TENON_ASSIGN_OR_RETURN(const Operands x, node.Aligned(all));
  TensorId sum = x.ids[0];
  for (size_t i = 1; i < x.ids.size(); ++i) {
    TENON_ASSIGN_OR_RETURN(sum, node.Binary(BinaryFunction::kAdd, sum, x.ids[i]));
  }
  return node.SetOutput(0, sum, x.order);
}

// SELECT (the older one) also takes a vector of conditions that choose whole rows.
Status LowerSelect(Node& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId condition, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(1));
  const Shape conditions = node.ShapeOf(condition);
  if (node.op() == Op::SELECT && conditions.rank == 1 && node.ShapeOf(x).rank > 1) {
    std::vector<int64_t> dims(static_cast<size_t>(node.ShapeOf(x).rank), 1);
    dims[0] = conditions[0];
    TENON_ASSIGN_OR_RETURN(const TensorId rows, node.Reshape(condition, dims));
    TENON_ASSIGN_OR_RETURN(const TensorId y, node.Input(2));
    TENON_ASSIGN_OR_RETURN(const TensorId z,
                           node.Emit(OpKind::kSelect, {rows, x, y}, Attributes()));
    return node.SetOutput(0, z);
  }
  TENON_ASSIGN_OR_RETURN(const Operands all, node.Aligned({0, 1, 2}));
  TENON_ASSIGN_OR_RETURN(const TensorId z, node.Emit(OpKind::kSelect, all.ids, Attributes()));
  return node.SetOutput(0, z, all.order);
}

}  // namespace tenon::converter::tflite
