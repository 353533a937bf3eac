// The QLinear operators of com.microsoft but for GEMMs.
#include <numeric>

#include "converter/import/onnx/ops/ops.hpp"
#include "converter/import/onnx/ops/quantization.hpp"
#include "converter/import/onnx/ops/window.hpp"

namespace tenon::converter {
namespace {

Status RefuseChannelsLast(Lowering& node) {
  if (node.Int("channels_last", 0) == 0) return {};
  return InputError("channels_last is not supported");
}

// a, b and the result: tensor, scale and zero point of each.
Status LowerQLinearBinary(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId a, DequantizedInput(node, {0, 1, 2}));
  TENON_ASSIGN_OR_RETURN(const TensorId b, DequantizedInput(node, {3, 4, 5}));
  const auto function =
      node.op_type() == "QLinearMul" ? BinaryFunction::kMul : BinaryFunction::kAdd;
  TENON_ASSIGN_OR_RETURN(const TensorId y, node.Binary(function, a, b));
  return QuantizeOutput(node, y, {kNone, 6, 7});
}

Status LowerQLinearUnary(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, DequantizedInput(node, {0, 1, 2}));
  UnaryAttributes attributes;
  attributes.function = UnaryFunction::kSigmoid;
  if (node.op_type() == "QLinearLeakyRelu") {
    attributes.function = UnaryFunction::kLeakyRelu;
    attributes.a = node.Float("alpha", 0.01F);
  }
  TENON_ASSIGN_OR_RETURN(const TensorId y, node.Unary(x, attributes));
  return QuantizeOutput(node, y, {kNone, 3, 4});
}

Status LowerQLinearAveragePool(Lowering& node) {
  TENON_RETURN_IF_ERROR(RefuseChannelsLast(node));
  TENON_ASSIGN_OR_RETURN(TensorId x, DequantizedInput(node, {0, 1, 2}));
  const Shape shape = node.ShapeOf(x);
  TENON_ASSIGN_OR_RETURN(const Window window, ReadWindow(node, shape, node.Ints("kernel_shape")));
  PoolAttributes attributes;
  SetWindow(window, attributes);
  std::copy_n(window.kernel, 2, attributes.kernel);
  attributes.ceil_mode = node.Flag("ceil_mode", false) ? 1 : 0;
  attributes.count_include_pad = node.Flag("count_include_pad", false) ? 1 : 0;
  TENON_ASSIGN_OR_RETURN(x, WithHeight(node, x));
  TENON_ASSIGN_OR_RETURN(TensorId y, node.Emit(OpKind::kAveragePool, {x}, Attributes(attributes)));
  if (shape.rank == 3) {
    const Shape pooled = node.ShapeOf(y);
    TENON_ASSIGN_OR_RETURN(y, node.Reshape(y, {pooled[0], pooled[1], pooled[3]}));
  }
  return QuantizeOutput(node, y, {kNone, 3, 4});
}

Status LowerQLinearGlobalAveragePool(Lowering& node) {
  TENON_RETURN_IF_ERROR(RefuseChannelsLast(node));
  TENON_ASSIGN_OR_RETURN(const TensorId x, DequantizedInput(node, {0, 1, 2}));
  const int32_t rank = node.ShapeOf(x).rank;
  if (rank < 3) return InputError("its input has {} dimensions, no spatial one", rank);
  std::vector<int32_t> axes(static_cast<size_t>(rank - 2));
  std::iota(axes.begin(), axes.end(), 2);
  TENON_ASSIGN_OR_RETURN(const TensorId y, node.Reduce(ReduceFunction::kMean, x, axes, true));
  return QuantizeOutput(node, y, {kNone, 3, 4});
}

Status LowerQLinearReduceMean(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, DequantizedInput(node, {0, 1, 2}));
  const int32_t rank = node.ShapeOf(x).rank;
  if (rank == 0) return InputError("its input is a scalar");
  TENON_ASSIGN_OR_RETURN(std::vector<int32_t> axes, node.Axes(node.Ints("axes"), rank));
  if (axes.empty()) {
    axes.resize(static_cast<size_t>(rank));
    std::iota(axes.begin(), axes.end(), 0);
  }
  TENON_ASSIGN_OR_RETURN(const TensorId y,
                         node.Reduce(ReduceFunction::kMean, x, axes, node.Flag("keepdims", true)));
  return QuantizeOutput(node, y, {kNone, 3, 4});
}

// The result's scale and zero point, then tensor, scale and zero point of each operand.
Status LowerQLinearConcat(Lowering& node) {
  const int count = node.InputCount();
  if (count < 5 || (count - 2) % 3 != 0) return InputError("it has {} inputs", count);
  std::vector<TensorId> parts;
  for (int i = 2; i < count; i += 3) {
    TENON_ASSIGN_OR_RETURN(const TensorId part, DequantizedInput(node, {i, i + 1, i + 2}));
    parts.push_back(part);
  }
  ConcatAttributes attributes;
  if (!node.HasAttribute("axis")) return InputError("attribute 'axis' is missing");
  TENON_ASSIGN_OR_RETURN(attributes.axis,
                         node.Axis(node.Int("axis", 0), node.ShapeOf(parts.front()).rank));
  TENON_ASSIGN_OR_RETURN(const TensorId y,
                         node.Emit(OpKind::kConcat, parts, Attributes(attributes)));
  return QuantizeOutput(node, y, {kNone, 0, 1});
}

// Says itself which version of Softmax it contains.
Status LowerQLinearSoftmax(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, DequantizedInput(node, {0, 1, 2}));
  const bool flattens = node.Int("opset", 13) < 13;
  TENON_ASSIGN_OR_RETURN(const TensorId y, EmitSoftmax(node, x, flattens, /*log=*/false));
  return QuantizeOutput(node, y, {kNone, 3, 4});
}

constexpr std::string_view kChannelsFirst = "channels_last 0";

constexpr LoweringRow kQuantizedOpsRows[] = {
    {"QLinearAdd", LowerQLinearBinary, "com.microsoft"},
    {"QLinearAveragePool", LowerQLinearAveragePool, "com.microsoft", kChannelsFirst},
    {"QLinearConcat", LowerQLinearConcat, "com.microsoft"},
    {"QLinearGlobalAveragePool", LowerQLinearGlobalAveragePool, "com.microsoft", kChannelsFirst},
    {"QLinearLeakyRelu", LowerQLinearUnary, "com.microsoft"},
    {"QLinearMul", LowerQLinearBinary, "com.microsoft"},
    {"QLinearReduceMean", LowerQLinearReduceMean, "com.microsoft"},
    {"QLinearSigmoid", LowerQLinearUnary, "com.microsoft"},
    {"QLinearSoftmax", LowerQLinearSoftmax, "com.microsoft"},
};

}  // namespace

constexpr Span<const LoweringRow> kQuantizedLowerings = kQuantizedOpsRows;

}  // namespace tenon::converter
