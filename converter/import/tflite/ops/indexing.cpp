// GATHER_ND, SCATTER_ND and EMBEDDING_LOOKUP: slices of a tensor by the numbers of its first
// dimensions.
#include <algorithm>

#include "converter/import/import_graph.hpp"
#include "converter/import/tflite/ops/ops.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

/// Tuples of numbers [..., k] as the places of slices of `whole` in row-major order, [places].
struct Places {
  TensorId of = kNone;
  std::vector<int64_t> outer;  ///< dims of the tuples without the last
  std::vector<int64_t> inner;  ///< dims of a slice
  int64_t count = 1;           ///< tuples
  int64_t slices = 1;          ///< of `whole`
  int64_t slice = 1;           ///< elements of one
};

/// Parts of places, of tuples [count, depth] in the first `depth` dimensions of `whole`. Where a
/// number is out of range its part is so far below 0 that the sum is reported when it runs: else it
/// would be the place of another slice.
Result<TensorId> PartsInside(Node& node, TensorId tuples, TensorId parts, const Shape& whole,
                             int32_t depth) {
  std::vector<double> sizes(whole.dims, whole.dims + depth);
  const TensorId ends = node.Constant("ends", DType::kI64, Shape({1, depth}), sizes);
  const TensorId zero = node.Scalar("zero", DType::kI64, 0.0);
  const TensorId nowhere = node.Scalar("nowhere", DType::kI64, kNowhere);
  TENON_ASSIGN_OR_RETURN(const TensorId low,
                         node.Binary(BinaryFunction::kGreaterOrEqual, tuples, zero));
  TENON_ASSIGN_OR_RETURN(const TensorId high, node.Binary(BinaryFunction::kLess, tuples, ends));
  TENON_ASSIGN_OR_RETURN(const TensorId inside, node.Binary(BinaryFunction::kAnd, low, high));
  return node.Emit(OpKind::kSelect, {inside, parts, nowhere}, Attributes());
}

Result<Places> PlacesIn(Node& node, TensorId tuples, const Shape& whole) {
  const Shape shape = node.ShapeOf(tuples);
  if (shape.rank < 1 || shape[shape.rank - 1] < 1 || shape[shape.rank - 1] > whole.rank) {
    return InputError("its indices do not fit {} dimensions", whole.rank);
  }
  const int32_t depth = shape[shape.rank - 1];
  Places places;
  for (int32_t k = 0; k + 1 < shape.rank; ++k) {
    places.outer.push_back(shape[k]);
    places.count *= shape[k];
  }
  for (int32_t k = 0; k < whole.rank; ++k) {
    if (k >= depth) places.inner.push_back(whole[k]);
    (k < depth ? places.slices : places.slice) *= whole[k];
  }
  std::vector<double> steps(static_cast<size_t>(depth), 1.0);
  for (int32_t k = depth - 1; k > 0; --k) {
    steps[static_cast<size_t>(k) - 1] = steps[static_cast<size_t>(k)] * whole[k];
  }
  if (places.slices > INT32_MAX) return InputError("it has {} slices", places.slices);
  TENON_ASSIGN_OR_RETURN(const TensorId rows, node.Reshape(tuples, {places.count, depth}));
  TENON_ASSIGN_OR_RETURN(const TensorId wide, node.Cast(rows, DType::kI64));
  const TensorId factors = node.Constant("steps", DType::kI64, Shape({1, depth}), steps);
  TENON_ASSIGN_OR_RETURN(TensorId parts, node.Binary(BinaryFunction::kMul, wide, factors));
  TENON_ASSIGN_OR_RETURN(parts, PartsInside(node, wide, parts, whole, depth));
  TENON_ASSIGN_OR_RETURN(places.of, node.Reduce(ReduceFunction::kSum, parts, 1 << 1, false));
  return places;
}

std::vector<int64_t> Joined(std::vector<int64_t> dims, const std::vector<int64_t>& more) {
  dims.insert(dims.end(), more.begin(), more.end());
  return dims;
}

}  // namespace

Status LowerGatherNd(Node& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId tuples, node.Input(1));
  TENON_ASSIGN_OR_RETURN(const Places places, PlacesIn(node, tuples, node.ShapeOf(x)));
  TENON_ASSIGN_OR_RETURN(const TensorId slices, node.Reshape(x, {places.slices, places.slice}));
  TENON_ASSIGN_OR_RETURN(
      TensorId y, node.Emit(OpKind::kGather, {slices, places.of}, Attributes(GatherAttributes())));
  TENON_ASSIGN_OR_RETURN(y, node.Reshape(y, Joined(places.outer, places.inner)));
  return node.SetOutput(0, y);
}

// Indices, updates, shape. Updates of one place add up.
Status LowerScatterNd(Node& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId tuples, node.Input(0));
  TENON_ASSIGN_OR_RETURN(TensorId updates, node.Input(1));
  const DType dtype = node.DTypeOf(updates);
  // Sums of narrow integers have room, and wrap around at the end as TFLite's do.
  const bool is_narrow = dtype == DType::kI8 || dtype == DType::kU8 || dtype == DType::kI16;
  if (is_narrow) {
    TENON_ASSIGN_OR_RETURN(updates, node.Cast(updates, DType::kI32));
  }
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, node.Ints(2));
  TENON_ASSIGN_OR_RETURN(const Shape whole, ShapeFromDims(dims));
  TENON_ASSIGN_OR_RETURN(const Places places, PlacesIn(node, tuples, whole));
  TENON_ASSIGN_OR_RETURN(const TensorId rows, node.Reshape(updates, {places.count, places.slice}));
  TENON_ASSIGN_OR_RETURN(const Shape matrix, ShapeFromDims({places.slices, places.slice}));
  TENON_ASSIGN_OR_RETURN(const TensorId zeros,
                         node.Expand(node.Scalar("zero", node.DTypeOf(updates), 0.0), matrix));
  ScatterAttributes attributes;
  attributes.function = ScatterFunction::kAdd;
  TENON_ASSIGN_OR_RETURN(
      TensorId y, node.Emit(OpKind::kScatter, {zeros, places.of, rows}, Attributes(attributes)));
  TENON_ASSIGN_OR_RETURN(y, node.Reshape(y, dims));
  if (is_narrow) {
    TENON_ASSIGN_OR_RETURN(y, node.Cast(y, dtype));
  }
  return node.SetOutput(0, y);
}

// Numbers of rows, the table.
Status LowerEmbeddingLookup(Node& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId rows, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId table, node.Input(1));
  TENON_ASSIGN_OR_RETURN(const TensorId y,
                         node.Emit(OpKind::kGather, {table, rows}, Attributes(GatherAttributes())));
  return node.SetOutput(0, y);
}

}  // namespace tenon::converter::tflite
