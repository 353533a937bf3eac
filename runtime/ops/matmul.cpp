// Matrix product, and those of quantized operands.
#include "runtime/ops/quantized_rules.hpp"
#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"
#include "runtime/ops/stored_operands.hpp"

namespace tenon {
namespace {

/// Of either: the attributes begin with MatMulAttributes.
Status InferMatMulShape(const OpCall& call, Shape* y) {
  const auto& attributes = call.AttributesAs<MatMulAttributes>();
  TENON_ENSURE(IsFlag(attributes.transpose_a) && IsFlag(attributes.transpose_b), kInvalidArgument,
               "transpose_a and transpose_b must be 0 or 1");
  Shape a = call.Input(MatMulInput::kX).shape();
  Shape b = call.Input(MatMulInput::kWeights).shape();
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
  TENON_ENSURE(Broadcast(a, b, y), kInvalidArgument, "batch dimensions do not broadcast");
  y->dims[y->rank++] = rows;
  y->dims[y->rank++] = columns;
  return OkStatus();
}

Status InferMatMul(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<MatMulAttributes>();
  Shape y;
  TENON_RETURN_IF_ERROR(InferMatMulShape(call, &y));
  DType dtype = DType::kF32;
  TENON_RETURN_IF_ERROR(
      CheckGemmDTypes(call, {MatMulInput::kWeightsScale, -1, y[y.rank - 1], 0}, &dtype));
  TENON_RETURN_IF_ERROR(CheckActivation(attributes.activation, dtype));
  TENON_ENSURE(
      !call.HasInput(MatMulInput::kWeightsScale) || call.Input(MatMulInput::kWeights).rank == 2,
      kInvalidArgument, "b with a scale must be one matrix, not of rank {0}",
      call.Input(MatMulInput::kWeights).rank);
  if (call.HasInput(MatMulInput::kBias)) {
    TENON_ENSURE(BroadcastsTo(call.Input(MatMulInput::kBias).shape(), y), kInvalidArgument,
                 "the bias does not broadcast to the output");
  }
  return SetOutput(dtype, y, outputs);
}

Status InferQuantizedMatMul(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<QuantizedMatMulAttributes>();
  Shape y;
  TENON_RETURN_IF_ERROR(InferMatMulShape(call, &y));
  TENON_ENSURE(attributes.matmul.activation.function == UnaryFunction::kIdentity, kInvalidArgument,
               "a quantized product has no activation: its bounds stand for one");
  TENON_RETURN_IF_ERROR(CheckQuantizedGemm(call, attributes.output, 1, y[y.rank - 1]));
  return SetOutput(static_cast<DType>(attributes.output.to), y, outputs);
}

/// Checks the inputs that a column of b has one of, or that all have in common.
Status CheckDynamicConstants(const OpCall& call, int32_t columns) {
  using In = DynamicMatMulInput;
  const DType dtype = call.Input(In::kWeights).dtype;
  TENON_ENSURE(call.Input(In::kX).dtype == DType::kF32 && IsQuantized(dtype), kInvalidArgument,
               "a must be f32, and b i8 or u8");
  TENON_ENSURE(call.HasInput(In::kWeightsScale), kInvalidArgument, "b needs a scale (input 3)");
  TENON_RETURN_IF_ERROR(CheckOneOrEach(call, In::kWeightsScale, DType::kF32, columns));
  return CheckOneOrEach(call, In::kWeightsZeroPoint, dtype, columns);
}

Status InferDynamicMatMul(const OpCall& call, OutputType* outputs) {
  using In = DynamicMatMulInput;
  const Shape a = call.Input(In::kX).shape();
  const Shape b = call.Input(In::kWeights).shape();
  TENON_ENSURE(a.rank >= 2 && b.rank == 2, kInvalidArgument,
               "a must have rank 2 or more, and b rank 2, not {0} and {1}", a.rank, b.rank);
  TENON_ENSURE(a[a.rank - 1] == b[0] && b[0] >= 1, kInvalidArgument,
               "inner dimensions must be equal and at least 1, not {0} and {1}", a[a.rank - 1],
               b[0]);
  TENON_RETURN_IF_ERROR(CheckDynamicConstants(call, b[1]));
  Shape y = a;
  y[y.rank - 1] = b[1];
  if (call.HasInput(In::kBias)) {
    const TensorView& bias = call.Input(In::kBias);
    TENON_ENSURE(bias.dtype == DType::kF32 && BroadcastsTo(bias.shape(), y), kInvalidArgument,
                 "the bias must be f32 and broadcast to the output");
  }
  return SetOutput(DType::kF32, y, outputs);
}

}  // namespace

constexpr OpRow kMatMulRow =
    MakeOpRow<MatMulAttributes>(OpKind::kMatMul, /*min_inputs=*/2, /*max_inputs=*/4, InferMatMul);

constexpr OpRow kQuantizedMatMulRow = MakeOpRow<QuantizedMatMulAttributes>(
    OpKind::kQuantizedMatMul, /*min_inputs=*/2, /*max_inputs=*/8, InferQuantizedMatMul);

constexpr OpRow kDynamicMatMulRow = MakeOpRow<NoAttributes>(
    OpKind::kDynamicMatMul, /*min_inputs=*/2, /*max_inputs=*/5, InferDynamicMatMul);

}  // namespace tenon
