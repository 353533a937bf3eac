#include "runtime/ops/host/attribute_fields.hpp"
#include "runtime/ops/host/host_rows.hpp"

namespace tenon {
namespace {

constexpr std::array kTopKFields = {
    IntField("axis", offsetof(TopKAttributes, axis)),
    IntField("count", offsetof(TopKAttributes, count)),
    IntField("smallest", offsetof(TopKAttributes, smallest)),
};

bool TopKSplit(const OpCall& call, int32_t axis, InputSplit* inputs, int32_t* granularity) {
  return axis != call.AttributesAs<TopKAttributes>().axis &&
         BroadcastSplit(call, axis, inputs, granularity);
}

}  // namespace

constexpr OpHostRow kTopKHostRow = {
    .text = TextOf<TopKAttributes>(kTopKFields),
    .work = PerInputWork,
    .split = {kEveryAxis, ImageAxis, TopKSplit},
};

}  // namespace tenon
