// ScatterElements, ScatterND, Scatter, TensorScatter and MaxUnpool, by the op scatter on rows.
#include "converter/import/onnx/ops/indexing.hpp"
#include "converter/import/onnx/ops/ops.hpp"

namespace tenon::converter {
namespace {

/// How updates are joined with what is there.
Result<ScatterFunction> ReadReduction(Lowering& node) {
  const std::string reduction =
      node.op_type() == "Scatter" ? "none" : node.Text("reduction", "none");
  if (reduction == "none") return ScatterFunction::kReplace;
  if (reduction == "add") return ScatterFunction::kAdd;
  if (reduction == "mul") return ScatterFunction::kMul;
  if (reduction == "max") return ScatterFunction::kMax;
  if (reduction == "min") return ScatterFunction::kMin;
  return InputError("reduction '{}' is not known", reduction);
}

/// The rows of `data` [R, S] that `places` names, and those of `updates` [P, S].
Result<TensorId> ScatterRows(Lowering& node, TensorId data, TensorId updates, TensorId places,
                             ScatterFunction function) {
  TENON_ASSIGN_OR_RETURN(places, node.Reshape(places, {node.ShapeOf(places).Elements()}));
  ScatterAttributes attributes;
  attributes.function = function;
  return node.Emit(OpKind::kScatter, {data, places, updates}, Attributes(attributes));
}

/// `x` and `updates` as rows of `slice` elements; `places` names the rows of x.
Status EmitScatter(Lowering& node, TensorId x, TensorId places_id, TensorId updates,
                   int64_t slice) {
  const Shape shape = node.ShapeOf(x);
  if (slice == 0 || shape.Elements() == 0) return InputError("its data is empty");
  TENON_ASSIGN_OR_RETURN(const ScatterFunction function, ReadReduction(node));
  const int64_t count = node.ShapeOf(places_id).Elements();
  if (count == 0) {
    node.Alias(0, x);
    return {};
  }
  if (count * slice != node.ShapeOf(updates).Elements()) {
    return InputError("its updates have {} elements for {} indices",
                      node.ShapeOf(updates).Elements(), count);
  }
  TENON_ASSIGN_OR_RETURN(const TensorId rows, node.Reshape(x, {shape.Elements() / slice, slice}));
  TENON_ASSIGN_OR_RETURN(updates, node.Reshape(updates, {count, slice}));
  TENON_ASSIGN_OR_RETURN(const TensorId y, ScatterRows(node, rows, updates, places_id, function));
  return node.Reshape(y, DimsOf(shape), 0).status();
}

Status LowerScatterElements(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId indices, node.Input(1));
  TENON_ASSIGN_OR_RETURN(const TensorId updates, node.Input(2));
  const Shape shape = node.ShapeOf(x);
  TENON_ASSIGN_OR_RETURN(const int32_t axis, node.Axis(node.Int("axis", 0), shape.rank));
  TENON_ASSIGN_OR_RETURN(const TensorId rows, IndicesOfRows(node, shape, indices, axis));
  if (rows != kNone && node.ShapeOf(updates) == node.ShapeOf(indices)) {
    TENON_ASSIGN_OR_RETURN(const TensorId places, Offsets(node, rows, {shape[axis]}, {1}));
    return EmitScatter(node, x, places, updates, ElementsBetween(shape, axis + 1, shape.rank));
  }
  TENON_ASSIGN_OR_RETURN(const TensorId places, ElementPlaces(node, shape, indices, axis));
  return EmitScatter(node, x, places, updates, 1);
}

Status LowerScatterNd(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId indices, node.Input(1));
  TENON_ASSIGN_OR_RETURN(const TensorId updates, node.Input(2));
  const Shape shape = node.ShapeOf(x);
  TENON_ASSIGN_OR_RETURN(const TensorId places, SlicePlaces(node, shape, indices, 0));
  const Shape index_shape = node.ShapeOf(indices);
  const int32_t taken = index_shape[index_shape.rank - 1];
  return EmitScatter(node, x, places, updates, ElementsBetween(shape, taken, shape.rank));
}

/// Where each batch's updates begin along an axis of `size` places, [B, 1, 1].
Result<TensorId> WriteIndices(Lowering& node, int64_t batches, int64_t size, int64_t updates,
                              bool circular) {
  if (!node.HasInput(2)) return node.Scalar("begin", DType::kI64, 0);
  TENON_ASSIGN_OR_RETURN(TensorId begin, node.Input(2));
  if (node.ShapeOf(begin) != Shape({static_cast<int32_t>(batches)})) {
    return InputError("it has not one of write_indices for each of {} batches", batches);
  }
  if (!circular) {
    TENON_ASSIGN_OR_RETURN(begin, InRange(node, begin, size - updates + 1, "write_indices"));
    return node.Reshape(begin, {batches, 1, 1});
  }
  if (node.graph().tensor(begin).IsConstant()) {
    TENON_RETURN_IF_ERROR(NotNegative(node, begin, "write_indices").status());
  }
  // Those below 0 stay so, and are reported.
  TENON_ASSIGN_OR_RETURN(begin, node.Cast(begin, DType::kI64));
  TENON_ASSIGN_OR_RETURN(const TensorId turn,
                         node.Scalar("turn", DType::kI64, static_cast<double>(size)));
  TENON_ASSIGN_OR_RETURN(const TensorId zero, node.Scalar("zero", DType::kI64, 0));
  TENON_ASSIGN_OR_RETURN(const TensorId turned, node.Binary(BinaryFunction::kMod, begin, turn));
  TENON_ASSIGN_OR_RETURN(const TensorId below, node.Binary(BinaryFunction::kLess, begin, zero));
  TENON_ASSIGN_OR_RETURN(begin, Select(node, below, begin, turned));
  TENON_ASSIGN_OR_RETURN(begin, InRange(node, begin, size, "write_indices"));
  return node.Reshape(begin, {batches, 1, 1});
}

// Rows are what follows the axis: those of the updates go where each batch's are to begin.
Status LowerTensorScatter(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId updates, node.Input(1));
  const std::string mode = node.Text("mode", "linear");
  if (mode != "linear" && mode != "circular") return InputError("mode '{}' is not known", mode);
  const Shape shape = node.ShapeOf(x);
  TENON_ASSIGN_OR_RETURN(const int32_t axis, node.Axis(node.Int("axis", -2), shape.rank));
  const Shape given = node.ShapeOf(updates);
  Shape wanted = shape;
  if (axis < given.rank) wanted[axis] = given[axis];
  if (axis == 0 || given != wanted || given[axis] > shape[axis]) {
    return InputError("its updates have shape {} for {}, along axis {}",
                      fmt::join(DimsOf(given), "x"), fmt::join(DimsOf(shape), "x"), axis);
  }
  const int64_t size = shape[axis];
  const int64_t count = given[axis];
  if (shape.Elements() == 0 || count == 0) {
    node.Alias(0, x);
    return {};
  }
  const int64_t outer = ElementsBetween(shape, 1, axis);
  const bool circular = mode == "circular";
  TENON_ASSIGN_OR_RETURN(TensorId places, WriteIndices(node, shape[0], size, count, circular));
  TENON_ASSIGN_OR_RETURN(const TensorId steps, Iota(node, DType::kI64, count, 2, 3));
  TENON_ASSIGN_OR_RETURN(places, node.Binary(BinaryFunction::kAdd, places, steps));
  if (circular) {
    TENON_ASSIGN_OR_RETURN(const TensorId turn,
                           node.Scalar("turn", DType::kI64, static_cast<double>(size)));
    TENON_ASSIGN_OR_RETURN(places, node.Binary(BinaryFunction::kMod, places, turn));
  }
  TENON_RETURN_IF_ERROR(node.CheckRoomFor(shape[0] * outer));
  std::vector<double> starts(static_cast<size_t>(shape[0] * outer));
  for (size_t i = 0; i < starts.size(); ++i)
    starts[i] = static_cast<double>(i) * static_cast<double>(size);
  TENON_ASSIGN_OR_RETURN(const Shape by_batch, ShapeFromDims({shape[0], outer, 1}));
  TENON_ASSIGN_OR_RETURN(const TensorId first,
                         node.Constant("starts", DType::kI64, by_batch, starts));
  TENON_ASSIGN_OR_RETURN(places, node.Binary(BinaryFunction::kAdd, first, places));
  const int64_t row = ElementsBetween(shape, axis + 1, shape.rank);
  TENON_ASSIGN_OR_RETURN(const TensorId rows, node.Reshape(x, {shape.Elements() / row, row}));
  TENON_ASSIGN_OR_RETURN(const TensorId new_rows,
                         node.Reshape(updates, {given.Elements() / row, row}));
  TENON_ASSIGN_OR_RETURN(const TensorId y,
                         ScatterRows(node, rows, new_rows, places, ScatterFunction::kReplace));
  return node.Reshape(y, DimsOf(shape), 0).status();
}

/// The size of MaxUnpool's output along dimension 2 + `i`, as MaxPool's input had it.
int64_t UnpooledSize(const Shape& x, const std::vector<int64_t>& kernel,
                     const std::vector<int64_t>& strides, const std::vector<int64_t>& pads,
                     size_t i) {
  const size_t spatial = kernel.size();
  const int64_t stride = strides.empty() ? 1 : strides[i];
  const int64_t padding = pads.empty() ? 0 : pads[i] + pads[i + spatial];
  return (x[static_cast<int32_t>(i) + 2] - 1) * stride + kernel[i] - padding;
}

/// Every element goes where the pool's indices say it was; all else is 0. A larger output is
/// padded at the end.
Status LowerMaxUnpool(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId indices, node.Input(1));
  const Shape shape = node.ShapeOf(x);
  const std::vector<int64_t> kernel = node.Ints("kernel_shape");
  const std::vector<int64_t> strides = node.Ints("strides");
  const std::vector<int64_t> pads = node.Ints("pads");
  const size_t spatial = kernel.size();
  if (shape.rank < 3 || spatial != static_cast<size_t>(shape.rank) - 2 ||
      (!strides.empty() && strides.size() != spatial) ||
      (!pads.empty() && pads.size() != 2 * spatial)) {
    return InputError("its window does not fit an input of rank {}", shape.rank);
  }
  constexpr int64_t kMost = 1 << 28;
  for (const std::vector<int64_t>* numbers : {&kernel, &strides, &pads}) {
    for (const int64_t number : *numbers) {
      if (number < 0 || number > kMost)
        return InputError("{} in its window is out of range", number);
    }
  }
  std::vector<int64_t> dims = DimsOf(shape);
  for (size_t i = 0; i < spatial; ++i) dims[i + 2] = UnpooledSize(shape, kernel, strides, pads, i);
  TENON_ASSIGN_OR_RETURN(const Shape pooled, ShapeFromDims(dims));
  TENON_ASSIGN_OR_RETURN(TensorId y, node.Scalar("zero", node.DTypeOf(x), 0));
  TENON_ASSIGN_OR_RETURN(const Shape flat, ShapeFromDims({pooled.Elements()}));
  TENON_ASSIGN_OR_RETURN(y, node.Expand(y, flat));
  TENON_ASSIGN_OR_RETURN(const TensorId updates, node.Reshape(x, {shape.Elements()}));
  TENON_ASSIGN_OR_RETURN(y, ScatterRows(node, y, updates, indices, ScatterFunction::kReplace));
  if (!node.HasInput(2)) return node.Reshape(y, dims, 0).status();
  TENON_ASSIGN_OR_RETURN(y, node.Reshape(y, dims));
  TENON_ASSIGN_OR_RETURN(const TensorId size_input, node.Input(2));
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, node.ConstantInts(size_input));
  if (sizes.size() != dims.size()) return InputError("output_shape has {} numbers", sizes.size());
  TENON_RETURN_IF_ERROR(ShapeFromDims(sizes).status());
  PadAttributes pad;
  pad.rank = shape.rank;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (sizes[i] < dims[i]) return InputError("output_shape is smaller than what was pooled");
    pad.ends[i] = static_cast<int32_t>(sizes[i] - dims[i]);
  }
  return node.Emit(OpKind::kPad, {y}, Attributes(pad), 0).status();
}

constexpr std::string_view kScatterLimits = "with a reduction f32, f16, f64, i32 and i64";

constexpr LoweringRow kScatterRows[] = {
    {"MaxUnpool", LowerMaxUnpool, {}, "output_shape constant"},
    {"Scatter", LowerScatterElements},
    {"ScatterElements", LowerScatterElements, {}, kScatterLimits},
    {"ScatterND", LowerScatterNd, {}, kScatterLimits},
    {"TensorScatter", LowerTensorScatter},
};

}  // namespace

constexpr Span<const LoweringRow> kScatterLowerings = kScatterRows;

}  // namespace tenon::converter
