#include "runtime/ops/attribute_fields.hpp"
#include "runtime/ops/compute_shapes.hpp"
#include "runtime/ops/quantized_rules.hpp"
#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon {
namespace {

constexpr QuantizedReduceAttributes kDefaults{};

constexpr AttributeField kFields[] = {
    EnumField("function", offsetof(ReduceAttributes, function), kReduceFunctionNames),
    IntField("axes_mask", offsetof(ReduceAttributes, axes_mask)),
    IntField("keep_dims", offsetof(ReduceAttributes, keep_dims)),
    IntField("x_zero_point", offsetof(QuantizedReduceAttributes, x_zero_point)),
    ScaleField("scale", offsetof(QuantizedReduceAttributes, scale)),
    MultiplierField("multiplier", offsetof(QuantizedReduceAttributes, scale)),
    ShiftField("shift", offsetof(QuantizedReduceAttributes, scale)),
    OutputDTypeField(offsetof(QuantizedReduceAttributes, output)),
    OutputRoundingField(offsetof(QuantizedReduceAttributes, output)),
    OutputZeroPointField(offsetof(QuantizedReduceAttributes, output)),
    OutputMinField(offsetof(QuantizedReduceAttributes, output)),
    OutputMaxField(offsetof(QuantizedReduceAttributes, output)),
};

Status Infer(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<QuantizedReduceAttributes>();
  const DType dtype = call.Input(0).dtype;
  TENON_ENSURE(IsQuantized(dtype), kInvalidArgument, "the input must be i8 or u8");
  TENON_ENSURE(attributes.reduce.function == ReduceFunction::kSum, kInvalidArgument,
               "a quantized reduction is a sum, a mean's count being in the scale");
  Shape y;
  TENON_RETURN_IF_ERROR(InferReduceShape(call, &y));
  TENON_RETURN_IF_ERROR(CheckQuantizedOutput(attributes.output));
  TENON_RETURN_IF_ERROR(CheckZeroPoint(attributes.x_zero_point, dtype));
  TENON_ENSURE(attributes.output.rounding == Rounding::kHalfEven ||
                   attributes.output.rounding == Rounding::kFixedPoint,
               kInvalidArgument, "sums are rounded half_even or fixed_point");
  TENON_RETURN_IF_ERROR(CheckQuantizedScale(attributes.scale, attributes.output.rounding));
  return SetOutput(static_cast<DType>(attributes.output.to), y, outputs);
}

}  // namespace

constexpr OpRow kQuantizedReduceRow = {OpKind::kQuantizedReduce,
                                       "quantized_reduce",
                                       /*min_inputs=*/1,
                                       /*max_inputs=*/1,
                                       /*outputs=*/1,
                                       sizeof(QuantizedReduceAttributes) / 4,
                                       Infer};

constexpr OpText kQuantizedReduceText = {kFields, &kDefaults};

}  // namespace tenon
