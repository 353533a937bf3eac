#include "backends/cpu/kernels/cortex_m/simd/dsp/pixel_window.hpp"

#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/cortex_m/simd/dsp/pixel_window_code.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/requantize.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/words.hpp"

namespace tenon::cpu::dsp {

#if TENON_DSP_INSTRUCTIONS

// r0 rows left, r1-r4 sums, r5 x, r6 w, r7 step, r8 less, r9 w_step. The stack is a copy of
// PixelWindow up to `finish`: 0 gap, 4 w_gap, 8 where a row begins, 12 rows, 16 step, 20 less, 24
// w_step, 28 x, 32 w, 36 bias, 40 factors, 44 shifts, 48 y, 52 quads, 56 zero_point, 60 what makes
// bytes.

// A sum to a byte, as RequantizeDoubled does, by a factor and a byte of the shifts in r11.
#define TENON_DOUBLED(sum, factor, shift)             \
  "sxtb r5, r11" shift                                \
  "\n"                                                \
  "lsl " sum                                          \
  ", #1\n"                                            \
  "mvn r6, r5\n" /* the shift to the right, less 1 */ \
  "lsl r6, r12, r6\n"                                 \
  "rsb r5, #0\n"                                      \
  "add r6, r6, " sum                                  \
  ", asr #31\n"                                       \
  "smmlar " sum ", " sum ", " factor                  \
  ", r6\n"                                            \
  "asr " sum                                          \
  ", r5\n"                                            \
  "ssat " sum ", #8, " sum "\n"

#if defined(__ARM_FP) && (__ARM_FP & 4)
// Sums to bytes, as RequantizeFloat does.
#define TENON_WINDOW_FLOATS \
  "ldr r5, [sp, #40]\n"     \
  "vmov s0, s1, r1, r2\n"   \
  "vmov s2, s3, r3, r4\n"   \
  "vldmia r5!, {s4-s7}\n"   \
  "ldr r12, [sp, #56]\n"    \
  "str r5, [sp, #40]\n"     \
  "vcvt.f32.s32 s0, s0\n"   \
  "vcvt.f32.s32 s1, s1\n"   \
  "vcvt.f32.s32 s2, s2\n"   \
  "vcvt.f32.s32 s3, s3\n"   \
  "vmul.f32 s0, s0, s4\n"   \
  "vmul.f32 s1, s1, s5\n"   \
  "vmul.f32 s2, s2, s6\n"   \
  "vmul.f32 s3, s3, s7\n"   \
  "vcvtr.s32.f32 s0, s0\n"  \
  "vcvtr.s32.f32 s1, s1\n"  \
  "vcvtr.s32.f32 s2, s2\n"  \
  "vcvtr.s32.f32 s3, s3\n"  \
  "vmov r1, r2, s0, s1\n"   \
  "vmov r3, r4, s2, s3\n"   \
  "qadd r1, r1, r12\n"      \
  "qadd r2, r2, r12\n"      \
  "qadd r3, r3, r12\n"      \
  "qadd r4, r4, r12\n"      \
  "ssat r1, #8, r1\n"       \
  "ssat r2, #8, r2\n"       \
  "ssat r3, #8, r3\n"       \
  "ssat r4, #8, r4\n"
#else
#define TENON_WINDOW_FLOATS
#endif

static_assert(offsetof(PixelWindow, w_gap) == 4 && offsetof(PixelWindow, code) == 8 &&
              offsetof(PixelWindow, rows) == 12 && offsetof(PixelWindow, step) == 16 &&
              offsetof(PixelWindow, w_step) == 24 && offsetof(PixelWindow, x) == 28 &&
              offsetof(PixelWindow, w) == 32 && offsetof(PixelWindow, bias) == 36 &&
              offsetof(PixelWindow, factors) == 40 && offsetof(PixelWindow, shifts) == 44 &&
              offsetof(PixelWindow, y) == 48 && offsetof(PixelWindow, quads) == 52 &&
              offsetof(PixelWindow, zero_point) == 56 && offsetof(PixelWindow, finish) == 60 &&
              offsetof(PixelWindow, columns) == 64 && offsetof(PixelWindow, is_float) == 68);

__attribute__((naked)) void RunWindow(const PixelWindow&) {
  __asm__ volatile(
      "push {r4-r11, lr}\n"
      "sub sp, #64\n"
      "mov r12, sp\n"
      "ldmia r0!, {r1-r8}\n"
      "stmia r12!, {r1-r8}\n"
      "mov r9, r4\n"  // rows
      "ldmia r0!, {r1-r8}\n"
      "stmia r12!, {r1-r8}\n"
      "ldrd r10, r11, [r0]\n"  // columns, is_float
      "adr r1, 4f\n"
      "mov r3, r11\n"
      "cbz r3, 1f\n"
      "adr r1, 5f\n"
      "1:\n"
      "orr r1, #1\n"  // an address of Thumb code
      "str r1, [sp, #60]\n"
      "cmp r9, #0\n"
      "ble 2f\n"
      "rsb r10, #7\n"
      "mov r2, #44\n"
      "adr r1, 3f\n"
      "mla r1, r10, r2, r1\n"
      "orr r1, #1\n"
      "2:\n"
      "str r1, [sp, #8]\n"

      // Four channels.
      "6:\n"
      "ldr r10, [sp, #36]\n"
      "ldrd r5, r6, [sp, #28]\n"
      "ldmia r10!, {r1-r4}\n"
      "add r11, r5, #4\n"
      "add r12, r6, #4\n"
      "str r10, [sp, #36]\n"
      "strd r11, r12, [sp, #28]\n"
      "add r10, sp, #12\n"
      "ldm r10, {r0, r7, r8, r9}\n"
      "ldr pc, [sp, #8]\n"

      // A row of taps, which is entered in its middle where it has fewer.
      ".balign 4\n"
      "3:\n" TENON_TAP TENON_TAP TENON_TAP TENON_TAP TENON_TAP TENON_TAP TENON_TAP
      "ldrd r11, r12, [sp]\n"
      "subs r0, #1\n"
      "add r5, r11\n"
      "add r6, r12\n"
      "it ne\n"
      "ldrne pc, [sp, #8]\n"
      "ldr pc, [sp, #60]\n"

      ".balign 4\n"
      "5:\n" TENON_WINDOW_FLOATS
      "b 7f\n"

      ".balign 4\n"
      "4:\n"
      "ldrd r5, r6, [sp, #40]\n"
      "ldr r12, [sp, #56]\n"
      "ldr r11, [r6], #4\n"
      "ldmia r5!, {r7-r10}\n"
      "strd r5, r6, [sp, #40]\n" TENON_DOUBLED("r1", "r7", "") TENON_DOUBLED("r2", "r8", ", ror #8")
          TENON_DOUBLED("r3", "r9", ", ror #16") TENON_DOUBLED("r4", "r10", ", ror #24")
      "7:\n"
      "ldrd r5, r6, [sp, #48]\n"
      "bfi r1, r2, #8, #8\n"
      "bfi r3, r4, #8, #8\n"
      "strh r3, [r5, #2]\n"
      "strh r1, [r5], #4\n"
      "subs r6, #1\n"
      "strd r5, r6, [sp, #48]\n"
      "bne 6b\n"
      "add sp, #64\n"
      "pop {r4-r11, pc}\n");
}

#undef TENON_DOUBLED
#undef TENON_WINDOW_FLOATS

#else

namespace {

/// Returns the sum of a channel.
uint32_t SumOf(const PixelWindow& window, int channel) {
  auto sum = static_cast<uint32_t>(window.bias[channel]);
  const uint8_t* x = window.x + channel;
  const uint8_t* w = window.w + channel;
  for (int i = 0; i < window.rows; ++i, x += window.gap, w += window.w_gap) {
    for (int j = 0; j < window.columns; ++j, x += window.step, w += window.w_step) {
      const int32_t value = static_cast<int8_t>(*x) + LowHalf(window.less);
      sum += static_cast<uint32_t>(value * static_cast<int8_t>(*w));
    }
  }
  return sum;
}

}  // namespace

void RunWindow(const PixelWindow& window) {
  constexpr int kChannels = 4;  // of a word
  for (int i = 0; i < window.quads * kChannels; ++i) {
    const uint32_t sum = SumOf(window, i);
    Requantizer requantizer = {};
    if (window.is_float != 0) {
      std::memcpy(&requantizer.multiplier, static_cast<const float*>(window.factors) + i,
                  sizeof requantizer.multiplier);
      requantizer.offset = window.zero_point;
      window.y[i] = static_cast<uint8_t>(RequantizeFloat(requantizer, static_cast<int32_t>(sum)));
      continue;
    }
    requantizer.multiplier = static_cast<const int32_t*>(window.factors)[i];
    requantizer.right = -window.shifts[i];
    requantizer.offset = window.zero_point * (1 << (requantizer.right - 1));
    const auto doubled = static_cast<int32_t>(sum * 2);
    window.y[i] = static_cast<uint8_t>(SaturateToByte(RequantizeDoubled(requantizer, doubled)));
  }
}

#endif

}  // namespace tenon::cpu::dsp
