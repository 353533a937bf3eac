#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon {
namespace {

/// True if the shapes agree everywhere but in `axis`.
bool Joins(const Shape& a, const Shape& b, int32_t axis) {
  if (a.rank != b.rank) return false;
  for (int32_t i = 0; i < a.rank; ++i) {
    if (i != axis && a[i] != b[i]) return false;
  }
  return true;
}

Status Infer(const OpCall& call, OutputType* outputs) {
  const int32_t axis = call.AttributesAs<ConcatAttributes>().axis;
  const DType dtype = call.Input(0).dtype;
  Shape y = call.Input(0).shape();
  TENON_ENSURE(axis >= 0 && axis < y.rank, kInvalidArgument,
               "there is no axis {0} in a tensor of rank {1}", axis, y.rank);
  int64_t extent = y[axis];
  for (int i = 1; i < call.InputCount(); ++i) {
    TENON_ENSURE(call.Input(i).dtype == dtype, kInvalidArgument,
                 "input {0} has another dtype than input 0", i);
    const Shape x = call.Input(i).shape();
    TENON_ENSURE(Joins(x, y, axis), kInvalidArgument,
                 "input {0} does not agree with input 0 outside axis {1}", i, axis);
    extent += x[axis];
    TENON_ENSURE(extent <= INT32_MAX, kInvalidArgument, "axis {0} would pass 2^31", axis);
  }
  y[axis] = static_cast<int32_t>(extent);
  return SetOutput(dtype, y, outputs);
}

}  // namespace

constexpr OpRow kConcatRow =
    MakeOpRow<ConcatAttributes>(OpKind::kConcat, /*min_inputs=*/1, /*max_inputs=*/-1, Infer);

}  // namespace tenon
