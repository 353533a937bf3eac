// Between reals and small integers: quantize, dequantize, and any function of a byte by a table.
#include "runtime/ops/host/attribute_fields.hpp"
#include "runtime/ops/host/host_rows.hpp"

namespace tenon {
namespace {

constexpr std::array kQuantizeFields = {
    DTypeField("to", offsetof(QuantizeAttributes, to)),
    IntField("axis", offsetof(QuantizeAttributes, axis)),
    EnumField("rounding", offsetof(QuantizeAttributes, rounding), kRoundingNames),
};

constexpr std::array kDequantizeFields = {
    IntField("axis", offsetof(DequantizeAttributes, axis)),
};

bool QuantizeSplit(const OpCall& call, int32_t axis, InputSplit* inputs, int32_t* granularity) {
  if (!IsAxisOf(call.Output(), axis)) return false;
  *granularity = 1;
  inputs[QuantizeInput::kX] = Along(axis);
  // The attribute `axis` is the first word of dequantize and the second of quantize.
  const bool quantizes = call.Input(QuantizeInput::kX).dtype == DType::kF32;
  const int32_t own = quantizes ? call.AttributesAs<QuantizeAttributes>().axis
                                : call.AttributesAs<DequantizeAttributes>().axis;
  for (int i = QuantizeInput::kScale; i < call.InputCount(); ++i) {
    inputs[i] = axis == own ? OneOrEach(call, i) : Whole();
  }
  return true;
}

bool LookupSplit(const OpCall& call, int32_t axis, InputSplit* inputs, int32_t* granularity) {
  if (!IsAxisOf(call.Output(), axis)) return false;
  *granularity = 1;
  inputs[LookupInput::kX] = Along(axis);
  inputs[LookupInput::kTable] = Whole();
  return true;
}

}  // namespace

constexpr OpHostRow kQuantizeHostRow = {
    .text = TextOf<QuantizeAttributes>(kQuantizeFields),
    .traits = {.quantized = true},
    .work = MoveWork,
    .split = {kEveryAxis, ImageAxis, QuantizeSplit},
};

constexpr OpHostRow kDequantizeHostRow = {
    .text = TextOf<DequantizeAttributes>(kDequantizeFields),
    .traits = {.quantized = true},
    .work = MoveWork,
    .split = {kEveryAxis, ImageAxis, QuantizeSplit},
};

constexpr OpHostRow kLookupHostRow = {
    .traits = {.quantized = true},
    .work = MoveWork,
    .split = {kEveryAxis, ImageAxis, LookupSplit},
};

}  // namespace tenon
