// Gemm and MatMul.
#include <algorithm>

#include "converter/import/onnx/ops/ops.hpp"

namespace tenon::converter {
namespace {

/// Says which types there are kernels for, before shape rules and boards say it in parts.
Status CheckFactor(Lowering& node, TensorId id) {
  const DType dtype = node.DTypeOf(id);
  if (dtype == DType::kF32 || dtype == DType::kF16) return {};
  return InputError(
      "its operands are {}: only products of f32 and f16 are computed (put a Cast before it)",
      DTypeName(dtype));
}

Status LowerGemm(Lowering& node) { return EmitGemm(node, 0).status(); }

/// x, which has no elements along `axis`, with one of 0 there: sums stay what they are.
Result<TensorId> WithZero(Lowering& node, TensorId x, int32_t axis) {
  Shape shape = node.ShapeOf(x);
  shape[axis] = 1;
  TENON_ASSIGN_OR_RETURN(const TensorId zero, node.Scalar("zero", node.DTypeOf(x), 0));
  return node.Expand(zero, shape);
}

Status LowerMatMul(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(TensorId a, node.Input(0));
  TENON_ASSIGN_OR_RETURN(TensorId b, node.Input(1));
  const Shape shape = node.ShapeOf(a);
  const Shape other = node.ShapeOf(b);
  if (shape.rank > 0 && other.rank > 0) {
    const int32_t inner = std::max(0, other.rank - 2);
    if (shape[shape.rank - 1] == 0 && other[inner] == 0) {
      TENON_ASSIGN_OR_RETURN(a, WithZero(node, a, shape.rank - 1));
      TENON_ASSIGN_OR_RETURN(b, WithZero(node, b, inner));
    }
  }
  return EmitMatMul(node, OpKind::kMatMul, {a, b}, Attributes(MatMulAttributes()), 0).status();
}

constexpr LoweringRow kGemmMatmulRows[] = {
    {"Gemm", LowerGemm, {}, kProductLimits},
    {"MatMul", LowerMatMul, {}, kProductLimits},
};

}  // namespace

Result<TensorId> Scaled(Lowering& node, TensorId x, double factor) {
  if (factor == 1.0) return x;
  const DType dtype = node.DTypeOf(x);
  if (!node.graph().tensor(x).IsConstant()) {
    TENON_ASSIGN_OR_RETURN(const TensorId scalar, node.Scalar("factor", dtype, factor));
    return node.Binary(BinaryFunction::kMul, x, scalar);
  }
  TENON_ASSIGN_OR_RETURN(std::vector<double> values, node.ConstantDoubles(x));
  for (double& value : values) value *= factor;
  return node.Constant("scaled", dtype, node.ShapeOf(x), values);
}

Result<TensorId> EmitGemm(Lowering& node, int output) {
  TENON_ASSIGN_OR_RETURN(TensorId a, node.Input(0));
  TENON_ASSIGN_OR_RETURN(TensorId b, node.Input(1));
  if (node.ShapeOf(a).rank != 2 || node.ShapeOf(b).rank != 2) {
    return InputError("its operands must have two dimensions");
  }
  TENON_RETURN_IF_ERROR(CheckFactor(node, a));
  const double alpha = node.Float("alpha", 1.0F);
  const double beta = node.Float("beta", 1.0F);
  if (node.opset() < 7) node.Ignore({"broadcast"});
  MatMulAttributes attributes;
  attributes.transpose_a = node.Flag("transA", false) ? 1 : 0;
  attributes.transpose_b = node.Flag("transB", false) ? 1 : 0;
  // One of the factors takes alpha: a constant one, so that nothing is left to do at run time.
  TensorId& scaled = node.graph().tensor(a).IsConstant() ? a : b;
  TENON_ASSIGN_OR_RETURN(scaled, Scaled(node, scaled, alpha));
  std::vector<TensorId> inputs = {a, b};
  if (node.HasInput(2) && beta != 0.0) {
    TENON_ASSIGN_OR_RETURN(TensorId c, node.Input(2));
    TENON_ASSIGN_OR_RETURN(c, Scaled(node, c, beta));
    inputs.push_back(c);
  }
  return node.Emit(OpKind::kMatMul, inputs, Attributes(attributes), output);
}

Result<TensorId> EmitMatMul(Lowering& node, OpKind kind, std::vector<TensorId> inputs,
                            const Attributes& attributes, int output) {
  TensorId& a = inputs[0];
  TensorId& b = inputs[1];
  if (kind == OpKind::kMatMul) TENON_RETURN_IF_ERROR(CheckFactor(node, a));
  const Shape a_shape = node.ShapeOf(a);
  const Shape b_shape = node.ShapeOf(b);
  if (a_shape.rank == 0 || b_shape.rank == 0) return InputError("an operand is a scalar");
  if (a_shape.rank > 1 && b_shape.rank > 1) return node.Emit(kind, inputs, attributes, output);
  if (a_shape.rank == 1) {
    TENON_ASSIGN_OR_RETURN(a, node.Reshape(a, {1, a_shape[0]}));
  }
  if (b_shape.rank == 1) {
    TENON_ASSIGN_OR_RETURN(b, node.Reshape(b, {b_shape[0], 1}));
  }
  TENON_ASSIGN_OR_RETURN(const TensorId product, node.Emit(kind, inputs, attributes));
  const Shape shape = node.ShapeOf(product);
  std::vector<int64_t> dims(shape.dims, shape.dims + shape.rank);
  if (b_shape.rank == 1) dims.pop_back();
  if (a_shape.rank == 1) dims.erase(dims.end() - (b_shape.rank == 1 ? 1 : 2));
  return node.Reshape(product, dims, output);
}

Status EmitMatMulWithBias(Lowering& node, TensorId a, TensorId b, int bias) {
  const Attributes attributes{MatMulAttributes()};
  if (!node.HasInput(bias)) {
    return EmitMatMul(node, OpKind::kMatMul, {a, b}, attributes, 0).status();
  }
  TENON_ASSIGN_OR_RETURN(const TensorId addend, node.Input(bias));
  TENON_ASSIGN_OR_RETURN(const TensorId product,
                         EmitMatMul(node, OpKind::kMatMul, {a, b}, attributes));
  return node.Binary(BinaryFunction::kAdd, product, addend, 0).status();
}

constexpr Span<const LoweringRow> kMatMulLowerings = kGemmMatmulRows;

}  // namespace tenon::converter
