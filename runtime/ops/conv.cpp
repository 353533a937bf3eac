// Convolution and quantized convolution.
#include "runtime/ops/quantized_rules.hpp"
#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"
#include "runtime/ops/stored_operands.hpp"

namespace tenon {
namespace {

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

/// Of either: the attributes begin with ConvAttributes. Checks ranks, channels, groups and windows.
Status InferConvShape(const OpCall& call, Shape* y) {
  const auto& attributes = call.AttributesAs<ConvAttributes>();
  const Shape x = call.Input(ConvInput::kX).shape();
  const Shape w = call.Input(ConvInput::kWeights).shape();
  TENON_RETURN_IF_ERROR(CheckChannels(x, w, attributes.group));
  *y = x;
  (*y)[1] = w[0];
  for (int32_t i = 0; i < 2; ++i) {
    const WindowAxis axis = {x[2 + i],
                             w[2 + i],
                             attributes.strides[i],
                             attributes.dilations[i],
                             attributes.pads[i],
                             attributes.pads[2 + i]};
    TENON_RETURN_IF_ERROR(CheckWindow(axis));
    (*y)[2 + i] = static_cast<int32_t>(WindowCount(axis));
  }
  return OkStatus();
}

Status InferConv(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<ConvAttributes>();
  Shape y;
  TENON_RETURN_IF_ERROR(InferConvShape(call, &y));
  DType dtype = DType::kF32;
  TENON_RETURN_IF_ERROR(CheckGemmDTypes(
      call, {ConvInput::kWeightsScale, ConvInput::kXMean, y[1], call.Input(ConvInput::kX).dims[1]},
      &dtype));
  TENON_RETURN_IF_ERROR(CheckActivation(attributes.activation, dtype));
  if (call.HasInput(ConvInput::kBias)) {
    const TensorView& bias = call.Input(ConvInput::kBias);
    TENON_ENSURE(bias.rank == 1 && bias.dims[0] == y[1], kInvalidArgument,
                 "the bias must be a vector of {0} elements", y[1]);
  }
  if (call.HasInput(ConvInput::kResidual)) {
    TENON_ENSURE(call.Input(ConvInput::kResidual).shape() == y, kInvalidArgument,
                 "the residual must have the output's shape");
  }
  return SetOutput(dtype, y, outputs);
}

Status InferQuantizedConv(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<QuantizedConvAttributes>();
  Shape y;
  TENON_RETURN_IF_ERROR(InferConvShape(call, &y));
  TENON_ENSURE(attributes.conv.activation.function == UnaryFunction::kIdentity, kInvalidArgument,
               "a quantized convolution has no activation: its bounds stand for one");
  TENON_ENSURE(attributes.output.rounding != Rounding::kFixedPointOnce, kInvalidArgument,
               "only matrix products are rounded fixed_point_once");
  TENON_RETURN_IF_ERROR(CheckQuantizedGemm(call, attributes.output,
                                           call.Input(QuantizedGemmInput::kX).dims[1], y[1]));
  return SetOutput(static_cast<DType>(attributes.output.to), y, outputs);
}

}  // namespace

constexpr OpRow kConvRow =
    MakeOpRow<ConvAttributes>(OpKind::kConv, /*min_inputs=*/2, /*max_inputs=*/6, InferConv,
                              /*in_place_inputs=*/1U << ConvInput::kResidual);

constexpr OpRow kQuantizedConvRow = MakeOpRow<QuantizedConvAttributes>(
    OpKind::kQuantizedConv, /*min_inputs=*/2, /*max_inputs=*/8, InferQuantizedConv);

}  // namespace tenon
