// Computes convolutions of quantized tensors with any kernel, stride and dilation, and with groups
// of whole steps.
//
// A 1x1 convolution reads its pixels in place. Any other copies the input rows that a few output
// rows read to the stack, with their padding (the zero point): then every tap has the same distance
// from its pixel, and the taps of a kernel row are one run of bytes.
#include "backends/cpu/caps/q8_gemm_caps.hpp"
#include "backends/cpu/kernels/q8/conv_band.hpp"
#include "backends/cpu/kernels/q8/conv_weights.hpp"
#include "backends/cpu/kernels/q8/gemm_rows.hpp"
#include "backends/cpu/kernels/q8/kernels.hpp"
#include "runtime/ops/conv_geometry.hpp"

namespace tenon::cpu::q8 {
namespace {

using In = QuantizedGemmInput;

/// Returns true if the pixels of a kernel row are contiguous.
bool HasRowTaps(const ConvGeometry& g) { return g.convolutions == 1 && g.dilations[1] == 1; }

void RunDirect(const KernelCall& call, const PackedGemm& packed, const GemmEpilogue& epilogue) {
  const OpCall& op = call.op;
  const ConvGeometry g = ConvGeometryOf(op);
  GemmRows rows;
  rows.x = op.Input(In::kX).As<const uint8_t>();
  rows.y = op.Output().As<uint8_t>();
  rows.depth = g.inputs / g.convolutions;
  rows.y_bytes = static_cast<int>(DTypeBytes(op.Output().dtype));
  rows.flip = FlipOf(op.Input(In::kX));
  int64_t x_step = 0;
  int64_t y_step = 0;
  const bool is_one_row = g.strides[0] == 1 && g.strides[1] == 1 &&
                          HasEvenPixels(op.Input(In::kX), &x_step) &&
                          HasEvenPixels(op.Output(), &y_step) && g.Pixels() <= INT32_MAX;
  if (is_one_row) {
    rows.width = static_cast<int>(g.Pixels());
    rows.x_steps.pixel = x_step;
    rows.y_steps.pixel = y_step * rows.y_bytes;
  } else {
    rows.images = g.images;
    rows.height = g.out_extent[0];
    rows.width = g.out_extent[1];
    rows.x_steps = {g.x.image, g.x.row * g.strides[0], g.x.pixel * g.strides[1]};
    rows.y_steps = {g.y.image * rows.y_bytes, g.y.row * rows.y_bytes, g.y.pixel * rows.y_bytes};
  }
  RunGemmRows(packed, epilogue, rows, call.parallel);
}

}  // namespace

GemmShape ConvShapeOf(const ConvGeometry& g) {
  GemmShape shape;
  shape.outputs = g.outputs;
  shape.convolutions = g.convolutions;
  shape.channels = g.inputs / g.convolutions;
  shape.columns = HasRowTaps(g) ? g.kernel[1] : 1;
  shape.taps = g.Taps() / shape.columns;
  return shape;
}

GemmWeightsView ConvWeightsView(const OpCall& op) {
  const TensorView& w = op.Input(In::kWeights);
  GemmWeightsView weights;
  weights.data = w.As<const uint8_t>();
  weights.is_signed = w.dtype == DType::kI8;
  weights.output_step = w.strides[0];
  weights.channel_step = w.strides[1];
  weights.row_step = w.strides[2];
  weights.column_step = w.strides[3];
  weights.tap_step = w.strides[3];
  const ConvGeometry g = ConvGeometryOf(op);
  weights.taps_in_row = HasRowTaps(g) ? 1 : g.kernel[1];
  return weights;
}

Status ConvCheck(const KernelSetup& setup) {
  const OpCall& op = setup.op;
  TENON_RETURN_IF_ERROR(CheckResult(ConvSupports(op)));
  TENON_ENSURE(HasDenseChannels(op.Input(In::kX)) && HasDenseChannels(op.Output()), kUnsupported,
               "fast convolutions take channels that are neighbours in memory");
  return CheckVectors(op);
}

Status ConvLoad(const KernelSetup& setup, void** shared) {
  const OpCall& op = setup.op;
  const ConvGeometry g = ConvGeometryOf(op);
  const GemmShape shape = ConvShapeOf(g);
  return PackGemm(op, shape, ConvWeightsView(op), op.AttributesAs<QuantizedConvAttributes>().output,
                  g.inputs, WeightPasses(op, 0), !IsDirect(op) || FitsWideRows(shape.Depth()),
                  shared);
}

Status ConvRun(const KernelCall& call) {
  const OpCall& op = call.op;
  const auto& packed = *static_cast<const PackedGemm*>(call.state);
  const GemmEpilogue epilogue =
      MakeEpilogue(packed, op.AttributesAs<QuantizedConvAttributes>().output);
  if (IsDirect(op)) {
    RunDirect(call, packed, epilogue);
  } else {
    BandConv conv;
    conv.packed = &packed;
    conv.epilogue = &epilogue;
    conv.geometry = ConvGeometryOf(op);
    conv.shape = ConvShapeOf(conv.geometry);
    conv.x = op.Input(In::kX).As<const uint8_t>();
    conv.y = op.Output().As<uint8_t>();
    conv.y_bytes = static_cast<int>(DTypeBytes(op.Output().dtype));
    conv.flip = FlipOf(op.Input(In::kX));
    RunBandConv(conv, call.parallel);
  }
  return OkStatus();
}

Status CheckVectors(const OpCall& op) {
  for (int i = In::kBias; i < op.InputCount(); ++i) {
    TENON_ENSURE(!op.HasInput(i) || op.Input(i).IsRowMajor(), kUnsupported,
                 "fast products take factors and zero points without gaps");
  }
  return OkStatus();
}

}  // namespace tenon::cpu::q8
