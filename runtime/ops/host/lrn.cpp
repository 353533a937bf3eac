#include "runtime/ops/host/attribute_fields.hpp"
#include "runtime/ops/host/host_rows.hpp"

namespace tenon {
namespace {

constexpr std::array kLrnFields = {
    IntField("size", offsetof(LrnAttributes, size)),
    FloatField("alpha", offsetof(LrnAttributes, alpha)),
    FloatField("beta", offsetof(LrnAttributes, beta)),
    FloatField("bias", offsetof(LrnAttributes, bias)),
};

/// Per element: one op for each neighbour that there is, and the power.
OpWork LrnWork(const OpCall& call) {
  const int64_t channels = call.Input(0).dims[1];
  const int64_t size = call.AttributesAs<LrnAttributes>().size;
  return PerOutputWork(call, (size < channels ? size : channels) + kActivationCost);
}

bool LrnSplit(const OpCall& call, int32_t axis, InputSplit* inputs, int32_t* granularity) {
  return axis != 1 && BroadcastSplit(call, axis, inputs, granularity);
}

}  // namespace

constexpr OpHostRow kLrnHostRow = {
    .text = TextOf<LrnAttributes>(kLrnFields),
    .work = LrnWork,
    .split = {kEveryAxis, ImageAxis, LrnSplit},
};

}  // namespace tenon
