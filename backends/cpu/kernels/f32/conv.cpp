// Computes convolutions by register tiles, with any kernel, stride, dilation and number of groups.
#include "backends/cpu/caps/f32_caps.hpp"
#include "backends/cpu/kernels/f32/choose_routines.hpp"
#include "backends/cpu/kernels/f32/kernels.hpp"
#include "backends/cpu/kernels/f32/tile_gemm.hpp"
#include "backends/cpu/kernels/held_block.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::f32 {
namespace {

using In = ConvInput;

Status LoadWeights(const KernelSetup& setup, PackedForm form, void** shared) {
  const OpCall& op = setup.op;
  const TensorView& w = op.Input(In::kWeights);
  const GroupedShape shape = ShapeOf(GeometryOf(op), ChosenRoutines());
  const int last = w.dims[3] > 1 ? 3 : 2;  // axes of one element may have any stride
  const WeightsView weights = {portable::StoredWeightsOf(op, In::kWeights, In::kWeightsScale),
                               w.strides[0], w.strides[1], w.strides[last]};
  const float* bias = op.HasInput(In::kBias) ? op.Input(In::kBias).As<const float>() : nullptr;
  return PackWeights(shape, weights, bias, form, shared);
}

}  // namespace

Status ConvLoad(const KernelSetup& setup, void** shared) {
  return LoadWeights(setup, PackedForm::kInPlaceIfPossible, shared);
}

Status ConvPanelsLoad(const KernelSetup& setup, void** shared) {
  return LoadWeights(setup, PackedForm::kPanels, shared);
}

Status ConvPanelsCheck(const KernelSetup& setup) {
  TENON_RETURN_IF_ERROR(CheckResult(ConvPanelsSupports(setup.op)));
  return ConvCheck(setup);
}

TileGemm MakeConvGemm(const PackedWeights& packed, Windows windows, const OpCall& conv) {
  const TensorView* residual = conv.HasInput(In::kResidual) ? &conv.Input(In::kResidual) : nullptr;
  return MakeTileGemm(packed, GeometryOf(conv), windows,
                      conv.AttributesAs<ConvAttributes>().activation, conv.Input(In::kX),
                      conv.Output(), residual);
}

bool HasOutputsLast(const TensorView& w) {
  constexpr int kOrder[4] = {0, 1, 3, 2};
  int64_t expected = 1;
  for (const int axis : kOrder) {
    if (w.dims[axis] != 1 && w.strides[axis] != expected) return false;
    expected *= w.dims[axis];
  }
  return true;
}

Status CheckConvConstants(const OpCall& op) {
  const TensorView& w = op.Input(In::kWeights);
  TENON_ENSURE(w.data != nullptr && (w.IsRowMajor() || HasOutputsLast(w)), kUnsupported,
               "vector convolutions take constant, dense weights");
  if (op.HasInput(In::kBias)) {
    TENON_ENSURE(op.Input(In::kBias).data != nullptr && op.Input(In::kBias).IsRowMajor(),
                 kUnsupported, "vector convolutions take a constant, dense bias");
  }
  TENON_ENSURE(!op.HasInput(In::kWeightsScale) || op.Input(In::kWeightsScale).data != nullptr,
               kUnsupported, "vector convolutions take a constant scale of the weights");
  return OkStatus();
}

ConvGeometry GeometryOf(const OpCall& conv) {
  ConvGeometry geometry = ConvGeometryOf(conv);
  if (conv.HasInput(In::kResidual)) geometry.residual = StridesOf(conv.Input(In::kResidual));
  return geometry;
}

Status CheckDenseChannels(const OpCall& op) {
  TENON_ENSURE(HasDenseChannels(op.Input(In::kX)) && HasDenseChannels(op.Output()) &&
                   (!op.HasInput(In::kResidual) || HasDenseChannels(op.Input(In::kResidual))),
               kUnsupported, "vector convolutions take channels that are neighbours in memory");
  return OkStatus();
}

Status ConvCheck(const KernelSetup& setup) {
  TENON_RETURN_IF_ERROR(CheckResult(ConvSupports(setup.op)));
  TENON_RETURN_IF_ERROR(CheckDenseChannels(setup.op));
  return CheckConvConstants(setup.op);
}

void RunConvGemm(const PackedWeights& packed, const OpCall& conv, const ParallelRunner* parallel) {
  const TileGemm gemm = MakeConvGemm(packed, Windows::kInImage, conv);
  const float* residual =
      conv.HasInput(In::kResidual) ? conv.Input(In::kResidual).As<const float>() : nullptr;
  RunTileGemm(gemm, conv.Input(In::kX).As<const float>(), residual, conv.Output().As<float>(),
              parallel);
}

Status ConvRun(const KernelCall& call) {
  RunConvGemm(*static_cast<const PackedWeights*>(call.state), call.op, call.parallel);
  return OkStatus();
}

Status Open(const KernelSetup&, void* shared, void** state) {
  *state = shared;
  return OkStatus();
}

void Unload(void* shared) { FreeBlock(shared); }

}  // namespace tenon::cpu::f32
