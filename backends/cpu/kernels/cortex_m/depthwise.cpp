// Quantized depthwise convolution, channels-last, weights [taps][channels].
//
// Each tap is a pointer; in the padding to a pixel of zero points in the workspace, so that all
// positions compute alike.
#include "backends/cpu/caps/cortex_m_caps.hpp"
#include "backends/cpu/kernels/cortex_m/kernels.hpp"
#include "backends/cpu/kernels/cortex_m/product.hpp"

namespace tenon::cpu::cortex_m {
namespace {

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
        bias_(static_cast<int32_t*>(call.workspace)),
        padding_(static_cast<int8_t*>(call.workspace) + DepthwiseWorkspaceBytes(call.op, 1) -
                 channels_) {
    for (int i = 0; i < 2; ++i) kernel_[i] = op_.Input(1).dims[2 + i];
  }

  void Run() {
    const auto zero_point = static_cast<int8_t>(ZeroPointOf(op_));
    for (int i = 0; i < channels_; ++i) padding_[i] = zero_point;
    rescale_.bias = bias_;
    SetBias();
    for (int image = 0; image < y_.dims[0]; ++image) {
      for (int row = 0; row < y_.dims[2]; ++row) RunRow(image, row);
    }
  }

 private:
  /// A convolution of nothing but padding is what the zero point adds to each sum.
  void SetBias() {
    const auto* bias = op_.HasInput(2) ? op_.Input(2).As<const int32_t>() : nullptr;
    const int taps = kernel_[0] * kernel_[1];
    for (int tap = 0; tap < taps; ++tap) taps_[tap] = padding_;
    ForEachBlock(1, 0, [&](DepthwiseBlock& block, int first, int32_t* results) {
      routines_.multiply(block, results);
      for (int i = 0; i < block.channels; ++i) {
        const auto own = bias == nullptr ? 0U : static_cast<uint32_t>(bias[first + i]);
        bias_[first + i] = static_cast<int32_t>(own - static_cast<uint32_t>(results[i]));
      }
    });
  }

  /// Calls `body(block, first channel, room for sums)` for all channels at the taps that are set.
  template <typename Body>
  void ForEachBlock(int pixels, ptrdiff_t x_pixel, const Body& body) {
    int32_t results[kBlockPixels * kBlockChannels];
    const int tap_count = kernel_[0] * kernel_[1];
    const int8_t* taps[kMostDepthwiseTaps];
    DepthwiseBlock block;
    block.taps = taps;
    block.tap_count = tap_count;
    block.x_pixel = x_pixel;
    block.pixels = pixels;
    block.w_tap = channels_;
    for (int first = 0; first < channels_; first += kBlockChannels) {
      const int left = channels_ - first;
      block.channels = left < kBlockChannels ? left : kBlockChannels;
      block.w = op_.Input(1).As<const int8_t>() + first;
      for (int tap = 0; tap < tap_count; ++tap) taps[tap] = taps_[tap] + first;
      body(block, first, results);
    }
  }

  [[nodiscard]] int WindowStart(int axis, int output) const {
    return output * attributes_.strides[axis] - attributes_.pads[axis];
  }

  [[nodiscard]] bool IsInside(int axis, int output) const {
    const int start = WindowStart(axis, output);
    return start >= 0 &&
           start + (kernel_[axis] - 1) * attributes_.dilations[axis] < x_.dims[2 + axis];
  }

  void SetTaps(int image, int row, int column) {
    const int8_t* data = x_.As<const int8_t>() + ptrdiff_t{image} * x_.strides[0];
    const int8_t** tap = taps_;
    int at_row = WindowStart(0, row);
    for (int i = 0; i < kernel_[0]; ++i, at_row += attributes_.dilations[0]) {
      const bool row_inside = at_row >= 0 && at_row < x_.dims[2];
      int at_column = WindowStart(1, column);
      for (int j = 0; j < kernel_[1]; ++j, at_column += attributes_.dilations[1]) {
        const bool inside = row_inside && at_column >= 0 && at_column < x_.dims[3];
        *tap++ =
            inside ? data + ptrdiff_t{at_row} * x_.strides[2] + ptrdiff_t{at_column} * x_.strides[3]
                   : padding_;
      }
    }
  }

  void RunRow(int image, int row) {
    const bool row_inside = IsInside(0, row);
    for (int column = 0; column < y_.dims[3];) {
      int count = 0;
      while (count < kBlockPixels && column + count < y_.dims[3] && row_inside &&
             IsInside(1, column + count)) {
        ++count;
      }
      if (count == 0) count = 1;
      RunPixels(image, row, column, count);
      column += count;
    }
  }

  void RunPixels(int image, int row, int column, int count) {
    SetTaps(image, row, column);
    SumBlock results;
    results.sum_pixel = kBlockChannels;
    results.pixels = count;
    results.y_pixel = y_.strides[3];
    int8_t* y = y_.As<int8_t>() + ptrdiff_t{image} * y_.strides[0] +
                ptrdiff_t{row} * y_.strides[2] + ptrdiff_t{column} * y_.strides[3];
    const ptrdiff_t x_pixel = ptrdiff_t{x_.strides[3]} * attributes_.strides[1];
    ForEachBlock(count, x_pixel, [&](DepthwiseBlock& block, int first, int32_t* sums) {
      routines_.multiply(block, sums);
      results.sums = sums;
      results.first = first;
      results.outputs = block.channels;
      results.y = y + first;
      routines_.finish(rescale_, results);
    });
  }

  const OpCall& op_;
  const DepthwiseRoutines& routines_;
  const ConvAttributes& attributes_;
  const TensorView& x_;
  const TensorView& y_;
  int channels_;
  Rescale rescale_;
  int32_t* bias_;
  int8_t* padding_;
  int kernel_[2] = {};
  const int8_t* taps_[kMostDepthwiseTaps] = {};
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
