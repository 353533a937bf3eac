// Between reals and small integers: quantize, dequantize, and any function of a byte by a table.
#include "runtime/ops/quantized_rules.hpp"
#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon {
namespace {

/// Scale and zero point against `axis` of x, the quantized side being of `dtype`.
Status CheckParameters(const OpCall& call, int32_t axis, DType dtype) {
  const Shape x = call.Input(QuantizeInput::kX).shape();
  TENON_ENSURE(axis >= 0 && (axis < x.rank || axis == 0), kInvalidArgument,
               "there is no axis {0} in a tensor of rank {1}", axis, x.rank);
  const int32_t count = x.rank == 0 ? 1 : x[axis];
  TENON_RETURN_IF_ERROR(CheckOneOrEach(call, QuantizeInput::kScale, DType::kF32, count));
  TENON_RETURN_IF_ERROR(CheckOneOrEach(call, QuantizeInput::kZeroPoint, dtype, count));
  TENON_ENSURE(
      !call.HasInput(QuantizeInput::kZeroPoint) || call.Input(QuantizeInput::kZeroPoint).dims[0] ==
                                                       call.Input(QuantizeInput::kScale).dims[0],
      kInvalidArgument, "there must be as many zero points as scales");
  return OkStatus();
}

bool IsSmallInteger(DType dtype) {
  return IsQuantized(dtype) || dtype == DType::kI16 || dtype == DType::kU16;
}

Status InferQuantize(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<QuantizeAttributes>();
  TENON_ENSURE(call.Input(QuantizeInput::kX).dtype == DType::kF32, kInvalidArgument,
               "the input must be f32");
  TENON_ENSURE(IsValidDType(attributes.to) && IsSmallInteger(static_cast<DType>(attributes.to)),
               kInvalidArgument, "the output must be i8, u8, i16 or u16");
  TENON_ENSURE(
      attributes.rounding == Rounding::kHalfEven || attributes.rounding == Rounding::kHalfAway,
      kInvalidArgument, "quotients are rounded half_even or half_away");
  const auto to = static_cast<DType>(attributes.to);
  TENON_RETURN_IF_ERROR(CheckParameters(call, attributes.axis, to));
  return SetOutput(to, call.Input(QuantizeInput::kX).shape(), outputs);
}

Status InferDequantize(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<DequantizeAttributes>();
  const DType dtype = call.Input(QuantizeInput::kX).dtype;
  TENON_ENSURE(IsSmallInteger(dtype) || dtype == DType::kI32, kInvalidArgument,
               "the input must be i8, u8, i16, u16 or i32");
  TENON_RETURN_IF_ERROR(CheckParameters(call, attributes.axis, dtype));
  return SetOutput(DType::kF32, call.Input(QuantizeInput::kX).shape(), outputs);
}

Status InferLookup(const OpCall& call, OutputType* outputs) {
  const TensorView& table = call.Input(LookupInput::kTable);
  TENON_ENSURE(IsQuantized(call.Input(LookupInput::kX).dtype), kInvalidArgument,
               "the input must be i8 or u8");
  TENON_ENSURE(IsQuantized(table.dtype) || table.dtype == DType::kF32, kInvalidArgument,
               "the table must be i8, u8 or f32");
  TENON_ENSURE(table.rank == 1 && table.dims[0] == 256, kInvalidArgument,
               "the table must have 256 entries");
  return SetOutput(table.dtype, call.Input(LookupInput::kX).shape(), outputs);
}

}  // namespace

constexpr OpRow kQuantizeRow = MakeOpRow<QuantizeAttributes>(OpKind::kQuantize, /*min_inputs=*/2,
                                                             /*max_inputs=*/3, InferQuantize);

constexpr OpRow kDequantizeRow = MakeOpRow<DequantizeAttributes>(
    OpKind::kDequantize, /*min_inputs=*/2, /*max_inputs=*/3, InferDequantize);

constexpr OpRow kLookupRow =
    MakeOpRow<NoAttributes>(OpKind::kLookup, /*min_inputs=*/2, /*max_inputs=*/2, InferLookup,
                            /*in_place_inputs=*/1U << LookupInput::kX);

}  // namespace tenon
