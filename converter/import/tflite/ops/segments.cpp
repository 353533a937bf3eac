// SEGMENT_SUM, UNSORTED_SEGMENT_SUM, _PROD, _MAX and _MIN: rows joined by the number of their
// segment.
#include <algorithm>
#include <limits>

#include "converter/import/import_graph.hpp"
#include "converter/import/tflite/ops/ops.hpp"
#include "converter/ir/shapes.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

using Op = format::BuiltinOperator;

/// How rows of a segment are joined, and what a segment without rows has.
struct Joining {
  ScatterFunction function = ScatterFunction::kAdd;
  double empty = 0.0;
};

Joining JoiningOf(Op op, DType dtype) {
  const bool is_float = IsFloat(dtype);
  switch (op) {
    case Op::UNSORTED_SEGMENT_PROD:
      return {ScatterFunction::kMul, 1.0};
    case Op::UNSORTED_SEGMENT_MAX:
      return {ScatterFunction::kMax, is_float ? double{std::numeric_limits<float>::lowest()}
                                              : double{std::numeric_limits<int32_t>::min()}};
    case Op::UNSORTED_SEGMENT_MIN:
      return {ScatterFunction::kMin, is_float ? double{std::numeric_limits<float>::max()}
                                              : double{std::numeric_limits<int32_t>::max()}};
    default:
      return {};
  }
}

Result<int64_t> Segments(Node& node) {
  if (node.op() == Op::SEGMENT_SUM) {
    TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> ids, node.Ints(1));
    const int64_t last = ids.empty() ? -1 : *std::max_element(ids.begin(), ids.end());
    return last + 1;
  }
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> count, node.Ints(2));
  if (count.size() != 1) return InputError("its number of segments is no scalar");
  return count[0];
}

}  // namespace

// Rows of a negative number belong to no segment: they go to one behind the others.
Status LowerSegments(Node& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId ids, node.Input(1));
  TENON_ASSIGN_OR_RETURN(const int64_t segments, Segments(node));
  const Shape shape = node.ShapeOf(x);
  const Shape outer = node.ShapeOf(ids);
  if (outer.rank > shape.rank || !std::equal(outer.dims, outer.dims + outer.rank, shape.dims)) {
    return InputError("its segments' numbers do not fit its rows");
  }
  if (segments < 0 || segments >= std::numeric_limits<int32_t>::max()) {
    return InputError("it has {} segments", segments);
  }
  const int64_t rows = outer.Elements();
  int64_t row = 1;
  std::vector<int64_t> dims = {segments};
  for (int32_t k = outer.rank; k < shape.rank; ++k) {
    row *= shape[k];
    dims.push_back(shape[k]);
  }
  TENON_ASSIGN_OR_RETURN(const TensorId wide, node.Cast(ids, DType::kI64));
  const TensorId zero = node.Scalar("zero", DType::kI64, 0.0);
  const TensorId behind = node.Scalar("behind", DType::kI64, static_cast<double>(segments));
  TENON_ASSIGN_OR_RETURN(const TensorId none, node.Binary(BinaryFunction::kLess, wide, zero));
  TENON_ASSIGN_OR_RETURN(const TensorId chosen,
                         node.Emit(OpKind::kSelect, {none, behind, wide}, Attributes()));
  TENON_ASSIGN_OR_RETURN(const TensorId places, node.Reshape(chosen, {rows}));
  const DType dtype = node.DTypeOf(x);
  const Joining joining = JoiningOf(node.op(), dtype);
  TENON_ASSIGN_OR_RETURN(const Shape table, ShapeFromDims({segments + 1, row}));
  TENON_ASSIGN_OR_RETURN(const TensorId start,
                         node.Expand(node.Scalar("empty", dtype, joining.empty), table));
  TENON_ASSIGN_OR_RETURN(const TensorId matrix, node.Reshape(x, {rows, row}));
  ScatterAttributes attributes;
  attributes.function = joining.function;
  TENON_ASSIGN_OR_RETURN(
      TensorId y, node.Emit(OpKind::kScatter, {start, places, matrix}, Attributes(attributes)));
  TENON_ASSIGN_OR_RETURN(y, node.Slice(y, SliceAlong(table, 0, 0, segments)));
  TENON_ASSIGN_OR_RETURN(y, node.Reshape(y, dims));
  return node.SetOutput(0, y);
}

}  // namespace tenon::converter::tflite
