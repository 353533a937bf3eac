// Pooling: maximum, average, and average of quantized tensors.
#include "runtime/ops/quantized_rules.hpp"
#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon {
namespace {

/// Refuses windows that would see padding only: their maximum and mean do not exist.
/// The first window sees input if the padding before it is shorter than the window and no step
/// between two taps jumps over the whole input; the last one if it starts before the input ends.
Status CheckWindowsSeeInput(const WindowAxis& axis) {
  TENON_ENSURE(axis.pad_begin < axis.EffectiveKernel() && axis.pad_end < axis.EffectiveKernel(),
               kInvalidArgument, "pads must be smaller than the window of {0}",
               axis.EffectiveKernel());
  TENON_ENSURE(axis.pad_begin == 0 || axis.dilation <= axis.input, kInvalidArgument,
               "a dilation of {0} jumps over an input of {1}", axis.dilation, axis.input);
  return OkStatus();
}

/// Number of windows; with `ceil_mode` the last one may reach past the end padding, but must start
/// inside the input or the padding before it (ONNX, and PyTorch since 1.5).
int64_t PoolWindowCount(const WindowAxis& axis, bool ceil_mode) {
  const int64_t whole = WindowCount(axis);
  const int64_t rest = (axis.PaddedInput() - axis.EffectiveKernel()) % axis.stride;
  const bool starts_inside = whole * axis.stride < axis.input + axis.pad_begin;
  return ceil_mode && rest != 0 && starts_inside ? whole + 1 : whole;
}

/// Of each: the attributes begin with PoolAttributes.
Status InferPoolShape(const OpCall& call, Shape* y) {
  const auto& attributes = call.AttributesAs<PoolAttributes>();
  const Shape x = call.Input(0).shape();
  TENON_ENSURE(x.rank == 4, kInvalidArgument, "the input must have rank 4, not {0}", x.rank);
  TENON_ENSURE(IsFlag(attributes.ceil_mode) && IsFlag(attributes.count_include_pad),
               kInvalidArgument, "ceil_mode and count_include_pad must be 0 or 1");
  *y = x;
  for (int32_t i = 0; i < 2; ++i) {
    const WindowAxis axis = {
        x[2 + i],           attributes.kernel[i],  attributes.strides[i], attributes.dilations[i],
        attributes.pads[i], attributes.pads[2 + i]};
    TENON_RETURN_IF_ERROR(CheckWindow(axis));
    TENON_RETURN_IF_ERROR(CheckWindowsSeeInput(axis));
    (*y)[2 + i] = static_cast<int32_t>(PoolWindowCount(axis, attributes.ceil_mode == 1));
  }
  return OkStatus();
}

Status InferPool(const OpCall& call, OutputType* outputs) {
  Shape y;
  TENON_RETURN_IF_ERROR(InferPoolShape(call, &y));
  return SetOutput(call.Input(0).dtype, y, outputs);
}

Status InferMaxPool(const OpCall& call, OutputType* outputs) {
  const DType dtype = call.Input(0).dtype;
  TENON_ENSURE(IsComputeFloat(dtype) || IsInteger(dtype), kInvalidArgument,
               "the input must be f32, f16, f64 or an integer type");
  return InferPool(call, outputs);
}

Status InferAveragePool(const OpCall& call, OutputType* outputs) {
  TENON_RETURN_IF_ERROR(CheckFloatOperands(call));
  return InferPool(call, outputs);
}

constexpr bool IsSum(DType dtype) { return dtype == DType::kI32 || dtype == DType::kI16; }

Status CheckSums(const OpCall& call, const Shape& y) {
  if (!call.HasInput(QuantizedAveragePoolInput::kSums)) return OkStatus();
  const TensorView& sums = call.Input(QuantizedAveragePoolInput::kSums);
  TENON_ENSURE(IsSum(sums.dtype) && sums.shape() == y, kInvalidArgument,
               "sums to add to must be i32 or i16 and have the output's shape");
  return OkStatus();
}

Status InferQuantizedAveragePool(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<QuantizedAveragePoolAttributes>();
  const DType dtype = call.Input(QuantizedAveragePoolInput::kX).dtype;
  TENON_ENSURE(IsQuantized(dtype), kInvalidArgument, "the input must be i8 or u8");
  Shape y;
  TENON_RETURN_IF_ERROR(InferPoolShape(call, &y));
  TENON_RETURN_IF_ERROR(CheckSums(call, y));
  TENON_RETURN_IF_ERROR(CheckZeroPoint(attributes.x_zero_point, dtype));
  for (const DType sum : {DType::kI32, DType::kI16}) {
    if (attributes.output.to == static_cast<int32_t>(sum)) return SetOutput(sum, y, outputs);
  }
  TENON_RETURN_IF_ERROR(CheckQuantizedOutput(attributes.output));
  TENON_ENSURE(attributes.output.rounding == Rounding::kHalfEven ||
                   attributes.output.rounding == Rounding::kHalfAway,
               kInvalidArgument, "averages are rounded half_even or half_away");
  TENON_RETURN_IF_ERROR(CheckQuantizedScale(attributes.scale, Rounding::kHalfEven));
  return SetOutput(static_cast<DType>(attributes.output.to), y, outputs);
}

}  // namespace

constexpr OpRow kMaxPoolRow =
    MakeOpRow<PoolAttributes>(OpKind::kMaxPool, /*min_inputs=*/1, /*max_inputs=*/1, InferMaxPool);

constexpr OpRow kAveragePoolRow = MakeOpRow<PoolAttributes>(OpKind::kAveragePool, /*min_inputs=*/1,
                                                            /*max_inputs=*/1, InferAveragePool);

constexpr OpRow kQuantizedAveragePoolRow = MakeOpRow<QuantizedAveragePoolAttributes>(
    OpKind::kQuantizedAveragePool, /*min_inputs=*/1, /*max_inputs=*/2, InferQuantizedAveragePool,
    /*in_place_inputs=*/1U << QuantizedAveragePoolInput::kSums);

}  // namespace tenon
