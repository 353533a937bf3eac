#include "runtime/ops/attribute_fields.hpp"
#include "runtime/ops/quantized_rules.hpp"
#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon {
namespace {

constexpr QuantizedBinaryAttributes kDefaults{};

constexpr AttributeField kFields[] = {
    EnumField("function", offsetof(QuantizedBinaryAttributes, function), kBinaryFunctionNames),
    IntField("x_zero_point", offsetof(QuantizedBinaryAttributes, x_zero_point)),
    IntField("y_zero_point", offsetof(QuantizedBinaryAttributes, y_zero_point)),
    ScaleField("x_scale", offsetof(QuantizedBinaryAttributes, x_scale)),
    MultiplierField("x_multiplier", offsetof(QuantizedBinaryAttributes, x_scale)),
    ShiftField("x_shift", offsetof(QuantizedBinaryAttributes, x_scale)),
    ScaleField("y_scale", offsetof(QuantizedBinaryAttributes, y_scale)),
    MultiplierField("y_multiplier", offsetof(QuantizedBinaryAttributes, y_scale)),
    ShiftField("y_shift", offsetof(QuantizedBinaryAttributes, y_scale)),
    ScaleField("output_scale", offsetof(QuantizedBinaryAttributes, output_scale)),
    MultiplierField("output_multiplier", offsetof(QuantizedBinaryAttributes, output_scale)),
    ShiftField("output_shift", offsetof(QuantizedBinaryAttributes, output_scale)),
    IntField("left_shift", offsetof(QuantizedBinaryAttributes, left_shift)),
    OutputDTypeField(offsetof(QuantizedBinaryAttributes, output)),
    OutputRoundingField(offsetof(QuantizedBinaryAttributes, output)),
    OutputZeroPointField(offsetof(QuantizedBinaryAttributes, output)),
    OutputMinField(offsetof(QuantizedBinaryAttributes, output)),
    OutputMaxField(offsetof(QuantizedBinaryAttributes, output)),
};

bool HasForm(BinaryFunction function, Rounding rounding) {
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

Status Infer(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<QuantizedBinaryAttributes>();
  const Rounding rounding = attributes.output.rounding;
  const TensorView& x = call.Input(0);
  const TensorView& y = call.Input(1);
  TENON_ENSURE(IsQuantized(x.dtype) && IsQuantized(y.dtype), kInvalidArgument,
               "operands must be i8 or u8");
  TENON_RETURN_IF_ERROR(CheckQuantizedOutput(attributes.output));
  TENON_ENSURE(HasForm(attributes.function, rounding), kInvalidArgument,
               "function {0} has no quantized form with rounding {1}",
               static_cast<int64_t>(attributes.function), static_cast<int64_t>(rounding));
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

}  // namespace

constexpr OpRow kQuantizedBinaryRow = {OpKind::kQuantizedBinary,
                                       "quantized_binary",
                                       /*min_inputs=*/2,
                                       /*max_inputs=*/2,
                                       /*outputs=*/1,
                                       sizeof(QuantizedBinaryAttributes) / 4,
                                       Infer,
                                       /*in_place_inputs=*/(1U << 0) | (1U << 1)};

constexpr OpText kQuantizedBinaryText = {kFields, &kDefaults};

}  // namespace tenon
