#include "backends/cpu/kernels/cortex_m/simd/helium/finish.hpp"

#include <arm_mve.h>

#include "backends/cpu/kernels/cortex_m/finish.hpp"

namespace tenon::cpu::cortex_m::helium {
namespace {

constexpr int kLanes = 4;

/// Four outputs' factors, as FixedPointMultiply takes them.
struct FixedPoint {
  int32x4_t multiplier;
  int32x4_t left;
  int32x4_t right;  ///< <= 0

  /// The shift to the right rounds halves up, so negative products lose one before.
  [[nodiscard]] int32x4_t operator()(int32x4_t sums) const {
    const int32x4_t product = vqrdmulhq_s32(vshlq_s32(sums, left), multiplier);
    const int32x4_t less = vshrq_n_s32(vandq_s32(product, right), 31);
    return vrshlq_s32(vqaddq_s32(product, less), right);
  }
};

/// The same where all shifts are to the right. Every bit of a number but its sign is shifted out by
/// the doubling product with 1, of which the upper half is added: -1 if it is negative.
struct FixedPointRight {
  int32x4_t multiplier;
  int32x4_t right;  ///< < 0

  [[nodiscard]] int32x4_t operator()(int32x4_t sums) const {
    const int32x4_t product = vqrdmulhq_s32(sums, multiplier);
    return vrshlq_s32(vqdmlahq_n_s32(product, product, 1), right);
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
[[gnu::always_inline]] inline void FinishLanes(const Rescale& rescale, const SumBlock& block,
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

void FinishFixedPoint(const Rescale& rescale, const SumBlock& block, int lane) {
  const int at = block.first + lane;
  const bool each = rescale.step != 0;
  const int32x4_t multiplier =
      each ? vldrwq_s32(rescale.multiplier + at) : vdupq_n_s32(rescale.multiplier[0]);
  const int32x4_t shift = each ? vldrbq_s32(rescale.shift + at) : vdupq_n_s32(rescale.shift[0]);
  const int32x4_t right = vmaxq_s32(shift, vdupq_n_s32(-31));
  if (vmaxvq_s32(-1, shift) < 0) {
    FinishLanes(rescale, block, lane, FixedPointRight{multiplier, right});
    return;
  }
  const int32x4_t none = vdupq_n_s32(0);
  const int32x4_t left = vmaxq_s32(vminq_s32(shift, vdupq_n_s32(30)), none);
  FinishLanes(rescale, block, lane, FixedPoint{multiplier, left, vminq_s32(right, none)});
}

}  // namespace

void Finish(const Rescale& rescale, const SumBlock& block) {
  int lane = 0;
  if (rescale.output.rounding == Rounding::kFixedPoint) {
    for (; lane + kLanes <= block.outputs; lane += kLanes) FinishFixedPoint(rescale, block, lane);
  } else if (rescale.output.rounding == Rounding::kHalfEven) {
    for (; lane + kLanes <= block.outputs; lane += kLanes) {
      const float* scale = rescale.scale + (block.first + lane) * rescale.step;
      FinishLanes(rescale, block, lane,
                  HalfEven{rescale.step != 0 ? vldrwq_f32(scale) : vdupq_n_f32(*scale)});
    }
  }
  if (lane == block.outputs) return;
  SumBlock rest = block;
  rest.sums += lane;
  rest.first += lane;
  rest.outputs -= lane;
  rest.y += lane;
  FinishOneByOne(rescale, rest);
}

}  // namespace tenon::cpu::cortex_m::helium
