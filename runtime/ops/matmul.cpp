#include "runtime/ops/attribute_fields.hpp"
#include "runtime/ops/compute_shapes.hpp"
#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"
#include "runtime/ops/stored_operands.hpp"

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
  Shape y;
  TENON_RETURN_IF_ERROR(InferMatMulShape(call, &y));
  DType dtype = DType::kF32;
  TENON_RETURN_IF_ERROR(CheckProductDTypes(call, {3, -1, y[y.rank - 1], 0}, &dtype));
  TENON_RETURN_IF_ERROR(CheckActivation(attributes.activation, dtype));
  TENON_ENSURE(!call.HasInput(3) || call.Input(1).rank == 2, kInvalidArgument,
               "b with a scale must be one matrix, not of rank {0}", call.Input(1).rank);
  if (call.HasInput(2)) {
    TENON_ENSURE(BroadcastsTo(call.Input(2).shape(), y), kInvalidArgument,
                 "the bias does not broadcast to the output");
  }
  return SetOutput(dtype, y, outputs);
}

}  // namespace

constexpr OpRow kMatMulRow = {OpKind::kMatMul,
                              "matmul",
                              /*min_inputs=*/2,
                              /*max_inputs=*/4,
                              /*outputs=*/1,
                              sizeof(MatMulAttributes) / 4,
                              Infer};

constexpr OpText kMatMulText = {kFields, &kDefaults};

}  // namespace tenon
