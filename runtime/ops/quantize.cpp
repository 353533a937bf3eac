#include "runtime/ops/attribute_fields.hpp"
#include "runtime/ops/quantized_rules.hpp"
#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon {
namespace {

constexpr QuantizeAttributes kQuantizeDefaults{};
constexpr DequantizeAttributes kDequantizeDefaults{};

constexpr AttributeField kQuantizeFields[] = {
    MakeField("to", FieldKind::kDType, offsetof(QuantizeAttributes, to), 1),
    IntField("axis", offsetof(QuantizeAttributes, axis)),
    RoundingField(offsetof(QuantizeAttributes, rounding)),
};

constexpr AttributeField kDequantizeFields[] = {
    IntField("axis", offsetof(DequantizeAttributes, axis)),
};

/// Inputs 1 and 2 against `axis` of x, the quantized side being of `dtype`.
Status CheckParameters(const OpCall& call, int32_t axis, DType dtype) {
  const Shape x = call.Input(0).shape();
  TENON_ENSURE(axis >= 0 && (axis < x.rank || axis == 0), kInvalidArgument,
               "there is no axis {0} in a tensor of rank {1}", axis, x.rank);
  const int32_t count = x.rank == 0 ? 1 : x[axis];
  TENON_RETURN_IF_ERROR(CheckOneOrEach(call, 1, DType::kF32, count));
  TENON_RETURN_IF_ERROR(CheckOneOrEach(call, 2, dtype, count));
  TENON_ENSURE(!call.HasInput(2) || call.Input(2).dims[0] == call.Input(1).dims[0],
               kInvalidArgument, "there must be as many zero points as scales");
  return OkStatus();
}

bool IsSmallInteger(DType dtype) {
  return IsQuantized(dtype) || dtype == DType::kI16 || dtype == DType::kU16;
}

Status InferQuantize(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<QuantizeAttributes>();
  TENON_ENSURE(call.Input(0).dtype == DType::kF32, kInvalidArgument, "the input must be f32");
  TENON_ENSURE(IsValidDType(attributes.to) && IsSmallInteger(static_cast<DType>(attributes.to)),
               kInvalidArgument, "the output must be i8, u8, i16 or u16");
  TENON_ENSURE(
      attributes.rounding == Rounding::kHalfEven || attributes.rounding == Rounding::kHalfAway,
      kInvalidArgument, "quotients are rounded half_even or half_away");
  const auto to = static_cast<DType>(attributes.to);
  TENON_RETURN_IF_ERROR(CheckParameters(call, attributes.axis, to));
  return SetOutput(to, call.Input(0).shape(), outputs);
}

Status InferDequantize(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<DequantizeAttributes>();
  const DType dtype = call.Input(0).dtype;
  TENON_ENSURE(IsSmallInteger(dtype) || dtype == DType::kI32, kInvalidArgument,
               "the input must be i8, u8, i16, u16 or i32");
  TENON_RETURN_IF_ERROR(CheckParameters(call, attributes.axis, dtype));
  return SetOutput(DType::kF32, call.Input(0).shape(), outputs);
}

}  // namespace

constexpr OpRow kQuantizeRow = {OpKind::kQuantize, "quantize",    /*min_inputs=*/2,
                                /*max_inputs=*/3,  /*outputs=*/1, sizeof(QuantizeAttributes) / 4,
                                InferQuantize};

constexpr OpText kQuantizeText = {kQuantizeFields, &kQuantizeDefaults};

constexpr OpRow kDequantizeRow = {OpKind::kDequantize, "dequantize",
                                  /*min_inputs=*/2,    /*max_inputs=*/3,
                                  /*outputs=*/1,       sizeof(DequantizeAttributes) / 4,
                                  InferDequantize};

constexpr OpText kDequantizeText = {kDequantizeFields, &kDequantizeDefaults};

}  // namespace tenon
