#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon {
namespace {

Status Infer(const OpCall& call, OutputType* outputs) {
  const int32_t axis = call.AttributesAs<GatherAttributes>().axis;
  const Shape x = call.Input(GatherInput::kX).shape();
  const Shape indices = call.Input(GatherInput::kIndices).shape();
  const DType index_dtype = call.Input(GatherInput::kIndices).dtype;
  TENON_ENSURE(index_dtype == DType::kI32 || index_dtype == DType::kI64, kInvalidArgument,
               "indices must be i32 or i64");
  TENON_ENSURE(axis >= 0 && axis < x.rank, kInvalidArgument,
               "there is no axis {0} in a tensor of rank {1}", axis, x.rank);
  TENON_ENSURE(x.rank - 1 + indices.rank <= kMaxRank, kInvalidArgument,
               "the output would have rank {0}", x.rank - 1 + indices.rank);
  Shape y;
  for (int32_t i = 0; i < axis; ++i) y.dims[y.rank++] = x[i];
  for (int32_t i = 0; i < indices.rank; ++i) y.dims[y.rank++] = indices[i];
  for (int32_t i = axis + 1; i < x.rank; ++i) y.dims[y.rank++] = x[i];
  return SetOutput(call.Input(GatherInput::kX).dtype, y, outputs);
}

}  // namespace

constexpr OpRow kGatherRow =
    MakeOpRow<GatherAttributes>(OpKind::kGather, /*min_inputs=*/2, /*max_inputs=*/2, Infer);

}  // namespace tenon
