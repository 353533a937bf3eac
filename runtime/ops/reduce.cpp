#include "runtime/ops/attribute_fields.hpp"
#include "runtime/ops/compute_shapes.hpp"
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

Status Infer(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<ReduceAttributes>();
  const DType dtype = call.Input(0).dtype;
  Shape y;
  TENON_RETURN_IF_ERROR(InferReduceShape(call, &y));
  TENON_ENSURE(FunctionTakes(attributes.function, dtype), kInvalidArgument,
               "reduction {0} does not take this dtype", static_cast<int64_t>(attributes.function));
  return SetOutput(dtype, y, outputs);
}

}  // namespace

constexpr OpRow kReduceRow = {OpKind::kReduce,
                              "reduce",
                              /*min_inputs=*/1,
                              /*max_inputs=*/1,
                              /*outputs=*/1,
                              sizeof(ReduceAttributes) / 4,
                              Infer};

constexpr OpText kReduceText = {kFields, &kDefaults};

}  // namespace tenon
