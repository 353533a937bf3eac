// Computes depthwise convolutions of which each window is read where it lies: for each output
// pixel four channels at a time, a word of x and one of weights for each tap. Nothing is prepared
// for rows or channels, so that a window whose output is a single pixel, as a stream has in each
// step, costs little more than its products. Channels in fours, with factors of their own, go to
// RunWindow, unless rows have many taps.
#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/cortex_m/operands.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/inputs.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/kernels.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/pixel_window.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/pixel_window_code.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/requantize.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/widen.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/words.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::dsp {
namespace {

using In = QuantizedGemmInput;
constexpr int kChannels = kDepthwisePlanes;  // of a word

/// Describes those taps of a window that are inside x. Assembler code relies on the order of the
/// fields.
struct Taps {
  ptrdiff_t step;    ///< bytes of x from a tap to the next one of its row
  uint32_t less;     ///< as of Widening
  ptrdiff_t w_step;  ///< bytes
  int columns;       ///< taps of a row; > 0 where there are rows
  int rows;
  ptrdiff_t gap;  ///< bytes from behind a row's last tap to the next row's first
  ptrdiff_t w_gap;
  uint32_t sums[kChannels];
  const uint8_t* x;  ///< the first tap, of the first channel
  const uint8_t* w;
};

#if TENON_DSP_INSTRUCTIONS

static_assert(offsetof(Taps, step) == 0 && offsetof(Taps, less) == 4 &&
              offsetof(Taps, w_step) == 8 && offsetof(Taps, columns) == 12 &&
              offsetof(Taps, rows) == 16 && offsetof(Taps, gap) == 20 &&
              offsetof(Taps, w_gap) == 24 && offsetof(Taps, sums) == 28);

// r0 columns left, r1-r4 sums, r5 x, r6 w, r7 step, r8 less, r9 w_step. The stack: the taps, rows
// left.

/// Sets the sums of four channels, whose biases are at `bias` and whose first taps are at `x` and
/// `w`. Of an odd number of columns the first is the second of two.
__attribute__((naked, noipa)) void AddTaps(Taps&, const uint8_t*, const uint8_t*, const int32_t*) {
  __asm__ volatile(
      "push {r4-r11, lr}\n"
      "mov r5, r1\n"
      "mov r6, r2\n"
      "ldr r10, [r0, #16]\n"
      "ldm r3, {r1-r4}\n"
      "ldm r0, {r7-r9}\n"
      "cmp r10, #0\n"
      "ble 4f\n"
      "1:\n"
      "push {r0, r10}\n"
      "ldr r0, [r0, #12]\n"
      "lsls r10, r0, #31\n"
      "bne 3f\n"
      "2:\n" TENON_TAP "3:\n" TENON_TAP
      "subs r0, #2\n"
      "bgt 2b\n"
      "pop {r0, r10}\n"
      "ldrd r11, r12, [r0, #20]\n"
      "add r5, r11\n"
      "add r6, r12\n"
      "subs r10, #1\n"
      "bne 1b\n"
      "4:\n"
      "adds r0, #28\n"
      "stm r0, {r1-r4}\n"
      "pop {r4-r11, pc}\n");
}

#else

void AddTaps(Taps& taps, const uint8_t* x, const uint8_t* w, const int32_t* bias) {
  uint32_t* const sums = taps.sums;
  for (int i = 0; i < kChannels; ++i) sums[i] = static_cast<uint32_t>(bias[i]);
  for (int i = 0; i < taps.rows; ++i, x += taps.gap, w += taps.w_gap) {
    for (int j = 0; j < taps.columns; ++j, x += taps.step, w += taps.w_step) {
      const uint32_t even[] = {AddEvenBytes(taps.less, LoadWord(x)), AddEvenBytes(0, LoadWord(w))};
      const uint32_t odd[] = {AddOddBytes(taps.less, LoadWord(x)), AddOddBytes(0, LoadWord(w))};
      sums[0] += static_cast<uint32_t>(LowHalf(even[0]) * LowHalf(even[1]));
      sums[1] += static_cast<uint32_t>(LowHalf(odd[0]) * LowHalf(odd[1]));
      sums[2] += static_cast<uint32_t>(HighHalf(even[0]) * HighHalf(even[1]));
      sums[3] += static_cast<uint32_t>(HighHalf(odd[0]) * HighHalf(odd[1]));
    }
  }
}

#endif

/// Stores the bytes of four channels, the first of which is `first`.
__attribute__((noinline)) void StoreDoubled(const Rescale& rescale, int first, const uint32_t* sums,
                                            uint8_t* y) {
  const ptrdiff_t step = rescale.step;
  const int32_t zero_point = rescale.output.zero_point;
  const int32_t* multiplier = rescale.multiplier + first * step;
  const int8_t* shift = rescale.shift + first * step;
  const uint8_t* const end = y + kChannels;
  do {
    Requantizer requantizer;
    requantizer.Set(*multiplier, *shift, zero_point);
    const auto doubled = static_cast<int32_t>(*sums++ << 1);
    *y++ = static_cast<uint8_t>(SaturateToByte(RequantizeDoubled(requantizer, doubled)));
    multiplier += step;
    shift += step;
  } while (y != end);
}

__attribute__((noinline)) void StoreFloat(const Rescale& rescale, int first, const uint32_t* sums,
                                          uint8_t* y) {
  const ptrdiff_t step = rescale.step;
  const int32_t zero_point = rescale.output.zero_point;
  const float* scale = rescale.scale + first * step;
  const uint8_t* const end = y + kChannels;
  do {
    const auto sum = static_cast<float>(static_cast<int32_t>(*sums++));
    *y++ = static_cast<uint8_t>(SaturateToByte(RoundToEven(sum * *scale) + zero_point));
    scale += step;
  } while (y != end);
}

class Windows {
 public:
  explicit Windows(const OpCall& op)
      : g_(GeometryOf(op)),
        rescale_(RescaleOf(op, op.AttributesAs<QuantizedConvAttributes>().output, g_.Taps())),
        kind_(RequantizeKindOf(rescale_, g_.outputs)),
        w_(op.Input(In::kWeights)) {
    taps_.less = WideningOfX(op, false).less;
    const bool is_float = kind_ == RequantizeKind::kFloat;
    is_whole_ = kind_ != RequantizeKind::kAny && rescale_.step == 1 && rescale_.bias != nullptr &&
                g_.channels % kChannels == 0;
    window_.less = taps_.less;
    window_.bias = rescale_.bias;
    window_.factors = rescale_.multiplier;
    if (is_float) window_.factors = rescale_.scale;
    window_.shifts = rescale_.shift;
    window_.quads = g_.channels / kChannels;
    const int32_t zero_point = rescale_.output.zero_point;
    window_.zero_point = is_float ? zero_point : 2 * zero_point + 1;
    window_.is_float = is_float ? 1 : 0;
  }

  void Run() {
    for (int image = 0; image < g_.images; ++image, g_.x += g_.x_image, g_.y += g_.y_image) {
      uint8_t* row = g_.y;
      for (int i = 0; i < g_.out_extent[0]; ++i, row += g_.y_step[0]) {
        const Inside rows = InsideOf(0, i);
        uint8_t* y = row;
        for (int j = 0; j < g_.out_extent[1]; ++j, y += g_.y_step[1]) {
          SetTaps(rows, InsideOf(1, j));
          RunPixel(y);
        }
      }
    }
  }

 private:
  /// Those taps along an axis that are inside x.
  struct Inside {
    int first;
    int count;         ///< <= 0: none
    ptrdiff_t offset;  ///< bytes of x before the first
    ptrdiff_t step;
  };
  __attribute__((noinline)) Inside InsideOf(int axis, int output) const {
    const int dilation = g_.dilations[axis];
    const int begin = output * g_.strides[axis] - g_.pads[axis];
    const int first = begin < 0 ? (dilation - 1 - begin) / dilation : 0;
    int end = (g_.in_extent[axis] - begin + dilation - 1) / dilation;
    if (end > g_.kernel[axis]) end = g_.kernel[axis];
    const ptrdiff_t step = g_.x_step[axis];
    return {first, end - first, (begin + first * dilation) * step, dilation * step};
  }

  void SetTaps(const Inside& rows, const Inside& columns) {
    taps_.x = g_.x + rows.offset + columns.offset;
    const ptrdiff_t w_row = w_.strides[2];
    const ptrdiff_t w_column = w_.strides[3];
    taps_.w = w_.As<const uint8_t>() + rows.first * w_row + columns.first * w_column;
    taps_.step = columns.step;
    taps_.w_step = w_column;
    taps_.rows = rows.count;
    taps_.columns = columns.count;
    if (g_.kernel[1] == 1) {  // rows of one tap are a row of taps
      taps_.step = rows.step;
      taps_.w_step = w_row;
      taps_.rows = columns.count;
      taps_.columns = rows.count;
    }
    if (rows.count <= 0 || columns.count <= 0) taps_.rows = 0;
    taps_.gap = rows.step - columns.count * columns.step;
    taps_.w_gap = w_row - columns.count * w_column;
  }

  void RunPixel(uint8_t* y) {
    if (is_whole_ && taps_.columns <= kMostWindowTaps) return RunWhole(y);
    static constexpr int32_t kNoBias[kChannels] = {};
    for (int left = g_.channels; left > 0; left -= kChannels) {
      // The last word may begin with channels of the one before, which are stored again.
      const int first = g_.channels - (left < kChannels ? kChannels : left);
      AddTaps(taps_, taps_.x + first, taps_.w + first,
              rescale_.bias == nullptr ? kNoBias : rescale_.bias + first);
      Store(first, y + first);
    }
  }

  void RunWhole(uint8_t* y) {
    window_.gap = taps_.gap;
    window_.w_gap = taps_.w_gap;
    window_.rows = taps_.rows;
    window_.step = taps_.step;
    window_.w_step = taps_.w_step;
    window_.x = taps_.x;
    window_.w = taps_.w;
    window_.y = y;
    window_.columns = taps_.columns;
    RunWindow(window_);
  }

  void Store(int first, uint8_t* y) const {
    if (IsDoubled(kind_)) return StoreDoubled(rescale_, first, taps_.sums, y);
    if (kind_ == RequantizeKind::kFloat) return StoreFloat(rescale_, first, taps_.sums, y);
    for (int i = 0; i < kChannels; ++i) {
      y[i] = RequantizeOne(rescale_, first + i, static_cast<int32_t>(taps_.sums[i]));
    }
  }

  Geometry g_;
  Rescale rescale_;
  RequantizeKind kind_;
  const TensorView& w_;
  bool is_whole_;
  Taps taps_;
  PixelWindow window_;
};

}  // namespace

Status DepthwiseWindowsCheck(const KernelSetup& setup) {
  const OpCall& op = setup.op;
  if (const Reason reason = DepthwiseWindowsSupports(op)) {
    return Status(StatusCode::kUnsupported, reason);
  }
  const bool ordered = HasDenseChannels(op.Input(In::kX)) && HasDenseChannels(op.Output()) &&
                       op.Input(In::kWeights).strides[0] == 1;
  TENON_ENSURE(ordered, kUnsupported,
               "the DSP depthwise convolution takes channels and weights with channels last");
  return cortex_m::CheckOperands(op, setup.workspace_bytes, 0);
}

Status DepthwiseWindowsRun(const KernelCall& call) {
  if (!cortex_m::IsEmpty(call.op.Output())) Windows(call.op).Run();
  return OkStatus();
}

}  // namespace tenon::cpu::dsp
