// Quantized depthwise convolution, channels-last, weights [taps][channels].
//
// Each tap is a pointer; in the padding to a pixel of zero points in the workspace, so that all
// positions compute alike.
#include "backends/cpu/caps/cortex_m_caps.hpp"
#include "backends/cpu/kernels/cortex_m/kernels.hpp"
#include "backends/cpu/kernels/cortex_m/product.hpp"
#include "backends/cpu/kernels/cortex_m/simd/generic/routines.hpp"

namespace tenon::cpu::cortex_m {
namespace {

/// What is alike for each row of taps.
struct RowTaps {
  int count;
  int dilation;
  uint32_t width;  ///< of x
  ptrdiff_t step;
  const int8_t* padding;
};

/// Taps of one row of the window, from `column` on; `line` null: it lies in the padding. Apart, so
/// that the compiler has registers for it.
[[gnu::noinline]] void SetRowTaps(const RowTaps& row, const int8_t* line, int column,
                                  const int8_t** tap) {
  const int8_t** const end = tap + row.count;
  while (tap < end) {
    const bool inside = line != nullptr && static_cast<uint32_t>(column) < row.width;
    *tap++ = inside ? line + column * row.step : row.padding;
    column += row.dilation;
  }
}

class Depthwise {
 public:
  Depthwise(const KernelCall& call, const DepthwiseRoutines& routines)
      : op_(call.op),
        routines_(routines),
        attributes_(call.op.AttributesAs<ConvAttributes>()),
        x_(call.op.Input(0)),
        y_(call.op.Output()),
        channels_(y_.dims[1]),
        rescale_(RescaleOf(call.op, call.op.AttributesAs<QuantizedConvAttributes>().output)),
        factors_(static_cast<int32_t*>(call.workspace)),
        bias_(factors_ + DepthwiseFactorBytes(call.op) / sizeof(int32_t) -
              (channels_ + kBlockChannels - 1) / kBlockChannels * kBlockChannels),
        padding_(static_cast<int8_t*>(call.workspace) + DepthwiseWorkspaceBytes(call.op, 1) -
                 channels_) {
    for (int i = 0; i < 2; ++i) kernel_[i] = op_.Input(1).dims[2 + i];
    tap_count_ = kernel_[0] * kernel_[1];
    row_taps_ = {kernel_[1], attributes_.dilations[1], static_cast<uint32_t>(x_.dims[3]),
                 x_.strides[3], padding_};
    FindInside();
    const auto* w = op_.Input(1).As<const int8_t>();
    takes_ = routines.takes == nullptr || routines.takes(w, ptrdiff_t{tap_count_} * channels_);
    multiply_ = takes_ ? routines.multiply : generic::Depthwise().multiply;
  }

  void Run() {
    const auto zero_point = static_cast<int8_t>(ZeroPointOf(op_));
    routines_.fill(padding_, zero_point, channels_);
    SetBias();
    runs_ =
        takes_ && routines_.prepare != nullptr && routines_.prepare(rescale_, channels_, factors_);
    for (int image = 0; image < y_.dims[0]; ++image) {
      for (int row = 0; row < y_.dims[2]; ++row) RunRow(image, row);
    }
  }

 private:
  void FindInside() {
    const int columns = y_.dims[3];
    const int last = x_.dims[3] - 1 - (kernel_[1] - 1) * attributes_.dilations[1];
    const int stride = attributes_.strides[1];
    int start = WindowStart(1, 0);
    int column = 0;
    for (; column < columns && start < 0; ++column) start += stride;
    inside_begin_ = column;
    for (; column < columns && start <= last; ++column) start += stride;
    inside_end_ = column;
  }

  /// A convolution of nothing but padding is what the zero point adds to each sum.
  void SetBias() {
    const auto* bias = op_.HasInput(2) ? op_.Input(2).As<const int32_t>() : nullptr;
    rescale_.bias = bias;
    if (bias != nullptr && ZeroPointOf(op_) == 0) return;
    for (int tap = 0; tap < tap_count_; ++tap) taps_[tap] = padding_;
    segments_[0] = {1, taps_};
    segment_count_ = 1;
    for (int first = 0; first < channels_; first += kBlockChannels) {
      multiply_(BlockAt(first, 0), bias_ + first);
    }
    routines_.take_off(bias, bias_, 1, channels_, bias_);
    rescale_.bias = bias_;
  }

  [[nodiscard]] DepthwiseBlock BlockAt(int first, ptrdiff_t x_pixel) const {
    const int left = channels_ - first;
    DepthwiseBlock block;
    block.segments = segments_;
    block.segment_count = segment_count_;
    block.tap_count = tap_count_;
    block.x_first = first;
    block.x_pixel = x_pixel;
    block.channels = left < kBlockChannels ? left : kBlockChannels;
    block.w = op_.Input(1).As<const int8_t>() + first;
    block.w_tap = channels_;
    return block;
  }

  [[nodiscard]] int WindowStart(int axis, int output) const {
    return output * attributes_.strides[axis] - attributes_.pads[axis];
  }

  [[nodiscard]] bool IsInside(int axis, int output) const {
    const int start = WindowStart(axis, output);
    return start >= 0 &&
           start + (kernel_[axis] - 1) * attributes_.dilations[axis] < x_.dims[2 + axis];
  }

  void SetTaps(int image, int row, int column, const int8_t** tap) const {
    const int8_t* const data = x_.As<const int8_t>() + ptrdiff_t{image} * x_.strides[0];
    const int first_column = WindowStart(1, column);
    int at_row = WindowStart(0, row);
    for (int i = 0; i < kernel_[0]; ++i, at_row += attributes_.dilations[0]) {
      const bool inside = at_row >= 0 && at_row < x_.dims[2];
      const int8_t* line = inside ? data + ptrdiff_t{at_row} * x_.strides[2] : nullptr;
      SetRowTaps(row_taps_, line, first_column, tap);
      tap += row_taps_.count;
    }
  }

  void RunRow(int image, int row) {
    const bool row_inside = IsInside(0, row);
    for (int column = 0; column < y_.dims[3];) {
      const int count = SetSegments(image, row, column, row_inside);
      RunSegments(image, row, column, count);
      column += count;
    }
  }

  /// Those from `column` on for which there is room. Gives their columns.
  int SetSegments(int image, int row, int column, bool row_inside) {
    const int most =
        kMostPointers / tap_count_ < kMostSegments ? kMostPointers / tap_count_ : kMostSegments;
    int done = 0;
    segment_count_ = 0;
    while (segment_count_ < most && done < kDepthwisePixels && column + done < y_.dims[3]) {
      const int at = column + done;
      int count = 1;
      if (row_inside && at >= inside_begin_ && at < inside_end_) {
        count =
            inside_end_ - at < kDepthwisePixels - done ? inside_end_ - at : kDepthwisePixels - done;
      }
      const int8_t** taps = taps_ + segment_count_ * tap_count_;
      SetTaps(image, row, at, taps);
      segments_[segment_count_++] = {count, taps};
      done += count;
    }
    return done;
  }

  void RunSegments(int image, int row, int column, int count) {
    int32_t sums[kDepthwisePixels * kBlockChannels];
    SumBlock results;
    results.sums = sums;
    results.sum_pixel = kBlockChannels;
    results.pixels = count;
    results.y_pixel = y_.strides[3];
    int8_t* y = y_.As<int8_t>() + ptrdiff_t{image} * y_.strides[0] +
                ptrdiff_t{row} * y_.strides[2] + ptrdiff_t{column} * y_.strides[3];
    const ptrdiff_t x_pixel =
        y_.dims[3] == 1 ? 0 : ptrdiff_t{x_.strides[3]} * attributes_.strides[1];
    for (int first = 0; first < channels_; first += kBlockChannels) {
      const DepthwiseBlock block = BlockAt(first, x_pixel);
      if (runs_) {
        routines_.run(block, factors_ + first / kBlockChannels * kDepthwiseFactorWords,
                      rescale_.output.zero_point, y + first, y_.strides[3]);
        continue;
      }
      multiply_(block, sums);
      results.outputs = block.channels;
      results.first = first;
      results.y = y + first;
      routines_.finish(rescale_, results);
    }
  }

  static constexpr int kMostSegments = 4;  // of one start: both borders and what is between them
  static constexpr int kMostPointers = 128;
  static_assert(kMostDepthwiseTaps <= kMostPointers, "there is room for one segment at least");

  const OpCall& op_;
  const DepthwiseRoutines& routines_;
  const ConvAttributes& attributes_;
  const TensorView& x_;
  const TensorView& y_;
  int channels_;
  Rescale rescale_;
  int32_t* factors_;
  int32_t* bias_;
  int8_t* padding_;
  void (*multiply_)(const DepthwiseBlock& block, int32_t* sums);
  int kernel_[2] = {};
  int tap_count_ = 0;
  RowTaps row_taps_ = {};
  bool takes_ = true;
  bool runs_ = false;     ///< the routines' `run`
  int inside_begin_ = 0;  ///< columns whose windows lie inside x
  int inside_end_ = 0;
  int segment_count_ = 0;
  DepthwiseSegment segments_[kMostSegments] = {};
  const int8_t* taps_[kMostPointers];
};

}  // namespace

Status DepthwiseCheck(const KernelSetup& setup) {
  const OpCall& op = setup.op;
  if (const Reason reason = DepthwiseSupports(op)) return Status(StatusCode::kUnsupported, reason);
  TENON_RETURN_IF_ERROR(CheckOperands(op, setup.workspace_bytes, DepthwiseWorkspaceBytes(op, 1)));
  const TensorView& w = op.Input(1);
  const bool ordered = HasStride(w, 0, 1) && HasStride(w, 3, w.dims[0]) &&
                       HasStride(w, 2, int64_t{w.dims[0]} * w.dims[3]);
  TENON_ENSURE(ordered && HasStride(op.Input(0), 1, 1) && HasStride(op.Output(), 1, 1),
               kUnsupported, "the Cortex-M depthwise convolution takes channels side by side");
  return OkStatus();
}

void RunDepthwise(const KernelCall& call, const DepthwiseRoutines& routines) {
  if (call.op.Output().Elements() == 0) return;
  Depthwise(call, routines).Run();
}

}  // namespace tenon::cpu::cortex_m
