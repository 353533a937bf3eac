// Computes quantized depthwise convolutions, channels-last, with weights [taps][channels].
//
// Each tap is a pointer. In the padding it points to a pixel of zero points in the workspace, so
// that all positions are computed in the same way.
#include "backends/cpu/caps/cortex_m_caps.hpp"
#include "backends/cpu/kernels/cortex_m/gemm.hpp"
#include "backends/cpu/kernels/cortex_m/generic_routines.hpp"
#include "backends/cpu/kernels/cortex_m/in_place.hpp"
#include "backends/cpu/kernels/cortex_m/kernels.hpp"

namespace tenon::cpu::cortex_m {
namespace {

using In = QuantizedGemmInput;

/// Says where the taps of a window are. Index 0: rows; 1: columns.
struct Taps {
  int count[2];
  int dilation[2];
  uint32_t extent[2];  ///< of x
  ptrdiff_t step[2];
  const int8_t* padding;
};

/// Of the window whose first tap is at `row`, `column` of the image `x`; outside, the padding.
/// Apart, so that the compiler has registers for it.
[[gnu::noinline]] void SetTaps(const Taps& taps, const int8_t* x, int row, int column,
                               const int8_t** tap) {
  // Offsets outside the image may wrap.
  const auto step = static_cast<size_t>(taps.step[1]);
  const auto dilation = static_cast<uint32_t>(taps.dilation[1]);
  const int8_t* const padding = taps.padding;
  auto at_row = static_cast<uint32_t>(row);
  const int8_t** const end = tap + taps.count[0] * taps.count[1];
  do {  // there is a tap
    const uint32_t width = at_row < taps.extent[0] ? taps.extent[1] : 0;
    const size_t line = static_cast<size_t>(taps.step[0]) * at_row;
    auto at = static_cast<uint32_t>(column);
    const int8_t** const row_end = tap + taps.count[1];
    do {
      *tap++ = at < width ? x + static_cast<ptrdiff_t>(line + at * step) : padding;
      at += dilation;
    } while (tap != row_end);
    at_row += static_cast<uint32_t>(taps.dilation[0]);
  } while (tap != end);
}

class Depthwise {
 public:
  Depthwise(const OpCall& op, void* workspace, const DepthwiseRoutines& routines)
      : op_(op),
        routines_(routines),
        attributes_(op.AttributesAs<ConvAttributes>()),
        x_(op.Input(In::kX)),
        y_(op.Output()),
        w_(op.Input(In::kWeights).As<const int8_t>()),
        channels_(y_.dims[1]),
        rescale_(RescaleOf(op, op.AttributesAs<QuantizedConvAttributes>().output)),
        workspace_(workspace) {
    for (int i = 0; i < 2; ++i) {
      taps_at_.count[i] = op_.Input(In::kWeights).dims[2 + i];
      taps_at_.dilation[i] = attributes_.dilations[i];
      taps_at_.extent[i] = static_cast<uint32_t>(x_.dims[2 + i]);
      taps_at_.step[i] = x_.strides[2 + i];
    }
    tap_count_ = taps_at_.count[0] * taps_at_.count[1];
    most_segments_ =
        kMostPointers / tap_count_ < kMostSegments ? kMostPointers / tap_count_ : kMostSegments;
    FindInside();
    const bool takes =
        routines.takes == nullptr || routines.takes(w_, ptrdiff_t{tap_count_} * channels_);
    multiply_ = takes ? routines.multiply : generic::Depthwise().multiply;
    runs_ = takes && routines.runs != nullptr && routines.runs(rescale_, channels_);
  }

  void Prepare() {
    SetPadding();
    SetBias();
  }

  void RunImages() {
    for (int image = 0; image < y_.dims[0]; ++image) {
      int8_t* const y = y_.As<int8_t>() + ptrdiff_t{image} * y_.strides[0];
      RunRows(image, 0, y_.dims[2], {y, y_.strides[2], y_.strides[3]});
    }
  }

  /// Says where rows are written to.
  struct Destination {
    int8_t* y;  ///< of the first one
    ptrdiff_t row;
    ptrdiff_t pixel;
  };

  /// Computes rows [first, first + count) of an image.
  void RunRows(int image, int first, int count, const Destination& to) {
    const int8_t* const x = x_.As<const int8_t>() + ptrdiff_t{image} * x_.strides[0];
    const int end = first + count;
    const int dense_end = to.row == y_.dims[3] * to.pixel ? end : 0;
    for (int row = first, column = 0; row < end;) {
      int8_t* const y = to.y + (row - first) * to.row + column * to.pixel;
      const int pixels = SetSegments(x, dense_end, row, column);
      RunSegments(y, to.pixel, pixels);
    }
  }

 private:
  void FindInside() {
    const int columns = y_.dims[3];
    const int last = x_.dims[3] - 1 - (taps_at_.count[1] - 1) * attributes_.dilations[1];
    const int stride = attributes_.strides[1];
    int start = WindowStart(1, 0);
    int column = 0;
    for (; column < columns && start < 0; ++column) start += stride;
    inside_begin_ = column;
    for (; column < columns && start <= last; ++column) start += stride;
    inside_end_ = column;
  }

  void SetPadding() {
    int8_t* padding = own_padding_;
    if (channels_ > kOwnPaddingChannels) {
      padding = static_cast<int8_t*>(workspace_) + DepthwiseWorkspaceBytes(op_, 1) - channels_;
    }
    routines_.fill(padding, static_cast<int8_t>(ZeroPointOf(op_)), channels_);
    taps_at_.padding = padding;
  }

  /// A convolution of nothing but padding is what the zero point adds to each sum.
  void SetBias() {
    rescale_.bias = FinalBiasOf(op_);
    if (rescale_.bias != nullptr) return;
    const auto* bias = op_.HasInput(In::kBias) ? op_.Input(In::kBias).As<const int32_t>() : nullptr;
    auto* const own = static_cast<int32_t*>(workspace_);
    for (int tap = 0; tap < tap_count_; ++tap) taps_[tap] = taps_at_.padding;
    segments_[0] = {1, taps_};
    segment_count_ = 1;
    for (int first = 0; first < channels_; first += kBlockChannels) {
      multiply_(BlockAt(first, 0), own + first);
    }
    routines_.subtract_scaled(bias, own, 1, channels_, own);
    rescale_.bias = own;
  }

  [[nodiscard]] DepthwiseBlock BlockAt(int first, ptrdiff_t x_pixel) const {
    const int left = channels_ - first;
    DepthwiseBlock block;
    block.segments = segments_;
    block.segment_count = segment_count_;
    block.tap_count = tap_count_;
    block.first = first;
    block.x_pixel = x_pixel;
    block.channels = left < kBlockChannels ? left : kBlockChannels;
    block.w = w_ + first;
    block.w_tap = channels_;
    return block;
  }

  [[nodiscard]] int WindowStart(int axis, int output) const {
    return output * attributes_.strides[axis] - attributes_.pads[axis];
  }

  [[nodiscard]] bool IsRowInside(int row) const {
    const int start = WindowStart(0, row);
    return start >= 0 && start + (taps_at_.count[0] - 1) * attributes_.dilations[0] < x_.dims[2];
  }

  /// Those from `row`, `column` on for which there is room, in this row and the next ones up to
  /// `dense_end`. Moves both on; gives the number of pixels.
  int SetSegments(const int8_t* x, int dense_end, int& row, int& column) {
    const int columns = y_.dims[3];
    const int8_t** taps = taps_;
    int done = 0;
    int segments = 0;
    do {
      const int start = WindowStart(0, row);
      const bool row_inside = IsRowInside(row);
      while (column < columns && segments < most_segments_ && done < kDepthwisePixels) {
        int count = 1;
        if (row_inside && column >= inside_begin_ && column < inside_end_) {
          const int room = kDepthwisePixels - done;
          count = inside_end_ - column < room ? inside_end_ - column : room;
        }
        SetTaps(taps_at_, x, start, WindowStart(1, column), taps);
        segments_[segments++] = {count, taps};
        taps += tap_count_;
        done += count;
        column += count;
      }
      if (column < columns) break;
      column = 0;
      ++row;
    } while (row < dense_end && segments < most_segments_ && done < kDepthwisePixels);
    segment_count_ = segments;
    return done;
  }

  /// `y`: of the first of `count` pixels.
  void RunSegments(int8_t* y, ptrdiff_t y_pixel, int count) {
    const ptrdiff_t x_pixel =
        y_.dims[3] == 1 ? 0 : ptrdiff_t{x_.strides[3]} * attributes_.strides[1];
    if (!runs_) return RequantizeApart(x_pixel, y, y_pixel, count);
    DepthwiseBlock block = BlockAt(0, x_pixel);
    for (; block.first < channels_; block.first += kBlockChannels) {
      const int left = channels_ - block.first;
      block.channels = left < kBlockChannels ? left : kBlockChannels;
      block.w = w_ + block.first;
      routines_.run(block, rescale_, y + block.first, y_pixel);
    }
  }

  [[gnu::noinline]] void RequantizeApart(ptrdiff_t x_pixel, int8_t* y, ptrdiff_t y_pixel,
                                         int count) {
    int32_t sums[kDepthwisePixels * kBlockChannels];
    SumBlock results;
    results.sums = sums;
    results.sum_pixel = kBlockChannels;
    results.pixels = count;
    results.y_pixel = y_pixel;
    for (int first = 0; first < channels_; first += kBlockChannels) {
      const DepthwiseBlock block = BlockAt(first, x_pixel);
      multiply_(block, sums);
      results.outputs = block.channels;
      results.first = first;
      results.y = y + first;
      routines_.requantize(rescale_, results);
    }
  }

  /// With both borders, three for each of a few narrow rows.
  static constexpr int kMostSegments = 12;
  static constexpr int kMostPointers = 128;
  static_assert(kMostDepthwiseTaps <= kMostPointers, "there is room for one segment at least");

  const OpCall& op_;
  const DepthwiseRoutines& routines_;
  const ConvAttributes& attributes_;
  const TensorView& x_;
  const TensorView& y_;
  const int8_t* w_;
  int channels_;
  Rescale rescale_;
  void* workspace_;
  void (*multiply_)(const DepthwiseBlock& block, int32_t* sums);
  Taps taps_at_;
  int tap_count_ = 0;
  bool runs_ = false;     ///< the routines' `run`
  int inside_begin_ = 0;  ///< columns whose windows lie inside x
  int inside_end_ = 0;
  int most_segments_ = 0;
  int segment_count_ = 0;
  DepthwiseSegment segments_[kMostSegments];
  const int8_t* taps_[kMostPointers];
  int8_t own_padding_[kOwnPaddingChannels];
};

}  // namespace

Status DepthwiseCheck(const KernelSetup& setup) {
  const OpCall& op = setup.op;
  if (const Reason reason = DepthwiseSupports(op)) return Status(StatusCode::kUnsupported, reason);
  TENON_RETURN_IF_ERROR(CheckOperands(op, setup.workspace_bytes, DepthwiseWorkspaceBytes(op, 1)));
  const TensorView& w = op.Input(In::kWeights);
  const bool ordered = HasStride(w, 0, 1) && HasStride(w, 3, w.dims[0]) &&
                       HasStride(w, 2, int64_t{w.dims[0]} * w.dims[3]);
  TENON_ENSURE(ordered && HasStride(op.Input(In::kX), 1, 1) && HasStride(op.Output(), 1, 1),
               kUnsupported, "the Cortex-M depthwise convolution takes channels side by side");
  return OkStatus();
}

Status DepthwiseInPlaceCheck(const KernelSetup& setup) {
  return CheckOverInput(setup, DepthwiseCheck, DepthwiseWorkspaceBytes);
}

void RunDepthwise(const KernelCall& call, const DepthwiseRoutines& routines) {
  if (IsEmpty(call.op.Output())) return;
  Depthwise conv(call.op, call.workspace, routines);
  conv.Prepare();
  conv.RunImages();
}

void RunDepthwiseInPlace(const KernelCall& call, const DepthwiseRoutines& routines) {
  const TensorView& y = call.op.Output();
  if (IsEmpty(y)) return;
  const size_t room = InPlaceRoom(call, DepthwiseWorkspaceBytes(call.op, 1));
  Depthwise conv(call.op, static_cast<char*>(call.workspace) + room, routines);
  conv.Prepare();
  const ptrdiff_t pixel = y.dims[1];
  const ptrdiff_t row = pixel * y.dims[3];
  RunOverInput(call, room, [&](int image, int first, int count, int8_t* to) {
    conv.RunRows(image, first, count, {to, row, pixel});
  });
}

}  // namespace tenon::cpu::cortex_m
