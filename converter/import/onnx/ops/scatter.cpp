// ScatterElements, ScatterND and Scatter with known indices: for every element of the result, where
// it comes from is known too, so that a gather from the data and the updates makes it.
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

/// `x` and `updates` as rows of `slice` elements; `places` (constant) names the rows of x.
Status EmitScatter(Lowering& node, TensorId x, TensorId places_id, TensorId updates,
                   int64_t slice) {
  const Shape shape = node.ShapeOf(x);
  if (slice == 0 || shape.Elements() == 0) return InputError("its data is empty");
  TENON_ASSIGN_OR_RETURN(const std::optional<BinaryFunction> function, ReadReduction(node));
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> places, node.ConstantInts(places_id));
  if (places.empty()) {
    node.Alias(0, x);
    return {};
  }
  if (static_cast<int64_t>(places.size()) * slice != node.ShapeOf(updates).Elements()) {
    return InputError("its updates have {} elements for {} indices",
                      node.ShapeOf(updates).Elements(), places.size());
  }
  TENON_ASSIGN_OR_RETURN(const TensorId rows, node.Reshape(x, {shape.Elements() / slice, slice}));
  TENON_ASSIGN_OR_RETURN(updates,
                         node.Reshape(updates, {static_cast<int64_t>(places.size()), slice}));
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
  TENON_RETURN_IF_ERROR(node.RequireConstant(indices));
  TENON_ASSIGN_OR_RETURN(const TensorId places, ElementPlaces(node, shape, indices, axis));
  return EmitScatter(node, x, places, updates, 1);
}

Status LowerScatterNd(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId indices, node.Input(1));
  TENON_ASSIGN_OR_RETURN(const TensorId updates, node.Input(2));
  const Shape shape = node.ShapeOf(x);
  TENON_RETURN_IF_ERROR(node.RequireConstant(indices));
  TENON_ASSIGN_OR_RETURN(const TensorId places, SlicePlaces(node, shape, indices, 0));
  const Shape index_shape = node.ShapeOf(indices);
  const int32_t taken = index_shape[index_shape.rank - 1];
  return EmitScatter(node, x, places, updates, ElementsBetween(shape, taken, shape.rank));
}

constexpr LoweringRow kRows[] = {
    {"Scatter", LowerScatterElements, {}, "indices constant"},
    {"ScatterElements", LowerScatterElements, {}, "indices constant"},
    {"ScatterND", LowerScatterNd, {}, "indices constant"},
};

}  // namespace

constexpr Span<const LoweringRow> kScatterLowerings = kRows;

}  // namespace tenon::converter
