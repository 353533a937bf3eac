#include "runtime/ops/attribute_fields.hpp"
#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon {
namespace {

constexpr PoolAttributes kDefaults{};

constexpr AttributeField kFields[] = {
    IntField("kernel", offsetof(PoolAttributes, kernel), 2),
    IntField("strides", offsetof(PoolAttributes, strides), 2),
    IntField("dilations", offsetof(PoolAttributes, dilations), 2),
    IntField("pads", offsetof(PoolAttributes, pads), 4),
    IntField("ceil_mode", offsetof(PoolAttributes, ceil_mode)),
    IntField("count_include_pad", offsetof(PoolAttributes, count_include_pad)),
};

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

Status InferPool(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<PoolAttributes>();
  const Shape x = call.Input(0).shape();
  TENON_ENSURE(x.rank == 4, kInvalidArgument, "the input must have rank 4, not {0}", x.rank);
  TENON_ENSURE(IsFlag(attributes.ceil_mode) && IsFlag(attributes.count_include_pad),
               kInvalidArgument, "ceil_mode and count_include_pad must be 0 or 1");
  Shape y = x;
  for (int32_t i = 0; i < 2; ++i) {
    const WindowAxis axis = {
        x[2 + i],           attributes.kernel[i],  attributes.strides[i], attributes.dilations[i],
        attributes.pads[i], attributes.pads[2 + i]};
    TENON_RETURN_IF_ERROR(CheckWindow(axis));
    TENON_RETURN_IF_ERROR(CheckWindowsSeeInput(axis));
    y[2 + i] = static_cast<int32_t>(PoolWindowCount(axis, attributes.ceil_mode == 1));
  }
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

}  // namespace

constexpr OpRow kMaxPoolRow = {OpKind::kMaxPool, "max_pool",
                               /*min_inputs=*/1,
                               /*max_inputs=*/1,
                               /*outputs=*/1,    kFields,     sizeof(PoolAttributes) / 4,
                               &kDefaults,       InferMaxPool};

constexpr OpRow kAveragePoolRow = {
    OpKind::kAveragePool, "average_pool",
    /*min_inputs=*/1,
    /*max_inputs=*/1,
    /*outputs=*/1,        kFields,        sizeof(PoolAttributes) / 4, &kDefaults, InferAveragePool};

}  // namespace tenon
