// Ops that make each element of the output of one element of each operand: unary, binary, several
// of these in one, select, cast and copy, and binary of quantized tensors.
#include "runtime/ops/host/attribute_fields.hpp"
#include "runtime/ops/host/host_rows.hpp"

namespace tenon {
namespace {

constexpr std::array kUnaryFields = {
    EnumField("function", offsetof(UnaryAttributes, function), kUnaryFunctionNames),
    FloatField("a", offsetof(UnaryAttributes, a)),
    FloatField("b", offsetof(UnaryAttributes, b)),
};

constexpr auto kBinaryFields = Join(
    std::array{EnumField("function", offsetof(BinaryAttributes, function), kBinaryFunctionNames)},
    ActivationFields(offsetof(BinaryAttributes, activation)));

constexpr auto kQuantizedBinaryFields = Join(
    std::array{
        EnumField("function", offsetof(QuantizedBinaryAttributes, function), kBinaryFunctionNames),
        IntField("x_zero_point", offsetof(QuantizedBinaryAttributes, x_zero_point)),
        IntField("y_zero_point", offsetof(QuantizedBinaryAttributes, y_zero_point))},
    ScaleFields({"x_scale", "x_multiplier", "x_shift"},
                offsetof(QuantizedBinaryAttributes, x_scale)),
    ScaleFields({"y_scale", "y_multiplier", "y_shift"},
                offsetof(QuantizedBinaryAttributes, y_scale)),
    ScaleFields({"output_scale", "output_multiplier", "output_shift"},
                offsetof(QuantizedBinaryAttributes, output_scale)),
    std::array{IntField("left_shift", offsetof(QuantizedBinaryAttributes, left_shift))},
    OutputFields(offsetof(QuantizedBinaryAttributes, output)));

using Steps = ElementwiseAttributes;
constexpr std::array kElementwiseFields = {
    IntField("steps", offsetof(Steps, steps)),
    IntField("operands", offsetof(Steps, operands), kMostElementwiseSteps),
    EnumField("functions", offsetof(Steps, functions), kBinaryFunctionNames, kMostElementwiseSteps),
    EnumField("activations", offsetof(Steps, activations), kUnaryFunctionNames,
              kMostElementwiseSteps),
    FloatField("a", offsetof(Steps, a), kMostElementwiseSteps),
    FloatField("b", offsetof(Steps, b), kMostElementwiseSteps),
};

constexpr std::array kCastFields = {
    DTypeField("to", offsetof(CastAttributes, to)),
};

OpWork UnaryWork(const OpCall& call) {
  return PerOutputWork(call, FunctionCost(call.AttributesAs<UnaryAttributes>().function));
}

int64_t BinaryCost(BinaryFunction function) {
  return function == BinaryFunction::kPow ? kActivationCost : kPlainCost;
}

OpWork BinaryWork(const OpCall& call) {
  const auto& attributes = call.AttributesAs<BinaryAttributes>();
  return PerOutputWork(call, BinaryCost(attributes.function) + FusedCost(attributes.activation));
}

OpWork ElementwiseWork(const OpCall& call) {
  const auto& attributes = call.AttributesAs<ElementwiseAttributes>();
  int64_t cost = 0;
  for (int step = 0; step < attributes.steps; ++step) {
    if (attributes.operands[step] != 0) cost += BinaryCost(attributes.functions[step]);
    cost += FusedCost(attributes.ActivationOf(step));
  }
  return PerOutputWork(call, cost);
}

}  // namespace

constexpr OpHostRow kUnaryHostRow = {
    .text = TextOf<UnaryAttributes>(kUnaryFields),
    .work = UnaryWork,
    .split = {kEveryAxis, ImageAxis, BroadcastSplit},
};

constexpr OpHostRow kBinaryHostRow = {
    .text = TextOf<BinaryAttributes>(kBinaryFields),
    .traits = {.operands_alike = true,
               .activation_offset = offsetof(BinaryAttributes, activation) / 4},
    .work = BinaryWork,
    .split = {kEveryAxis, ImageAxis, BroadcastSplit},
};

constexpr OpHostRow kElementwiseHostRow = {
    .text = TextOf<ElementwiseAttributes>(kElementwiseFields),
    .traits = {.operands_alike = true},
    .work = ElementwiseWork,
    .split = {kEveryAxis, ImageAxis, BroadcastSplit},
};

constexpr OpHostRow kQuantizedBinaryHostRow = {
    .text = TextOf<QuantizedBinaryAttributes>(kQuantizedBinaryFields),
    .traits = {.quantized = true,
               .operands_alike = true,
               .output_offset = offsetof(QuantizedBinaryAttributes, output) / 4},
    .work = MoveWork,
    .split = {kEveryAxis, ImageAxis, BroadcastSplit},
};

constexpr OpHostRow kSelectHostRow = {
    .traits = {.operands_alike = true},
    .work = MoveWork,
    .split = {kEveryAxis, ImageAxis, BroadcastSplit},
};

constexpr OpHostRow kCastHostRow = {
    .text = TextOf<CastAttributes>(kCastFields),
    .work = MoveWork,
    .split = {kEveryAxis, ImageAxis, BroadcastSplit},
};

constexpr OpHostRow kCopyHostRow = {
    .traits = {.moves_elements = true},
    .view = ViewKind::kSameElements,
    .work = MoveWork,
    .split = {kEveryAxis, ImageAxis, BroadcastSplit},
};

}  // namespace tenon
