#include "runtime/ops/attribute_fields.hpp"
#include "runtime/ops/compute_shapes.hpp"
#include "runtime/ops/quantized_rules.hpp"
#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon {
namespace {

constexpr QuantizedAveragePoolAttributes kDefaults{};

constexpr AttributeField kFields[] = {
    IntField("kernel", offsetof(PoolAttributes, kernel), 2),
    IntField("strides", offsetof(PoolAttributes, strides), 2),
    IntField("dilations", offsetof(PoolAttributes, dilations), 2),
    IntField("pads", offsetof(PoolAttributes, pads), 4),
    IntField("ceil_mode", offsetof(PoolAttributes, ceil_mode)),
    IntField("count_include_pad", offsetof(PoolAttributes, count_include_pad)),
    IntField("x_zero_point", offsetof(QuantizedAveragePoolAttributes, x_zero_point)),
    ScaleField("scale", offsetof(QuantizedAveragePoolAttributes, scale)),
    MultiplierField("multiplier", offsetof(QuantizedAveragePoolAttributes, scale)),
    ShiftField("shift", offsetof(QuantizedAveragePoolAttributes, scale)),
    OutputDTypeField(offsetof(QuantizedAveragePoolAttributes, output)),
    OutputRoundingField(offsetof(QuantizedAveragePoolAttributes, output)),
    OutputZeroPointField(offsetof(QuantizedAveragePoolAttributes, output)),
    OutputMinField(offsetof(QuantizedAveragePoolAttributes, output)),
    OutputMaxField(offsetof(QuantizedAveragePoolAttributes, output)),
};

/// Sums so far, which the op adds its own to: so a large window is averaged part by part, with the
/// bits of the whole. A part that is not the last gives its sums as i32, or as i16, modulo 2^16: as
/// good for windows of up to 128 elements.
constexpr int kSums = 1;

constexpr bool IsSum(DType dtype) { return dtype == DType::kI32 || dtype == DType::kI16; }

Status CheckSums(const OpCall& call, const Shape& y) {
  if (!call.HasInput(kSums)) return OkStatus();
  const TensorView& sums = call.Input(kSums);
  TENON_ENSURE(IsSum(sums.dtype) && sums.shape() == y, kInvalidArgument,
               "sums to add to must be i32 or i16 and have the output's shape");
  return OkStatus();
}

Status Infer(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<QuantizedAveragePoolAttributes>();
  const DType dtype = call.Input(0).dtype;
  TENON_ENSURE(IsQuantized(dtype), kInvalidArgument, "the input must be i8 or u8");
  Shape y;
  TENON_RETURN_IF_ERROR(InferPoolShape(call, &y));
  TENON_RETURN_IF_ERROR(CheckSums(call, y));
  TENON_RETURN_IF_ERROR(CheckZeroPoint(attributes.x_zero_point, dtype));
  for (const DType sum : {DType::kI32, DType::kI16}) {
    if (attributes.output.to == static_cast<int32_t>(sum)) return SetOutput(sum, y, outputs);
  }
  TENON_RETURN_IF_ERROR(CheckQuantizedOutput(attributes.output));
  TENON_ENSURE(attributes.output.rounding == Rounding::kHalfEven ||
                   attributes.output.rounding == Rounding::kHalfAway,
               kInvalidArgument, "averages are rounded half_even or half_away");
  TENON_RETURN_IF_ERROR(CheckQuantizedScale(attributes.scale, Rounding::kHalfEven));
  return SetOutput(static_cast<DType>(attributes.output.to), y, outputs);
}

}  // namespace

constexpr OpRow kQuantizedAveragePoolRow = {OpKind::kQuantizedAveragePool,
                                            "quantized_average_pool",
                                            /*min_inputs=*/1,
                                            /*max_inputs=*/2,
                                            /*outputs=*/1,
                                            sizeof(QuantizedAveragePoolAttributes) / 4,
                                            Infer,
                                            /*in_place_inputs=*/1U << kSums};

constexpr OpText kQuantizedAveragePoolText = {kFields, &kDefaults};

}  // namespace tenon
