#include <arm_mve.h>

#include <cstddef>

#include "backends/cpu/kernels/cortex_m/generic_routines.hpp"
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

/// Operands as the assembly reads them.
struct Sum {
  const int8_t* x;
  const int8_t* y;
  int8_t* z;
  int32_t x_zero_point;
  int32_t y_zero_point;
  int32_t left_shift;
  int32_t x_multiplier;
  int32_t y_multiplier;
  int32_t z_multiplier;
  int32_t x_rounds;  ///< Factor::rounds
  int32_t y_rounds;
  int32_t z_rounds;
  int32_t zero_point;
  int32_t fours;  ///< of elements: 1 or more
  int32_t x_right;
  int32_t y_right;
  int32_t z_right;
};
static_assert(offsetof(Sum, x) == 0 && offsetof(Sum, x_zero_point) == 12 &&
              offsetof(Sum, z_rounds) == 44 && offsetof(Sum, fours) == 52 &&
              offsetof(Sum, x_right) == 56 && offsetof(Sum, z_right) == 64);

// Where no scale shifts to the left and bytes have their whole range, at which they saturate. All
// in registers, of which the compiler finds too few: r0, r1, r2: x, y, z; r3 to r12: the rest of
// Sum in order; q4, q5, q6: shifts.
[[gnu::naked]] void AddFours(const Sum* /*sum*/) {
  asm volatile(
      "push {r4-r11, lr}\n"
      "vpush {d8-d15}\n"
      "add r1, r0, #56\n"
      "ldm r1, {r2, r3, r4}\n"
      "vdup.32 q4, r2\n"
      "vdup.32 q5, r3\n"
      "vdup.32 q6, r4\n"
      "ldm r0, {r0-r12, lr}\n"
      "dls lr, lr\n"
      "1:\n"
      "vldrb.s32 q0, [r0], #4\n"
      "vsub.i32 q0, q0, r3\n"
      "vshl.s32 q0, r5\n"
      "vqrdmulh.s32 q0, q0, r6\n"
      "vqdmlah.s32 q0, q0, r9\n"
      "vrshl.s32 q0, q0, q4\n"
      "vldrb.s32 q1, [r1], #4\n"
      "vsub.i32 q1, q1, r4\n"
      "vshl.s32 q1, r5\n"
      "vqrdmulh.s32 q1, q1, r7\n"
      "vqdmlah.s32 q1, q1, r10\n"
      "vrshl.s32 q1, q1, q5\n"
      "vadd.i32 q0, q0, q1\n"
      "vqrdmulh.s32 q0, q0, r8\n"
      "vqdmlah.s32 q0, q0, r11\n"
      "vrshl.s32 q0, q0, q6\n"
      "vqadd.s32 q0, q0, r12\n"
      "vqmovnb.s32 q0, q0\n"
      "vqmovnb.s16 q0, q0\n"
      "vstrb.32 q0, [r2], #4\n"
      "le lr, 1b\n"
      "vpop {d8-d15}\n"
      "pop {r4-r11, pc}\n");
}

/// Adds whole fours where AddFours can. Gives the number of elements done.
ptrdiff_t AddPlain(const QuantizedBinaryAttributes& attributes, const int8_t* x, const int8_t* y,
                   int8_t* z, ptrdiff_t count) {
  const QuantizedBinaryAttributes& a = attributes;
  const bool to_the_right =
      a.x_scale.shift <= 0 && a.y_scale.shift <= 0 && a.output_scale.shift <= 0;
  const bool whole_range = a.output.min == INT8_MIN && a.output.max == INT8_MAX;
  if (a.function != BinaryFunction::kAdd || !to_the_right || !whole_range || count < kLanes) {
    return 0;
  }
  const auto rounds = [](const QuantizedScale& scale) { return scale.shift < 0 ? 1 : 0; };
  const Sum sum = {x,
                   y,
                   z,
                   a.x_zero_point,
                   a.y_zero_point,
                   a.left_shift,
                   a.x_scale.multiplier,
                   a.y_scale.multiplier,
                   a.output_scale.multiplier,
                   rounds(a.x_scale),
                   rounds(a.y_scale),
                   rounds(a.output_scale),
                   a.output.zero_point,
                   count / kLanes,
                   a.x_scale.shift,
                   a.y_scale.shift,
                   a.output_scale.shift};
  AddFours(&sum);
  return count / kLanes * kLanes;
}

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
  const ptrdiff_t done = AddPlain(attributes, x, y, z, count);
  x += done;
  y += done;
  z += done;
  ptrdiff_t left = count - done;
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
