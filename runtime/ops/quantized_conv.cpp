#include "runtime/ops/attribute_fields.hpp"
#include "runtime/ops/compute_shapes.hpp"
#include "runtime/ops/quantized_rules.hpp"
#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon {
namespace {

constexpr QuantizedConvAttributes kDefaults{};

constexpr AttributeField kFields[] = {
    IntField("group", offsetof(ConvAttributes, group)),
    IntField("strides", offsetof(ConvAttributes, strides), 2),
    IntField("dilations", offsetof(ConvAttributes, dilations), 2),
    IntField("pads", offsetof(ConvAttributes, pads), 4),
    ActivationFunctionField(offsetof(ConvAttributes, activation)),
    ActivationAField(offsetof(ConvAttributes, activation)),
    ActivationBField(offsetof(ConvAttributes, activation)),
    OutputDTypeField(offsetof(QuantizedConvAttributes, output)),
    OutputRoundingField(offsetof(QuantizedConvAttributes, output)),
    OutputZeroPointField(offsetof(QuantizedConvAttributes, output)),
    OutputMinField(offsetof(QuantizedConvAttributes, output)),
    OutputMaxField(offsetof(QuantizedConvAttributes, output)),
};

Status Infer(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<QuantizedConvAttributes>();
  Shape y;
  TENON_RETURN_IF_ERROR(InferConvShape(call, &y));
  TENON_ENSURE(attributes.conv.activation.function == UnaryFunction::kIdentity, kInvalidArgument,
               "a quantized convolution has no activation: its bounds stand for one");
  TENON_ENSURE(attributes.output.rounding != Rounding::kFixedPointOnce, kInvalidArgument,
               "only matrix products are rounded fixed_point_once");
  TENON_RETURN_IF_ERROR(
      CheckQuantizedProduct(call, attributes.output, call.Input(0).dims[1], y[1]));
  return SetOutput(static_cast<DType>(attributes.output.to), y, outputs);
}

}  // namespace

constexpr OpRow kQuantizedConvRow = {OpKind::kQuantizedConv,
                                     "quantized_conv",
                                     /*min_inputs=*/2,
                                     /*max_inputs=*/8,
                                     /*outputs=*/1,
                                     sizeof(QuantizedConvAttributes) / 4,
                                     Infer};

constexpr OpText kQuantizedConvText = {kFields, &kDefaults};

}  // namespace tenon
