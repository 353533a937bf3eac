// ScatterElements, ScatterND and Scatter. With known indices it is known of every element of the
// result where it comes from, so that a gather from the data and the updates makes it; others are
// the op scatter.
#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "converter/import/onnx/ops/indexing.hpp"
#include "converter/import/onnx/ops/ops.hpp"

namespace tenon::converter {
namespace {

/// As many updates of one element can be told apart.
constexpr size_t kMostLayers = 64;

/// How updates are joined with what is there; nothing: they replace it.
Result<std::optional<BinaryFunction>> ReadReduction(Lowering& node) {
  using Function = std::optional<BinaryFunction>;
  const std::string reduction =
      node.op_type() == "Scatter" ? "none" : node.Text("reduction", "none");
  if (reduction == "none") return Function();
  if (reduction == "add") return Function(BinaryFunction::kAdd);
  if (reduction == "mul") return Function(BinaryFunction::kMul);
  if (reduction == "max") return Function(BinaryFunction::kMax);
  if (reduction == "min") return Function(BinaryFunction::kMin);
  return InputError("reduction '{}' is not known", reduction);
}

/// Row r of the result is row `source[r]` of the data (rows from 0) followed by the updates.
Result<TensorId> TakeRows(Lowering& node, TensorId data, TensorId updates,
                          const std::vector<double>& source) {
  ConcatAttributes attributes;
  TENON_ASSIGN_OR_RETURN(const TensorId both,
                         node.Emit(OpKind::kConcat, {data, updates}, Attributes(attributes)));
  TENON_ASSIGN_OR_RETURN(const Shape rows, ShapeFromDims({static_cast<int64_t>(source.size())}));
  TENON_ASSIGN_OR_RETURN(const TensorId indices,
                         node.Constant("source", DType::kI64, rows, source));
  return EmitGather(node, both, indices, 0);
}

/// Rows of `data` [R, S] that `places` names get the rows of `updates` [P, S], in order.
Result<TensorId> ReplaceRows(Lowering& node, TensorId data, TensorId updates,
                             const std::vector<int64_t>& places) {
  const auto rows = static_cast<size_t>(node.ShapeOf(data)[0]);
  std::vector<double> source(rows);
  std::iota(source.begin(), source.end(), 0.0);
  for (size_t i = 0; i < places.size(); ++i) {
    source[static_cast<size_t>(places[i])] = static_cast<double>(rows + i);
  }
  return TakeRows(node, data, updates, source);
}

/// Only the rows that are updated are computed with; those updated several times, several times.
Result<TensorId> JoinRows(Lowering& node, TensorId data, TensorId updates,
                          const std::vector<int64_t>& places, BinaryFunction function) {
  std::vector<std::vector<size_t>> layers;
  std::unordered_map<int64_t, size_t> times;
  for (size_t i = 0; i < places.size(); ++i) {
    const size_t layer = times[places[i]]++;
    if (layer == kMostLayers) {
      return InputError("more than {} updates of one element are not supported", kMostLayers);
    }
    if (layer == layers.size()) layers.emplace_back();
    layers[layer].push_back(i);
  }
  for (const std::vector<size_t>& layer : layers) {
    std::vector<double> from_data;
    std::vector<double> from_updates;
    std::vector<int64_t> to;
    for (size_t i : layer) {
      to.push_back(places[i]);
      from_data.push_back(static_cast<double>(places[i]));
      from_updates.push_back(static_cast<double>(i));
    }
    TENON_ASSIGN_OR_RETURN(const Shape rows, ShapeFromDims({static_cast<int64_t>(to.size())}));
    TENON_ASSIGN_OR_RETURN(const TensorId old_rows,
                           node.Constant("rows", DType::kI64, rows, from_data));
    TENON_ASSIGN_OR_RETURN(const TensorId new_rows,
                           node.Constant("updates", DType::kI64, rows, from_updates));
    TENON_ASSIGN_OR_RETURN(const TensorId x, EmitGather(node, data, old_rows, 0));
    TENON_ASSIGN_OR_RETURN(const TensorId y, EmitGather(node, updates, new_rows, 0));
    TENON_ASSIGN_OR_RETURN(const TensorId joined, node.Binary(function, x, y));
    TENON_ASSIGN_OR_RETURN(data, ReplaceRows(node, data, joined, to));
  }
  return data;
}

ScatterFunction FunctionOf(const std::optional<BinaryFunction>& joins) {
  if (!joins) return ScatterFunction::kReplace;
  switch (*joins) {
    case BinaryFunction::kAdd:
      return ScatterFunction::kAdd;
    case BinaryFunction::kMul:
      return ScatterFunction::kMul;
    case BinaryFunction::kMax:
      return ScatterFunction::kMax;
    default:
      return ScatterFunction::kMin;
  }
}

/// Rows of `data` [R, S] that `places` names when the plan runs.
Result<TensorId> ScatterRows(Lowering& node, TensorId data, TensorId updates, TensorId places,
                             const std::optional<BinaryFunction>& function) {
  TENON_ASSIGN_OR_RETURN(places, node.Reshape(places, {node.ShapeOf(places).Elements()}));
  ScatterAttributes attributes;
  attributes.function = FunctionOf(function);
  return node.Emit(OpKind::kScatter, {data, places, updates}, Attributes(attributes));
}

/// `x` and `updates` as rows of `slice` elements; `places` names the rows of x.
Status EmitScatter(Lowering& node, TensorId x, TensorId places_id, TensorId updates,
                   int64_t slice) {
  const Shape shape = node.ShapeOf(x);
  if (slice == 0 || shape.Elements() == 0) return InputError("its data is empty");
  TENON_ASSIGN_OR_RETURN(const std::optional<BinaryFunction> function, ReadReduction(node));
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
  if (!node.graph().tensor(places_id).IsConstant()) {
    TENON_ASSIGN_OR_RETURN(const TensorId scattered,
                           ScatterRows(node, rows, updates, places_id, function));
    return node.Reshape(scattered, DimsOf(shape), 0).status();
  }
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> places, node.ConstantInts(places_id));
  TENON_ASSIGN_OR_RETURN(const TensorId y, function.has_value()
                                               ? JoinRows(node, rows, updates, places, *function)
                                               : ReplaceRows(node, rows, updates, places));
  return node.Reshape(y, DimsOf(shape), 0).status();
}

Status LowerScatterElements(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId indices, node.Input(1));
  TENON_ASSIGN_OR_RETURN(const TensorId updates, node.Input(2));
  const Shape shape = node.ShapeOf(x);
  TENON_ASSIGN_OR_RETURN(const int32_t axis, node.Axis(node.Int("axis", 0), shape.rank));
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

/// The size of MaxUnpool's output along dimension 2 + `i`, as MaxPool's input had it.
int32_t UnpooledSize(const Shape& x, const std::vector<int64_t>& kernel,
                     const std::vector<int64_t>& strides, const std::vector<int64_t>& pads,
                     size_t i) {
  const size_t spatial = kernel.size();
  const int64_t stride = strides.empty() ? 1 : strides[i];
  const int64_t padding = pads.empty() ? 0 : pads[i] + pads[i + spatial];
  return static_cast<int32_t>((x[static_cast<int32_t>(i) + 2] - 1) * stride + kernel[i] - padding);
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
  std::vector<int64_t> dims = DimsOf(shape);
  for (size_t i = 0; i < spatial; ++i) dims[i + 2] = UnpooledSize(shape, kernel, strides, pads, i);
  TENON_ASSIGN_OR_RETURN(const Shape pooled, ShapeFromDims(dims));
  TENON_ASSIGN_OR_RETURN(TensorId y, node.Scalar("zero", node.DTypeOf(x), 0));
  TENON_ASSIGN_OR_RETURN(const Shape flat, ShapeFromDims({pooled.Elements()}));
  TENON_ASSIGN_OR_RETURN(y, node.Expand(y, flat));
  TENON_ASSIGN_OR_RETURN(const TensorId updates, node.Reshape(x, {shape.Elements()}));
  TENON_ASSIGN_OR_RETURN(y, ScatterRows(node, y, updates, indices, std::nullopt));
  if (!node.HasInput(2)) return node.Reshape(y, dims, 0).status();
  TENON_ASSIGN_OR_RETURN(y, node.Reshape(y, dims));
  TENON_ASSIGN_OR_RETURN(const TensorId size_input, node.Input(2));
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, node.ConstantInts(size_input));
  if (sizes.size() != dims.size()) return InputError("output_shape has {} numbers", sizes.size());
  PadAttributes pad;
  pad.rank = shape.rank;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (sizes[i] < dims[i]) return InputError("output_shape is smaller than what was pooled");
    pad.ends[i] = static_cast<int32_t>(sizes[i] - dims[i]);
  }
  return node.Emit(OpKind::kPad, {y}, Attributes(pad), 0).status();
}

constexpr LoweringRow kRows[] = {
    {"MaxUnpool", LowerMaxUnpool, {}, "output_shape constant"},
    {"Scatter", LowerScatterElements},
    {"ScatterElements", LowerScatterElements},
    {"ScatterND", LowerScatterNd},
};

}  // namespace

constexpr Span<const LoweringRow> kScatterLowerings = kRows;

}  // namespace tenon::converter
