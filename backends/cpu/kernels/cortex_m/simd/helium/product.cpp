// Products of bytes and what becomes of their sums.
#include <arm_mve.h>

#include "backends/cpu/kernels/cortex_m/simd/helium/dots.hpp"
#include "backends/cpu/kernels/cortex_m/simd/helium/finish.hpp"
#include "backends/cpu/kernels/cortex_m/simd/helium/routines.hpp"

namespace tenon::cpu::cortex_m::helium {
namespace {

constexpr int kVectorBytes = 16;

int32_t RoundUp(int32_t bytes) { return (bytes + kVectorBytes - 1) & -kVectorBytes; }

/// Fewer than four outputs: the last one's weights take the place of those missing.
void SetWeights(const ProductBlock& block, int32_t* bias, Dots& dots) {
  const int8_t* w = block.w;
  for (int i = 0; i < kBlockOutputs; ++i) {
    dots.w[i] = w;
    const bool is_last = i + 1 >= block.outputs;
    bias[i] = block.bias[i < block.outputs ? i : block.outputs - 1];
    w += is_last ? 0 : block.depth();
  }
}

void Multiply(const ProductBlock& block, int32_t* sums) {
  Dots dots;
  int32_t bias[kBlockOutputs];
  SetWeights(block, bias, dots);
  dots.bias = bias;
  dots.run_bytes = block.run_bytes;
  dots.runs = block.runs;
  dots.x_step = block.x_run - RoundUp(block.run_bytes);
  dots.w_step = block.run_bytes - RoundUp(block.run_bytes);
  dots.sums = sums;
  const int8_t* x = block.x;
  int left = block.pixels;
  for (; left >= 3; left -= 3, dots.sums += 3 * kBlockOutputs) {
    for (const int8_t*& window : dots.x) {
      window = x;
      x += block.x_pixel;
    }
    DotThree(&dots);
  }
  for (; left > 0; --left, dots.sums += kBlockOutputs, x += block.x_pixel) {
    dots.x[0] = x;
    DotOne(&dots);
  }
}

int32_t Sum(const int8_t* data, ptrdiff_t count) {
  int32_t sum = 0;
  for (; count > 0; count -= kVectorBytes, data += kVectorBytes) {
    const mve_pred16_t bytes = vctp8q(static_cast<uint32_t>(count));
    sum = vaddvaq_s8(sum, vldrbq_z_s8(data, bytes));
  }
  return sum;
}

void Copy(int8_t* to, const int8_t* from, ptrdiff_t count) {
  for (; count > 0; count -= kVectorBytes, from += kVectorBytes, to += kVectorBytes) {
    const mve_pred16_t bytes = vctp8q(static_cast<uint32_t>(count));
    vstrbq_p_s8(to, vldrbq_z_s8(from, bytes), bytes);
  }
}

constexpr ProductRoutines kProducts = {Multiply, Finish, Sum, Copy, kVectorBytes};

}  // namespace

const ProductRoutines& Products() { return kProducts; }

}  // namespace tenon::cpu::cortex_m::helium
