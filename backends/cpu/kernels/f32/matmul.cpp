// Multiplies matrices by constant weights with register tiles; a row is treated as a pixel.
#include "backends/cpu/caps/f32_caps.hpp"
#include "backends/cpu/kernels/f32/choose_routines.hpp"
#include "backends/cpu/kernels/f32/kernels.hpp"
#include "backends/cpu/kernels/f32/tile_gemm.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::f32 {
namespace {

using In = MatMulInput;

ConvGeometry GemmGeometry(const OpCall& op) {
  const TensorView& a = op.Input(In::kX);
  const int inputs = a.dims[a.rank - 1];
  return RowGeometry(static_cast<int>(a.Elements() / inputs), inputs,
                     op.Output().dims[op.Output().rank - 1]);
}

/// Returns true for a dense matrix whose columns follow each other.
bool IsColumnMajor(const TensorView& b) {
  return b.rank == 2 && (b.dims[0] == 1 || b.strides[0] == 1) &&
         (b.dims[1] == 1 || b.strides[1] == b.dims[0]);
}

Status LoadWeights(const KernelSetup& setup, PackedForm form, void** shared) {
  const OpCall& op = setup.op;
  const TensorView& b = op.Input(In::kWeights);
  const GroupedShape shape = ShapeOf(GemmGeometry(op), ChosenRoutines());
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
  const TileGemm gemm =
      MakeRowGemm(*static_cast<const PackedWeights*>(call.state), GemmGeometry(op),
                  op.AttributesAs<MatMulAttributes>().activation);
  RunTileGemm(gemm, op.Input(In::kX).As<const float>(), nullptr, op.Output().As<float>(),
              call.parallel);
  return OkStatus();
}

}  // namespace tenon::cpu::f32
