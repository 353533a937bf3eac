#include "runtime/ops/compute_shapes.hpp"

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/shape_rules.hpp"

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

/// Of no elements at all there is no maximum, minimum or mean.
bool NeedsElements(ReduceFunction function) {
  return function == ReduceFunction::kMax || function == ReduceFunction::kMin ||
         function == ReduceFunction::kMean;
}

}  // namespace

Status InferConvShape(const OpCall& call, Shape* y) {
  const auto& attributes = call.AttributesAs<ConvAttributes>();
  const Shape x = call.Input(0).shape();
  const Shape w = call.Input(1).shape();
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

Status InferMatMulShape(const OpCall& call, Shape* y) {
  const auto& attributes = call.AttributesAs<MatMulAttributes>();
  TENON_ENSURE(IsFlag(attributes.transpose_a) && IsFlag(attributes.transpose_b), kInvalidArgument,
               "transpose_a and transpose_b must be 0 or 1");
  Shape a = call.Input(0).shape();
  Shape b = call.Input(1).shape();
  TENON_ENSURE(a.rank >= 2 && b.rank >= 2, kInvalidArgument,
               "operands must have rank 2 or more, not {0} and {1}", a.rank, b.rank);

  const int32_t rows = a[a.rank - 2 + attributes.transpose_a];
  const int32_t depth_a = a[a.rank - 1 - attributes.transpose_a];
  const int32_t depth_b = b[b.rank - 2 + attributes.transpose_b];
  const int32_t columns = b[b.rank - 1 - attributes.transpose_b];
  TENON_ENSURE(depth_a == depth_b && depth_a >= 1, kInvalidArgument,
               "inner dimensions must be equal and at least 1, not {0} and {1}", depth_a, depth_b);
  a.rank -= 2;  // what is left are the batch dimensions
  b.rank -= 2;
  TENON_ENSURE(Broadcast(a, b, y), kInvalidArgument, "batch dimensions do not broadcast");
  y->dims[y->rank++] = rows;
  y->dims[y->rank++] = columns;
  return OkStatus();
}

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

Status InferReduceShape(const OpCall& call, Shape* y) {
  const auto& attributes = call.AttributesAs<ReduceAttributes>();
  const Shape x = call.Input(0).shape();
  TENON_ENSURE(IsValidEnum(attributes.function, kReduceFunctionCount), kInvalidArgument,
               "there is no reduction {0}", static_cast<int64_t>(attributes.function));
  TENON_ENSURE(IsFlag(attributes.keep_dims), kInvalidArgument, "keep_dims must be 0 or 1");
  TENON_ENSURE(attributes.axes_mask >= 0 && attributes.axes_mask < (1 << x.rank), kInvalidArgument,
               "axes_mask {0} names axes that a tensor of rank {1} does not have",
               attributes.axes_mask, x.rank);
  *y = Shape();
  for (int32_t i = 0; i < x.rank; ++i) {
    const bool reduced = ((attributes.axes_mask >> i) & 1) != 0;
    TENON_ENSURE(!reduced || x[i] >= 1 || !NeedsElements(attributes.function), kInvalidArgument,
                 "axis {0} has no elements to reduce", i);
    if (!reduced) {
      y->dims[y->rank++] = x[i];
    } else if (attributes.keep_dims == 1) {
      y->dims[y->rank++] = 1;
    }
  }
  return OkStatus();
}

}  // namespace tenon
