#include <arm_mve.h>

#include "backends/cpu/kernels/cortex_m/simd/generic/elements.hpp"
#include "backends/cpu/kernels/cortex_m/simd/helium/routines.hpp"

namespace tenon::cpu::cortex_m::helium {
namespace {

constexpr int kLanes = 4;

/// FixedPointMultiply by one factor for all. The shift to the right rounds halves up, so negative
/// products lose one before: the upper half of their double, where there is such a shift.
struct Factor {
  Factor(const QuantizedScale& scale, int32_t left_shift)
      : multiplier(scale.multiplier),
        left(left_shift + (scale.shift > 0 ? scale.shift : 0)),
        right(scale.shift < 0 ? scale.shift : 0),
        rounds(scale.shift < 0 ? 1 : 0) {}

  [[nodiscard]] int32x4_t operator()(int32x4_t value) const {
    const int32x4_t product = vqrdmulhq_n_s32(vshlq_r_s32(value, left), multiplier);
    return vrshlq_n_s32(vqdmlahq_n_s32(product, product, rounds), right);
  }

  int32_t multiplier;
  int32_t left;
  int32_t right;
  int32_t rounds;
};

void Add(const QuantizedBinaryAttributes& attributes, const int8_t* x, const int8_t* y, int8_t* z,
         ptrdiff_t count) {
  const Factor x_factor(attributes.x_scale, attributes.left_shift);
  const Factor y_factor(attributes.y_scale, attributes.left_shift);
  const Factor z_factor(attributes.output_scale, 0);
  const int32_t x_zero_point = attributes.x_zero_point;
  const int32_t y_zero_point = attributes.y_zero_point;
  const int32_t z_zero_point = attributes.output.zero_point;
  const int32x4_t least = vdupq_n_s32(attributes.output.min);
  const int32x4_t most = vdupq_n_s32(attributes.output.max);
  const bool subtract = attributes.function == BinaryFunction::kSub;
  ptrdiff_t left = count;
  for (; left >= kLanes; left -= kLanes) {
    const int32x4_t a = x_factor(vsubq_n_s32(vldrbq_s32(x), x_zero_point));
    const int32x4_t b = y_factor(vsubq_n_s32(vldrbq_s32(y), y_zero_point));
    const int32x4_t sum = z_factor(subtract ? vsubq_s32(a, b) : vaddq_s32(a, b));
    vstrbq_s32(z, vminq_s32(vmaxq_s32(vqaddq_n_s32(sum, z_zero_point), least), most));
    x += kLanes;
    y += kLanes;
    z += kLanes;
  }
  generic::Add(attributes, x, y, z, left);
}

constexpr BinaryRoutines kBinary = {Add};

}  // namespace

const BinaryRoutines& Binary() { return kBinary; }

}  // namespace tenon::cpu::cortex_m::helium
