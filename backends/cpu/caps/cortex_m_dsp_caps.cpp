#include "backends/cpu/caps/cortex_m_dsp_caps.hpp"

#include "backends/cpu/caps/in_place_caps.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu {
namespace dsp {
namespace {

constexpr int kX = 0;
constexpr int kW = 1;
constexpr int kXZeroPoint = 5;
constexpr int kHalfBytes = 2;
constexpr int kStep = 4;  // elements of a step
/// Unpacking the weights costs about one instruction for each weight and pass: with so many pixels
/// a pass, little beside the products.
constexpr int kPassPixels = 16;
/// What a pass's inputs may take before it is cut, beside a share of x itself.
constexpr int64_t kBandBytes = 2048;
constexpr int64_t kShareOfX = 8;
/// But so many pixels, as long as they do not take more.
constexpr int64_t kFewestPassPixels = 10;
constexpr int64_t kLargestBandBytes = 8192;
/// Windows of no more elements are gathered: the runs of their rows are too short.
constexpr int kSmallWindow = 64;
/// Padding and dilation can make a window reach much further than there is memory: no more inputs
/// than these are widened, so that sizes fit the 32 bits of the processors that this is for.
constexpr int64_t kMostHalves = 1 << 20;

constexpr int64_t RoundUp(int64_t value, int64_t step) { return (value + step - 1) / step * step; }
constexpr size_t Larger(size_t a, size_t b) { return a > b ? a : b; }
constexpr int Least(int64_t a, int64_t b) { return static_cast<int>(a < b ? a : b); }

Reason ProductRefusal(const OpCall& call, const QuantizedOutput& output) {
  for (int i = kW; i < call.InputCount(); ++i) {
    if (call.HasInput(i) && call.Input(i).data == nullptr) {
      return "weights and parameters must be constant";
    }
  }
  if (output.to != static_cast<int32_t>(DType::kI8) &&
      output.to != static_cast<int32_t>(DType::kU8)) {
    return "the DSP kernels give i8 or u8";
  }
  if (call.HasInput(kXZeroPoint) && call.Input(kXZeroPoint).dims[0] != 1) {
    return "the DSP kernels take one zero point of x for all channels";
  }
  return nullptr;
}

/// Inputs of an output, and whether the taps of a kernel row are neighbours.
struct Window {
  explicit Window(const OpCall& conv)
      : w(conv.Input(kW)),
        depth(int64_t{w.dims[1]} * w.dims[2] * w.dims[3]),
        has_rows(w.dims[3] == 1 || conv.AttributesAs<ConvAttributes>().dilations[1] == 1) {}

  [[nodiscard]] int Runs() const { return w.dims[2] * (has_rows ? 1 : w.dims[3]); }

  const TensorView& w;
  int64_t depth;
  bool has_rows;
};

ConvMode ModeOf(const OpCall& conv, const Window& window) {
  const int32_t channels = window.w.dims[1];
  if (IsPointwise(conv) && channels % kStep == 0) return ConvMode::kPixels;
  const bool is_small = window.depth <= kSmallWindow;
  return channels % kStep != 0 || is_small ? ConvMode::kWindows : ConvMode::kRows;
}

/// Inputs along `axis` from the first of `outputs` windows to the last one's end; below 2^29.
int64_t InputsOf(const OpCall& conv, int axis, int64_t outputs) {
  const auto& attributes = conv.AttributesAs<ConvAttributes>();
  return (outputs - 1) * attributes.strides[axis] +
         int64_t{conv.Input(kW).dims[2 + axis] - 1} * attributes.dilations[axis] + 1;
}

/// Halves of `rows` x `columns` pixels, or more than any x has.
int64_t HalvesOf(int64_t rows, int64_t columns, int64_t channels) {
  constexpr int64_t kTooMany = int64_t{1} << 40;
  const int64_t pixels = rows * columns;
  return pixels > kMostHalves ? kTooMany : pixels * channels;
}

constexpr char kReachesTooFar[] = "windows that reach further than the DSP kernels widen";

/// Most bytes of inputs, if they can be cut.
int64_t MostBytes(const OpCall& conv) { return kBandBytes + conv.Input(kX).Elements() / kShareOfX; }

void SetPairedPass(const OpCall& conv, ConvBand& band) {
  const TensorView& y = conv.Output();
  const int64_t pixel_bytes = int64_t{band.steps} * kStep * kHalfBytes;
  const int64_t usual = MostBytes(conv) / pixel_bytes;
  const int64_t fewest = kLargestBandBytes / pixel_bytes < kFewestPassPixels
                             ? kLargestBandBytes / pixel_bytes
                             : kFewestPassPixels;
  const int most = Least(usual < fewest ? fewest : usual, kMostPassPixels);
  const int64_t all = int64_t{y.dims[0]} * y.dims[2] * y.dims[3];
  band.pixels = Least(RoundUp(all, 2), most < 2 ? 2 : most / 2 * 2);
  band.columns = Least(y.dims[3], band.pixels);
  band.rows = Least(y.dims[2], band.pixels / band.columns);
  if (band.columns % 2 != 0 && band.rows > 1) {
    // An odd pixel costs as much as two; and pairs of pixels are of one row.
    band.rows = band.mode == ConvMode::kPixels ? 1 : band.rows / 2 * 2;
  }
  band.x_bytes = static_cast<size_t>(band.pixels * pixel_bytes);
}

void SetRowsPass(const OpCall& conv, ConvBand& band) {
  const TensorView& w = conv.Input(kW);
  const TensorView& y = conv.Output();
  const auto bytes = [&](int rows, int columns) {
    return HalvesOf(InputsOf(conv, 0, rows), InputsOf(conv, 1, columns), w.dims[1]) * kHalfBytes;
  };
  const int64_t most = 2 * MostBytes(conv);
  band.rows = 1;
  band.columns = Least(y.dims[3], kMostPassPixels);
  while (bytes(1, band.columns) > most && band.columns > 2) band.columns = (band.columns + 1) / 2;
  while (band.rows < y.dims[2] && band.rows * band.columns < kPassPixels &&
         (band.rows + 1) * band.columns <= kMostPassPixels &&
         bytes(band.rows + 1, band.columns) <= most) {
    ++band.rows;
  }
  band.pixels = band.rows * band.columns;
  band.in_rows = static_cast<int>(InputsOf(conv, 0, band.rows));
  band.row_halves = static_cast<int>(InputsOf(conv, 1, band.columns)) * w.dims[1];
  band.x_bytes = static_cast<size_t>(bytes(band.rows, band.columns));
}

}  // namespace

bool IsPointwise(const OpCall& conv) {
  const TensorView& w = conv.Input(kW);
  for (const int32_t pad : conv.AttributesAs<ConvAttributes>().pads) {
    if (pad != 0) return false;
  }
  return w.dims[2] == 1 && w.dims[3] == 1;
}

ConvBand ConvBandOf(const OpCall& conv) {
  const Window window(conv);
  ConvBand band = {};
  band.mode = ModeOf(conv, window);
  if (band.mode == ConvMode::kRows) {
    band.runs = window.Runs();
    band.steps = static_cast<int>(window.depth / band.runs / kStep);
    SetRowsPass(conv, band);
  } else {
    band.runs = 1;
    band.steps = static_cast<int>(RoundUp(window.depth, kStep) / kStep);
    SetPairedPass(conv, band);
  }
  const int64_t window_bytes = int64_t{band.runs} * band.steps * kStep;
  band.w_bytes = static_cast<size_t>(2 * window_bytes * kHalfBytes);
  if (band.mode == ConvMode::kWindows) band.window_bytes = static_cast<size_t>(2 * window_bytes);
  return band;
}

Reason ConvSupports(const OpCall& call) {
  const auto& attributes = call.AttributesAs<QuantizedConvAttributes>();
  if (const Reason reason = ProductRefusal(call, attributes.output)) return reason;
  if (attributes.conv.group != 1) return "the DSP convolution has one group";
  const Window window(call);
  if (window.depth > kMostDepth) return "windows larger than the DSP convolution widens";
  if (window.Runs() > kMostRuns && ModeOf(call, window) == ConvMode::kRows) {
    return "more rows of taps than the DSP convolution keeps places of";
  }
  if (ModeOf(call, window) == ConvMode::kRows) {
    // A pass is of two columns at least.
    const int64_t columns = InputsOf(call, 1, Least(call.Output().dims[3], 2));
    const int64_t halves = HalvesOf(InputsOf(call, 0, 1), columns, window.w.dims[1]);
    if (halves > kMostHalves) return kReachesTooFar;
  }
  return nullptr;
}

DepthwisePlanes DepthwisePlanesOf(const OpCall& conv) {
  // Loads of four halves reach two beyond the last window.
  const int64_t columns = InputsOf(conv, 1, conv.Output().dims[3]) + 2;
  return {static_cast<int>(InputsOf(conv, 0, 1)), static_cast<int>(RoundUp(columns, 2))};
}

Reason DepthwiseSupports(const OpCall& call) {
  const auto& attributes = call.AttributesAs<QuantizedConvAttributes>();
  const TensorView& w = call.Input(kW);
  if (w.dims[1] != 1 || w.dims[0] != attributes.conv.group) return "not depthwise";
  if (const Reason reason = ProductRefusal(call, attributes.output)) return reason;
  if (int64_t{w.dims[2]} * w.dims[3] > kMostDepth)
    return "windows larger than the DSP kernel takes";
  const DepthwisePlanes planes = DepthwisePlanesOf(call);
  if (HalvesOf(planes.rows, planes.row_halves, 1) > kMostHalves) return kReachesTooFar;
  return nullptr;
}

size_t DepthwiseWorkspaceBytes(const OpCall& call, int) {
  if (call.Output().Elements() == 0) return 0;
  const DepthwisePlanes planes = DepthwisePlanesOf(call);
  const TensorView& w = call.Input(kW);
  const int64_t halves = int64_t{planes.rows} * planes.row_halves + int64_t{w.dims[2]} * w.dims[3];
  return static_cast<size_t>(kDepthwisePlanes * kHalfBytes * halves);
}

size_t ConvWorkspaceBytes(const OpCall& call, int) {
  if (call.Output().Elements() == 0) return 0;
  const ConvBand band = ConvBandOf(call);
  return band.x_bytes + band.w_bytes + band.window_bytes;
}

Reason MatMulSupports(const OpCall& call) {
  const auto& attributes = call.AttributesAs<QuantizedMatMulAttributes>();
  if (const Reason reason = ProductRefusal(call, attributes.output)) return reason;
  if (attributes.matmul.transpose_a != 0) return "the DSP product takes a as it is";
  const TensorView& b = call.Input(kW);
  if (b.dtype != DType::kI8) return "the DSP product takes weights of i8";
  for (int i = 0; i + 2 < b.rank; ++i) {
    if (b.dims[i] != 1) return "the DSP product takes one matrix for all batches";
  }
  if (b.rank > call.Input(kX).rank) return "the DSP product takes one matrix for all batches";
  return nullptr;
}

size_t MatMulWorkspaceBytes(const OpCall& call, int) {
  const TensorView& a = call.Input(kX);
  return static_cast<size_t>(a.dims[a.rank - 1]) / kStep * kStep * kHalfBytes;
}

Reason BinaryTakes(const OpCall& call) {
  const auto& attributes = call.AttributesAs<QuantizedBinaryAttributes>();
  if (attributes.function != BinaryFunction::kAdd && attributes.function != BinaryFunction::kSub) {
    return "the DSP kernel adds and subtracts";
  }
  const TensorView& z = call.Output();
  if (call.Input(0).shape() != z.shape() || call.Input(1).shape() != z.shape()) {
    return "the DSP kernel adds operands of equal shape";
  }
  return nullptr;
}

Reason BinarySupports(const OpCall& call) {
  constexpr int64_t kFewestElements = 512;
  if (call.Output().Elements() < kFewestElements) return "so few elements are not worth a table";
  return BinaryTakes(call);
}

size_t BinaryWorkspaceBytes(const OpCall&, int) { return kBinaryTableBytes; }

bool KeepsInputs(const OpCall& conv) {
  if (IsPointwise(conv)) return true;
  const ConvBand band = ConvBandOf(conv);
  return band.mode == ConvMode::kRows && band.columns >= conv.Output().dims[3];
}

size_t DepthwiseInPlaceWorkspaceBytes(const OpCall& call, int threads) {
  return Larger(DepthwiseWorkspaceBytes(call, threads), InPlaceConvWorkspace(call, threads));
}

size_t ConvInPlaceWorkspaceBytes(const OpCall& call, int threads) {
  if (call.Output().Elements() == 0) return 0;
  const size_t own = KeepsInputs(call) ? ConvWorkspaceBytes(call, threads)
                                       : InPlacePartsWorkspace(call, ConvWorkspaceBytes);
  return Larger(own, InPlaceConvWorkspace(call, threads));
}

}  // namespace dsp

namespace {

Reason ConvInPlaceSupports(const OpCall& call) {
  const Reason reason = dsp::ConvSupports(call);
  return reason ? reason : InPlaceConvSupports(call);
}

Reason DepthwiseInPlaceSupports(const OpCall& call) {
  const Reason reason = dsp::DepthwiseSupports(call);
  return reason ? reason : InPlaceConvSupports(call);
}

constexpr uint32_t kOverX = 1U << 0;

constexpr KernelCaps ConvRow(const char* id, Reason (*supports)(const OpCall&),
                             size_t (*workspace)(const OpCall&, int), WeightsOrder weights,
                             uint32_t in_place_inputs = 0) {
  return {id,        OpKind::kQuantizedConv,
          supports,  LayoutNeed::kChannelsLastStrided,
          workspace, nullptr,
          nullptr,   weights,
          nullptr,   in_place_inputs};
}

constexpr KernelCaps kDsp[] = {
    ConvRow("cpu.quantized_conv.dsp_depthwise", dsp::DepthwiseSupports,
            dsp::DepthwiseWorkspaceBytes, WeightsOrder::kRowMajor),
    ConvRow("cpu.quantized_conv.dsp", dsp::ConvSupports, dsp::ConvWorkspaceBytes,
            WeightsOrder::kInputsLast),
    ConvRow("cpu.quantized_conv.dsp_depthwise_in_place", DepthwiseInPlaceSupports,
            dsp::DepthwiseInPlaceWorkspaceBytes, WeightsOrder::kRowMajor, kOverX),
    ConvRow("cpu.quantized_conv.dsp_in_place", ConvInPlaceSupports, dsp::ConvInPlaceWorkspaceBytes,
            WeightsOrder::kInputsLast, kOverX),
    {"cpu.quantized_matmul.dsp", OpKind::kQuantizedMatMul, dsp::MatMulSupports,
     LayoutNeed::kRowMajor, dsp::MatMulWorkspaceBytes, nullptr, nullptr, WeightsOrder::kInputsLast},
    {"cpu.quantized_binary.dsp", OpKind::kQuantizedBinary, dsp::BinarySupports, LayoutNeed::kDense,
     dsp::BinaryWorkspaceBytes},
};

}  // namespace

Span<const KernelCaps> DspCaps() { return kDsp; }

}  // namespace tenon::cpu
