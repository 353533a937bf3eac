// Multiplies matrices by constant weights with register tiles; a row is treated as a pixel.
#include "backends/cpu/caps/f32_caps.hpp"
#include "backends/cpu/kernels/f32/kernels.hpp"
#include "backends/cpu/kernels/f32/tile_gemm.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::f32 {
namespace {

using In = MatMulInput;

/// Describes the GEMM as a 1x1 convolution: rows are the pixels of one image row.
ConvGeometry GemmGeometry(const OpCall& op) {
  const TensorView& a = op.Input(In::kX);
  ConvGeometry g;
  g.inputs = a.dims[a.rank - 1];
  g.outputs = op.Output().dims[op.Output().rank - 1];
  SetPointWindow(static_cast<int>(a.Elements() / g.inputs), g);
  g.x.channel = 1;
  g.x.pixel = g.inputs;
  return g;
}

/// Returns true for a dense matrix whose columns follow each other.
bool IsColumnMajor(const TensorView& b) {
  return b.rank == 2 && (b.dims[0] == 1 || b.strides[0] == 1) &&
         (b.dims[1] == 1 || b.strides[1] == b.dims[0]);
}

Status LoadWeights(const KernelSetup& setup, PackedForm form, void** shared) {
  const OpCall& op = setup.op;
  const TensorView& b = op.Input(In::kWeights);
  const GroupedShape shape = ShapeOf(GemmGeometry(op));
  const bool transposed = op.AttributesAs<MatMulAttributes>().transpose_b != 0;
  const int64_t row_step = b.strides[b.rank - 2];
  const int64_t column_step = b.strides[b.rank - 1];
  WeightsView weights;
  weights.stored = portable::StoredWeightsOf(op, In::kWeights, In::kWeightsScale);
  weights.output_step = transposed ? row_step : column_step;
  weights.input_step = transposed ? column_step : row_step;
  weights.tap_step = 0;
  const float* bias = op.HasInput(In::kBias) ? op.Input(In::kBias).As<const float>() : nullptr;
  return PackWeights(shape, weights, bias, form, shared);
}

}  // namespace

Status MatMulCheck(const KernelSetup& setup) {
  const OpCall& op = setup.op;
  TENON_RETURN_IF_ERROR(CheckResult(MatMulSupports(op)));
  TENON_ENSURE(op.Input(In::kX).IsRowMajor() && op.Output().IsRowMajor(), kUnsupported,
               "vector products take row-major operands");
  const TensorView& b = op.Input(In::kWeights);
  TENON_ENSURE(b.data != nullptr && (b.IsRowMajor() || IsColumnMajor(b)), kUnsupported,
               "vector products take constant, dense weights");
  if (op.HasInput(In::kBias)) {
    TENON_ENSURE(op.Input(In::kBias).data != nullptr && op.Input(In::kBias).IsRowMajor(),
                 kUnsupported, "vector products take a constant, dense bias");
  }
  TENON_ENSURE(!op.HasInput(In::kWeightsScale) || op.Input(In::kWeightsScale).data != nullptr,
               kUnsupported, "vector products take a constant scale of the weights");
  return OkStatus();
}

Status MatMulLoad(const KernelSetup& setup, void** shared) {
  return LoadWeights(setup, PackedForm::kInPlaceIfPossible, shared);
}

Status MatMulPanelsLoad(const KernelSetup& setup, void** shared) {
  return LoadWeights(setup, PackedForm::kPanels, shared);
}

Status MatMulPanelsCheck(const KernelSetup& setup) {
  TENON_RETURN_IF_ERROR(CheckResult(MatMulPanelsSupports(setup.op)));
  return MatMulCheck(setup);
}

Status MatMulRun(const KernelCall& call) {
  const OpCall& op = call.op;
  const ConvGeometry g = GemmGeometry(op);
  const int32_t dims[4] = {1, g.outputs, 1, g.in_extent[1]};
  const int32_t y_strides[4] = {0, 1, 0, g.outputs};
  const int32_t x_strides[4] = {0, 1, 0, g.inputs};
  TensorView y;
  y.dims = dims;
  y.strides = y_strides;
  y.rank = 4;
  TensorView x = y;
  x.strides = x_strides;
  const TileGemm gemm = MakeTileGemm(*static_cast<const PackedWeights*>(call.state), g,
                                     op.AttributesAs<MatMulAttributes>().activation, x, y, nullptr);
  RunTileGemm(gemm, op.Input(In::kX).As<const float>(), nullptr, op.Output().As<float>(),
              call.parallel);
  return OkStatus();
}

}  // namespace tenon::cpu::f32
