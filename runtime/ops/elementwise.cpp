// Ops that make each element of the output of one element of each operand: unary, binary, several
// of these in one, select, cast and copy, and binary of quantized tensors.
#include "runtime/ops/quantized_rules.hpp"
#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon {
namespace {

/// Sigmoid and tanh also take numbers of 16 bits in fixed point, with `a` bits before the point.
bool IsFixedPointFunction(const UnaryAttributes& attributes, DType dtype) {
  const bool takes =
      attributes.function == UnaryFunction::kSigmoid || attributes.function == UnaryFunction::kTanh;
  return takes && dtype == DType::kI16;
}

Status CheckIntegerBits(const UnaryAttributes& attributes) {
  constexpr float kMostBits = 6.0F;
  const float bits = attributes.a;
  TENON_ENSURE(
      bits >= 0.0F && bits <= kMostBits && bits == static_cast<float>(static_cast<int>(bits)),
      kInvalidArgument, "a fixed-point number of i16 has 0 to 6 bits before the point");
  TENON_ENSURE(attributes.function != UnaryFunction::kSigmoid || bits == 3.0F, kInvalidArgument,
               "the sigmoid of i16 takes 3 bits before the point");
  return OkStatus();
}

Status InferUnary(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<UnaryAttributes>();
  const TensorView& x = call.Input(0);
  TENON_RETURN_IF_ERROR(
      IsFixedPointFunction(attributes, x.dtype)
          ? CheckIntegerBits(attributes)
          : CheckFunction(attributes.function, attributes.a, attributes.b, x.dtype));
  return SetOutput(x.dtype, x.shape(), outputs);
}

const char* NameOf(BinaryFunction function) {
  return kBinaryFunctionNames[static_cast<int>(function)];
}

bool FunctionTakes(BinaryFunction function, DType dtype) {
  switch (function) {
    case BinaryFunction::kAnd:
    case BinaryFunction::kOr:
    case BinaryFunction::kXor:
      return dtype == DType::kBool;
    case BinaryFunction::kEqual:
      return IsComputeFloat(dtype) || IsInteger(dtype) || dtype == DType::kBool;
    default:
      return IsComputeFloat(dtype) || IsInteger(dtype);
  }
}

Status InferBinary(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<BinaryAttributes>();
  const DType dtype = call.Input(BinaryInput::kX).dtype;
  TENON_ENSURE(IsValidEnum(attributes.function, kBinaryFunctionCount), kInvalidArgument,
               "there is no function {0}", static_cast<int64_t>(attributes.function));
  TENON_ENSURE(call.Input(BinaryInput::kY).dtype == dtype, kInvalidArgument,
               "both operands must have the same dtype");
  if (!FunctionTakes(attributes.function, dtype)) {
    return MakeError(StatusCode::kInvalidArgument, "{s} does not take this dtype")
        .About(NameOf(attributes.function));
  }
  const DType result = GivesBool(attributes.function) ? DType::kBool : dtype;
  TENON_RETURN_IF_ERROR(CheckActivation(attributes.activation, result));
  Shape y;
  TENON_ENSURE(
      Broadcast(call.Input(BinaryInput::kX).shape(), call.Input(BinaryInput::kY).shape(), &y),
      kInvalidArgument, "the operands' shapes do not broadcast");
  return SetOutput(result, y, outputs);
}

bool HasQuantizedForm(BinaryFunction function, Rounding rounding) {
  switch (function) {
    case BinaryFunction::kAdd:
    case BinaryFunction::kSub:
    case BinaryFunction::kMul:
      return rounding == Rounding::kHalfEven || rounding == Rounding::kFixedPoint;
    case BinaryFunction::kDiv:
    case BinaryFunction::kMax:
    case BinaryFunction::kMin:
      return rounding == Rounding::kHalfEven;
    default:
      return false;
  }
}

/// Sums and states of recurrent layers have more bits than a byte. Only fixed point takes them.
bool QuantizedBinaryTakes(DType dtype, Rounding rounding) {
  const bool is_wide = dtype == DType::kI16 || dtype == DType::kI32;
  return IsQuantized(dtype) || (is_wide && rounding == Rounding::kFixedPoint);
}

Status InferQuantizedBinary(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<QuantizedBinaryAttributes>();
  const Rounding rounding = attributes.output.rounding;
  const TensorView& x = call.Input(BinaryInput::kX);
  const TensorView& y = call.Input(BinaryInput::kY);
  TENON_ENSURE(QuantizedBinaryTakes(x.dtype, rounding) && QuantizedBinaryTakes(y.dtype, rounding),
               kInvalidArgument, "operands must be i8 or u8, or i16 or i32 with fixed_point");
  TENON_RETURN_IF_ERROR(
      CheckQuantizedOutput(attributes.output, /*may_be_wide=*/rounding == Rounding::kFixedPoint));
  TENON_ENSURE(IsValidEnum(attributes.function, kBinaryFunctionCount), kInvalidArgument,
               "there is no function {0}", static_cast<int64_t>(attributes.function));
  if (!HasQuantizedForm(attributes.function, rounding)) {
    return MakeError(StatusCode::kInvalidArgument, "{s} has no quantized form with this rounding")
        .About(NameOf(attributes.function));
  }
  TENON_RETURN_IF_ERROR(CheckZeroPoint(attributes.x_zero_point, x.dtype));
  TENON_RETURN_IF_ERROR(CheckZeroPoint(attributes.y_zero_point, y.dtype));
  TENON_RETURN_IF_ERROR(CheckQuantizedScale(attributes.x_scale, rounding));
  TENON_RETURN_IF_ERROR(CheckQuantizedScale(attributes.y_scale, rounding));
  TENON_RETURN_IF_ERROR(CheckQuantizedScale(attributes.output_scale, rounding));
  TENON_ENSURE(attributes.left_shift >= 0 && attributes.left_shift <= 22, kInvalidArgument,
               "left_shift must be from 0 to 22, not {0}", attributes.left_shift);
  Shape z;
  TENON_ENSURE(Broadcast(x.shape(), y.shape(), &z), kInvalidArgument,
               "the operands do not broadcast");
  return SetOutput(static_cast<DType>(attributes.output.to), z, outputs);
}

/// Checks one step, whose operand is known to broadcast if it is there.
Status CheckStep(const OpCall& call, const ElementwiseAttributes& attributes, int step) {
  TENON_RETURN_IF_ERROR(CheckActivation(attributes.ActivationOf(step), call.Input(0).dtype));
  const int64_t operand = attributes.operands[step];
  if (operand == 0) return OkStatus();
  const int64_t input = operand < 0 ? -operand : operand;
  TENON_ENSURE(input < call.InputCount() && call.HasInput(static_cast<int>(input)),
               kInvalidArgument, "step {0} reads input {1}, which is not there", step, input);
  const BinaryFunction function = attributes.functions[step];
  TENON_ENSURE(IsValidEnum(function, kBinaryFunctionCount), kInvalidArgument,
               "step {0}: there is no function {1}", step, static_cast<int64_t>(function));
  if (GivesBool(function)) {
    return MakeError(StatusCode::kInvalidArgument, "step {0}: {s} gives no float", step)
        .About(NameOf(function));
  }
  return OkStatus();
}

Status InferElementwise(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<ElementwiseAttributes>();
  TENON_RETURN_IF_ERROR(CheckFloatOperands(call));
  TENON_ENSURE(attributes.steps >= 1 && attributes.steps <= kMostElementwiseSteps, kInvalidArgument,
               "there are 1 to {0} steps, not {1}", kMostElementwiseSteps, attributes.steps);
  const Shape x = call.Input(0).shape();
  for (int i = 1; i < call.InputCount(); ++i) {
    TENON_ENSURE(!call.HasInput(i) || BroadcastsTo(call.Input(i).shape(), x), kInvalidArgument,
                 "input {0} does not broadcast to x", i);
  }
  for (int step = 0; step < attributes.steps; ++step) {
    TENON_RETURN_IF_ERROR(CheckStep(call, attributes, step));
  }
  return SetOutput(call.Input(0).dtype, x, outputs);
}

Status InferSelect(const OpCall& call, OutputType* outputs) {
  TENON_ENSURE(call.Input(SelectInput::kCondition).dtype == DType::kBool, kInvalidArgument,
               "the condition must be bool");
  TENON_ENSURE(call.Input(SelectInput::kX).dtype == call.Input(SelectInput::kY).dtype,
               kInvalidArgument, "both choices must have the same dtype");
  Shape choices;
  Shape y;
  TENON_ENSURE(Broadcast(call.Input(SelectInput::kX).shape(), call.Input(SelectInput::kY).shape(),
                         &choices) &&
                   Broadcast(call.Input(SelectInput::kCondition).shape(), choices, &y),
               kInvalidArgument, "the operands' shapes do not broadcast");
  return SetOutput(call.Input(SelectInput::kX).dtype, y, outputs);
}

Status InferCast(const OpCall& call, OutputType* outputs) {
  const int32_t to = call.AttributesAs<CastAttributes>().to;
  TENON_ENSURE(IsValidDType(to), kInvalidArgument, "there is no dtype {0}", to);
  return SetOutput(static_cast<DType>(to), call.Input(0).shape(), outputs);
}

Status InferCopy(const OpCall& call, OutputType* outputs) {
  return SetOutput(call.Input(0).dtype, call.Input(0).shape(), outputs);
}

}  // namespace

constexpr OpRow kUnaryRow = MakeOpRow<UnaryAttributes>(
    OpKind::kUnary, /*min_inputs=*/1, /*max_inputs=*/1, InferUnary, /*in_place_inputs=*/1U << 0);

constexpr OpRow kBinaryRow =
    MakeOpRow<BinaryAttributes>(OpKind::kBinary, /*min_inputs=*/2, /*max_inputs=*/2, InferBinary,
                                /*in_place_inputs=*/1U << BinaryInput::kX | 1U << BinaryInput::kY);

constexpr OpRow kQuantizedBinaryRow = MakeOpRow<QuantizedBinaryAttributes>(
    OpKind::kQuantizedBinary, /*min_inputs=*/2, /*max_inputs=*/2, InferQuantizedBinary,
    /*in_place_inputs=*/1U << BinaryInput::kX | 1U << BinaryInput::kY);

constexpr OpRow kElementwiseRow =
    MakeOpRow<ElementwiseAttributes>(OpKind::kElementwise, /*min_inputs=*/1,
                                     /*max_inputs=*/1 + kMostElementwiseSteps, InferElementwise,
                                     /*in_place_inputs=*/(2U << kMostElementwiseSteps) - 1U);

constexpr OpRow kSelectRow =
    MakeOpRow<NoAttributes>(OpKind::kSelect, /*min_inputs=*/3, /*max_inputs=*/3, InferSelect);

constexpr OpRow kCastRow =
    MakeOpRow<CastAttributes>(OpKind::kCast, /*min_inputs=*/1, /*max_inputs=*/1, InferCast);

constexpr OpRow kCopyRow =
    MakeOpRow<NoAttributes>(OpKind::kCopy, /*min_inputs=*/1, /*max_inputs=*/1, InferCopy);

}  // namespace tenon
