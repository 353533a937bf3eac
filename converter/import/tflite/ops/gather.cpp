// GATHER and REVERSE_SEQUENCE: parts of a tensor at places that are counted anew in each element of
// a batch.
#include <algorithm>

#include "converter/import/import_graph.hpp"
#include "converter/import/tflite/ops/ops.hpp"
#include "converter/ir/shapes.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

using Dims = std::vector<int64_t>;

/// y[b, i, ...] = x[b, places[b, i], ...] of x [batch, count, rest] and places [batch, taken].
Result<TensorId> GatherInBatch(Node& node, TensorId x, TensorId places) {
  const Shape shape = node.ShapeOf(x);
  const Shape taken = node.ShapeOf(places);
  TENON_ASSIGN_OR_RETURN(const TensorId wide, node.Cast(places, DType::kI64));
  const TensorId zero = node.Scalar("zero", DType::kI64, 0.0);
  const TensorId count = node.Scalar("count", DType::kI64, shape[1]);
  const TensorId nowhere = node.Scalar("nowhere", DType::kI64, kNowhere);
  TENON_ASSIGN_OR_RETURN(const TensorId low,
                         node.Binary(BinaryFunction::kGreaterOrEqual, wide, zero));
  TENON_ASSIGN_OR_RETURN(const TensorId high, node.Binary(BinaryFunction::kLess, wide, count));
  TENON_ASSIGN_OR_RETURN(const TensorId inside, node.Binary(BinaryFunction::kAnd, low, high));
  TENON_ASSIGN_OR_RETURN(const TensorId starts,
                         node.Counted("starts", DType::kI64, shape[0], 0, 2, shape[1]));
  TENON_ASSIGN_OR_RETURN(const TensorId sums, node.Binary(BinaryFunction::kAdd, wide, starts));
  TENON_ASSIGN_OR_RETURN(const TensorId flat_places,
                         node.Emit(OpKind::kSelect, {inside, sums, nowhere}, Attributes()));
  TENON_ASSIGN_OR_RETURN(const TensorId rows,
                         node.Reshape(x, {int64_t{shape[0]} * shape[1], shape[2]}));
  TENON_ASSIGN_OR_RETURN(const TensorId indices,
                         node.Reshape(flat_places, {int64_t{taken[0]} * taken[1]}));
  TENON_ASSIGN_OR_RETURN(const TensorId y, node.Emit(OpKind::kGather, {rows, indices},
                                                     Attributes(GatherAttributes())));
  return node.Reshape(y, {taken[0], taken[1], shape[2]});
}

/// x [B, A, K, I] by indices [B, J] along K: [B, A, J, I], as [B, J, A, I] put in order.
Result<TensorId> GatherAlong(Node& node, TensorId x, TensorId indices) {
  const Shape shape = node.ShapeOf(x);
  const int64_t taken = node.ShapeOf(indices)[1];
  TENON_ASSIGN_OR_RETURN(TensorId y, node.Transpose(x, {0, 2, 1, 3}));
  TENON_ASSIGN_OR_RETURN(y, node.Reshape(y, {shape[0], shape[2], int64_t{shape[1]} * shape[3]}));
  TENON_ASSIGN_OR_RETURN(y, GatherInBatch(node, y, indices));
  TENON_ASSIGN_OR_RETURN(y, node.Reshape(y, {shape[0], taken, shape[1], shape[3]}));
  return node.Transpose(y, {0, 2, 1, 3});
}

Result<TensorId> GatherBatches(Node& node, TensorId x, TensorId indices, int32_t axis,
                               int32_t batch) {
  const Shape shape = node.ShapeOf(x);
  const Shape places = node.ShapeOf(indices);
  if (batch > places.rank || batch > axis ||
      !std::equal(shape.dims, shape.dims + batch, places.dims)) {
    return InputError("{} batch dimensions do not fit its input and indices", batch);
  }
  Dims dims(shape.dims, shape.dims + axis);
  dims.insert(dims.end(), places.dims + batch, places.dims + places.rank);
  dims.insert(dims.end(), shape.dims + axis + 1, shape.dims + shape.rank);
  const int64_t batches = ElementsBetween(shape, 0, batch);
  TENON_ASSIGN_OR_RETURN(x,
                         node.Reshape(x, {batches, ElementsBetween(shape, batch, axis), shape[axis],
                                          ElementsBetween(shape, axis + 1, shape.rank)}));
  TENON_ASSIGN_OR_RETURN(
      indices, node.Reshape(indices, {batches, ElementsBetween(places, batch, places.rank)}));
  TENON_ASSIGN_OR_RETURN(const TensorId y, GatherAlong(node, x, indices));
  return node.Reshape(y, dims);
}

}  // namespace

Status LowerGather(Node& node) {
  const auto* options = node.stored().builtin_options_as_GatherOptions();
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId indices, node.Input(1));
  GatherAttributes attributes;
  TENON_ASSIGN_OR_RETURN(attributes.axis,
                         node.Axis(options == nullptr ? 0 : options->axis(), node.ShapeOf(x).rank));
  const int32_t rank = node.ShapeOf(indices).rank;
  int32_t batch = options == nullptr ? 0 : options->batch_dims();
  if (batch < 0) batch += rank;
  if (batch < 0) return InputError("{} batch dimensions do not fit its input and indices", batch);
  TensorId y = kNone;
  if (batch == 0) {
    TENON_ASSIGN_OR_RETURN(y, node.Emit(OpKind::kGather, {x, indices}, Attributes(attributes)));
  } else {
    TENON_ASSIGN_OR_RETURN(y, GatherBatches(node, x, indices, attributes.axis, batch));
  }
  return node.SetOutput(0, y);
}

// x, lengths: the first `length` elements along an axis in reverse, the others as they are.
Status LowerReverseSequence(Node& node) {
  const auto* options = node.stored().builtin_options_as_ReverseSequenceOptions();
  if (options == nullptr) return InputError("its options are missing");
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId lengths, node.Input(1));
  const Shape shape = node.ShapeOf(x);
  TENON_ASSIGN_OR_RETURN(const int32_t time, node.Axis(options->seq_dim(), shape.rank));
  TENON_ASSIGN_OR_RETURN(const int32_t batch, node.Axis(options->batch_dim(), shape.rank));
  if (time == batch || node.ShapeOf(lengths).Elements() != shape[batch]) {
    return InputError("its lengths are not one for each of a batch of {}", shape[batch]);
  }
  // Batch and time in front.
  std::vector<int32_t> there = {batch, time};
  for (int32_t k = 0; k < shape.rank; ++k) {
    if (k != batch && k != time) there.push_back(k);
  }
  std::vector<int32_t> back(there.size());
  for (size_t k = 0; k < there.size(); ++k) {
    back[static_cast<size_t>(there[k])] = static_cast<int32_t>(k);
  }
  TENON_ASSIGN_OR_RETURN(const TensorId fronted, node.Transpose(x, there));
  const Shape front = node.ShapeOf(fronted);
  TENON_ASSIGN_OR_RETURN(const TensorId wide, node.Cast(lengths, DType::kI64));
  TENON_ASSIGN_OR_RETURN(const TensorId column, node.Reshape(wide, {front[0], 1}));
  TENON_ASSIGN_OR_RETURN(const TensorId times, node.Counted("times", DType::kI64, front[1], 1, 2));
  const TensorId one = node.Scalar("one", DType::kI64, 1.0);
  TENON_ASSIGN_OR_RETURN(const TensorId last, node.Binary(BinaryFunction::kSub, column, one));
  TENON_ASSIGN_OR_RETURN(const TensorId mirrored, node.Binary(BinaryFunction::kSub, last, times));
  TENON_ASSIGN_OR_RETURN(const TensorId early, node.Binary(BinaryFunction::kLess, times, column));
  TENON_ASSIGN_OR_RETURN(const TensorId places,
                         node.Emit(OpKind::kSelect, {early, mirrored, times}, Attributes()));
  TENON_ASSIGN_OR_RETURN(
      TensorId y,
      node.Reshape(fronted, {front[0], front[1], ElementsBetween(front, 2, front.rank)}));
  TENON_ASSIGN_OR_RETURN(y, GatherInBatch(node, y, places));
  TENON_ASSIGN_OR_RETURN(y, node.Reshape(y, DimsOf(front)));
  TENON_ASSIGN_OR_RETURN(y, node.Transpose(y, back));
  return node.SetOutput(0, y);
}

}  // namespace tenon::converter::tflite
