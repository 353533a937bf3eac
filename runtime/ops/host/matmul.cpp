// Matrix product, and those of quantized operands.
#include "runtime/ops/host/attribute_fields.hpp"
#include "runtime/ops/host/host_rows.hpp"

namespace tenon {
namespace {

constexpr std::array kMatMulFields = {
    IntField("transpose_a", offsetof(MatMulAttributes, transpose_a)),
    IntField("transpose_b", offsetof(MatMulAttributes, transpose_b)),
};

constexpr auto kMatmulFields =
    Join(kMatMulFields, ActivationFields(offsetof(MatMulAttributes, activation)));
constexpr auto kQuantizedMatmulFields =
    Join(kMatmulFields, OutputFields(offsetof(QuantizedMatMulAttributes, output)));

int64_t MatMulMultiplyAccumulates(const OpCall& call) {
  const TensorView& a = call.Input(MatMulInput::kX);
  return call.Output().Elements() *
         a.dims[a.rank - 1 - call.AttributesAs<MatMulAttributes>().transpose_a];
}

OpWork MatMulWork(const OpCall& call) {
  const int64_t bias_cost = call.HasInput(MatMulInput::kBias) ? kPlainCost : 0;
  const int64_t activation_cost = FusedCost(call.AttributesAs<MatMulAttributes>().activation);
  return GemmWork(call, MatMulMultiplyAccumulates(call), activation_cost + bias_cost);
}

/// The sum is rescaled.
OpWork QuantizedMatMulWork(const OpCall& call) {
  return GemmWork(call, MatMulMultiplyAccumulates(call), kPlainCost);
}

// Rows of the left matrix come after its columns: weights are what does not fit, as a rule.
constexpr SplitDimension kMatMulAxes[] = {SplitDimension::kBatch, SplitDimension::kChannel,
                                          SplitDimension::kOther, SplitDimension::kHeight};

int32_t MatMulAxis(const OpCall& call, SplitDimension dimension) {
  const int32_t rank = call.Output().rank;
  switch (dimension) {
    case SplitDimension::kBatch:
      return 0;  // of a plain product: the rows, one per image
    case SplitDimension::kChannel:
      return rank - 1;
    case SplitDimension::kHeight:
      return rank >= 3 ? rank - 2 : -1;
    case SplitDimension::kOther:
      return rank >= 4 ? 1 : -1;
    case SplitDimension::kWidth:
      break;
  }
  return -1;
}

bool MatMulSplit(const OpCall& call, int32_t axis, InputSplit* inputs, int32_t* granularity) {
  if (!IsAxisOf(call.Output(), axis)) return false;
  *granularity = 1;
  const auto& attributes = call.AttributesAs<MatMulAttributes>();
  for (int i = 0; i < call.InputCount(); ++i) inputs[i] = BroadcastInput(call, i, axis);
  // The two matrix axes of the operands are not the output's.
  const int32_t rank = call.Output().rank;
  if (axis == rank - 1) {
    inputs[MatMulInput::kX] = Whole();
    inputs[MatMulInput::kWeights] =
        Along(call.Input(MatMulInput::kWeights).rank - 1 - attributes.transpose_b);
  } else if (axis == rank - 2) {
    inputs[MatMulInput::kX] = Along(call.Input(MatMulInput::kX).rank - 2 + attributes.transpose_a);
    inputs[MatMulInput::kWeights] = Whole();
  }
  return true;
}

bool QuantizedMatMulSplit(const OpCall& call, int32_t axis, InputSplit* inputs,
                          int32_t* granularity) {
  const OpCall product = FactorsOnly(call, inputs);
  if (!MatMulSplit(product, axis, inputs, granularity)) return false;
  if (axis == call.Output().rank - 1) SplitGemmChannels(call, inputs);
  return true;
}

OpWork DynamicMatMulWork(const OpCall& call) {
  const TensorView& a = call.Input(MatMulInput::kX);
  OpWork work = GemmWork(call, call.Output().Elements() * a.dims[a.rank - 1], 2 * kPlainCost);
  work.elementary_ops += 2 * a.Elements();
  return work;
}

/// By columns alone: every part needs the range of all of a.
bool DynamicMatMulSplit(const OpCall& call, int32_t axis, InputSplit* inputs,
                        int32_t* granularity) {
  using In = DynamicMatMulInput;
  if (axis != call.Output().rank - 1) return false;
  *granularity = 1;
  for (int i = 0; i < call.InputCount(); ++i) {
    inputs[i] = call.HasInput(i) && i >= In::kBias ? BroadcastInput(call, i, axis) : Whole();
  }
  inputs[In::kWeights] = Along(1);
  return true;
}

}  // namespace

constexpr OpHostRow kMatMulHostRow = {
    .text = TextOf<MatMulAttributes>(kMatmulFields),
    .traits = {.matrix_product = true,
               .new_axes = true,
               .activation_offset = offsetof(MatMulAttributes, activation) / 4},
    .work = MatMulWork,
    .split = {kMatMulAxes, MatMulAxis, MatMulSplit},
};

constexpr OpHostRow kQuantizedMatMulHostRow = {
    .text = TextOf<QuantizedMatMulAttributes>(kQuantizedMatmulFields),
    .traits = {.matrix_product = true,
               .quantized = true,
               .new_axes = true,
               .output_offset = offsetof(QuantizedMatMulAttributes, output) / 4},
    .work = QuantizedMatMulWork,
    .split = {kMatMulAxes, MatMulAxis, QuantizedMatMulSplit},
};

constexpr OpHostRow kDynamicMatMulHostRow = {
    .traits = {.new_axes = true},
    .work = DynamicMatMulWork,
    .split = {kMatMulAxes, MatMulAxis, DynamicMatMulSplit},
};

}  // namespace tenon
