#include "runtime/ops/attribute_fields.hpp"
#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon {
namespace {

constexpr MatMulAttributes kDefaults{};

constexpr AttributeField kFields[] = {
    IntField("transpose_a", offsetof(MatMulAttributes, transpose_a)),
    IntField("transpose_b", offsetof(MatMulAttributes, transpose_b)),
    ActivationFunctionField(offsetof(MatMulAttributes, activation)),
    ActivationAField(offsetof(MatMulAttributes, activation)),
    ActivationBField(offsetof(MatMulAttributes, activation)),
};

Status Infer(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<MatMulAttributes>();
  TENON_RETURN_IF_ERROR(CheckFloatOperands(call));
  TENON_RETURN_IF_ERROR(CheckActivation(attributes.activation, call.Input(0).dtype));
  TENON_ENSURE(IsFlag(attributes.transpose_a) && IsFlag(attributes.transpose_b), kInvalidArgument,
               "transpose_a and transpose_b must be 0 or 1");
  Shape a = call.Input(0).shape();
  Shape b = call.Input(1).shape();
  TENON_ENSURE(a.rank >= 2 && b.rank >= 2, kInvalidArgument,
               "operands must have rank 2 or more, not {0} and {1}", a.rank, b.rank);

  const int32_t rows = a[a.rank - 2 + attributes.transpose_a];
  const int32_t depth_a = a[a.rank - 1 - attributes.transpose_a];
  const int32_t depth_b = b[b.rank - 2 + attributes.transpose_b];
  const int32_t columns = b[b.rank - 1 - attributes.transpose_b];
  TENON_ENSURE(depth_a == depth_b && depth_a >= 1, kInvalidArgument,
               "inner dimensions must be equal and at least 1, not {0} and {1}", depth_a, depth_b);
  a.rank -= 2;  // what is left are the batch dimensions
  b.rank -= 2;
  Shape y;
  TENON_ENSURE(Broadcast(a, b, &y), kInvalidArgument, "batch dimensions do not broadcast");
  y.dims[y.rank++] = rows;
  y.dims[y.rank++] = columns;
  if (call.HasInput(2)) {
    TENON_ENSURE(BroadcastsTo(call.Input(2).shape(), y), kInvalidArgument,
                 "the bias does not broadcast to the output");
  }
  return SetOutput(call.Input(0).dtype, y, outputs);
}

}  // namespace

constexpr OpRow kMatMulRow = {OpKind::kMatMul,  "matmul",
                              /*min_inputs=*/2,
                              /*max_inputs=*/3,
                              /*outputs=*/1,    kFields,  sizeof(MatMulAttributes) / 4,
                              &kDefaults,       Infer};

}  // namespace tenon
