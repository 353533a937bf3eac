#include "runtime/ops/attribute_fields.hpp"
#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"

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

Status CheckChannels(const Shape& x, const Shape& w, int32_t group) {
  TENON_ENSURE(x.rank == 4 && w.rank == 4, kInvalidArgument,
               "input and weights must have rank 4, not {0} and {1}", x.rank, w.rank);
  TENON_ENSURE(x[1] >= 1 && w[0] >= 1, kInvalidArgument, "there must be at least 1 channel");
  TENON_ENSURE(group >= 1, kInvalidArgument, "group must be at least 1, not {0}", group);
  TENON_ENSURE(x[1] % group == 0, kInvalidArgument,
               "{0} input channels cannot be cut into {1} groups", x[1], group);
  TENON_ENSURE(w[0] % group == 0, kInvalidArgument,
               "{0} output channels cannot be cut into {1} groups", w[0], group);
  TENON_ENSURE(w[1] == x[1] / group, kInvalidArgument,
               "weights are for {0} input channels per group, the input has {1}", w[1],
               x[1] / group);
  return OkStatus();
}

Status Infer(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<ConvAttributes>();
  const Shape x = call.Input(0).shape();
  const Shape w = call.Input(1).shape();
  TENON_RETURN_IF_ERROR(CheckFloatOperands(call));
  TENON_RETURN_IF_ERROR(CheckChannels(x, w, attributes.group));
  TENON_RETURN_IF_ERROR(CheckActivation(attributes.activation, call.Input(0).dtype));

  Shape y = x;
  y[1] = w[0];
  for (int32_t i = 0; i < 2; ++i) {
    const WindowAxis axis = {x[2 + i],
                             w[2 + i],
                             attributes.strides[i],
                             attributes.dilations[i],
                             attributes.pads[i],
                             attributes.pads[2 + i]};
    TENON_RETURN_IF_ERROR(CheckWindow(axis));
    y[2 + i] = static_cast<int32_t>(WindowCount(axis));
  }
  if (call.HasInput(2)) {
    const TensorView& bias = call.Input(2);
    TENON_ENSURE(bias.rank == 1 && bias.dims[0] == w[0], kInvalidArgument,
                 "the bias must be a vector of {0} elements", w[0]);
  }
  if (call.HasInput(3)) {
    TENON_ENSURE(call.Input(3).shape() == y, kInvalidArgument,
                 "the residual must have the output's shape");
  }
  return SetOutput(call.Input(0).dtype, y, outputs);
}

}  // namespace

constexpr OpRow kConvRow = {OpKind::kConv,    "conv",
                            /*min_inputs=*/2,
                            /*max_inputs=*/4,
                            /*outputs=*/1,    kFields, sizeof(ConvAttributes) / 4,
                            &kDefaults,       Infer,   /*in_place_inputs=*/1U << 3};

}  // namespace tenon
