// The Reduce operators.
#include <numeric>

#include "converter/import/onnx/ops/ops.hpp"

namespace tenon::converter {
namespace {

struct ReduceRow {
  std::string_view op_type;
  ReduceFunction function;
  int axes_input_since;     ///< opset in which `axes` became an input
  bool identity_on_single;  ///< reducing one element gives that element
  std::string_view limits;
};

constexpr std::string_view kFloats = "f32, f16 and f64";
constexpr std::string_view kNumbers = "f32, f16, f64, i32 and i64";
constexpr std::string_view kOrdered = "f32, f16, f64, i8, u8, i32, i64 and bool";

constexpr ReduceRow kReduceRows[] = {
    {"ReduceL1", ReduceFunction::kL1, 18, false, kNumbers},
    {"ReduceL2", ReduceFunction::kL2, 18, false, kFloats},
    {"ReduceLogSum", ReduceFunction::kLogSum, 18, false, kFloats},
    {"ReduceLogSumExp", ReduceFunction::kLogSumExp, 18, true, kFloats},
    {"ReduceMax", ReduceFunction::kMax, 18, true, kOrdered},
    {"ReduceMean", ReduceFunction::kMean, 18, true, kNumbers},
    {"ReduceMin", ReduceFunction::kMin, 18, true, kOrdered},
    {"ReduceProd", ReduceFunction::kProd, 18, true, kNumbers},
    {"ReduceSum", ReduceFunction::kSum, 13, true, kNumbers},
    {"ReduceSumSquare", ReduceFunction::kSumSquare, 18, false, kNumbers},
};

Result<std::vector<int64_t>> ReadAxes(Lowering& node, const ReduceRow& row) {
  if (node.opset() < row.axes_input_since) return node.Ints("axes");
  if (!node.HasInput(1)) return std::vector<int64_t>();
  TENON_ASSIGN_OR_RETURN(const TensorId axes, node.Input(1));
  return node.ConstantInts(axes);
}

/// Sums of sizes and squares of integers are sums of these, which take the place of x.
Result<ReduceFunction> SummedFunction(Lowering& node, ReduceFunction function, TensorId& x) {
  const DType dtype = node.DTypeOf(x);
  if (dtype != DType::kI32 && dtype != DType::kI64) return function;
  if (function == ReduceFunction::kL1) {
    TENON_ASSIGN_OR_RETURN(x, node.Unary(x, {UnaryFunction::kAbs, 0.0F, 0.0F}));
    return ReduceFunction::kSum;
  }
  if (function == ReduceFunction::kSumSquare) {
    TENON_ASSIGN_OR_RETURN(x, node.Binary(BinaryFunction::kMul, x, x));
    return ReduceFunction::kSum;
  }
  return function;
}

/// The reduction of x over `axes`, of which none given means all; the node's output, or an
/// intermediate result.
Result<TensorId> EmitReduce(Lowering& node, ReduceFunction function, TensorId x,
                            std::vector<int32_t> axes, int output) {
  const bool keep_dims = node.Flag("keepdims", true);
  const int32_t rank = node.ShapeOf(x).rank;
  if (rank == 0) {  // a scalar: reduced over an axis that is added for it
    TENON_ASSIGN_OR_RETURN(x, node.Reshape(x, {1}));
    return node.Reduce(function, x, {0}, false, output);
  }
  if (axes.empty()) {
    axes.resize(static_cast<size_t>(rank));
    std::iota(axes.begin(), axes.end(), 0);
  }
  return node.Reduce(function, x, axes, keep_dims, output);
}

Status LowerRow(Lowering& node, const ReduceRow& row) {
  TENON_ASSIGN_OR_RETURN(TensorId x, node.Input(0));
  const bool keep_dims = node.Flag("keepdims", true);
  TENON_ASSIGN_OR_RETURN(const ReduceFunction function, SummedFunction(node, row.function, x));
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> given, ReadAxes(node, row));
  const bool no_op_if_empty =
      node.opset() >= row.axes_input_since && node.Flag("noop_with_empty_axes", false);
  if (given.empty() && no_op_if_empty) {
    if (!row.identity_on_single) return node.Reduce(function, x, {}, keep_dims, 0).status();
    node.Alias(0, x);
    return {};
  }
  TENON_ASSIGN_OR_RETURN(const std::vector<int32_t> axes, node.Axes(given, node.ShapeOf(x).rank));
  const bool has_order = function == ReduceFunction::kMax || function == ReduceFunction::kMin;
  if (node.DTypeOf(x) != DType::kBool || !has_order) {
    return EmitReduce(node, function, x, axes, 0).status();
  }
  TENON_ASSIGN_OR_RETURN(x, node.Cast(x, DType::kU8));
  TENON_ASSIGN_OR_RETURN(x, EmitReduce(node, function, x, axes, kIntermediate));
  return node.Cast(x, DType::kBool, 0).status();
}

Status LowerReduce(Lowering& node) {
  for (const ReduceRow& row : kReduceRows) {
    if (row.op_type == node.op_type()) return LowerRow(node, row);
  }
  return InternalError("{} is not in the table of reductions", node.op_type());
}

Status LowerCumSum(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId given, node.Input(1));
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, node.ConstantInts(given));
  if (axes.size() != 1) return InputError("axis has {} elements instead of 1", axes.size());
  CumSumAttributes attributes;
  TENON_ASSIGN_OR_RETURN(attributes.axis, node.Axis(axes.front(), node.ShapeOf(x).rank));
  attributes.exclusive = node.Flag("exclusive", false) ? 1 : 0;
  attributes.reverse = node.Flag("reverse", false) ? 1 : 0;
  return node.Emit(OpKind::kCumSum, {x}, Attributes(attributes), 0).status();
}

constexpr LoweringRow kOtherReduceRows[] = {
    {"CumSum", LowerCumSum, {}, "axis constant; f32, f16, f64, i32 and i64"},
};
constexpr auto kReduceLoweringRows = RowsOf(kReduceRows, LowerReduce, kOtherReduceRows);

}  // namespace

constexpr Span<const LoweringRow> kReduceLowerings = TableOf(kReduceLoweringRows);

}  // namespace tenon::converter
