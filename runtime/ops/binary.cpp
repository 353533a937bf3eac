#include "runtime/ops/attribute_fields.hpp"
#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon {
namespace {

constexpr BinaryAttributes kDefaults{};

constexpr AttributeField kFields[] = {
    EnumField("function", offsetof(BinaryAttributes, function), kBinaryFunctionNames),
    ActivationFunctionField(offsetof(BinaryAttributes, activation)),
    ActivationAField(offsetof(BinaryAttributes, activation)),
    ActivationBField(offsetof(BinaryAttributes, activation)),
};

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

Status Infer(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<BinaryAttributes>();
  const DType dtype = call.Input(0).dtype;
  TENON_ENSURE(IsValidEnum(attributes.function, kBinaryFunctionCount), kInvalidArgument,
               "there is no function {0}", static_cast<int64_t>(attributes.function));
  TENON_ENSURE(call.Input(1).dtype == dtype, kInvalidArgument,
               "both operands must have the same dtype");
  TENON_ENSURE(FunctionTakes(attributes.function, dtype), kInvalidArgument,
               "function {0} does not take this dtype", static_cast<int64_t>(attributes.function));
  const DType result = GivesBool(attributes.function) ? DType::kBool : dtype;
  TENON_RETURN_IF_ERROR(CheckActivation(attributes.activation, result));
  Shape y;
  TENON_ENSURE(Broadcast(call.Input(0).shape(), call.Input(1).shape(), &y), kInvalidArgument,
               "the operands' shapes do not broadcast");
  return SetOutput(result, y, outputs);
}

}  // namespace

constexpr OpRow kBinaryRow = {OpKind::kBinary,
                              "binary",
                              /*min_inputs=*/2,
                              /*max_inputs=*/2,
                              /*outputs=*/1,
                              sizeof(BinaryAttributes) / 4,
                              Infer,
                              /*in_place_inputs=*/1U << 0 | 1U << 1};

constexpr OpText kBinaryText = {kFields, &kDefaults};

}  // namespace tenon
