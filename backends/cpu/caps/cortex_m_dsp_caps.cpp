#include "backends/cpu/caps/cortex_m_dsp_caps.hpp"

#include "backends/cpu/caps/cortex_m_caps.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu {
namespace dsp {
namespace {

constexpr int kX = 0;
constexpr int kW = 1;
constexpr int kXZeroPoint = 5;
constexpr int kHalfBytes = 2;
constexpr int kStep = 4;  // halves of a step
/// Unpacking the weights costs about one instruction for each weight and pass: with so many pixels
/// a pass, little beside the products.
constexpr int kPassPixels = 16;
/// What a pass's inputs may take before it is cut, beside a share of x itself.
constexpr int64_t kBandBytes = 4096;
constexpr int64_t kShareOfX = 8;

constexpr int64_t RoundUp(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

Reason ProductRefusal(const OpCall& call, const QuantizedOutput& output) {
  if (output.to != static_cast<int32_t>(DType::kI8) &&
      output.to != static_cast<int32_t>(DType::kU8)) {
    return "the DSP kernels give i8 or u8";
  }
  if (call.HasInput(kXZeroPoint) && call.Input(kXZeroPoint).dims[0] != 1) {
    return "the DSP kernels take one zero point of x for all channels";
  }
  return nullptr;
}

int64_t RowHalves(const ConvBand& band) {
  return RoundUp(int64_t{band.in_columns} * band.channels, 2);
}

int64_t BandBytes(const ConvBand& band) {
  // A run's last step may read beyond the last pixel.
  return (band.in_rows * RowHalves(band) + kStep) * kHalfBytes;
}

/// One spatial dimension: how many of the input `outputs` outputs read, and the step in the band.
/// Where the kernel has one tap, the inputs between are left out.
int InputsOf(int outputs, int step, int dilation, int kernel) {
  return (outputs - 1) * step + (kernel - 1) * dilation + 1;
}

}  // namespace

bool IsPointwise(const OpCall& conv) {
  const TensorView& w = conv.Input(kW);
  for (const int32_t pad : conv.AttributesAs<ConvAttributes>().pads) {
    if (pad != 0) return false;
  }
  return w.dims[2] == 1 && w.dims[3] == 1;
}

/// One row: all pixels are, if they lie so.
ConvBand PairedBandOf(const OpCall& conv) {
  const TensorView& x = conv.Input(kX);
  const TensorView& y = conv.Output();
  ConvBand band = {};
  band.is_paired = true;
  band.channels = band.run = x.dims[1];
  band.row_step = band.pixel_step = band.runs = band.rows = 1;
  band.steps = (band.run + kStep - 1) / kStep;
  const int64_t pixel_bytes = int64_t{band.steps} * kStep * kHalfBytes;
  const int64_t most = (kBandBytes / 2 + x.Elements() / kShareOfX) / pixel_bytes;
  int64_t columns = int64_t{x.dims[0]} * y.dims[2] * y.dims[3];
  if (columns > most) columns = most;
  if (columns > kMostPassPixels) columns = kMostPassPixels;
  if (columns < 2) columns = 2;
  band.columns = static_cast<int>(RoundUp(columns, 2));
  band.x_bytes = static_cast<size_t>(band.columns * pixel_bytes);
  band.w_bytes = static_cast<size_t>(2 * pixel_bytes);
  return band;
}

ConvBand ConvBandOf(const OpCall& conv) {
  if (IsPointwise(conv)) return PairedBandOf(conv);
  const auto& attributes = conv.AttributesAs<ConvAttributes>();
  const TensorView& x = conv.Input(kX);
  const TensorView& w = conv.Input(kW);
  const TensorView& y = conv.Output();
  const int kernel[2] = {w.dims[2], w.dims[3]};
  const bool is_unpadded = attributes.pads[1] == 0 && attributes.pads[3] == 0;
  ConvBand band = {};
  band.row_step = kernel[0] == 1 ? 1 : attributes.strides[0];
  band.pixel_step = kernel[1] == 1 && is_unpadded ? 1 : attributes.strides[1];
  // The taps of a kernel row are one run where they are neighbours.
  const bool is_row = kernel[1] == 1 || attributes.dilations[1] == 1;
  const bool is_even = is_row && static_cast<int64_t>(band.pixel_step) * x.dims[1] % 2 == 0;
  band.channels = is_even ? x.dims[1] : x.dims[1] + x.dims[1] % 2;
  band.run = is_row ? kernel[1] * band.channels : band.channels;
  band.runs = is_row ? kernel[0] : kernel[0] * kernel[1];
  band.steps = (band.run + kStep - 1) / kStep;
  const auto set_rows = [&](int rows) {
    band.rows = rows;
    band.in_rows = InputsOf(rows, band.row_step, attributes.dilations[0], kernel[0]);
  };
  const auto set_columns = [&](int columns) {
    band.columns = columns;
    band.in_columns = InputsOf(columns, band.pixel_step, attributes.dilations[1], kernel[1]);
  };
  const int64_t most = kBandBytes + x.Elements() / kShareOfX;
  set_rows(1);
  set_columns(y.dims[3] < kMostPassPixels ? y.dims[3] : kMostPassPixels);
  while (BandBytes(band) > most && band.columns > 2) set_columns((band.columns + 1) / 2);
  while (band.rows < y.dims[2] && band.rows * band.columns < kPassPixels &&
         (band.rows + 1) * band.columns <= kMostPassPixels) {
    set_rows(band.rows + 1);
    if (BandBytes(band) <= most) continue;
    set_rows(band.rows - 1);
    break;
  }
  band.row_halves = static_cast<int>(RowHalves(band));
  band.x_bytes = static_cast<size_t>(RoundUp(BandBytes(band), 8));
  band.w_bytes = static_cast<size_t>(int64_t{2} * band.runs * band.steps * kStep * kHalfBytes);
  return band;
}

Reason ConvSupports(const OpCall& call) {
  const auto& attributes = call.AttributesAs<QuantizedConvAttributes>();
  if (const Reason reason = ProductRefusal(call, attributes.output)) return reason;
  if (attributes.conv.group != 1) return "the DSP convolution has one group";
  const TensorView& w = call.Input(kW);
  const bool is_row = w.dims[3] == 1 || attributes.conv.dilations[1] == 1;
  if (int64_t{w.dims[2]} * (is_row ? 1 : w.dims[3]) > kMostRuns) {
    return "more rows of taps than the DSP convolution keeps places of";
  }
  return nullptr;
}

size_t ConvWorkspaceBytes(const OpCall& call, int) {
  if (call.Output().Elements() == 0) return 0;
  const ConvBand band = ConvBandOf(call);
  return band.x_bytes + band.w_bytes;
}

}  // namespace dsp

namespace {

constexpr KernelCaps kDsp[] = {
    {"cpu.quantized_conv.dsp_depthwise", OpKind::kQuantizedConv, cortex_m::DepthwiseSupports,
     LayoutNeed::kChannelsLastStrided, cortex_m::DepthwiseWorkspaceBytes, nullptr, nullptr,
     WeightsOrder::kOutputsLast},
    {"cpu.quantized_conv.dsp", OpKind::kQuantizedConv, dsp::ConvSupports,
     LayoutNeed::kChannelsLastStrided, dsp::ConvWorkspaceBytes, nullptr, nullptr,
     WeightsOrder::kInputsLast},
    {"cpu.quantized_matmul.dsp", OpKind::kQuantizedMatMul, cortex_m::MatMulSupports,
     LayoutNeed::kRowMajor, cortex_m::MatMulWorkspaceBytes, nullptr, nullptr,
     WeightsOrder::kInputsLast},
};

}  // namespace

Span<const KernelCaps> DspCaps() { return kDsp; }

}  // namespace tenon::cpu
