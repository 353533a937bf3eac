// MATRIX_DIAG and MATRIX_SET_DIAG: vectors as the diagonals of matrices.
#include <algorithm>

#include "converter/import/import_graph.hpp"
#include "converter/import/tflite/ops/ops.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

/// Whether an element is on the diagonal, [rows, columns].
Result<TensorId> OnDiagonal(Node& node, int64_t rows, int64_t columns) {
  TENON_ASSIGN_OR_RETURN(const TensorId row, node.Counted("rows", DType::kI32, rows, 0, 2));
  TENON_ASSIGN_OR_RETURN(const TensorId column,
                         node.Counted("columns", DType::kI32, columns, 1, 2));
  return node.Binary(BinaryFunction::kEqual, row, column);
}

/// A diagonal [..., count] for matrices of `rows` rows, as a column [..., rows, 1] with zeros at
/// its end.
Result<TensorId> AsColumn(Node& node, TensorId diagonal, int64_t rows) {
  const Shape shape = node.ShapeOf(diagonal);
  const int32_t last = shape.rank - 1;
  TensorId column = diagonal;
  if (shape[last] < rows) {
    PadAttributes pad;
    pad.rank = shape.rank;
    pad.ends[last] = static_cast<int32_t>(rows - shape[last]);
    TENON_ASSIGN_OR_RETURN(column, node.Emit(OpKind::kPad, {column}, Attributes(pad)));
  }
  std::vector<int64_t> dims(shape.dims, shape.dims + last);
  dims.insert(dims.end(), {rows, 1});
  return node.Reshape(column, dims);
}

}  // namespace

Status LowerMatrixDiag(Node& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId diagonal, node.Input(0));
  const Shape shape = node.ShapeOf(diagonal);
  if (shape.rank < 1) return InputError("its diagonal is a scalar");
  const int64_t count = shape[shape.rank - 1];
  TENON_ASSIGN_OR_RETURN(const TensorId on, OnDiagonal(node, count, count));
  TENON_ASSIGN_OR_RETURN(const TensorId column, AsColumn(node, diagonal, count));
  const TensorId zero = node.Scalar("zero", node.DTypeOf(diagonal), 0.0);
  TENON_ASSIGN_OR_RETURN(const TensorId y,
                         node.Emit(OpKind::kSelect, {on, column, zero}, Attributes()));
  return node.SetOutput(0, y);
}

// Matrices, their new diagonals.
Status LowerMatrixSetDiag(Node& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId diagonal, node.Input(1));
  const Shape shape = node.ShapeOf(x);
  const Shape given = node.ShapeOf(diagonal);
  if (shape.rank < 2 || given.rank != shape.rank - 1) {
    return InputError("a diagonal of {} dimensions does not fit an input of {}", given.rank,
                      shape.rank);
  }
  const int64_t rows = shape[shape.rank - 2];
  const int64_t columns = shape[shape.rank - 1];
  if (given[given.rank - 1] != std::min(rows, columns)) {
    return InputError("a diagonal of {} elements does not fit matrices of {} by {}",
                      given[given.rank - 1], rows, columns);
  }
  TENON_ASSIGN_OR_RETURN(const TensorId on, OnDiagonal(node, rows, columns));
  TENON_ASSIGN_OR_RETURN(const TensorId column, AsColumn(node, diagonal, rows));
  TENON_ASSIGN_OR_RETURN(const TensorId y,
                         node.Emit(OpKind::kSelect, {on, column, x}, Attributes()));
  return node.SetOutput(0, y);
}

}  // namespace tenon::converter::tflite
