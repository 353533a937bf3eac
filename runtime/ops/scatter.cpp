#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon {
namespace {

Status Infer(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<ScatterAttributes>();
  const TensorView& x = call.Input(ScatterInput::kX);
  const TensorView& indices = call.Input(ScatterInput::kIndices);
  const TensorView& updates = call.Input(ScatterInput::kUpdates);
  TENON_ENSURE(IsValidEnum(attributes.function, kScatterFunctionCount), kInvalidArgument,
               "there is no scatter function {0}", static_cast<int64_t>(attributes.function));
  TENON_ENSURE(indices.dtype == DType::kI32 || indices.dtype == DType::kI64, kInvalidArgument,
               "indices must be i32 or i64");
  TENON_ENSURE(updates.dtype == x.dtype, kInvalidArgument, "updates and x differ in dtype");
  TENON_ENSURE(x.rank >= 1 && updates.rank == x.rank && indices.rank == 1 &&
                   updates.dims[0] == indices.dims[0],
               kInvalidArgument, "there is one row of updates for each index");
  for (int32_t i = 1; i < x.rank; ++i) {
    TENON_ENSURE(updates.dims[i] == x.dims[i], kInvalidArgument,
                 "rows of the updates differ from those of x");
  }
  return SetOutput(x.dtype, x.shape(), outputs);
}

}  // namespace

constexpr OpRow kScatterRow =
    MakeOpRow<ScatterAttributes>(OpKind::kScatter, /*min_inputs=*/3, /*max_inputs=*/3, Infer,
                                 /*in_place_inputs=*/1U << ScatterInput::kX);

}  // namespace tenon
