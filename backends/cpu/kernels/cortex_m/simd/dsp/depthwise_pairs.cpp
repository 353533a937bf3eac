// Computes depthwise convolutions with 3x3 windows, two rows of outputs at a time.
//
// Other depthwise convolutions separate the channels' rows into planes, which costs more than the
// products of a few short rows. Here the two halves of a word belong to two rows: unpacking two
// rows of x gives such words of four channels at once, and a word serves two rows of outputs.
#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/cortex_m/operands.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/inputs.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/kernels.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/requantize.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/words.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::dsp {
namespace {

using In = QuantizedGemmInput;
constexpr int kTaps = 3;
constexpr int kChannels = 4;  // at once
/// Words of a column in the workspace: of each channel one of rows 0 and 1 and one of rows 2 and 3.
constexpr int kColumnWords = 2 * kChannels;

/// A channel of two rows of outputs, of no less than a sum of 0 gives or of any. Assembler code
/// knows the order of the fields.
struct Lines {
  uint32_t bias[2];             ///< doubled; the same twice: what sums begin with
  uint32_t weights[2 * kTaps];  ///< of each column: doubled ones of rows 0 and 1, and of 1 and 2
  Requantizer requantizer;
  ptrdiff_t y_row;    ///< from the first row to the second; 0: there is none
  ptrdiff_t y_step;   ///< bytes to the next output
  ptrdiff_t columns;  ///< of y; > 0
  const uint32_t* x;  ///< the first column's words
  uint8_t* y;
};

#if TENON_DSP_INSTRUCTIONS

static_assert(sizeof(Lines) == 64 && offsetof(Lines, bias) == 0 && offsetof(Lines, weights) == 8 &&
              offsetof(Lines, requantizer) == 32 && offsetof(Lines, y_row) == 44 &&
              offsetof(Lines, y_step) == 48 && offsetof(Lines, columns) == 52 &&
              offsetof(Lines, x) == 56 && offsetof(Lines, y) == 60);

// r0, r1 sums, r2-r7 weights and then factors, r8, r9 inputs, r10 x, r11 y, r12 the channel, lr
// columns left. On the stack, where the channels end.

// Adds both rows' products with a column that is `place` after the first one.
#define TENON_COLUMN(place, a, b) \
  "ldrd r8, r9, [r10" place       \
  "\n"                            \
  "smlad r0, r8, " a              \
  ", r0\n"                        \
  "smlatb r1, r8, " a             \
  ", r1\n"                        \
  "smlabt r0, r9, " b             \
  ", r0\n"                        \
  "smlad r1, r9, " b ", r1\n"

// The first row's byte takes the second one's place where there is no second.
#define TENON_LINES(first_offset, second_offset) \
  "push {r1, r4-r11, lr}\n"                                          \
  "mov r12, r0\n"                                                    \
  "1:\n"                                                             \
  "ldrd lr, r10, [r12, #52]\n"                                       \
  "ldr r11, [r12, #60]\n"                                            \
  "2:\n"                                                             \
  "ldm r12, {r0-r7}\n" TENON_COLUMN("], #32", "r2", "r3")            \
      TENON_COLUMN("]", "r4", "r5") TENON_COLUMN(", #32]", "r6", "r7") \
  "ldrd r2, r3, [r12, #32]\n"                                        \
  "ldrd r4, r5, [r12, #40]\n"                                        \
  "ldr r6, [r12, #48]\n" first_offset second_offset                  \
  "asr r0, r4\n"                                                     \
  "asr r1, r4\n"                                                     \
  "ssat r0, #8, r0\n"                                                \
  "ssat r1, #8, r1\n"                                                \
  "strb r1, [r11, r5]\n"                                             \
  "strb r0, [r11]\n"                                                 \
  "add r11, r6\n"                                                    \
  "subs lr, #1\n"                                                    \
  "bne 2b\n"                                                         \
  "add r12, #64\n"                                                   \
  "ldr r0, [sp]\n"                                                   \
  "cmp r12, r0\n"                                                    \
  "bne 1b\n"                                                         \
  "pop {r1, r4-r11, pc}\n"

// The compiler must not conclude from what it sees that nobody reads the channels.
#define TENON_NAKED __attribute__((naked, noipa))

/// Channels [lines, end).
TENON_NAKED void RunDoubled(const Lines*, const Lines*) {
  __asm__ volatile(
      TENON_LINES("add r7, r3, r0, asr #31\n"
                  "smmlar r0, r0, r2, r7\n",
                  "add r7, r3, r1, asr #31\n"
                  "smmlar r1, r1, r2, r7\n"));
}

TENON_NAKED void RunRelu(const Lines*, const Lines*) {
  __asm__ volatile(TENON_LINES("smmlar r0, r0, r2, r3\n", "smmlar r1, r1, r2, r3\n"));
}

#undef TENON_NAKED
#undef TENON_LINES
#undef TENON_COLUMN

#else

void RunDoubled(const Lines* lines, const Lines* end) {
  for (; lines != end; ++lines) {
    const uint32_t* x = lines->x;
    uint8_t* y = lines->y;
    for (ptrdiff_t i = 0; i < lines->columns; ++i, x += kColumnWords, y += lines->y_step) {
      uint32_t sums[2] = {lines->bias[0], lines->bias[1]};
      for (int j = 0; j < kTaps; ++j) {
        const uint32_t above = x[j * kColumnWords];
        const uint32_t below = x[j * kColumnWords + 1];
        const uint32_t* const w = lines->weights + 2 * j;
        sums[0] = AddProducts(above, w[0], sums[0]) +
                  static_cast<uint32_t>(LowHalf(below) * HighHalf(w[1]));
        sums[1] = AddProducts(below, w[1], sums[1]) +
                  static_cast<uint32_t>(HighHalf(above) * LowHalf(w[0]));
      }
      for (int j = 1; j >= 0; --j) {
        const auto sum = static_cast<int32_t>(sums[j]);
        y[j * lines->y_row] =
            static_cast<uint8_t>(SaturateToByte(RequantizeDoubled(lines->requantizer, sum)));
      }
    }
  }
}

void RunRelu(const Lines* lines, const Lines* end) { RunDoubled(lines, end); }

#endif

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

/// Widens four channels of `count` pixels to every other word from `to` on. `less` is Widening's.
inline void WidenTwoRows(uint32_t less, const TwoRows& x, int count, uint32_t* to) {
  const uint8_t* above = x.rows[0];
  const uint8_t* below = x.rows[1];
  const ptrdiff_t above_step = x.steps[0];
  const ptrdiff_t below_step = x.steps[1];
  for (; count > 0; --count, to += kColumnWords, above += above_step, below += below_step) {
    const uint32_t first = LoadWord(above);
    const uint32_t second = LoadWord(below);
    const uint32_t first_even = AddEvenBytes(less, first);
    const uint32_t second_even = AddEvenBytes(less, second);
    to[0] = PackLow(first_even, second_even);
    to[4] = PackHigh(first_even, second_even);
    const uint32_t first_odd = AddOddBytes(less, first);
    const uint32_t second_odd = AddOddBytes(less, second);
    to[2] = PackLow(first_odd, second_odd);
    to[6] = PackHigh(first_odd, second_odd);
  }
}

class Pairs {
 public:
  Pairs(const OpCall& op, const Geometry& geometry, const Rescale& rescale, RequantizeKind kind,
        void* workspace)
      : g_(geometry),
        w_(op.Input(In::kWeights)),
        rescale_(rescale),
        run_(kind == RequantizeKind::kRelu ? RunRelu : RunDoubled),
        less_(WideningOfX(op, false).less),
        padding_(g_.padding * 0x01010101U),
        words_(static_cast<uint32_t*>(workspace)) {
    const int columns = g_.out_extent[1] + kTaps - 1;
    before_ = g_.pads[1] < columns ? g_.pads[1] : columns;
    const int room = g_.in_extent[1] + g_.pads[1];
    columns_ = (room < columns ? room : columns) - before_;
    for (int i = 0; i < kChannels; ++i) {
      lines_[i].x = words_ + 2 * i;
      lines_[i].columns = g_.out_extent[1];
      lines_[i].y_step = g_.y_step[1];
    }
    // Nobody writes to the columns of padding.
    for (int i = 0; i < columns * kColumnWords; ++i) words_[i] = 0;
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
    for (int i = 0; i < g_.out_extent[0]; i += 2, row += 2, y += 2 * g_.y_step[0]) {
      if (i == 0) {
        Load(x, row, words_);
        row += 2;
      } else {
        MoveUp();
      }
      Load(x, row, words_ + 1);
      const ptrdiff_t y_row = i + 1 < g_.out_extent[0] ? g_.y_step[0] : 0;
      for (int j = 0; j < kChannels; ++j) {
        lines_[j].y = y + j;
        lines_[j].y_row = y_row;
      }
      run_(lines_, lines_ + kChannels);
    }
  }

  /// Makes rows 2 and 3 rows 0 and 1.
  void MoveUp() const {
    uint32_t* words = words_ + ptrdiff_t{before_} * kColumnWords;
    uint32_t* const end = words + ptrdiff_t{columns_} * kColumnWords;
    for (; words != end; words += kColumnWords) {
#pragma GCC unroll 4
      for (int i = 0; i < kColumnWords; i += 2) words[i] = words[i + 1];
    }
  }

  /// Loads rows `row` and `row` + 1 of x, which may be outside, to every other word from `to` on.
  __attribute__((noinline)) void Load(const uint8_t* x, int row, uint32_t* to) const {
    TwoRows rows;
    for (int i = 0; i < 2; ++i) {
      const bool outside = row + i < 0 || row + i >= g_.in_extent[0];
      rows.steps[i] = outside ? 0 : g_.x_step[1];
      rows.rows[i] =
          outside ? reinterpret_cast<const uint8_t*>(&padding_) : x + (row + i) * g_.x_step[0];
    }
    WidenTwoRows(less_, rows, columns_, to + ptrdiff_t{before_} * kColumnWords);
  }

  const Geometry& g_;
  const TensorView& w_;
  const Rescale& rescale_;
  void (*run_)(const Lines*, const Lines*);
  uint32_t less_;     ///< as of Widening
  uint32_t padding_;  ///< a pixel of x outside it
  uint32_t* words_;   ///< [column][channel][rows 0 and 1, rows 2 and 3]
  int before_;        ///< columns of padding
  int columns_;       ///< of x that are read
  Lines lines_[kChannels];
};

/// Checks everything but the outputs' factors.
bool HasPairs(const OpCall& op, const Geometry& g, size_t workspace_bytes) {
  for (int i = 0; i < 2; ++i) {
    if (g.kernel[i] != kTaps || g.strides[i] != 1 || g.dilations[i] != 1) return false;
  }
  const bool is_plain =
      op.Input(In::kX).dtype == DType::kI8 && op.Input(In::kWeights).dtype == DType::kI8;
  if (!is_plain || op.HasInput(In::kWeightsZeroPoint)) return false;
  if (op.Input(In::kWeights).strides[0] != 1 || g.channels % kChannels != 0) return false;
  const size_t words = static_cast<size_t>(g.out_extent[1] + kTaps - 1) * kColumnWords;
  return workspace_bytes >= words * sizeof(uint32_t);
}

}  // namespace

bool RunsDepthwisePairs(const KernelCall& call) {
  const Geometry geometry = GeometryOf(call.op);
  if (!HasPairs(call.op, geometry, call.workspace_bytes)) return false;
  const Rescale rescale =
      RescaleOf(call.op, call.op.AttributesAs<QuantizedConvAttributes>().output, kTaps * kTaps);
  const RequantizeKind kind = RequantizeKindOf(rescale, geometry.outputs);
  if (!IsDoubled(kind)) return false;
  Pairs(call.op, geometry, rescale, kind, call.workspace).Run();
  return true;
}

}  // namespace tenon::cpu::dsp
