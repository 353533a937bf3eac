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
};

FixedPoint FactorsAt(const Rescale& rescale, int first, mve_pred16_t lanes) {
  FixedPoint factors;
  int32x4_t shift;
  if (rescale.step == 0) {
    factors.multiplier = vdupq_n_s32(rescale.multiplier[0]);
    shift = vdupq_n_s32(rescale.shift[0]);
  } else {
    factors.multiplier = vldrwq_z_s32(rescale.multiplier + first, lanes);
    shift = vldrbq_z_s32(rescale.shift + first, lanes);
  }
  factors.left = vmaxq_s32(vminq_s32(shift, vdupq_n_s32(30)), vdupq_n_s32(0));
  factors.right = vminq_s32(vmaxq_s32(shift, vdupq_n_s32(-31)), vdupq_n_s32(0));
  return factors;
}

/// FixedPointMultiply. The shift to the right rounds halves up, so negative sums lose one before.
inline int32x4_t Multiplied(int32x4_t sums, const FixedPoint& factors) {
  const int32x4_t high = vqrdmulhq_s32(vshlq_s32(sums, factors.left), factors.multiplier);
  const int32x4_t less = vshrq_n_s32(vandq_s32(high, factors.right), 31);
  return vrshlq_s32(vqaddq_s32(high, less), factors.right);
}

/// RoundHalfEven of the product; what is past 24 bits saturates elsewhere, but is past any byte.
inline int32x4_t Multiplied(int32x4_t sums, float32x4_t factors) {
  return vcvtnq_s32_f32(vmulq_f32(vcvtq_f32_s32(sums), factors));
}

template <typename Factors>
void FinishLanes(const QuantizedOutput& output, const SumBlock& block, int first,
                 const Factors& factors, mve_pred16_t lanes) {
  const int32x4_t least = vdupq_n_s32(output.min);
  const int32x4_t most = vdupq_n_s32(output.max);
  const int32_t zero_point = output.zero_point;
  const int32_t* sums = block.sums + first;
  int8_t* y = block.y + first;
  for (int pixel = 0; pixel < block.pixels; ++pixel) {
    const int32x4_t rounded = vqaddq_n_s32(Multiplied(vld1q_s32(sums), factors), zero_point);
    vstrbq_p_s32(y, vminq_s32(vmaxq_s32(rounded, least), most), lanes);
    sums += block.sum_pixel;
    y += block.y_pixel;
  }
}

}  // namespace

void Finish(const Rescale& rescale, const SumBlock& block) {
  const QuantizedOutput& output = rescale.output;
  if (output.rounding == Rounding::kFixedPointOnce) return FinishOneByOne(rescale, block);
  for (int first = 0; first < block.outputs; first += kLanes) {
    const mve_pred16_t lanes = vctp32q(static_cast<uint32_t>(block.outputs - first));
    const int at = block.first + first;
    if (output.rounding == Rounding::kFixedPoint) {
      FinishLanes(output, block, first, FactorsAt(rescale, at, lanes), lanes);
    } else {
      const float32x4_t scale = rescale.step == 0 ? vdupq_n_f32(rescale.scale[0])
                                                  : vldrwq_z_f32(rescale.scale + at, lanes);
      FinishLanes(output, block, first, scale, lanes);
    }
  }
}

}  // namespace tenon::cpu::cortex_m::helium
