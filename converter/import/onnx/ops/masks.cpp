// ArgMax, ArgMin, Hardmax, Trilu, EyeLike: what is put together from comparisons with places.
#include <algorithm>
#include <numeric>

#include "converter/import/onnx/ops/indexing.hpp"
#include "converter/import/onnx/ops/ops.hpp"
#include "converter/ir/elements.hpp"
#include "converter/ir/shapes.hpp"

namespace tenon::converter {
namespace {

/// x with the elements along `axis` in the opposite order.
Result<TensorId> Reversed(Lowering& node, TensorId x, int32_t axis) {
  const Shape shape = node.ShapeOf(x);
  const int32_t size = shape[axis];
  return size < 2 ? x : node.Slice(x, SliceAlong(shape, axis, size - 1, size, -1));
}

/// PlaceOf floats: top_k has a place for what is not a number.
Result<TensorId> PlaceOfFloat(Lowering& node, TensorId x, int32_t axis, bool smallest, bool last) {
  const int32_t size = node.ShapeOf(x)[axis];
  if (last) {
    TENON_ASSIGN_OR_RETURN(x, Reversed(node, x, axis));
  }
  TopKAttributes attributes;
  attributes.axis = axis;
  attributes.smallest = smallest ? 1 : 0;
  TENON_ASSIGN_OR_RETURN(TensorId place, node.Emit(OpKind::kTopK, {x}, Attributes(attributes)));
  if (last) {
    TENON_ASSIGN_OR_RETURN(const TensorId end, node.Scalar("end", DType::kI64, size - 1));
    TENON_ASSIGN_OR_RETURN(place, node.Binary(BinaryFunction::kSub, end, place));
  }
  return place;
}

/// The first (or last) place along `axis` of the largest (or smallest) element of x; i32 or i64,
/// the axis stays with size 1. Of integers, the places that do not hold it get one that loses.
Result<TensorId> PlaceOf(Lowering& node, TensorId x, int32_t axis, bool smallest, bool last) {
  TENON_ASSIGN_OR_RETURN(x, Ordered(node, x));
  if (IsFloat(node.DTypeOf(x))) return PlaceOfFloat(node, x, axis, smallest, last);
  const Shape shape = node.ShapeOf(x);
  const auto extremum = smallest ? ReduceFunction::kMin : ReduceFunction::kMax;
  TENON_ASSIGN_OR_RETURN(const TensorId best, node.Reduce(extremum, x, {axis}, true));
  TENON_ASSIGN_OR_RETURN(const TensorId is_best, node.Binary(BinaryFunction::kEqual, x, best));
  TENON_ASSIGN_OR_RETURN(const TensorId iota,
                         Iota(node, DType::kI32, shape[axis], axis, shape.rank));
  TENON_ASSIGN_OR_RETURN(const TensorId loser,
                         node.Scalar("loser", DType::kI32, last ? 0 : shape[axis] - 1));
  TENON_ASSIGN_OR_RETURN(const TensorId places, Select(node, is_best, iota, loser));
  return node.Reduce(last ? ReduceFunction::kMax : ReduceFunction::kMin, places, {axis}, true);
}

Status LowerArgument(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const int32_t axis, node.Axis(node.Int("axis", 0), node.ShapeOf(x).rank));
  const bool last = node.Flag("select_last_index", false);
  TENON_ASSIGN_OR_RETURN(TensorId place, PlaceOf(node, x, axis, node.op_type() == "ArgMin", last));
  if (!node.Flag("keepdims", true)) {
    std::vector<int64_t> dims = DimsOf(node.ShapeOf(place));
    dims.erase(dims.begin() + axis);
    TENON_ASSIGN_OR_RETURN(place, node.Reshape(place, dims));
  }
  return node.Cast(place, DType::kI64, 0).status();
}

// 1 at the first largest element, 0 elsewhere. Before opset 13 the dimensions from `axis` on are
// one.
Status LowerHardmax(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(TensorId x, node.Input(0));
  const Shape shape = node.ShapeOf(x);
  const bool flattens = node.opset() < 13;
  TENON_ASSIGN_OR_RETURN(int32_t axis, node.Axis(node.Int("axis", flattens ? 1 : -1), shape.rank));
  if (shape.Elements() == 0) {
    node.Alias(0, x);
    return {};
  }
  if (flattens) {
    TENON_ASSIGN_OR_RETURN(x, node.Reshape(x, {ElementsBetween(shape, 0, axis),
                                               ElementsBetween(shape, axis, shape.rank)}));
    axis = 1;
  }
  const Shape seen = node.ShapeOf(x);
  TENON_ASSIGN_OR_RETURN(const TensorId place, PlaceOf(node, x, axis, false, false));
  TENON_ASSIGN_OR_RETURN(const TensorId iota,
                         Iota(node, node.DTypeOf(place), seen[axis], axis, seen.rank));
  TENON_ASSIGN_OR_RETURN(const TensorId hot, node.Binary(BinaryFunction::kEqual, iota, place));
  const DType dtype = node.DTypeOf(x);
  if (!flattens) return node.Cast(hot, dtype, 0).status();
  TENON_ASSIGN_OR_RETURN(const TensorId y, node.Cast(hot, dtype));
  return node.Reshape(y, DimsOf(shape), 0).status();
}

Status LowerTrilu(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  const Shape shape = node.ShapeOf(x);
  if (shape.rank < 2) return InputError("its input has {} dimensions, 2 are wanted", shape.rank);
  int64_t k = 0;
  if (node.HasInput(1)) {
    TENON_ASSIGN_OR_RETURN(const TensorId input, node.Input(1));
    TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> values, node.ConstantInts(input));
    if (values.size() != 1) return InputError("k must be one number");
    k = values[0];
  }
  const bool upper = node.Flag("upper", true);
  const int64_t rows = shape[shape.rank - 2];
  const int64_t columns = shape[shape.rank - 1];
  TENON_ASSIGN_OR_RETURN(const Shape matrix, ShapeFromDims({rows, columns}));
  TENON_RETURN_IF_ERROR(node.CheckRoomForBytes(rows * columns));
  TensorData data{DType::kBool, matrix,
                  std::vector<std::byte>(static_cast<size_t>(rows * columns))};
  auto kept = data.bytes.begin();
  for (int64_t i = 0; i < rows; ++i) {
    // k may be any 64-bit number: it is compared with, not added.
    for (int64_t j = 0; j < columns; ++j) *kept++ = std::byte(upper ? j - i >= k : j - i <= k);
  }
  TENON_ASSIGN_OR_RETURN(const TensorId mask, node.Constant("mask", std::move(data)));
  TENON_ASSIGN_OR_RETURN(const TensorId zero, node.Scalar("zero", node.DTypeOf(x), 0));
  return Select(node, mask, x, zero, 0).status();
}

Status LowerEyeLike(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  const Shape shape = node.ShapeOf(x);
  if (shape.rank != 2) return InputError("its input has {} dimensions instead of 2", shape.rank);
  DType dtype = node.DTypeOf(x);
  if (node.HasAttribute("dtype")) {
    TENON_ASSIGN_OR_RETURN(dtype, DTypeFromOnnx(node.Int32("dtype", 0)));
  }
  const int64_t k = node.Int("k", 0);
  const int64_t bytes = shape.Elements() * DTypeBytes(dtype);
  TENON_RETURN_IF_ERROR(node.CheckRoomForBytes(bytes));
  TensorData data{dtype, shape, std::vector<std::byte>(static_cast<size_t>(bytes))};
  const std::vector<std::byte> one = WriteElements(dtype, {1.0});
  for (int64_t i = 0; i < shape[0]; ++i) {
    // k may be any 64-bit number: it is compared with before it is added.
    if (k < -i || k >= shape[1] - i) continue;
    std::copy(one.begin(), one.end(),
              data.bytes.begin() + (i * shape[1] + i + k) * static_cast<int64_t>(one.size()));
  }
  return node.ConstantOutput(0, std::move(data));
}

constexpr std::string_view kArgumentLimits = "not u64; NaN counts as the largest";

constexpr LoweringRow kMasksRows[] = {
    {"ArgMax", LowerArgument, {}, kArgumentLimits},
    {"ArgMin", LowerArgument, {}, kArgumentLimits},
    {"EyeLike", LowerEyeLike},
    {"Hardmax", LowerHardmax},
    {"Trilu", LowerTrilu, {}, "k constant"},
    {"Trilu", LowerTrilu, "com.microsoft", "k constant"},
};

}  // namespace

constexpr Span<const LoweringRow> kMaskLowerings = kMasksRows;

}  // namespace tenon::converter
