// Pooling: maximum, average, and average of quantized tensors.
#include "runtime/ops/host/attribute_fields.hpp"
#include "runtime/ops/host/window_split.hpp"

namespace tenon {
namespace {

constexpr std::array kPoolFields = {
    IntField("kernel", offsetof(PoolAttributes, kernel), 2),
    IntField("strides", offsetof(PoolAttributes, strides), 2),
    IntField("dilations", offsetof(PoolAttributes, dilations), 2),
    IntField("pads", offsetof(PoolAttributes, pads), 4),
    IntField("ceil_mode", offsetof(PoolAttributes, ceil_mode)),
    IntField("count_include_pad", offsetof(PoolAttributes, count_include_pad)),
};

constexpr auto kQuantizedPoolFields = Join(
    kPoolFields,
    std::array{IntField("x_zero_point", offsetof(QuantizedAveragePoolAttributes, x_zero_point))},
    ScaleFields({"scale", "multiplier", "shift"}, offsetof(QuantizedAveragePoolAttributes, scale)),
    OutputFields(offsetof(QuantizedAveragePoolAttributes, output)));

WindowAxis PoolWindow(const OpCall& call, int i) {
  const auto& attributes = call.AttributesAs<PoolAttributes>();
  return {call.Input(0).dims[2 + i], attributes.kernel[i], attributes.strides[i],
          attributes.dilations[i],   attributes.pads[i],   attributes.pads[2 + i]};
}

bool PoolSplit(const OpCall& call, int32_t axis, InputSplit* inputs, int32_t* granularity) {
  if (!IsAxisOf(call.Output(), axis)) return false;
  *granularity = 1;
  inputs[0] = Along(axis);
  if (axis < 2) return true;
  const WindowAxis window = PoolWindow(call, axis - 2);
  const int64_t extent = window.EffectiveKernel();
  const int32_t outputs = call.Output().dims[axis];
  // The shape rule wants a dilation that cannot jump over a padded input, also of a small part.
  if (window.pad_begin > 0 && extent - window.pad_begin < window.dilation) return false;
  // The part's padding must be explicit, but what lies past the whole op's padding never counts.
  const int64_t overhang = LastStart(window, outputs) + extent - window.input - window.pad_end;
  if (call.AttributesAs<PoolAttributes>().count_include_pad != 0 && overhang > 0) return false;
  inputs[0] = WindowSplit(axis, window);
  return true;
}

// The windows of a part fit its padded input exactly, so that ceil_mode says nothing of this axis.
void PoolPart(const OpCall& call, int32_t axis, const IndexRange& out, void* attributes) {
  if (axis < 2) return;
  SetPads(WindowSplit(axis, PoolWindow(call, axis - 2)), out, call.Input(0).dims[axis], axis - 2,
          static_cast<PoolAttributes*>(attributes)->pads);
}

bool QuantizedPoolSplit(const OpCall& call, int32_t axis, InputSplit* inputs,
                        int32_t* granularity) {
  if (!PoolSplit(call, axis, inputs, granularity)) return false;
  if (call.InputCount() > QuantizedAveragePoolInput::kSums)
    inputs[QuantizedAveragePoolInput::kSums] = Along(axis);  // sums so far, one for each output
  return true;
}

}  // namespace

constexpr OpHostRow kMaxPoolHostRow = {
    .text = TextOf<PoolAttributes>(kPoolFields),
    .traits = {.pool = true, .keeps_scale = true},
    .work = PerInputWork,
    .split = {kImageAxes, ImageAxis, PoolSplit, PoolPart},
};

constexpr OpHostRow kAveragePoolHostRow = {
    .text = TextOf<PoolAttributes>(kPoolFields),
    .traits = {.pool = true},
    .work = PerInputWork,
    .split = {kImageAxes, ImageAxis, PoolSplit, PoolPart},
};

constexpr OpHostRow kQuantizedAveragePoolHostRow = {
    .text = TextOf<QuantizedAveragePoolAttributes>(kQuantizedPoolFields),
    .traits = {.pool = true,
               .quantized = true,
               .output_offset = offsetof(QuantizedAveragePoolAttributes, output) / 4},
    .work = PerInputWork,
    .split = {kImageAxes, ImageAxis, QuantizedPoolSplit, PoolPart},
};

}  // namespace tenon
