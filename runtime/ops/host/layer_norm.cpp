// Normalisation of rows.
#include "runtime/ops/host/attribute_fields.hpp"
#include "runtime/ops/host/host_rows.hpp"

namespace tenon {
namespace {

constexpr std::array kLayerNormFields = {
    FloatField("epsilon", offsetof(LayerNormAttributes, epsilon)),
    IntField("rms", offsetof(LayerNormAttributes, rms)),
};

/// Two sums, and what each element is scaled by.
constexpr int64_t kLayerNormCost = 8;

OpWork LayerNormWork(const OpCall& call) { return PerOutputWork(call, kLayerNormCost); }

bool LayerNormSplit(const OpCall& call, int32_t axis, InputSplit* inputs, int32_t* granularity) {
  return axis != call.Output().rank - 1 && BroadcastSplit(call, axis, inputs, granularity);
}

}  // namespace

constexpr OpHostRow kLayerNormHostRow = {
    .text = TextOf<LayerNormAttributes>(kLayerNormFields),
    .work = LayerNormWork,
    .split = {kEveryAxis, ImageAxis, LayerNormSplit},
};

}  // namespace tenon
