#include "runtime/ops/attribute_fields.hpp"
#include "runtime/ops/compute_shapes.hpp"
#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon {
namespace {

constexpr MatMulAttributes kDefaults{};

constexpr AttributeField kFields[] = {
    IntField("transpose_a", offsetof(MatMulAttributes, transpose_a)),
    IntField("transpose_b", offsetof(MatMulAttributes, transpose_b)),
    ActivationFunctionField(offsetof(MatMulAttributes, activation)),
    ActivationAField(offsetof(MatMulAttributes, activation)),
    ActivationBField(offsetof(MatMulAttributes, activation)),
};

Status Infer(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<MatMulAttributes>();
  TENON_RETURN_IF_ERROR(CheckFloatOperands(call));
  TENON_RETURN_IF_ERROR(CheckActivation(attributes.activation, call.Input(0).dtype));
  Shape y;
  TENON_RETURN_IF_ERROR(InferMatMulShape(call, &y));
  if (call.HasInput(2)) {
    TENON_ENSURE(BroadcastsTo(call.Input(2).shape(), y), kInvalidArgument,
                 "the bias does not broadcast to the output");
  }
  return SetOutput(call.Input(0).dtype, y, outputs);
}

}  // namespace

constexpr OpRow kMatMulRow = {OpKind::kMatMul,  "matmul",
                              /*min_inputs=*/2,
                              /*max_inputs=*/3,
                              /*outputs=*/1,    kFields,  sizeof(MatMulAttributes) / 4,
                              &kDefaults,       Infer};

}  // namespace tenon
