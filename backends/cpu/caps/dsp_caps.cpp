#include "backends/cpu/caps/dsp_caps.hpp"

#include "backends/cpu/caps/in_place_caps.hpp"
#include "runtime/base/round_up.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/kernel_refusals.hpp"

namespace tenon::cpu::dsp {
namespace {

using In = QuantizedGemmInput;
constexpr int kHalfBytes = 2;
constexpr int kStep = 4;  // elements of a step
/// Unpacking the weights costs about two instructions for each weight and pass: with so many pixels
/// a pass, little beside the products. With more it pays only where memory is plenty.
constexpr int kPassPixels = 32;
/// What a pass's inputs may take before it is cut, beside a share of x itself.
constexpr int64_t kBandBytes = 2048;
constexpr int64_t kShareOfX = 8;
/// But so much, for as many pixels as a pass has at most.
constexpr int64_t kPassBytes = 8192;
/// A pass has no fewer, or what it has without a limit.
constexpr int kLeastPassPixels = 4;
/// Depthwise: so many outputs go through at once, if they are of several rows.
constexpr int kLinesPixels = 48;
/// Depthwise: of so few outputs 3x3 windows are read where they lie. What widened rows and weights
/// take for each four channels is as much as so many windows; more of it without pairs of rows.
constexpr int64_t kWindowsPixels = 6;
constexpr int64_t kWindowsPixelsHalfEven = 24;
/// Windows of no more elements are gathered: the runs of their rows are too short.
constexpr int kSmallWindow = 64;
/// Padding and dilation can make a window reach much further than there is memory: no more inputs
/// than these are widened, so that sizes fit the 32 bits of the processors that this is for.
constexpr int64_t kMostHalves = 1 << 20;

constexpr size_t Larger(size_t a, size_t b) { return a > b ? a : b; }
constexpr int Least(int64_t a, int64_t b) { return static_cast<int>(a < b ? a : b); }

Reason GemmRefusal(const OpCall& call, const QuantizedOutput& output) {
  for (int i = In::kWeights; i < call.InputCount(); ++i) {
    if (call.HasInput(i) && call.Input(i).data == nullptr) {
      return "weights and parameters must be constant";
    }
  }
  if (output.to != static_cast<int32_t>(DType::kI8) &&
      output.to != static_cast<int32_t>(DType::kU8)) {
    return "the DSP kernels give i8 or u8";
  }
  if (call.HasInput(In::kXZeroPoint) && call.Input(In::kXZeroPoint).dims[0] != 1) {
    return "the DSP kernels take one zero point of x for all channels";
  }
  return nullptr;
}

/// Gives the inputs of an output, and whether the taps of a kernel row are contiguous.
struct Window {
  explicit Window(const OpCall& conv)
      : w(conv.Input(In::kWeights)),
        depth(int64_t{w.dims[1]} * w.dims[2] * w.dims[3]),
        has_rows(w.dims[3] == 1 || conv.AttributesAs<ConvAttributes>().dilations[1] == 1) {}

  [[nodiscard]] int Runs() const { return w.dims[2] * (has_rows ? 1 : w.dims[3]); }

  const TensorView& w;
  int64_t depth;
  bool has_rows;
};

ConvMode ModeOf(const OpCall& conv, const Window& window) {
  const int32_t channels = window.w.dims[1];
  if (IsPointwiseConv(conv) && channels % kStep == 0) return ConvMode::kPixels;
  const bool is_small = window.depth <= kSmallWindow;
  return channels % kStep != 0 || is_small ? ConvMode::kWindows : ConvMode::kRows;
}

/// Inputs along `axis` from the first of `outputs` windows to the last one's end; below 2^29.
int64_t InputsOf(const OpCall& conv, int axis, int64_t outputs) {
  const auto& attributes = conv.AttributesAs<ConvAttributes>();
  return (outputs - 1) * attributes.strides[axis] +
         int64_t{conv.Input(In::kWeights).dims[2 + axis] - 1} * attributes.dilations[axis] + 1;
}

/// Halves of `rows` x `columns` pixels, or more than any x has.
int64_t HalvesOf(int64_t rows, int64_t columns, int64_t channels) {
  constexpr int64_t kTooMany = int64_t{1} << 40;
  const int64_t pixels = rows * columns;
  return pixels > kMostHalves ? kTooMany : pixels * channels;
}

constexpr char kReachesTooFar[] = "windows that reach further than the DSP kernels widen";

/// Most bytes of a pass's inputs where there is room for all that is worth it.
int64_t MostBytes(const OpCall& conv) {
  const int64_t share = kBandBytes + conv.Input(In::kX).Elements() / kShareOfX;
  return share < kPassBytes ? kPassBytes : share;
}

/// As many pixels as there is room for, and are worth it.
void SetPairedPass(const OpCall& conv, int64_t room, ConvBand& band) {
  const TensorView& y = conv.Output();
  const int64_t pixel_bytes = int64_t{band.steps} * kStep * kHalfBytes;
  const int64_t wanted = MostBytes(conv);
  const int most = Least((room < wanted ? room : wanted) / pixel_bytes, kMostPassPixels);
  const int64_t all = int64_t{y.dims[0]} * y.dims[2] * y.dims[3];
  band.pixels = Least(RoundUp<int64_t>(all, 2), most < 2 ? 2 : most / 2 * 2);
  band.columns = Least(y.dims[3], band.pixels);
  band.rows = Least(y.dims[2], band.pixels / band.columns);
  if (band.columns % 2 != 0 && band.rows > 1) {
    // An odd pixel costs as much as two; and pairs of pixels are of one row.
    band.rows = band.mode == ConvMode::kPixels ? 1 : band.rows / 2 * 2;
  }
  band.x_bytes = static_cast<size_t>(band.pixels * pixel_bytes);
}

int64_t BytesOfRows(const OpCall& conv, int rows, int columns) {
  return HalvesOf(InputsOf(conv, 0, rows), InputsOf(conv, 1, columns),
                  conv.Input(In::kWeights).dims[1]) *
         kHalfBytes;
}

/// The columns of the fewest passes over a row whose inputs take no more than `most` bytes; or few.
int Columns(const OpCall& conv, int64_t most, int few) {
  const int all = Least(conv.Output().dims[3], kMostPassPixels);
  int columns = all;
  for (int passes = 2; columns > few && BytesOfRows(conv, 1, columns) > most; ++passes) {
    columns = (all + passes - 1) / passes;
    if (columns > few) columns += columns % 2;  // an odd pixel costs as much as two
  }
  return columns;
}

/// As many columns and then rows as there is room for, and are worth it.
void SetRowsPass(const OpCall& conv, int64_t room, ConvBand& band) {
  const TensorView& y = conv.Output();
  const int64_t wanted = MostBytes(conv);
  const int64_t most = room < wanted ? room : wanted;
  band.rows = 1;
  band.columns = Columns(conv, most, 2);
  while (band.rows < y.dims[2] && band.rows * band.columns < kPassPixels &&
         (band.rows + 1) * band.columns <= kMostPassPixels &&
         BytesOfRows(conv, band.rows + 1, band.columns) <= most) {
    ++band.rows;
  }
  band.pixels = band.rows * band.columns;
  band.in_rows = static_cast<int>(InputsOf(conv, 0, band.rows));
  band.row_halves =
      static_cast<int>(InputsOf(conv, 1, band.columns)) * conv.Input(In::kWeights).dims[1];
  band.x_bytes = static_cast<size_t>(BytesOfRows(conv, band.rows, band.columns));
}

/// All but the pass.
ConvBand BandWithoutPass(const OpCall& conv) {
  const Window window(conv);
  ConvBand band = {};
  band.mode = ModeOf(conv, window);
  const bool in_rows = band.mode == ConvMode::kRows;
  band.runs = in_rows ? window.Runs() : 1;
  band.steps = static_cast<int>((window.depth / band.runs + kStep - 1) / kStep);
  const int64_t window_bytes = int64_t{band.runs} * band.steps * kStep;
  band.w_bytes = static_cast<size_t>(2 * window_bytes * kHalfBytes);
  if (band.mode == ConvMode::kWindows) band.window_bytes = static_cast<size_t>(2 * window_bytes);
  return band;
}

ConvBand BandWithin(const OpCall& conv, int64_t room) {
  ConvBand band = BandWithoutPass(conv);
  if (band.mode == ConvMode::kRows) {
    SetRowsPass(conv, room, band);
  } else {
    SetPairedPass(conv, room, band);
  }
  return band;
}

size_t PlanesBytes(const DepthwisePlanes& planes) {
  const int64_t halves = int64_t{planes.rows} * planes.row_halves;
  return static_cast<size_t>(kDepthwisePlanes * kHalfBytes * halves);
}

/// And with steps of `stride`.
bool IsThreeByThree(const OpCall& conv, int32_t stride) {
  const auto& attributes = conv.AttributesAs<ConvAttributes>();
  for (int i = 0; i < 2; ++i) {
    const bool plain = attributes.strides[i] == stride && attributes.dilations[i] == 1;
    if (!plain || conv.Input(In::kWeights).dims[2 + i] != 3) return false;
  }
  return true;
}

/// Whether the kernel that reads windows where they lie takes them, whatever their size.
bool HasPlainWindows(const OpCall& conv) {
  const TensorView& w = conv.Input(In::kWeights);
  return conv.Input(In::kX).dtype == DType::kI8 && w.dtype == DType::kI8 &&
         !conv.HasInput(In::kWeightsZeroPoint) && w.dims[0] >= kDepthwisePlanes;
}

/// A few pixels of inputs, of one row.
int64_t LeastBytesOfInputs(const OpCall& conv) {
  const ConvBand band = BandWithoutPass(conv);
  if (band.mode == ConvMode::kRows) return BytesOfRows(conv, 1, Columns(conv, 0, kLeastPassPixels));
  return int64_t{kLeastPassPixels} * band.steps * kStep * kHalfBytes;
}

constexpr int64_t kAnyRoom = int64_t{1} << 50;

}  // namespace

size_t ConvBand::Bytes() const { return x_bytes + w_bytes + window_bytes; }

ConvBand ConvBandOf(const OpCall& conv, size_t workspace_bytes) {
  const ConvBand fixed = BandWithoutPass(conv);
  const size_t beside = fixed.w_bytes + fixed.window_bytes;
  const size_t room = workspace_bytes > beside ? workspace_bytes - beside : 0;
  return BandWithin(conv, room < size_t{1} << 30 ? static_cast<int64_t>(room) : kAnyRoom);
}

Reason ConvSupports(const OpCall& call) {
  const auto& attributes = call.AttributesAs<QuantizedConvAttributes>();
  if (const Reason reason = GemmRefusal(call, attributes.output)) return reason;
  if (attributes.conv.group != 1) return "the DSP convolution has one group";
  const Window window(call);
  if (window.depth > kMostDepth) return "windows larger than the DSP convolution widens";
  if (window.Runs() > kMostRuns && ModeOf(call, window) == ConvMode::kRows) {
    return "more rows of taps than the DSP convolution keeps places of";
  }
  if (ModeOf(call, window) == ConvMode::kRows) {
    // A pass is of so many columns at least.
    const int64_t columns = InputsOf(call, 1, Least(call.Output().dims[3], kLeastPassPixels));
    const int64_t halves = HalvesOf(InputsOf(call, 0, 1), columns, window.w.dims[1]);
    if (halves > kMostHalves) return kReachesTooFar;
  }
  return nullptr;
}

bool HasDepthwisePlanes(const OpCall& conv) {
  const auto& attributes = conv.AttributesAs<QuantizedConvAttributes>();
  const int32_t stride = attributes.conv.strides[0];
  if (stride > 2 || !IsThreeByThree(conv, stride)) return false;
  const bool is_even = attributes.output.rounding == Rounding::kHalfEven;
  const TensorView& y = conv.Output();
  const int64_t few = is_even ? kWindowsPixelsHalfEven : kWindowsPixels;
  return int64_t{y.dims[2]} * y.dims[3] > few || !HasPlainWindows(conv);
}

DepthwisePlanes DepthwisePlanesOf(const OpCall& conv, size_t workspace_bytes) {
  const TensorView& y = conv.Output();
  // Loads of four halves reach two beyond the last window.
  const int64_t columns = RoundUp<int64_t>(InputsOf(conv, 1, y.dims[3]) + 2, 2);
  DepthwisePlanes planes = {static_cast<int>(InputsOf(conv, 0, 1)), static_cast<int>(columns), 1};
  if (!IsThreeByThree(conv, 1) || y.dims[3] < 1) return planes;
  const int worth_it = Least(kLinesPixels / y.dims[3], y.dims[2]);
  const size_t more = static_cast<size_t>(kDepthwisePlanes * kHalfBytes * columns);
  size_t bytes = PlanesBytes(planes);
  for (int lines = 2; lines <= worth_it && workspace_bytes >= bytes + more; ++lines) {
    bytes += more;
    planes.lines = lines;
    planes.rows = lines + 2;
  }
  return planes;
}

size_t DepthwisePairsBytes(const OpCall& conv) {
  const auto& attributes = conv.AttributesAs<QuantizedConvAttributes>();
  const int32_t stride = attributes.conv.strides[0];
  const TensorView& y = conv.Output();
  if (attributes.output.rounding != Rounding::kFixedPoint || !HasDepthwisePlanes(conv) ||
      y.dims[1] % kDepthwisePlanes != 0) {
    return 0;
  }
  // Of each channel and column one word for each two rows of x that two rows of outputs read.
  constexpr int kWordBytes = 4;
  const int64_t words = InputsOf(conv, 1, y.dims[3]) * (stride + 1);
  return static_cast<size_t>(kDepthwisePlanes * kWordBytes * words);
}

Reason DepthwiseSupports(const OpCall& call) {
  const auto& attributes = call.AttributesAs<QuantizedConvAttributes>();
  const TensorView& w = call.Input(In::kWeights);
  if (w.dims[1] != 1 || w.dims[0] != attributes.conv.group) return "not depthwise";
  if (const Reason reason = GemmRefusal(call, attributes.output)) return reason;
  if (int64_t{w.dims[2]} * w.dims[3] > kMostDepth)
    return "windows larger than the DSP kernel takes";
  const DepthwisePlanes planes = DepthwisePlanesOf(call, 0);
  if (HalvesOf(planes.rows, planes.row_halves, 1) > kMostHalves) return kReachesTooFar;
  if (HasDepthwisePlanes(call) || HasPlainWindows(call)) return nullptr;
  return "windows of u8, of weights with zero points or of fewer than 4 channels must be 3x3";
}

Reason DepthwisePlanesSupports(const OpCall& call) {
  if (const Reason reason = DepthwiseSupports(call)) return reason;
  if (!HasDepthwisePlanes(call)) return "windows that are read where they lie";
  return nullptr;
}

Reason DepthwiseWindowsSupports(const OpCall& call) {
  if (const Reason reason = DepthwiseSupports(call)) return reason;
  if (HasDepthwisePlanes(call)) return "3x3 windows, whose rows are widened";
  return nullptr;
}

size_t DepthwiseWorkspaceBytes(const OpCall& call, int) {
  if (call.Output().Elements() == 0 || !HasDepthwisePlanes(call)) return 0;
  return Larger(PlanesBytes(DepthwisePlanesOf(call, SIZE_MAX)), DepthwisePairsBytes(call));
}

size_t DepthwiseLeastWorkspaceBytes(const OpCall& call) {
  if (call.Output().Elements() == 0 || !HasDepthwisePlanes(call)) return 0;
  return PlanesBytes(DepthwisePlanesOf(call, 0));
}

size_t ConvWorkspaceBytes(const OpCall& call, int) {
  if (call.Output().Elements() == 0) return 0;
  return BandWithin(call, kAnyRoom).Bytes();
}

size_t ConvLeastWorkspaceBytes(const OpCall& call) {
  if (call.Output().Elements() == 0) return 0;
  return BandWithin(call, LeastBytesOfInputs(call)).Bytes();
}

Reason MatMulSupports(const OpCall& call) {
  const auto& attributes = call.AttributesAs<QuantizedMatMulAttributes>();
  if (const Reason reason = GemmRefusal(call, attributes.output)) return reason;
  if (attributes.matmul.transpose_a != 0) return "the DSP product takes a as it is";
  if (call.Input(In::kWeights).dtype != DType::kI8) return "the DSP product takes weights of i8";
  if (!HasOneMatrix(call)) return "the DSP product takes one matrix for all batches";
  return nullptr;
}

size_t MatMulWorkspaceBytes(const OpCall& call, int) {
  const TensorView& a = call.Input(In::kX);
  return static_cast<size_t>(a.dims[a.rank - 1]) / kStep * kStep * kHalfBytes;
}

Reason BinarySupports(const OpCall& call) {
  const auto& attributes = call.AttributesAs<QuantizedBinaryAttributes>();
  if (attributes.function != BinaryFunction::kAdd && attributes.function != BinaryFunction::kSub) {
    return "the DSP kernel adds and subtracts";
  }
  const TensorView& z = call.Output();
  if (DTypeBytes(call.Input(BinaryInput::kX).dtype) != 1 ||
      DTypeBytes(call.Input(BinaryInput::kY).dtype) != 1 || DTypeBytes(z.dtype) != 1) {
    return "the DSP kernel computes with i8 and u8";
  }
  if (call.Input(BinaryInput::kX).shape() != z.shape() ||
      call.Input(BinaryInput::kY).shape() != z.shape()) {
    return "the DSP kernel adds operands of equal shape";
  }
  return nullptr;
}

size_t BinaryWorkspaceBytes(const OpCall& call, int) {
  constexpr int64_t kFewestElements = 512;
  return call.Output().Elements() < kFewestElements ? 0 : kBinaryTableBytes;
}

size_t BinaryLeastWorkspaceBytes(const OpCall&) { return 0; }

bool KeepsInputs(const OpCall& conv, size_t workspace_bytes) {
  if (IsPointwiseConv(conv)) return true;
  const ConvBand band = ConvBandOf(conv, workspace_bytes);
  return band.mode == ConvMode::kRows && band.columns >= conv.Output().dims[3];
}

size_t DepthwiseInPlaceWorkspaceBytes(const OpCall& call, int threads) {
  if (!HasDepthwisePlanes(call)) return InPlacePartsWorkspace(call, DepthwiseWorkspaceBytes);
  return Larger(DepthwiseWorkspaceBytes(call, threads), InPlaceConvWorkspace(call, threads));
}

size_t DepthwiseInPlaceLeastBytes(const OpCall& call) {
  if (!HasDepthwisePlanes(call)) return InPlacePartsWorkspace(call, DepthwiseWorkspaceBytes);
  return Larger(DepthwiseLeastWorkspaceBytes(call), InPlaceConvWorkspace(call, 1));
}

size_t ConvInPlaceWorkspaceBytes(const OpCall& call, int threads) {
  if (call.Output().Elements() == 0) return 0;
  const size_t own = KeepsInputs(call, SIZE_MAX) ? ConvWorkspaceBytes(call, threads)
                                                 : InPlacePartsWorkspace(call, ConvWorkspaceBytes);
  return Larger(own, InPlaceConvWorkspace(call, threads));
}

size_t ConvInPlaceLeastBytes(const OpCall& call) {
  if (call.Output().Elements() == 0) return 0;
  const auto least_of_part = [](const OpCall& part, int) { return ConvLeastWorkspaceBytes(part); };
  size_t own = 0;
  if (IsPointwiseConv(call)) {
    own = ConvLeastWorkspaceBytes(call);
  } else {
    own = InPlacePartsWorkspace(call, least_of_part);
    if (KeepsInputs(call, SIZE_MAX)) {
      const ConvBand fixed = BandWithoutPass(call);
      const size_t row = static_cast<size_t>(BytesOfRows(call, 1, call.Output().dims[3]));
      const size_t whole_rows = row + fixed.w_bytes;
      own = whole_rows < own ? whole_rows : own;
    }
  }
  const size_t most = ConvInPlaceWorkspaceBytes(call, 1);
  const size_t least = Larger(own, InPlaceConvWorkspace(call, 1));
  return least < most ? least : most;
}

}  // namespace tenon::cpu::dsp
