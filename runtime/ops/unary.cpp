#include "runtime/ops/attribute_fields.hpp"
#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon {
namespace {

constexpr UnaryAttributes kDefaults{};

constexpr AttributeField kFields[] = {
    EnumField("function", offsetof(UnaryAttributes, function), kUnaryFunctionNames),
    FloatField("a", offsetof(UnaryAttributes, a)),
    FloatField("b", offsetof(UnaryAttributes, b)),
};

Status Infer(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<UnaryAttributes>();
  const TensorView& x = call.Input(0);
  TENON_RETURN_IF_ERROR(CheckFunction(attributes.function, attributes.a, attributes.b, x.dtype));
  return SetOutput(x.dtype, x.shape(), outputs);
}

}  // namespace

constexpr OpRow kUnaryRow = {OpKind::kUnary,
                             "unary",
                             /*min_inputs=*/1,
                             /*max_inputs=*/1,
                             /*outputs=*/1,
                             sizeof(UnaryAttributes) / 4,
                             Infer,
                             /*in_place_inputs=*/1U << 0};

constexpr OpText kUnaryText = {kFields, &kDefaults};

}  // namespace tenon
