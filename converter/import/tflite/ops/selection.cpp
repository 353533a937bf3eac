// ARG_MAX, ARG_MIN, TOPK_V2 and ONE_HOT: what is chosen by value, and by place.
#include <algorithm>

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
  std::vector<double> starts;
  for (int64_t row = 0; row < rows; ++row) starts.push_back(static_cast<double>(row * columns));
  TENON_ASSIGN_OR_RETURN(const Shape column, ShapeFromDims({rows, 1}));
  TENON_ASSIGN_OR_RETURN(const TensorId matrix, node.Reshape(places, {rows, taken}));
  return node.Binary(BinaryFunction::kAdd, matrix,
                     node.Constant("rows", DType::kI64, column, starts));
}

}  // namespace

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
  std::vector<double> places;
  for (int64_t i = 0; i < depth; ++i) places.push_back(static_cast<double>(i));
  Shape along;
  along.rank = rank;
  std::fill_n(along.dims, rank, 1);
  along.dims[axis] = static_cast<int32_t>(depth);
  TENON_ASSIGN_OR_RETURN(
      const TensorId hot,
      node.Binary(BinaryFunction::kEqual, indices,
                  node.Constant("places", node.DTypeOf(indices), along, places)));
  TENON_ASSIGN_OR_RETURN(const TensorId y,
                         node.Emit(OpKind::kSelect, {hot, on, off}, Attributes()));
  return node.SetOutput(0, y);
}

}  // namespace tenon::converter::tflite
