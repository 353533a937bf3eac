// ARG_MAX, ARG_MIN, TOPK_V2, STABLEHLO_SORT and ONE_HOT: what is chosen by value, and by place.
#include <algorithm>
#include <numeric>

#include "converter/import/import_graph.hpp"
#include "converter/import/tflite/ops/ops.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

/// The one number that an input contains.
Result<int64_t> Number(Node& node, int index, std::string_view what) {
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> values, node.Ints(index));
  if (values.size() != 1) return InputError("its {} is no scalar", what);
  return values.front();
}

/// Places (i64) along the last axis of x as places in x flattened.
Result<TensorId> FlatPlaces(Node& node, const Shape& x, TensorId places) {
  const int64_t columns = x[x.rank - 1];
  const int64_t rows = x.Elements() / columns;
  const int64_t taken = node.ShapeOf(places)[x.rank - 1];
  TENON_ASSIGN_OR_RETURN(const TensorId starts,
                         node.Counted("rows", DType::kI64, rows, 0, 2, columns));
  TENON_ASSIGN_OR_RETURN(const TensorId matrix, node.Reshape(places, {rows, taken}));
  return node.Binary(BinaryFunction::kAdd, matrix, starts);
}

/// How STABLEHLO_SORT compares: the operand whose elements decide, and whether less comes first.
struct Comparison {
  int key = 0;
  bool ascending = true;
};

/// The comparator's parameters are the left and the right element of each operand.
Result<Comparison> ReadComparator(const Node& node, int32_t index) {
  const format::SubGraph* graph = node.GraphAt(index);
  const Error other = InputError("its comparator is not one comparison of two elements");
  if (graph == nullptr || graph->operators()->size() != 1) return other;
  const format::Operator& compare = *graph->operators()->Get(0);
  const bool has_ports =
      compare.inputs() != nullptr && compare.inputs()->size() == 2 && graph->inputs() != nullptr;
  if (!has_ports) return other;
  using Op = format::BuiltinOperator;
  using format::ComparisonDirection;
  const auto* options = compare.builtin_options_2_as_StablehloCompareOptions();
  const Op op = node.OperatorOf(compare);
  const auto direction =
      options == nullptr ? ComparisonDirection::EQ : options->comparison_direction();
  const bool less = op == Op::LESS || direction == ComparisonDirection::LT;
  const bool greater = op == Op::GREATER || direction == ComparisonDirection::GT;
  if (!less && !greater) return other;
  for (int key = 0; key < node.InputCount(); ++key) {
    const auto left = static_cast<uint32_t>(2 * key);
    if (left + 1 >= graph->inputs()->size()) break;
    const int32_t ports[2] = {graph->inputs()->Get(left), graph->inputs()->Get(left + 1)};
    const bool in_order =
        compare.inputs()->Get(0) == ports[0] && compare.inputs()->Get(1) == ports[1];
    const bool swapped =
        compare.inputs()->Get(0) == ports[1] && compare.inputs()->Get(1) == ports[0];
    if (in_order || swapped) return Comparison{key, less == in_order};
  }
  return other;
}

/// The permutation that swaps `axis` and the last dimension.
std::vector<int32_t> WithLast(int32_t axis, int32_t rank) {
  std::vector<int32_t> permutation(static_cast<size_t>(rank));
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[static_cast<size_t>(axis)], permutation.back());
  return permutation;
}

}  // namespace

// All operands in the order of one, equal elements as they were.
Status LowerSort(Node& node) {
  const auto* options = node.stored().builtin_options_2_as_StablehloSortOptions();
  if (options == nullptr) return InputError("its options are missing");
  TENON_ASSIGN_OR_RETURN(const Comparison comparison,
                         ReadComparator(node, options->comparator_subgraph_index()));
  TENON_ASSIGN_OR_RETURN(const TensorId key, node.Input(comparison.key));
  const Shape given = node.ShapeOf(key);
  TENON_ASSIGN_OR_RETURN(const int32_t axis, node.Axis(options->dimension(), given.rank));
  const std::vector<int32_t> permutation = WithLast(axis, given.rank);
  TENON_ASSIGN_OR_RETURN(const TensorId keys, node.Transpose(key, permutation));
  const Shape shape = node.ShapeOf(keys);
  TopKAttributes attributes;
  attributes.axis = shape.rank - 1;
  attributes.count = shape[shape.rank - 1];
  attributes.smallest = comparison.ascending ? 1 : 0;
  TENON_ASSIGN_OR_RETURN(const TensorId places,
                         node.Emit(OpKind::kTopK, {keys}, Attributes(attributes)));
  TENON_ASSIGN_OR_RETURN(const TensorId flat_places, FlatPlaces(node, shape, places));
  if (node.OutputCount() != node.InputCount()) {
    return InputError("{} operands and {} outputs", node.InputCount(), node.OutputCount());
  }
  for (int i = 0; i < node.InputCount(); ++i) {
    TENON_ASSIGN_OR_RETURN(const TensorId operand, node.Input(i));
    if (!(node.ShapeOf(operand) == given)) return InputError("its operands' shapes differ");
    TENON_ASSIGN_OR_RETURN(TensorId y, node.Transpose(operand, permutation));
    TENON_ASSIGN_OR_RETURN(y, node.Reshape(y, {shape.Elements()}));
    TENON_ASSIGN_OR_RETURN(
        y, node.Emit(OpKind::kGather, {y, flat_places}, Attributes(GatherAttributes())));
    TENON_ASSIGN_OR_RETURN(
        y, node.Reshape(y, std::vector<int64_t>(shape.dims, shape.dims + shape.rank)));
    TENON_ASSIGN_OR_RETURN(y, node.Transpose(y, permutation));
    TENON_RETURN_IF_ERROR(node.SetOutput(i, y));
  }
  return {};
}

// Quantized elements are compared as they are: their order is that of what they stand for.
Status LowerArgExtremum(Node& node) {
  const Order order = node.OrderOf(0);
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0, order));
  TENON_ASSIGN_OR_RETURN(const int64_t given, Number(node, 1, "axis"));
  Shape shape = node.ShapeOf(x);
  TENON_ASSIGN_OR_RETURN(const int32_t axis, node.Axis(given, shape.rank));
  TopKAttributes attributes;
  attributes.axis = AxisIn(order, axis);
  attributes.smallest = node.op() == format::BuiltinOperator::ARG_MIN ? 1 : 0;
  if (shape[attributes.axis] < 1) return InputError("there is nothing along axis {}", axis);
  TENON_ASSIGN_OR_RETURN(TensorId y, node.Emit(OpKind::kTopK, {x}, Attributes(attributes)));
  if (order == Order::kChannelsFirst) {
    TENON_ASSIGN_OR_RETURN(y, node.Transpose(y, {0, 2, 3, 1}));
    shape = node.ShapeOf(y);
  }
  std::vector<int64_t> dims(shape.dims, shape.dims + shape.rank);
  dims.erase(dims.begin() + axis);
  TENON_ASSIGN_OR_RETURN(y, node.Reshape(y, dims));
  TENON_ASSIGN_OR_RETURN(const DType dtype, node.OutputDType(0));
  TENON_ASSIGN_OR_RETURN(y, node.Cast(y, dtype));
  return node.SetOutput(0, y);
}

Status LowerTopK(Node& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const int64_t count, Number(node, 1, "number of elements"));
  const Shape shape = node.ShapeOf(x);
  if (shape.rank < 1 || count < 1 || count > shape[shape.rank - 1]) {
    return InputError("there are no {} largest elements in its last dimension", count);
  }
  TopKAttributes attributes;
  attributes.axis = shape.rank - 1;
  attributes.count = static_cast<int32_t>(count);
  TENON_ASSIGN_OR_RETURN(const TensorId places,
                         node.Emit(OpKind::kTopK, {x}, Attributes(attributes)));
  std::vector<int64_t> dims(shape.dims, shape.dims + shape.rank);
  dims.back() = count;
  TENON_ASSIGN_OR_RETURN(const TensorId flat_places, FlatPlaces(node, shape, places));
  TENON_ASSIGN_OR_RETURN(const TensorId flat, node.Reshape(x, {shape.Elements()}));
  TENON_ASSIGN_OR_RETURN(TensorId values, node.Emit(OpKind::kGather, {flat, flat_places},
                                                    Attributes(GatherAttributes())));
  TENON_ASSIGN_OR_RETURN(values, node.Reshape(values, dims));
  TENON_RETURN_IF_ERROR(node.SetOutput(0, values));
  TENON_ASSIGN_OR_RETURN(const DType dtype, node.OutputDType(1));
  TENON_ASSIGN_OR_RETURN(const TensorId indices, node.Cast(places, dtype));
  return node.SetOutput(1, indices);
}

// Indices, depth, the value at an index's place, the value elsewhere. An index out of range is
// nowhere.
Status LowerOneHot(Node& node) {
  const auto* options = node.stored().builtin_options_as_OneHotOptions();
  TENON_ASSIGN_OR_RETURN(TensorId indices, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const int64_t depth, Number(node, 1, "depth"));
  TENON_ASSIGN_OR_RETURN(const TensorId on, node.Input(2));
  TENON_ASSIGN_OR_RETURN(const TensorId off, node.Input(3));
  constexpr int64_t kMostDepth = 1 << 24;
  if (depth < 1 || depth > kMostDepth) return InputError("its depth is {}", depth);
  const Shape shape = node.ShapeOf(indices);
  const int32_t rank = shape.rank + 1;
  TENON_ASSIGN_OR_RETURN(const int32_t axis,
                         node.Axis(options == nullptr ? -1 : options->axis(), rank));
  std::vector<int64_t> dims(shape.dims, shape.dims + shape.rank);
  dims.insert(dims.begin() + axis, 1);
  TENON_ASSIGN_OR_RETURN(indices, node.Reshape(indices, dims));
  TENON_ASSIGN_OR_RETURN(const TensorId places,
                         node.Counted("places", node.DTypeOf(indices), depth, axis, rank));
  TENON_ASSIGN_OR_RETURN(const TensorId hot, node.Binary(BinaryFunction::kEqual, indices, places));
  TENON_ASSIGN_OR_RETURN(const TensorId y,
                         node.Emit(OpKind::kSelect, {hot, on, off}, Attributes()));
  return node.SetOutput(0, y);
}

}  // namespace tenon::converter::tflite
