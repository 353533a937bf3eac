#include "runtime/ops/attribute_fields.hpp"
#include "runtime/ops/compute_shapes.hpp"
#include "runtime/ops/quantized_rules.hpp"
#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon {
namespace {

constexpr QuantizedMatMulAttributes kDefaults{};

constexpr AttributeField kFields[] = {
    IntField("transpose_a", offsetof(MatMulAttributes, transpose_a)),
    IntField("transpose_b", offsetof(MatMulAttributes, transpose_b)),
    ActivationFunctionField(offsetof(MatMulAttributes, activation)),
    ActivationAField(offsetof(MatMulAttributes, activation)),
    ActivationBField(offsetof(MatMulAttributes, activation)),
    OutputDTypeField(offsetof(QuantizedMatMulAttributes, output)),
    OutputRoundingField(offsetof(QuantizedMatMulAttributes, output)),
    OutputZeroPointField(offsetof(QuantizedMatMulAttributes, output)),
    OutputMinField(offsetof(QuantizedMatMulAttributes, output)),
    OutputMaxField(offsetof(QuantizedMatMulAttributes, output)),
};

Status Infer(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<QuantizedMatMulAttributes>();
  Shape y;
  TENON_RETURN_IF_ERROR(InferMatMulShape(call, &y));
  TENON_ENSURE(attributes.matmul.activation.function == UnaryFunction::kIdentity, kInvalidArgument,
               "a quantized product has no activation: its bounds stand for one");
  TENON_RETURN_IF_ERROR(CheckQuantizedProduct(call, attributes.output, 1, y[y.rank - 1]));
  return SetOutput(static_cast<DType>(attributes.output.to), y, outputs);
}

}  // namespace

constexpr OpRow kQuantizedMatMulRow = {OpKind::kQuantizedMatMul,
                                       "quantized_matmul",
                                       /*min_inputs=*/2,
                                       /*max_inputs=*/8,
                                       /*outputs=*/1,
                                       sizeof(QuantizedMatMulAttributes) / 4,
                                       Infer};

constexpr OpText kQuantizedMatMulText = {kFields, &kDefaults};

}  // namespace tenon
