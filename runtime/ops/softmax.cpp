// Softmax and softmax of quantized tensors.
#include <cmath>

#include "runtime/ops/quantized_rules.hpp"
#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon {
namespace {

Status InferSoftmax(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<SoftmaxAttributes>();
  const Shape x = call.Input(0).shape();
  TENON_RETURN_IF_ERROR(CheckFloatOperands(call));
  TENON_ENSURE(attributes.axis >= 0 && attributes.axis < x.rank, kInvalidArgument,
               "there is no axis {0} in a tensor of rank {1}", attributes.axis, x.rank);
  TENON_ENSURE(x[attributes.axis] >= 1, kInvalidArgument, "axis {0} is empty", attributes.axis);
  TENON_ENSURE(IsFlag(attributes.log), kInvalidArgument, "log must be 0 or 1");
  return SetOutput(call.Input(0).dtype, x, outputs);
}

Status InferQuantizedSoftmax(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<QuantizedSoftmaxAttributes>();
  const Shape x = call.Input(0).shape();
  TENON_ENSURE(IsQuantized(call.Input(0).dtype), kInvalidArgument, "the input must be i8 or u8");
  const int32_t axis = attributes.softmax.axis;
  TENON_ENSURE(axis >= 0 && axis < x.rank, kInvalidArgument,
               "there is no axis {0} in a tensor of rank {1}", axis, x.rank);
  TENON_ENSURE(x[axis] >= 1, kInvalidArgument, "axis {0} is empty", axis);
  TENON_ENSURE(attributes.softmax.log == 0, kInvalidArgument,
               "a quantized softmax gives no logarithm");
  TENON_RETURN_IF_ERROR(CheckQuantizedOutput(attributes.output));
  TENON_ENSURE(attributes.output.rounding == Rounding::kHalfEven ||
                   attributes.output.rounding == Rounding::kFixedPoint,
               kInvalidArgument, "a softmax is rounded half_even or fixed_point");
  TENON_RETURN_IF_ERROR(CheckQuantizedScale(attributes.scale, attributes.output.rounding));
  TENON_ENSURE(attributes.least_difference <= 0, kInvalidArgument,
               "least_difference must not be positive");
  TENON_ENSURE(std::isfinite(attributes.output_scale) && attributes.output_scale > 0.0F,
               kInvalidArgument, "a scale must be positive and finite");
  return SetOutput(static_cast<DType>(attributes.output.to), x, outputs);
}

}  // namespace

constexpr OpRow kSoftmaxRow =
    MakeOpRow<SoftmaxAttributes>(OpKind::kSoftmax, /*min_inputs=*/1, /*max_inputs=*/1, InferSoftmax,
                                 /*in_place_inputs=*/1U << 0);

constexpr OpRow kQuantizedSoftmaxRow = MakeOpRow<QuantizedSoftmaxAttributes>(
    OpKind::kQuantizedSoftmax, /*min_inputs=*/1, /*max_inputs=*/1, InferQuantizedSoftmax,
    /*in_place_inputs=*/1U << 0);

}  // namespace tenon
