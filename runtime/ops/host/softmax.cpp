// Softmax and softmax of quantized tensors.
#include "runtime/ops/host/attribute_fields.hpp"
#include "runtime/ops/host/host_rows.hpp"

namespace tenon {
namespace {

constexpr std::array kSoftmaxFields = {
    IntField("axis", offsetof(SoftmaxAttributes, axis)),
    IntField("log", offsetof(SoftmaxAttributes, log)),
};

constexpr auto kQuantizedSoftmaxFields = Join(
    kSoftmaxFields,
    ScaleFields({"scale", "multiplier", "shift"}, offsetof(QuantizedSoftmaxAttributes, scale)),
    std::array{IntField("least_difference", offsetof(QuantizedSoftmaxAttributes, least_difference)),
               FloatField("output_scale", offsetof(QuantizedSoftmaxAttributes, output_scale))},
    OutputFields(offsetof(QuantizedSoftmaxAttributes, output)));

OpWork SoftmaxWork(const OpCall& call) { return PerOutputWork(call, kSoftmaxCost); }

bool SoftmaxSplit(const OpCall& call, int32_t axis, InputSplit* inputs, int32_t* granularity) {
  return axis != call.AttributesAs<SoftmaxAttributes>().axis &&
         BroadcastSplit(call, axis, inputs, granularity);
}

}  // namespace

constexpr OpHostRow kSoftmaxHostRow = {
    .text = TextOf<SoftmaxAttributes>(kSoftmaxFields),
    .work = SoftmaxWork,
    .split = {kEveryAxis, ImageAxis, SoftmaxSplit},
};

constexpr OpHostRow kQuantizedSoftmaxHostRow = {
    .text = TextOf<QuantizedSoftmaxAttributes>(kQuantizedSoftmaxFields),
    .traits = {.quantized = true,
               .output_offset = offsetof(QuantizedSoftmaxAttributes, output) / 4},
    .work = SoftmaxWork,
    .split = {kEveryAxis, ImageAxis, SoftmaxSplit},
};

}  // namespace tenon
