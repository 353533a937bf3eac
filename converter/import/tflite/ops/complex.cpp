// Complex numbers, which only transforms make: a tensor of them is one of f32 here whose last
// dimension is the real and the imaginary part.
#include <algorithm>

#include "converter/import/fourier_products.hpp"
#include "converter/import/tflite/ops/ops.hpp"
#include "converter/ir/shapes.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

using Op = format::BuiltinOperator;
using Ints = std::vector<int64_t>;
using fourier::Transform;

/// The first `size` along an axis.
Result<TensorId> HalfOf(Node& node, TensorId x, int32_t axis, int32_t begin, int32_t size) {
  return node.Slice(x, SliceAlong(node.ShapeOf(x), axis, begin, size));
}

/// Transforms the last dimension, or the last two where x has real and imaginary parts.
Result<TensorId> TransformRows(Node& node, TensorId x, const Transform& t) {
  TENON_RETURN_IF_ERROR(fourier::CheckTransform(t));
  Ints dims = DimsOf(node.ShapeOf(x));
  if (t.parts == 2) dims.pop_back();
  const int64_t points = dims.back();
  const int64_t row = points * t.parts;
  if (row == 0) return InputError("its input has no points");
  const int64_t rows = node.ShapeOf(x).Elements() / row;
  TENON_ASSIGN_OR_RETURN(x, node.Reshape(x, {rows, row}));
  TENON_ASSIGN_OR_RETURN(x, fourier::TransformRows(node, x, t, points));
  dims.back() = t.bins;
  dims.push_back(2);
  return node.Reshape(x, dims);
}

// The last dimension first, of which half is enough for real numbers, then the one before. An input
// that is longer than the transform is cut off, a shorter one goes on with zeros.
Status LowerRfft2d(Node& node) {
  TENON_ASSIGN_OR_RETURN(TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const Ints lengths, node.Ints(1));
  const int32_t rank = node.ShapeOf(x).rank;
  if (lengths.size() != 2 || rank < 2 || rank + 1 > kMaxRank) {
    return InputError("it has {} lengths for {} dimensions", lengths.size(), rank);
  }
  if (node.DTypeOf(x) != DType::kF32) return InputError("it transforms f32 only");
  // No more rows than count are transformed.
  const int64_t rows = std::min<int64_t>(node.ShapeOf(x)[rank - 2], lengths[0]);
  if (rows >= 1) {
    TENON_ASSIGN_OR_RETURN(x, HalfOf(node, x, rank - 2, 0, static_cast<int32_t>(rows)));
  }
  Transform t;
  t.length = lengths[1];
  t.bins = t.length / 2 + 1;
  TENON_ASSIGN_OR_RETURN(x, TransformRows(node, x, t));
  t.length = t.bins = lengths[0];
  t.parts = 2;
  if (t.length == 1) return node.SetComplexOutput(0, x);
  std::vector<int32_t> permutation;
  for (int32_t i = 0; i + 2 < rank; ++i) permutation.push_back(i);
  permutation.insert(permutation.end(), {rank - 1, rank - 2, rank});
  TENON_ASSIGN_OR_RETURN(x, node.Transpose(x, permutation));
  TENON_ASSIGN_OR_RETURN(x, TransformRows(node, x, t));
  TENON_ASSIGN_OR_RETURN(x, node.Transpose(x, permutation));
  return node.SetComplexOutput(0, x);
}

Status LowerPart(Node& node, int32_t part) {
  TENON_ASSIGN_OR_RETURN(TensorId x, node.Input(0));
  Ints dims = DimsOf(node.ShapeOf(x));
  TENON_ASSIGN_OR_RETURN(x, HalfOf(node, x, static_cast<int32_t>(dims.size()) - 1, part, 1));
  dims.pop_back();
  TENON_ASSIGN_OR_RETURN(TensorId y, node.Reshape(x, dims));
  TENON_ASSIGN_OR_RETURN(const DType to, node.OutputDType(0));
  if (to != node.DTypeOf(y)) {
    TENON_ASSIGN_OR_RETURN(y, node.Cast(y, to));
  }
  return node.SetOutput(0, y);
}

Status LowerComplexAbs(Node& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  const int32_t rank = node.ShapeOf(x).rank;
  TENON_ASSIGN_OR_RETURN(TensorId y, node.Binary(BinaryFunction::kMul, x, x));
  TENON_ASSIGN_OR_RETURN(y, node.Reduce(ReduceFunction::kSum, y, 1 << (rank - 1), false));
  TENON_ASSIGN_OR_RETURN(y, node.Unary(y, {UnaryFunction::kSqrt, 0.0F, 0.0F}));
  return node.SetOutput(0, y);
}

/// New dims; the parts stay the last one.
Status LowerMoved(Node& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  Ints old = DimsOf(node.ShapeOf(x));
  old.pop_back();
  TENON_ASSIGN_OR_RETURN(const Shape shape, ShapeFromDims(old));
  TENON_ASSIGN_OR_RETURN(Ints dims, NewDims(node, shape));
  dims.push_back(2);
  TENON_ASSIGN_OR_RETURN(const TensorId y, node.Reshape(x, dims));
  return node.SetComplexOutput(0, y);
}

}  // namespace

Status LowerComplex(Node& node) {
  if (node.op() == Op::RFFT2D) return LowerRfft2d(node);
  if (!node.ReadsComplex()) return InputError("it does not read complex numbers");
  switch (node.op()) {
    case Op::REAL:
    case Op::CAST:  // a number without its imaginary part
      return LowerPart(node, 0);
    case Op::IMAG:
      return LowerPart(node, 1);
    case Op::COMPLEX_ABS:
      return LowerComplexAbs(node);
    case Op::RESHAPE:
    case Op::SQUEEZE:
    case Op::EXPAND_DIMS:
      return LowerMoved(node);
    default:
      return InputError("it cannot compute with complex numbers");
  }
}

}  // namespace tenon::converter::tflite
