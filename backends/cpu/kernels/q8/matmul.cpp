// Multiplies quantized matrices by constant weights; a row is treated as a pixel.
#include "backends/cpu/caps/q8_gemm_caps.hpp"
#include "backends/cpu/kernels/q8/gemm_rows.hpp"
#include "backends/cpu/kernels/q8/kernels.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::q8 {
namespace {

using In = QuantizedGemmInput;

}  // namespace

Status MatMulCheck(const KernelSetup& setup) {
  const OpCall& op = setup.op;
  TENON_RETURN_IF_ERROR(CheckResult(MatMulSupports(op)));
  TENON_ENSURE(op.Input(In::kX).IsRowMajor() && op.Output().IsRowMajor(), kUnsupported,
               "fast products take row-major operands");
  return CheckVectors(op);
}

Status MatMulLoad(const KernelSetup& setup, void** shared) {
  const OpCall& op = setup.op;
  const auto& attributes = op.AttributesAs<QuantizedMatMulAttributes>();
  const TensorView& b = op.Input(In::kWeights);
  const bool transposed = attributes.matmul.transpose_b != 0;
  const int64_t row_step = b.strides[b.rank - 2];
  const int64_t column_step = b.strides[b.rank - 1];
  GemmShape shape;
  shape.outputs = op.Output().dims[op.Output().rank - 1];
  shape.channels = op.Input(In::kX).dims[op.Input(In::kX).rank - 1];
  GemmWeightsView weights;
  weights.data = b.As<const uint8_t>();
  weights.is_signed = b.dtype == DType::kI8;
  weights.output_step = transposed ? row_step : column_step;
  weights.channel_step = transposed ? column_step : row_step;
  return PackGemm(op, shape, weights, attributes.output, 1, WeightPasses(op, MatMulOutputAxis(op)),
                  FitsWideRows(shape.channels), shared);
}

Status MatMulRun(const KernelCall& call) {
  const OpCall& op = call.op;
  const TensorView& a = op.Input(In::kX);
  const TensorView& y = op.Output();
  const auto& packed = *static_cast<const PackedGemm*>(call.state);
  GemmRows rows;
  rows.x = a.As<const uint8_t>();
  rows.y = y.As<uint8_t>();
  rows.depth = a.dims[a.rank - 1];
  rows.width = static_cast<int>(a.Elements() / rows.depth);
  rows.y_bytes = static_cast<int>(DTypeBytes(y.dtype));
  rows.x_steps.pixel = rows.depth;
  rows.y_steps.pixel = int64_t{y.dims[y.rank - 1]} * rows.y_bytes;
  rows.flip = FlipOf(a);
  RunGemmRows(packed, MakeEpilogue(packed, op.AttributesAs<QuantizedMatMulAttributes>().output),
              rows, call.parallel);
  return OkStatus();
}

}  // namespace tenon::cpu::q8
