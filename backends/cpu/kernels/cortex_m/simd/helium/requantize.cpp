#include "backends/cpu/kernels/cortex_m/simd/helium/requantize.hpp"

#include <arm_mve.h>

#include <cstddef>

#include "backends/cpu/kernels/cortex_m/routines.hpp"
#include "runtime/ops/requantize.hpp"

namespace tenon::cpu::cortex_m::helium {
namespace {

constexpr int kLanes = 4;

/// Contains four outputs' factors, as FixedPointMultiply takes them.
struct FixedPoint {
  int32x4_t multiplier;
  int32x4_t left;
  int32x4_t right;  ///< <= 0

  /// The shift to the right rounds halves up, so negative products lose one before.
  [[nodiscard]] int32x4_t operator()(int32x4_t sums) const {
    const int32x4_t gemm = vqrdmulhq_s32(vshlq_s32(sums, left), multiplier);
    const int32x4_t less = vshrq_n_s32(vandq_s32(gemm, right), 31);
    return vrshlq_s32(vqaddq_s32(gemm, less), right);
  }
};

/// The same where all shifts are to the right. Every bit of a number but its sign is shifted out by
/// the doubling product with 1, of which the upper half is added: -1 if it is negative.
struct FixedPointRight {
  int32x4_t multiplier;
  int32x4_t right;  ///< < 0

  [[nodiscard]] int32x4_t operator()(int32x4_t sums) const {
    const int32x4_t gemm = vqrdmulhq_s32(sums, multiplier);
    return vrshlq_s32(vqdmlahq_n_s32(gemm, gemm, 1), right);
  }
};

/// RoundHalfEven of the product: what is past 24 bits saturates elsewhere, but is past any byte.
struct HalfEven {
  float32x4_t scale;

  [[nodiscard]] int32x4_t operator()(int32x4_t sums) const {
    return vcvtnq_s32_f32(vmulq_f32(vcvtq_f32_s32(sums), scale));
  }
};

template <typename Round>
[[gnu::always_inline]] inline void RequantizeLanes(const Rescale& rescale, const SumBlock& block,
                                                   int lane, const Round& round) {
  const int32x4_t bias = vldrwq_s32(rescale.bias + block.first + lane);
  const int32x4_t least = vdupq_n_s32(rescale.output.min);
  const int32x4_t most = vdupq_n_s32(rescale.output.max);
  const int32_t zero_point = rescale.output.zero_point;
  const int32_t* sums = block.sums + lane;
  int8_t* y = block.y + lane;
  const int sum_pixel = block.sum_pixel;
  const ptrdiff_t y_pixel = block.y_pixel;
  int pixels = block.pixels;
  do {
    const int32x4_t rounded = round(vaddq_s32(vldrwq_s32(sums), bias));
    vstrbq_s32(y, vminq_s32(vmaxq_s32(vqaddq_n_s32(rounded, zero_point), least), most));
    sums += sum_pixel;
    y += y_pixel;
  } while (--pixels > 0);
}

void RequantizeFixedPoint(const Rescale& rescale, const SumBlock& block, int lane) {
  const int at = block.first + lane;
  const bool each = rescale.step != 0;
  const int32x4_t multiplier =
      each ? vldrwq_s32(rescale.multiplier + at) : vdupq_n_s32(rescale.multiplier[0]);
  const int32x4_t shift = each ? vldrbq_s32(rescale.shift + at) : vdupq_n_s32(rescale.shift[0]);
  const int32x4_t right = vmaxq_s32(shift, vdupq_n_s32(-31));
  if (vmaxvq_s32(-1, shift) < 0) {
    RequantizeLanes(rescale, block, lane, FixedPointRight{multiplier, right});
    return;
  }
  const int32x4_t none = vdupq_n_s32(0);
  const int32x4_t left = vmaxq_s32(vminq_s32(shift, vdupq_n_s32(30)), none);
  RequantizeLanes(rescale, block, lane, FixedPoint{multiplier, left, vminq_s32(right, none)});
}

/// Operands as the assembly reads them: of eight outputs, even ones apart from odd ones.
struct Eight {
  int32_t bias[2][kLanes];
  int32_t multiplier[2][kLanes];
  int32_t right[2][kLanes];
};
static_assert(offsetof(SumBlock, outputs) == 12 && offsetof(SumBlock, pixels) == 16 &&
              offsetof(SumBlock, y) == 20 && offsetof(SumBlock, y_pixel) == 24);

/// Element `first` of a vector with one element per output (or one for all) and the next ones; what
/// is missing of eight is the last one again.
template <typename T>
void TakeEight(const T* data, ptrdiff_t step, const SumBlock& block, T* eight) {
  for (int i = 0; i < kBlockOutputs; ++i) {
    const int at = block.first + (i < block.outputs ? i : block.outputs - 1);
    eight[i] = data[at * step];
  }
}

[[gnu::noinline]] void TakeEights(const Rescale& rescale, const SumBlock& block, int32_t* bias,
                                  int32_t* multiplier, int8_t* shift) {
  TakeEight(rescale.bias, 1, block, bias);
  TakeEight(rescale.multiplier, rescale.step, block, multiplier);
  TakeEight(rescale.shift, rescale.step, block, shift);
}

/// Returns false if a shift is not to the right.
bool LoadEight(const Rescale& rescale, const SumBlock& block, Eight& eight) {
  int32_t bias[kBlockOutputs];
  int32_t multiplier[kBlockOutputs];
  int8_t shift[kBlockOutputs];
  const bool each = rescale.step != 0 && block.outputs == kBlockOutputs;
  if (!each) TakeEights(rescale, block, bias, multiplier, shift);
  const int32x4x2_t biases = vld2q_s32(each ? rescale.bias + block.first : bias);
  const int32x4x2_t factors = vld2q_s32(each ? rescale.multiplier + block.first : multiplier);
  const int16x8_t shifts = vldrbq_s16(each ? rescale.shift + block.first : shift);
  const int16x8_t right = vmaxq_s16(shifts, vdupq_n_s16(-31));
  for (int i = 0; i < 2; ++i) {
    vstrwq_s32(eight.bias[i], biases.val[i]);
    vstrwq_s32(eight.multiplier[i], factors.val[i]);
  }
  vstrwq_s32(eight.right[0], vmovlbq_s16(right));
  vstrwq_s32(eight.right[1], vmovltq_s16(right));
  return vmaxvq_s16(-1, right) < 0;
}

// FixedPointRight of both halves, whose results saturate on their way to bytes: those have their
// whole range. r1: sums; r2: y; r3: from pixel to pixel; r4: zero point; r5: 1; q0, q1: bias;
// q2, q3: multipliers; q4, q5: shifts. Eighteen instructions where the compiler takes half as many
// again to move registers about.
#define TENON_REQUANTIZE_EIGHT \
  "vldrw.32 q6, [r1], #16\n"   \
  "vadd.i32 q6, q6, q0\n"      \
  "vqrdmulh.s32 q6, q6, q2\n"  \
  "vqdmlah.s32 q6, q6, r5\n"   \
  "vrshl.s32 q6, q6, q4\n"     \
  "vldrw.32 q7, [r1], #16\n"   \
  "vadd.i32 q7, q7, q1\n"      \
  "vqrdmulh.s32 q7, q7, q3\n"  \
  "vqdmlah.s32 q7, q7, r5\n"   \
  "vrshl.s32 q7, q7, q5\n"     \
  "vqmovnb.s32 q6, q6\n"       \
  "vqmovnt.s32 q6, q7\n"       \
  "vqadd.s16 q6, q6, r4\n"     \
  "vqmovnb.s16 q6, q6\n"

// r6: pixels, of which two go at a time, and one more where their number is odd.
#define TENON_REQUANTIZE_WHOLE          \
  "lsrs r12, r6, #1\n"                  \
  "wls lr, r12, 2f\n"                   \
  "1:\n" TENON_REQUANTIZE_EIGHT         \
  "vstrb.16 q6, [r2]\n"                 \
  "add r2, r3\n" TENON_REQUANTIZE_EIGHT \
  "vstrb.16 q6, [r2]\n"                 \
  "add r2, r3\n"                        \
  "le lr, 1b\n"                         \
  "2:\n"                                \
  "lsls r12, r6, #31\n"                 \
  "beq 3f\n" TENON_REQUANTIZE_EIGHT "vstrb.16 q6, [r2]\n"

[[gnu::naked]] void RequantizeEight(const Eight* /*eight*/, const SumBlock* /*block*/,
                                    int32_t /*zero_point*/) {
  asm volatile(
      "push {r4, r5, r6, lr}\n"
      "vpush {d8-d15}\n"
      "mov r4, r2\n"
      "ldrd r12, r6, [r1, #12]\n"
      "ldrd r2, r3, [r1, #20]\n"
      "ldr r1, [r1]\n"
      "vctp.16 r12\n"
      "vldrw.32 q0, [r0]\n"
      "vldrw.32 q1, [r0, #16]\n"
      "vldrw.32 q2, [r0, #32]\n"
      "vldrw.32 q3, [r0, #48]\n"
      "vldrw.32 q4, [r0, #64]\n"
      "vldrw.32 q5, [r0, #80]\n"
      "movs r5, #1\n"
      "cmp r12, #8\n"
      "bne 4f\n" TENON_REQUANTIZE_WHOLE
      "b 3f\n"
      "4:\n"
      "dls lr, r6\n"
      "5:\n" TENON_REQUANTIZE_EIGHT
      "vpst\n"
      "vstrbt.16 q6, [r2]\n"
      "add r2, r3\n"
      "le lr, 5b\n"
      "3:\n"
      "vpop {d8-d15}\n"
      "pop {r4, r5, r6, pc}\n");
}

/// FixedPointMultiplyOnce: one rounding shift of the whole product, which is at least 1 to the
/// right.
void RequantizeOnce(const Rescale& rescale, const SumBlock& block) {
  const int32_t* sums = block.sums;
  int8_t* y = block.y;
  for (int pixel = 0; pixel < block.pixels; ++pixel) {
    for (int i = 0; i < block.outputs; ++i) {
      const int at = block.first + i;
      const int shift = rescale.shift[at * rescale.step];
      const int right = 31 - (shift > 30 ? 30 : (shift < -31 ? -31 : shift));
      const auto sum = static_cast<int32_t>(static_cast<uint32_t>(sums[i]) +
                                            static_cast<uint32_t>(rescale.bias[at]));
      const int64_t gemm = int64_t{sum} * rescale.multiplier[at * rescale.step];
      const auto rounded = static_cast<int32_t>(sqrshrl(gemm, right));
      y[i] = static_cast<int8_t>(Saturate(rescale.output, rounded));
    }
    sums += block.sum_pixel;
    y += block.y_pixel;
  }
}

}  // namespace

static_assert(offsetof(Rescale, output) + offsetof(QuantizedOutput, zero_point) == 8 &&
              offsetof(Rescale, bias) == 20 && offsetof(Rescale, multiplier) == 28 &&
              offsetof(Rescale, shift) == 32 && offsetof(SumBlock, first) == 8);

// As RequantizeEight, of factors where they lie.
[[gnu::naked]] void RequantizePlain(const Rescale& /*rescale*/, const SumBlock& /*block*/) {
  asm volatile(
      "push {r4, r5, r6, lr}\n"
      "vpush {d8-d15}\n"
      "ldr r4, [r0, #20]\n"
      "ldrd r2, r3, [r0, #28]\n"
      "ldr r5, [r1, #8]\n"
      "add r4, r4, r5, lsl #2\n"
      "add r2, r2, r5, lsl #2\n"
      "add r3, r5\n"
      "vld20.32 {q0, q1}, [r4]\n"
      "vld21.32 {q0, q1}, [r4]\n"
      "vld20.32 {q2, q3}, [r2]\n"
      "vld21.32 {q2, q3}, [r2]\n"
      "vldrb.s16 q5, [r3]\n"
      "vmovlb.s16 q4, q5\n"
      "vmovlt.s16 q5, q5\n"
      "ldr r4, [r0, #8]\n"
      "ldrd r6, r2, [r1, #16]\n"
      "ldr r3, [r1, #24]\n"
      "ldr r1, [r1]\n"
      "movs r5, #1\n" TENON_REQUANTIZE_WHOLE
      "3:\n"
      "vpop {d8-d15}\n"
      "pop {r4, r5, r6, pc}\n");
}

void Requantize(const Rescale& rescale, const SumBlock& block) {
  if (rescale.output.rounding == Rounding::kFixedPointOnce) return RequantizeOnce(rescale, block);
  int lane = 0;
  if (rescale.output.rounding == Rounding::kFixedPoint) {
    for (; lane + kLanes <= block.outputs; lane += kLanes)
      RequantizeFixedPoint(rescale, block, lane);
  } else if (rescale.output.rounding == Rounding::kHalfEven) {
    for (; lane + kLanes <= block.outputs; lane += kLanes) {
      const float* scale = rescale.scale + (block.first + lane) * rescale.step;
      RequantizeLanes(rescale, block, lane,
                      HalfEven{rescale.step != 0 ? vldrwq_f32(scale) : vdupq_n_f32(*scale)});
    }
  }
  if (lane == block.outputs) return;
  SumBlock rest = block;
  rest.sums += lane;
  rest.first += lane;
  rest.outputs -= lane;
  rest.y += lane;
  RequantizeOneByOne(rescale, rest);
}

namespace {

/// Serves the cases that the assembly does not cover.
[[gnu::noinline]] void RequantizeReordered(const Rescale& rescale, const SumBlock& block) {
  int32_t* sums = block.sums;
  for (int i = block.pixels; i > 0; --i, sums += kBlockOutputs) {
    int32x4x2_t halves;
    halves.val[0] = vldrwq_s32(sums);
    halves.val[1] = vldrwq_s32(sums + 4);
    vst2q_s32(sums, halves);
  }
  Requantize(rescale, block);
}

}  // namespace

void RequantizePairs(const Rescale& rescale, const SumBlock& block) {
  if (rescale.is_plain && block.outputs == kBlockOutputs) return RequantizePlain(rescale, block);
  if (IsWhole(rescale.output)) {
    Eight eight;
    if (LoadEight(rescale, block, eight)) {
      return RequantizeEight(&eight, &block, rescale.output.zero_point);
    }
  }
  RequantizeReordered(rescale, block);
}

bool AreToTheRight(const int8_t* shifts, int count) {
  constexpr int kVectorBytes = 16;
  int8_t most = INT8_MIN;
  int8_t least = INT8_MAX;
  for (int i = 0; i < count; i += kVectorBytes) {
    const mve_pred16_t lanes = vctp8q(static_cast<uint32_t>(count - i));
    const int8x16_t bytes = vldrbq_z_s8(shifts + i, lanes);
    most = vmaxvq_p_s8(most, bytes, lanes);
    least = vminvq_p_s8(least, bytes, lanes);
  }
  return most < 0 && least >= -31;
}

bool IsWhole(const QuantizedOutput& output) {
  return output.rounding == Rounding::kFixedPoint && output.min == INT8_MIN &&
         output.max == INT8_MAX;
}

bool IsPlain(const Rescale& rescale, int outputs) {
  return IsWhole(rescale.output) && rescale.step != 0 && AreToTheRight(rescale.shift, outputs);
}

void Fill(int8_t* to, int8_t value, ptrdiff_t count) {
  constexpr ptrdiff_t kVectorBytes = 16;
  const int8x16_t values = vdupq_n_s8(value);
  for (; count > 0; count -= kVectorBytes, to += kVectorBytes) {
    vstrbq_p_s8(to, values, vctp8q(static_cast<uint32_t>(count)));
  }
}

// r0: bias; r1: sums; r2: minus the factor; r3: results; lr: words left.
[[gnu::naked]] void SubtractScaled(const int32_t* /*bias*/, const int32_t* /*sums*/,
                                   int32_t /*factor*/, int /*count*/, int32_t* /*to*/) {
  asm volatile(
      "push {r4, lr}\n"
      "mov r4, r3\n"
      "ldr r3, [sp, #8]\n"
      "rsbs r2, r2, #0\n"
      "wlstp.32 lr, r4, 3f\n"
      "cbz r0, 2f\n"
      "1:\n"
      "vldrw.32 q0, [r1], #16\n"
      "vmul.i32 q0, q0, r2\n"
      "vldrw.32 q1, [r0], #16\n"
      "vadd.i32 q0, q0, q1\n"
      "vstrw.32 q0, [r3], #16\n"
      "letp lr, 1b\n"
      "b 3f\n"
      "2:\n"
      "vldrw.32 q0, [r1], #16\n"
      "vmul.i32 q0, q0, r2\n"
      "vstrw.32 q0, [r3], #16\n"
      "letp lr, 2b\n"
      "3:\n"
      "pop {r4, pc}\n");
}

}  // namespace tenon::cpu::cortex_m::helium
