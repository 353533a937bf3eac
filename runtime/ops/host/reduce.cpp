// Reduction over axes, the sum of quantized tensors over axes, and running sums along one.
#include "runtime/ops/host/attribute_fields.hpp"
#include "runtime/ops/host/host_rows.hpp"

namespace tenon {
namespace {

constexpr std::array kReduceFields = {
    EnumField("function", offsetof(ReduceAttributes, function), kReduceFunctionNames),
    IntField("axes_mask", offsetof(ReduceAttributes, axes_mask)),
    IntField("keep_dims", offsetof(ReduceAttributes, keep_dims)),
};

constexpr auto kQuantizedReduceFields =
    Join(kReduceFields,
         std::array{IntField("x_zero_point", offsetof(QuantizedReduceAttributes, x_zero_point))},
         ScaleFields({"scale", "multiplier", "shift"}, offsetof(QuantizedReduceAttributes, scale)),
         OutputFields(offsetof(QuantizedReduceAttributes, output)));

// A part of one element between two reduced axes may be summed up in another order than the whole.
bool ReduceSplit(const OpCall& call, int32_t axis, InputSplit* inputs, int32_t* granularity) {
  if (!IsAxisOf(call.Output(), axis)) return false;
  *granularity = 1;
  const auto& attributes = call.AttributesAs<ReduceAttributes>();
  int32_t out_axis = 0;
  for (int32_t i = 0; i < call.Input(0).rank; ++i) {
    const bool reduced = ((attributes.axes_mask >> i) & 1) != 0;
    if (reduced && attributes.keep_dims == 0) continue;
    if (out_axis == axis) {
      inputs[0] = Along(i);
      return !reduced;
    }
    ++out_axis;
  }
  return false;
}

constexpr std::array kCumSumFields = {
    IntField("axis", offsetof(CumSumAttributes, axis)),
    IntField("exclusive", offsetof(CumSumAttributes, exclusive)),
    IntField("reverse", offsetof(CumSumAttributes, reverse)),
};

bool CumSumSplit(const OpCall& call, int32_t axis, InputSplit* inputs, int32_t* granularity) {
  return axis != call.AttributesAs<CumSumAttributes>().axis &&
         BroadcastSplit(call, axis, inputs, granularity);
}

}  // namespace

constexpr OpHostRow kReduceHostRow = {
    .text = TextOf<ReduceAttributes>(kReduceFields),
    .work = PerInputWork,
    .split = {kEveryAxis, ImageAxis, ReduceSplit},
};

constexpr OpHostRow kQuantizedReduceHostRow = {
    .text = TextOf<QuantizedReduceAttributes>(kQuantizedReduceFields),
    .traits = {.quantized = true, .output_offset = offsetof(QuantizedReduceAttributes, output) / 4},
    .work = PerInputWork,
    .split = {kEveryAxis, ImageAxis, ReduceSplit},
};

constexpr OpHostRow kCumSumHostRow = {
    .text = TextOf<CumSumAttributes>(kCumSumFields),
    .work = MoveWork,
    .split = {kEveryAxis, ImageAxis, CumSumSplit},
};

}  // namespace tenon
