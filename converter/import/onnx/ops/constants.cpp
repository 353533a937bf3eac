// Operators whose results are known at conversion.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "converter/import/onnx/ops/ops.hpp"
#include "converter/ir/elements.hpp"

namespace tenon::converter {
namespace {

/// Larger filled tensors are expanded from one element instead of stored.
constexpr int64_t kLargestFill = 4096;
/// A Range longer than this is taken for a mistake or an attack.
constexpr double kLongestRange = 16.0 * 1024 * 1024;

template <typename T>
TensorData DataOf(DType dtype, const Shape& shape, const std::vector<T>& values) {
  TensorData data{dtype, shape, std::vector<std::byte>(values.size() * sizeof(T))};
  if (!values.empty()) std::memcpy(data.bytes.data(), values.data(), data.bytes.size());
  return data;
}

Shape VectorShape(size_t count) {
  Shape shape;
  shape.rank = 1;
  shape.dims[0] = static_cast<int32_t>(count);
  return shape;
}

Status IntsOutput(Lowering& node, const std::vector<int64_t>& values, const Shape& shape) {
  return node.ConstantOutput(0, DataOf(DType::kI64, shape, values));
}

/// The one value of a constant operand of Range, in its own type's widest form.
Result<double> ScalarOperand(Lowering& node, int index) {
  TENON_ASSIGN_OR_RETURN(const TensorId input, node.Input(index));
  TENON_ASSIGN_OR_RETURN(const std::vector<double> value, node.ConstantDoubles(input));
  if (value.size() != 1) return InputError("input {} is not a scalar", index);
  return value[0];
}

Status LowerConstant(Lowering& node) {
  if (node.HasAttribute("value")) {
    const onnx::TensorProto* tensor = node.TensorAttribute("value");
    if (tensor == nullptr) return {};  // reported by CheckAttributes
    TENON_ASSIGN_OR_RETURN(TensorData data, ReadTensor(*tensor, node.folder()));
    return node.ConstantOutput(0, std::move(data));
  }
  if (node.HasAttribute("value_int")) {
    return IntsOutput(node, {node.Int("value_int", 0)}, Shape());
  }
  if (node.HasAttribute("value_ints")) {
    const std::vector<int64_t> values = node.Ints("value_ints");
    return IntsOutput(node, values, VectorShape(values.size()));
  }
  if (node.HasAttribute("value_float")) {
    const std::vector<float> value = {node.Float("value_float", 0.0F)};
    return node.ConstantOutput(0, DataOf(DType::kF32, Shape(), value));
  }
  if (node.HasAttribute("value_floats")) {
    const std::vector<float> values = node.Floats("value_floats");
    return node.ConstantOutput(0, DataOf(DType::kF32, VectorShape(values.size()), values));
  }
  return InputError("only numbers are supported as its value");
}

Status LowerConstantOfShape(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId input, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, node.ConstantInts(input));
  TENON_ASSIGN_OR_RETURN(const Shape shape, ShapeFromDims(dims));
  TensorData element{DType::kF32, Shape(), std::vector<std::byte>(sizeof(float))};
  if (const onnx::TensorProto* value = node.TensorAttribute("value")) {
    TENON_ASSIGN_OR_RETURN(element, ReadTensor(*value, node.folder()));
    if (element.shape.Elements() != 1) return InputError("its value must have one element");
    if (element.packed_bits != 0) return InputError("its value has less than a byte");
    element.shape = Shape();
  }
  if (shape.Elements() > kLargestFill) {
    TENON_ASSIGN_OR_RETURN(const TensorId scalar, node.Constant("value", std::move(element)));
    return node.Expand(scalar, shape, 0).status();
  }
  TensorData data{element.dtype, shape, {}};
  for (int64_t i = 0; i < shape.Elements(); ++i) {
    data.bytes.insert(data.bytes.end(), element.bytes.begin(), element.bytes.end());
  }
  return node.ConstantOutput(0, std::move(data));
}

Status LowerShape(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  const Shape shape = node.ShapeOf(x);
  const auto clamp = [&](int64_t axis) {
    return std::clamp<int64_t>(axis < 0 ? axis + shape.rank : axis, 0, shape.rank);
  };
  const int64_t start = clamp(node.Int("start", 0));
  const int64_t end = std::max(start, clamp(node.Int("end", shape.rank)));
  const std::vector<int64_t> dims(shape.dims + start, shape.dims + end);
  return IntsOutput(node, dims, VectorShape(dims.size()));
}

Status LowerSize(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  return IntsOutput(node, {node.ShapeOf(x).Elements()}, Shape());
}

Status LowerRange(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const double start, ScalarOperand(node, 0));
  TENON_ASSIGN_OR_RETURN(const double limit, ScalarOperand(node, 1));
  double delta = 1;  // of com.microsoft it may be absent
  if (node.HasInput(2)) {
    TENON_ASSIGN_OR_RETURN(delta, ScalarOperand(node, 2));
  }
  TENON_ASSIGN_OR_RETURN(const TensorId first, node.Input(0));
  const DType dtype = node.DTypeOf(first);
  if (delta == 0.0) return InputError("its delta is 0");
  const double count = std::max(0.0, std::ceil((limit - start) / delta));
  if (!(count <= kLongestRange)) return InputError("its operands give too many elements");
  std::vector<double> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = start + static_cast<double>(i) * delta;
  return node.ConstantOutput(
      0, TensorData{dtype, VectorShape(values.size()), WriteElements(dtype, values)});
}

constexpr LoweringRow kConstantsRows[] = {
    {"Constant", LowerConstant},
    {"ConstantOfShape", LowerConstantOfShape},
    {"Range", LowerRange, {}, "its inputs constant"},
    {"Range", LowerRange, "com.microsoft", "its inputs constant"},
    {"Shape", LowerShape},
    {"Size", LowerSize},
};

}  // namespace

constexpr Span<const LoweringRow> kConstantLowerings = kConstantsRows;

}  // namespace tenon::converter
