// Computes depthwise convolutions with 3x3 windows and steps of 1 or 2, two rows of outputs at a
// time.
//
// Other depthwise convolutions separate the channels' rows into planes, which costs more than the
// products of a few short rows. Here the two halves of a word belong to two rows: unpacking two
// rows of x gives such words of four channels at once, and a word serves two rows of outputs.
#include <cstddef>
#include <cstdint>

#include "backends/cpu/caps/dsp_caps.hpp"
#include "backends/cpu/kernels/cortex_m/operands.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/depthwise_lines.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/inputs.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/kernels.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/requantize.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/words.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::dsp {
namespace {

using In = QuantizedGemmInput;
constexpr int kTaps = kLineTaps;
constexpr int kChannels = kLineChannels;

/// Join the low or the high halves of each.
inline uint32_t PackLow(uint32_t low, uint32_t high) {
#if TENON_DSP_INSTRUCTIONS
  uint32_t word;
  __asm__("pkhbt %0, %1, %2, lsl #16" : "=r"(word) : "r"(low), "r"(high));
  return word;
#else
  return LowHalves(low, high);
#endif
}
inline uint32_t PackHigh(uint32_t low, uint32_t high) {
#if TENON_DSP_INSTRUCTIONS
  uint32_t word;
  __asm__("pkhtb %0, %1, %2, asr #16" : "=r"(word) : "r"(high), "r"(low));
  return word;
#else
  return HighHalves(low, high);
#endif
}

/// Points at pixels of two rows of x.
struct TwoRows {
  const uint8_t* rows[2];
  ptrdiff_t steps[2];
};

/// Widens four channels of `count` (> 0) pixels to words that are `words` apart, from `to` on.
/// `less` is Widening's.
inline void WidenTwoRows(uint32_t less, const TwoRows& x, int count, ptrdiff_t words,
                         uint32_t* to) {
  const uint8_t* above = x.rows[0];
  const uint8_t* below = x.rows[1];
  const ptrdiff_t above_step = x.steps[0];
  const ptrdiff_t below_step = x.steps[1];
#if TENON_DSP_INSTRUCTIONS
  const ptrdiff_t step = words * static_cast<ptrdiff_t>(sizeof(uint32_t));
  __asm__ volatile(
      "1:\n"
      "ldr r4, [%[above]]\n"
      "ldr r5, [%[below]]\n"
      "add %[above], %[above_step]\n"
      "add %[below], %[below_step]\n"
      "sxtab16 r6, %[less], r4\n"
      "sxtab16 r8, %[less], r5\n"
      "sxtab16 r4, %[less], r4, ror #8\n"
      "sxtab16 r5, %[less], r5, ror #8\n"
      "pkhbt r9, r6, r8, lsl #16\n"
      "str r9, [%[to]]\n"
      "pkhbt r9, r4, r5, lsl #16\n"
      "str r9, [%[to], %[step]]\n"
      "add %[to], %[to], %[step], lsl #1\n"
      "pkhtb r8, r8, r6, asr #16\n"
      "str r8, [%[to]]\n"
      "pkhtb r5, r5, r4, asr #16\n"
      "str r5, [%[to], %[step]]\n"
      "add %[to], %[to], %[step], lsl #1\n"
      "subs %[count], #1\n"
      "bne 1b\n"
      : [above] "+r"(above), [below] "+r"(below), [to] "+r"(to), [count] "+r"(count)
      :
      [above_step] "r"(above_step), [below_step] "r"(below_step), [less] "r"(less), [step] "r"(step)
      : "r4", "r5", "r6", "r8", "r9", "cc", "memory");
#else
  for (; count > 0; --count, above += above_step, below += below_step, to += kChannels * words) {
    const uint32_t first = LoadWord(above);
    const uint32_t second = LoadWord(below);
    const uint32_t even[] = {AddEvenBytes(less, first), AddEvenBytes(less, second)};
    const uint32_t odd[] = {AddOddBytes(less, first), AddOddBytes(less, second)};
    to[0] = LowHalves(even[0], even[1]);
    to[words] = LowHalves(odd[0], odd[1]);
    to[2 * words] = HighHalves(even[0], even[1]);
    to[3 * words] = HighHalves(odd[0], odd[1]);
  }
#endif
}

/// Copies each channel's last word to its first one, of `count` (> 0) columns from `to` on.
inline void MoveLastWords(int count, ptrdiff_t words, uint32_t* to) {
#if TENON_DSP_INSTRUCTIONS
  const ptrdiff_t step = words * static_cast<ptrdiff_t>(sizeof(uint32_t));
  const ptrdiff_t last = step - static_cast<ptrdiff_t>(sizeof(uint32_t));
#define TENON_MOVE_TWO           \
  "ldr r4, [%[to], %[last]]\n"   \
  "str r4, [%[to]]\n"            \
  "ldr r4, [%[to], %[second]]\n" \
  "str r4, [%[to], %[step]]\n"   \
  "add %[to], %[to], %[step], lsl #1\n"
  __asm__ volatile("1:\n" TENON_MOVE_TWO TENON_MOVE_TWO
                   "subs %[count], #1\n"
                   "bne 1b\n"
                   : [to] "+r"(to), [count] "+r"(count)
                   : [step] "r"(step), [last] "r"(last), [second] "r"(step + last)
                   : "r4", "cc", "memory");
#undef TENON_MOVE_TWO
#else
  for (int i = 0; i < count * kChannels; ++i, to += words) *to = to[words - 1];
#endif
}

class Pairs {
 public:
  Pairs(const OpCall& op, const Geometry& geometry, const Rescale& rescale, RequantizeKind kind,
        void* workspace)
      : g_(geometry),
        w_(op.Input(In::kWeights)),
        rescale_(rescale),
        run_(LinesRoutine(kind, geometry.strides[0])),
        channel_words_(LineWords(geometry.strides[0])),
        less_(WideningOfX(op, false).less),
        padding_(g_.padding * 0x01010101U),
        words_(static_cast<uint32_t*>(workspace)) {
    const int columns = (g_.out_extent[1] - 1) * g_.strides[1] + kTaps;
    before_ = g_.pads[1] < columns ? g_.pads[1] : columns;
    const int room = g_.in_extent[1] + g_.pads[1];
    columns_ = (room < columns ? room : columns) - before_;
    for (int i = 0; i < kChannels; ++i) {
      lines_[i].x = words_ + channel_words_ * i;
      lines_[i].columns = g_.out_extent[1];
      lines_[i].y_step = g_.y_step[1];
    }
    // Nobody writes to the columns of padding.
    for (int i = 0; i < columns * kChannels * channel_words_; ++i) words_[i] = 0;
  }

  void Run() {
    for (int channel = 0; channel < g_.channels; channel += kChannels) {
      Prepare(channel);
      for (int image = 0; image < g_.images; ++image) {
        RunImage(g_.x + image * g_.x_image + channel, g_.y + image * g_.y_image + channel);
      }
    }
  }

 private:
  /// Prepares four channels, the first of which is `channel`.
  void Prepare(int channel) {
    const int32_t* const bias = rescale_.bias;
    const int32_t* const multiplier = rescale_.multiplier + channel * rescale_.step;
    const int8_t* const shift = rescale_.shift + channel * rescale_.step;
    const ptrdiff_t step = rescale_.step;
    const int32_t zero_point = rescale_.output.zero_point;
    for (int i = 0; i < kChannels; ++i) {
      Lines& lines = lines_[i];
      const int32_t begin = bias == nullptr ? 0 : bias[channel + i];
      lines.bias[0] = lines.bias[1] = static_cast<uint32_t>(begin) << 1;
      lines.requantizer.Set(multiplier[i * step], shift[i * step], zero_point);
    }
    const uint8_t* w = w_.As<const uint8_t>() + channel;
    const ptrdiff_t row = w_.strides[2];
    for (int i = 0; i < kTaps; ++i, w += w_.strides[3]) {
      const uint32_t taps[kTaps] = {LoadWord(w), LoadWord(w + row), LoadWord(w + 2 * row)};
      uint32_t even[kTaps];
      uint32_t odd[kTaps];
#pragma GCC unroll 3
      for (int j = 0; j < kTaps; ++j) {
        even[j] = DoubledHalves(AddEvenBytes(0, taps[j]));
        odd[j] = DoubledHalves(AddOddBytes(0, taps[j]));
      }
      SetWeights(PackLow, even, i, lines_[0]);
      SetWeights(PackLow, odd, i, lines_[1]);
      SetWeights(PackHigh, even, i, lines_[2]);
      SetWeights(PackHigh, odd, i, lines_[3]);
    }
  }

  template <typename Pack>
  static void SetWeights(Pack pack, const uint32_t* taps, int column, Lines& lines) {
    StoreTwoWords(lines.weights + 2 * column, pack(taps[0], taps[1]), pack(taps[1], taps[2]));
  }

  void RunImage(const uint8_t* x, uint8_t* y) {
    int row = -g_.pads[0];  // the next of x
    for (int i = 0; i < g_.out_extent[0]; i += 2, y += 2 * g_.y_step[0]) {
      if (i == 0) {
        Load(x, row, 0);
      } else if (columns_ > 0) {
        MoveLastWords(columns_, channel_words_, FirstColumn());
      }
      for (int word = 1; word < channel_words_; ++word) Load(x, row += 2, word);
      const ptrdiff_t y_row = i + 1 < g_.out_extent[0] ? g_.y_step[0] : 0;
      for (int j = 0; j < kChannels; ++j) {
        lines_[j].y = y + j;
        lines_[j].y_row = y_row;
      }
      run_(lines_, lines_ + kChannels);
    }
  }

  [[nodiscard]] uint32_t* FirstColumn() const {
    return words_ + ptrdiff_t{before_} * kChannels * channel_words_;
  }

  /// Loads rows `row` and `row` + 1 of x, which may be outside, to the word numbered `word` of all
  /// channels.
  __attribute__((noinline)) void Load(const uint8_t* x, int row, int word) const {
    TwoRows rows;
    for (int i = 0; i < 2; ++i) {
      const bool outside = row + i < 0 || row + i >= g_.in_extent[0];
      rows.steps[i] = outside ? 0 : g_.x_step[1];
      rows.rows[i] =
          outside ? reinterpret_cast<const uint8_t*>(&padding_) : x + (row + i) * g_.x_step[0];
    }
    if (columns_ > 0) WidenTwoRows(less_, rows, columns_, channel_words_, FirstColumn() + word);
  }

  const Geometry& g_;
  const TensorView& w_;
  const Rescale& rescale_;
  RunLines* run_;
  int channel_words_;
  uint32_t less_;     ///< as of Widening
  uint32_t padding_;  ///< a pixel of x outside it
  uint32_t* words_;   ///< [column][channel][LineWords: rows 0 and 1, rows 2 and 3 ...]
  int before_;        ///< columns of padding
  int columns_;       ///< of x that are read
  Lines lines_[kChannels];
};

/// Checks everything but the outputs' factors.
bool HasPairs(const OpCall& op, size_t workspace_bytes) {
  const bool is_plain =
      op.Input(In::kX).dtype == DType::kI8 && op.Input(In::kWeights).dtype == DType::kI8;
  if (!is_plain || op.HasInput(In::kWeightsZeroPoint)) return false;
  if (op.Input(In::kWeights).strides[0] != 1) return false;
  const size_t bytes = DepthwisePairsBytes(op);
  return bytes != 0 && workspace_bytes >= bytes;
}

}  // namespace

bool RunsDepthwisePairs(const KernelCall& call) {
  if (!HasPairs(call.op, call.workspace_bytes)) return false;
  const Geometry geometry = GeometryOf(call.op);
  const Rescale rescale =
      RescaleOf(call.op, call.op.AttributesAs<QuantizedConvAttributes>().output, kTaps * kTaps);
  const RequantizeKind kind = RequantizeKindOf(rescale, geometry.outputs);
  if (!IsDoubled(kind)) return false;
  Pairs(call.op, geometry, rescale, kind, call.workspace).Run();
  return true;
}

}  // namespace tenon::cpu::dsp
