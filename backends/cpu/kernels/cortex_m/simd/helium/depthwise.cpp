// Computes depthwise convolutions, 16 channels at a time.
//
// Products of bytes have 16 bits. Two of them can be added before they are widened to 32, unless
// both are -128 times -128. Weights of i8 are hardly ever -128; those that are use another routine.
#include <arm_mve.h>

#include <cstddef>

#include "backends/cpu/kernels/cortex_m/simd/helium/requantize.hpp"
#include "backends/cpu/kernels/cortex_m/simd/helium/routines.hpp"

namespace tenon::cpu::cortex_m::helium {
namespace {

/// Operands as the assembly reads them.
struct Taps {
  const DepthwiseSegment* segments;  ///< the next one
  int32_t pairs;
  int32_t has_odd;  ///< one tap after the pairs
  ptrdiff_t x_pixel;
  int32_t segment_count;  ///< left
  const int8_t* w;
  ptrdiff_t w_tap;
  int32_t channels;  ///< 1 to 16
  int32_t* sums;     ///< 16 for each pixel
  ptrdiff_t x_first;
  int8_t* y;
  const int8_t* shift;
  ptrdiff_t y_pixel;
  int32_t zero_point;
  const int8_t* const* taps;  ///< room for those of a segment
  const int32_t* bias;        ///< 16 each of these, and of shifts
  const int32_t* multiplier;
};
static_assert(offsetof(DepthwiseSegment, taps) == 4 && offsetof(Taps, taps) == 56);

static_assert(offsetof(Taps, pairs) == 4 && offsetof(Taps, has_odd) == 8 &&
              offsetof(Taps, x_pixel) == 12 && offsetof(Taps, segment_count) == 16 &&
              offsetof(Taps, w) == 20 && offsetof(Taps, w_tap) == 24 &&
              offsetof(Taps, channels) == 28 && offsetof(Taps, sums) == 32 &&
              offsetof(Taps, x_first) == 36 && offsetof(Taps, y) == 40 &&
              offsetof(Taps, shift) == 44 && offsetof(Taps, y_pixel) == 48 &&
              offsetof(Taps, zero_point) == 52 && offsetof(Taps, bias) == 60 &&
              offsetof(Taps, multiplier) == 64);

// Sums of channels 0, 4, 8, 12 in q0; 1, 5, 9, 13 in q1; and so on. r0: taps; r1: the pixel's
// offset; r2: weights; r3: from a tap's to the next one's; r6: operands; r7: sums; r8: pixels left;
// lr: pairs of taps left; vpr masks the channels.
//
// q6 and q7 have products of even and odd channels.
#define TENON_WIDEN       \
  "vmovlb.s16 q4, q6\n"   \
  "vmovlt.s16 q5, q6\n"   \
  "vadd.i32 q0, q0, q4\n" \
  "vadd.i32 q2, q2, q5\n" \
  "vmovlb.s16 q4, q7\n"   \
  "vmovlt.s16 q5, q7\n"   \
  "vadd.i32 q1, q1, q4\n" \
  "vadd.i32 q3, q3, q5\n"

// Sixteen bytes at `x` to q4 and as many weights to q5; those of channels that are not there stay.
#define TENON_LOAD_SOME(x) \
  "vpstt\n"                \
  "vldrbt.8 q4, [" x       \
  "]\n"                    \
  "vldrbt.8 q5, [r2]\n"
#define TENON_LOAD_ALL(x) \
  "vldrb.8 q4, [" x       \
  "]\n"                   \
  "vldrb.8 q5, [r2]\n"
#define TENON_AGAIN_SOME \
  "vpst\n"               \
  "vldrbt.8 q4, [r5]\n"
#define TENON_AGAIN_ALL "vldrb.8 q4, [r5]\n"

// One tap where their number is odd, then pairs.
#define TENON_SUM_TAPS(load, again) \
  "5:\n"                              \
  "ldr r4, [r6]\n"                    \
  "ldrd r8, r0, [r4], #8\n"           \
  "str r4, [r6]\n"                    \
  "str r0, [r6, #56]\n"               \
  "ldr r1, [r6, #36]\n"               \
  "1:\n"                              \
  "ldr r0, [r6, #56]\n"               \
  "ldr r2, [r6, #20]\n"               \
  "ldr r4, [r6, #8]\n"                \
  "cbz r4, 4f\n"                      \
  "ldr r4, [r0], #4\n"                \
  "add r4, r1\n" load("r4")           \
  "add r2, r3\n"                      \
  "vmullb.s8 q6, q4, q5\n"            \
  "vmullt.s8 q7, q4, q5\n"            \
  "vmovlb.s16 q0, q6\n"               \
  "vmovlt.s16 q2, q6\n"               \
  "vmovlb.s16 q1, q7\n"               \
  "vmovlt.s16 q3, q7\n"               \
  "b 6f\n"                            \
  "4:\n"                              \
  "vmov.i32 q0, #0\n"                 \
  "vmov.i32 q1, #0\n"                 \
  "vmov.i32 q2, #0\n"                 \
  "vmov.i32 q3, #0\n"                 \
  "6:\n"                              \
  "ldr r4, [r6, #4]\n"                \
  "wls lr, r4, 3f\n"                  \
  "2:\n"                              \
  "ldrd r4, r5, [r0], #8\n"           \
  "add r4, r1\n" load("r4")           \
  "add r2, r3\n"                      \
  "vmullb.s8 q6, q4, q5\n"            \
  "vmullt.s8 q7, q4, q5\n"            \
  "add r5, r1\n" load("r5")           \
  "add r2, r3\n"                      \
  "vmullb.s8 q4, q4, q5\n"            \
  "vadd.i16 q6, q6, q4\n" again       \
  "vmullt.s8 q4, q4, q5\n"            \
  "vadd.i16 q7, q7, q4\n" TENON_WIDEN \
  "le lr, 2b\n"                       \
  "3:\n"

// q0 to q3 get a pixel's sums.
[[gnu::naked]] void SumTaps(Taps* /*taps*/) {
  asm volatile(
      "push {r4-r8, lr}\n"
      "vpush {d8-d15}\n"
      "mov r6, r0\n"
      "ldrd r3, r4, [r6, #24]\n"
      "ldr r7, [r6, #32]\n"
      "vctp.8 r4\n" TENON_SUM_TAPS(TENON_LOAD_SOME, TENON_AGAIN_SOME)
      "vst40.32 {q0, q1, q2, q3}, [r7]\n"
      "vst41.32 {q0, q1, q2, q3}, [r7]\n"
      "vst42.32 {q0, q1, q2, q3}, [r7]\n"
      "vst43.32 {q0, q1, q2, q3}, [r7]!\n"
      "ldr r4, [r6, #12]\n"
      "add r1, r4\n"
      "subs r8, r8, #1\n"
      "bne 1b\n"
      "ldr r4, [r6, #16]\n"
      "subs r4, r4, #1\n"
      "str r4, [r6, #16]\n"
      "bne 5b\n"
      "vpop {d8-d15}\n"
      "pop {r4-r8, pc}\n");
}

// As FixedPointRight of requantize.cpp, of the sums in register `sum`. q7: their channels; r0:
// bias; r2: multipliers; r7: shifts, which are bytes; r12: 1.
#define TENON_RESCALE(sum)            \
  "vldrw.u32 q4, [r0, q7, uxtw #2]\n" \
  "vldrw.u32 q5, [r2, q7, uxtw #2]\n" \
  "vldrb.s32 q6, [r7, q7]\n"          \
  "vadd.i32 " sum ", " sum            \
  ", q4\n"                            \
  "vqrdmulh.s32 " sum ", " sum        \
  ", q5\n"                            \
  "vqdmlah.s32 " sum ", " sum         \
  ", r12\n"                           \
  "vrshl.s32 " sum ", " sum ", q6\n"

// Results saturate on their way to bytes: those have their whole range. r9: y; r10: from pixel to
// pixel of y; r11: zero point.
#define TENON_RUN_TAPS(sum_taps, store) \
  "push {r4-r11, lr}\n"                      \
  "vpush {d8-d15}\n"                         \
  "mov r6, r0\n"                             \
  "ldrd r3, r4, [r6, #24]\n"                 \
  "vctp.8 r4\n"                              \
  "ldrd r9, r7, [r6, #40]\n"                 \
  "ldrd r10, r11, [r6, #48]\n"               \
  "mov r12, #1\n" sum_taps                   \
  "movs r4, #0\n"                            \
  "vidup.u32 q7, r4, #4\n"                   \
  "ldrd r0, r2, [r6, #60]\n" TENON_RESCALE("q0")  \
  "vadd.i32 q7, q7, r12\n" TENON_RESCALE("q1")    \
  "vadd.i32 q7, q7, r12\n" TENON_RESCALE("q2")    \
  "vadd.i32 q7, q7, r12\n" TENON_RESCALE("q3")    \
  "vqmovnb.s32 q0, q0\n"                     \
  "vqmovnt.s32 q0, q2\n"                     \
  "vqmovnb.s32 q1, q1\n"                     \
  "vqmovnt.s32 q1, q3\n"                     \
  "vqadd.s16 q0, q0, r11\n"                  \
  "vqadd.s16 q1, q1, r11\n"                  \
  "vqmovnb.s16 q0, q0\n"                     \
  "vqmovnt.s16 q0, q1\n" store               \
  "add r9, r10\n"                            \
  "ldr r4, [r6, #12]\n"                      \
  "add r1, r4\n"                             \
  "subs r8, r8, #1\n"                        \
  "bne 1b\n"                                 \
  "ldr r4, [r6, #16]\n"                      \
  "subs r4, r4, #1\n"                        \
  "str r4, [r6, #16]\n"                      \
  "bne 5b\n"                                 \
  "vpop {d8-d15}\n"                          \
  "pop {r4-r11, pc}\n"

[[gnu::naked]] void RunTaps(Taps* /*taps*/) {
  asm volatile(TENON_RUN_TAPS(TENON_SUM_TAPS(TENON_LOAD_SOME, TENON_AGAIN_SOME),
                              "vpst\n"
                              "vstrbt.8 q0, [r9]\n"));
}

/// Serves 16 channels, which need no mask.
[[gnu::naked]] void RunAllTaps(Taps* /*taps*/) {
  asm volatile(
      TENON_RUN_TAPS(TENON_SUM_TAPS(TENON_LOAD_ALL, TENON_AGAIN_ALL), "vstrb.8 q0, [r9]\n"));
}

/// The least of `count` bytes, and 0. r0: data; r1: count; r2: the least; bytes past the end read
/// as zero.
[[gnu::naked]] int32_t Least(const int8_t* /*data*/, ptrdiff_t /*count*/) {
  asm volatile(
      "push {r4, lr}\n"
      "movs r2, #0\n"
      "wlstp.8 lr, r1, 2f\n"
      "1:\n"
      "vldrb.8 q0, [r0], #16\n"
      "vminv.s8 r2, q0\n"
      "letp lr, 1b\n"
      "2:\n"
      "sxtb r0, r2\n"
      "pop {r4, pc}\n");
}

/// Returns whether none is -128.
bool Takes(const int8_t* w, ptrdiff_t count) { return Least(w, count) != INT8_MIN; }

Taps TapsOf(const DepthwiseBlock& block) {
  Taps taps;
  taps.segments = block.segments;
  taps.pairs = block.tap_count / 2;
  taps.has_odd = block.tap_count % 2;
  taps.x_first = block.first;
  taps.x_pixel = block.x_pixel;
  taps.segment_count = block.segment_count;
  taps.w = block.w;
  taps.w_tap = block.w_tap;
  taps.channels = block.channels;
  return taps;
}

void Multiply(const DepthwiseBlock& block, int32_t* sums) {
  Taps taps = TapsOf(block);
  taps.sums = sums;
  SumTaps(&taps);
}

/// Returns false if a shift is not to the right, or bytes have bounds of their own.
bool Runs(const Rescale& rescale, int channels) {
  return IsWhole(rescale.output) && AreToTheRight(rescale.shift, rescale.step != 0 ? channels : 1);
}

/// Factors of a block, one for each of 16 channels.
struct Factors {
  int32_t bias[kBlockChannels];
  int32_t multiplier[kBlockChannels];
  int8_t shift[kBlockChannels];
};

/// Loads the factors of `channels` channels from `first` on. The others' may have any value.
[[gnu::noinline]] void TakeFactors(const Rescale& rescale, int first, int channels,
                                   Factors& factors) {
  const bool each = rescale.step != 0;
  for (int i = 0; i < kBlockChannels; ++i) {
    const int at = first + (i < channels ? i : channels - 1);
    factors.bias[i] = rescale.bias[at];
    factors.multiplier[i] = rescale.multiplier[each ? at : 0];
    factors.shift[i] = rescale.shift[each ? at : 0];
  }
}

void Run(const DepthwiseBlock& block, const Rescale& rescale, int8_t* y, ptrdiff_t y_pixel) {
  Taps taps = TapsOf(block);
  taps.y = y;
  taps.y_pixel = y_pixel;
  taps.zero_point = rescale.output.zero_point;
  taps.bias = rescale.bias + block.first;
  taps.multiplier = rescale.multiplier + block.first;
  taps.shift = rescale.shift + block.first;
  Factors factors;
  if (rescale.step == 0 || block.channels < kBlockChannels) {
    TakeFactors(rescale, block.first, block.channels, factors);
    taps.bias = factors.bias;
    taps.multiplier = factors.multiplier;
    taps.shift = factors.shift;
  }
  if (block.channels == kBlockChannels) return RunAllTaps(&taps);
  RunTaps(&taps);
}

constexpr DepthwiseRoutines kDepthwise = {Takes, Multiply, Requantize, SubtractScaled,
                                          Fill,  Runs,     Run};

}  // namespace

const DepthwiseRoutines& Depthwise() { return kDepthwise; }

}  // namespace tenon::cpu::cortex_m::helium
