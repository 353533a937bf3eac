// Functions of com.microsoft, which ONNX Runtime's optimiser puts together: GELUs, and sums that go
// before a function.
#include "converter/import/onnx/ops/ops.hpp"
#include "converter/ir/shapes.hpp"

namespace tenon::converter {
namespace {

/// Input 0 plus input 1, where that is there.
Result<TensorId> InputWithBias(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  if (!node.HasInput(1)) return x;
  TENON_ASSIGN_OR_RETURN(const TensorId bias, node.Input(1));
  return node.Binary(BinaryFunction::kAdd, x, bias);
}

Status LowerFusedGelu(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, InputWithBias(node));
  return node.Unary(x, {UnaryFunction::kGelu, 0.0F, 0.0F}, 0).status();
}

Status LowerFastGelu(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, InputWithBias(node));
  return node.Unary(x, {UnaryFunction::kGeluTanh, 0.0F, 0.0F}, 0).status();
}

/// x sigmoid(alpha x)
Result<TensorId> Swish(Lowering& node, TensorId x, float alpha, int output = kIntermediate) {
  if (alpha == 1.0F) return node.Unary(x, {UnaryFunction::kSilu, 0.0F, 0.0F}, output);
  TENON_ASSIGN_OR_RETURN(const TensorId scaled, Scaled(node, x, alpha));
  TENON_ASSIGN_OR_RETURN(const TensorId gate,
                         node.Unary(scaled, {UnaryFunction::kSigmoid, 0.0F, 0.0F}));
  return node.Binary(BinaryFunction::kMul, x, gate, output);
}

Status LowerQuickGelu(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  return Swish(node, x, node.Float("alpha", 1.702F), 0).status();
}

Status LowerSwish(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  return Swish(node, x, node.Float("alpha", 1.0F), 0).status();
}

Status LowerSwiGlu(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId y, node.Input(1));
  if (node.ShapeOf(x) != node.ShapeOf(y)) return InputError("its inputs have different shapes");
  TENON_ASSIGN_OR_RETURN(const TensorId gate, Swish(node, x, node.Float("alpha", 1.0F)));
  return node.Binary(BinaryFunction::kMul, gate, y, 0).status();
}

// A GELU's half beside another half: x' gelu(x''), of x plus a bias.
Status LowerBiasSplitGelu(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, InputWithBias(node));
  const Shape shape = node.ShapeOf(x);
  if (shape.rank < 1 || shape[shape.rank - 1] % 2 != 0) {
    return InputError("the last dimension of its input does not have two halves");
  }
  const int32_t axis = shape.rank - 1;
  const int64_t half = shape[axis] / 2;
  TENON_ASSIGN_OR_RETURN(const TensorId left, node.Slice(x, SliceAlong(shape, axis, 0, half)));
  TENON_ASSIGN_OR_RETURN(const TensorId right, node.Slice(x, SliceAlong(shape, axis, half, half)));
  TENON_ASSIGN_OR_RETURN(const TensorId gate,
                         node.Unary(right, {UnaryFunction::kGelu, 0.0F, 0.0F}));
  return node.Binary(BinaryFunction::kMul, left, gate, 0).status();
}

// x + bias + skip
Status LowerBiasAdd(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId sum, InputWithBias(node));
  TENON_ASSIGN_OR_RETURN(const TensorId skip, node.Input(2));
  return node.Binary(BinaryFunction::kAdd, sum, skip, 0).status();
}

// softmax(x + bias); whichever dimensions the bias lacks, its own say it by being 1.
Status LowerBiasSoftmax(Lowering& node) {
  node.Ignore({"is_inner_broadcast"});
  TENON_ASSIGN_OR_RETURN(const TensorId sum, InputWithBias(node));
  return EmitSoftmax(node, sum, true, false, 0).status();
}

constexpr LoweringRow kFusedFunctionsRows[] = {
    {"BiasAdd", LowerBiasAdd, "com.microsoft"},
    {"BiasGelu", LowerFusedGelu, "com.microsoft"},
    {"BiasSoftmax", LowerBiasSoftmax, "com.microsoft"},
    {"BiasSplitGelu", LowerBiasSplitGelu, "com.microsoft"},
    {"FastGelu", LowerFastGelu, "com.microsoft"},
    {"Gelu", LowerFusedGelu, "com.microsoft"},
    {"QuickGelu", LowerQuickGelu, "com.microsoft"},
    {"SwiGLU", LowerSwiGlu},
    {"Swish", LowerSwish},
};

}  // namespace

constexpr Span<const LoweringRow> kFusedFunctionLowerings = kFusedFunctionsRows;

}  // namespace tenon::converter
