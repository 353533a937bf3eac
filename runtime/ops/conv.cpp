#include "runtime/ops/attribute_fields.hpp"
#include "runtime/ops/compute_shapes.hpp"
#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"
#include "runtime/ops/stored_operands.hpp"

namespace tenon {
namespace {

constexpr ConvAttributes kDefaults{};

constexpr AttributeField kFields[] = {
    IntField("group", offsetof(ConvAttributes, group)),
    IntField("strides", offsetof(ConvAttributes, strides), 2),
    IntField("dilations", offsetof(ConvAttributes, dilations), 2),
    IntField("pads", offsetof(ConvAttributes, pads), 4),
    ActivationFunctionField(offsetof(ConvAttributes, activation)),
    ActivationAField(offsetof(ConvAttributes, activation)),
    ActivationBField(offsetof(ConvAttributes, activation)),
};

Status Infer(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<ConvAttributes>();
  Shape y;
  TENON_RETURN_IF_ERROR(InferConvShape(call, &y));
  DType dtype = DType::kF32;
  TENON_RETURN_IF_ERROR(CheckProductDTypes(call, {4, 5, y[1], call.Input(0).dims[1]}, &dtype));
  TENON_RETURN_IF_ERROR(CheckActivation(attributes.activation, dtype));
  if (call.HasInput(2)) {
    const TensorView& bias = call.Input(2);
    TENON_ENSURE(bias.rank == 1 && bias.dims[0] == y[1], kInvalidArgument,
                 "the bias must be a vector of {0} elements", y[1]);
  }
  if (call.HasInput(3)) {
    TENON_ENSURE(call.Input(3).shape() == y, kInvalidArgument,
                 "the residual must have the output's shape");
  }
  return SetOutput(dtype, y, outputs);
}

}  // namespace

constexpr OpRow kConvRow = {OpKind::kConv,
                            "conv",
                            /*min_inputs=*/2,
                            /*max_inputs=*/6,
                            /*outputs=*/1,
                            sizeof(ConvAttributes) / 4,
                            Infer,
                            /*in_place_inputs=*/1U << 3};

constexpr OpText kConvText = {kFields, &kDefaults};

}  // namespace tenon
