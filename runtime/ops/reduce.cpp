#include "runtime/ops/attribute_fields.hpp"
#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon {
namespace {

constexpr ReduceAttributes kDefaults{};

constexpr AttributeField kFields[] = {
    EnumField("function", offsetof(ReduceAttributes, function), kReduceFunctionNames),
    IntField("axes_mask", offsetof(ReduceAttributes, axes_mask)),
    IntField("keep_dims", offsetof(ReduceAttributes, keep_dims)),
};

bool FunctionTakes(ReduceFunction function, DType dtype) {
  return IsComputeFloat(dtype) || (IsInteger(dtype) && function <= ReduceFunction::kProd);
}

/// Of no elements at all there is no maximum, minimum or mean.
bool NeedsElements(ReduceFunction function) {
  return function == ReduceFunction::kMax || function == ReduceFunction::kMin ||
         function == ReduceFunction::kMean;
}

Status Infer(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<ReduceAttributes>();
  const DType dtype = call.Input(0).dtype;
  const Shape x = call.Input(0).shape();
  TENON_ENSURE(IsValidEnum(attributes.function, kReduceFunctionCount), kInvalidArgument,
               "there is no reduction {0}", static_cast<int64_t>(attributes.function));
  TENON_ENSURE(FunctionTakes(attributes.function, dtype), kInvalidArgument,
               "reduction {0} does not take this dtype", static_cast<int64_t>(attributes.function));
  TENON_ENSURE(IsFlag(attributes.keep_dims), kInvalidArgument, "keep_dims must be 0 or 1");
  TENON_ENSURE(attributes.axes_mask >= 0 && attributes.axes_mask < (1 << x.rank), kInvalidArgument,
               "axes_mask {0} names axes that a tensor of rank {1} does not have",
               attributes.axes_mask, x.rank);
  Shape y;
  for (int32_t i = 0; i < x.rank; ++i) {
    const bool reduced = ((attributes.axes_mask >> i) & 1) != 0;
    TENON_ENSURE(!reduced || x[i] >= 1 || !NeedsElements(attributes.function), kInvalidArgument,
                 "axis {0} has no elements to reduce", i);
    if (!reduced) {
      y.dims[y.rank++] = x[i];
    } else if (attributes.keep_dims == 1) {
      y.dims[y.rank++] = 1;
    }
  }
  return SetOutput(dtype, y, outputs);
}

}  // namespace

constexpr OpRow kReduceRow = {OpKind::kReduce,  "reduce",
                              /*min_inputs=*/1,
                              /*max_inputs=*/1,
                              /*outputs=*/1,    kFields,  sizeof(ReduceAttributes) / 4,
                              &kDefaults,       Infer};

}  // namespace tenon
