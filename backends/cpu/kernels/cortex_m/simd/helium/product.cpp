// Products of bytes.
#include <arm_mve.h>

#include "backends/cpu/kernels/cortex_m/simd/helium/dots.hpp"
#include "backends/cpu/kernels/cortex_m/simd/helium/finish.hpp"
#include "backends/cpu/kernels/cortex_m/simd/helium/routines.hpp"

namespace tenon::cpu::cortex_m::helium {
namespace {

constexpr int kVectorBytes = 16;
constexpr int kShortVectors = 4;  // of a row of weights, that stay in registers
constexpr int kFewestPixels = 3;  // to which that is worth it

constexpr int32_t Vectors(int32_t bytes) { return (bytes + kVectorBytes - 1) / kVectorBytes; }

void MultiplyShort(const ProductBlock& block, int32_t* sums) {
  using Routine = void (*)(const ShortDots*);
  constexpr Routine kRoutines[] = {DotShort16, DotShort32, DotShort48, DotShort64};
  constexpr int8_t kRows[] = {4, 2, 1, 1};
  const int32_t last = Vectors(block.run_bytes) - 1;
  ShortDots dots;
  dots.x = block.x;
  dots.x_step = block.x_pixel - last * kVectorBytes;
  dots.windows = block.pixels;
  dots.w = block.w;
  dots.bytes = block.run_bytes - last * kVectorBytes;
  for (int row = 0; row < block.outputs; row += kRows[last]) {
    // The last row stands for one that is missing.
    dots.w_step = row + 1 < block.outputs ? block.run_bytes : 0;
    dots.sums = sums + row;
    kRoutines[last](&dots);
    dots.w += kRows[last] * block.run_bytes;
  }
}

void MultiplyLong(const ProductBlock& block, int32_t* sums) {
  Dots dots;
  const int8_t* w = block.w;
  for (int i = 0; i < kBlockOutputs; ++i) {
    dots.w[i] = w;
    // The last row stands for those that are missing.
    if (i + 1 < block.outputs) w += block.depth();
  }
  const int32_t vector_bytes = Vectors(block.run_bytes) * kVectorBytes;
  dots.run_bytes = block.run_bytes;
  dots.runs = block.runs;
  dots.x_step = block.x_run - vector_bytes;
  dots.w_step = block.run_bytes - vector_bytes;
  const int8_t* x = block.x;
  const ptrdiff_t x_pixel = block.x_pixel;
  int left = block.pixels;
  for (; left >= 3; left -= 3) {
    dots.x[0] = x;
    dots.x[1] = x + x_pixel;
    dots.x[2] = x + 2 * x_pixel;
    x += 3 * x_pixel;
    dots.sums = sums;
    sums += 3 * kBlockOutputs;
    DotThree(&dots);
  }
  for (; left > 0; --left, sums += kBlockOutputs, x += x_pixel) {
    dots.x[0] = x;
    dots.sums = sums;
    DotOne(&dots);
  }
}

void Multiply(const ProductBlock& block, int32_t* sums) {
  const bool is_short = block.runs == 1 && block.run_bytes <= kShortVectors * kVectorBytes &&
                        block.pixels >= kFewestPixels;
  // Four rows at once want four rows.
  const bool has_rows = block.outputs == kBlockOutputs || block.run_bytes > kVectorBytes;
  if (is_short && has_rows) return MultiplyShort(block, sums);
  MultiplyLong(block, sums);
}

int32_t Sum(const int8_t* data, ptrdiff_t count) {
  int32_t sum = 0;
  for (; count > 0; count -= kVectorBytes, data += kVectorBytes) {
    const mve_pred16_t bytes = vctp8q(static_cast<uint32_t>(count));
    sum = vaddvaq_s8(sum, vldrbq_z_s8(data, bytes));
  }
  return sum;
}

void Copy(const Runs& runs) {
  int8_t* to = runs.to;
  const int8_t* from = runs.from;
  for (int left = runs.runs; left > 0; --left) {
    for (int done = 0; done < runs.run_bytes; done += kVectorBytes) {
      const mve_pred16_t bytes = vctp8q(static_cast<uint32_t>(runs.run_bytes - done));
      vstrbq_p_s8(to + done, vldrbq_z_s8(from + done, bytes), bytes);
    }
    to += runs.to_run;
    from += runs.from_run;
  }
}

constexpr ProductRoutines kProducts = {Multiply, Finish, Sum, Copy, kVectorBytes};

}  // namespace

const ProductRoutines& Products() { return kProducts; }

}  // namespace tenon::cpu::cortex_m::helium
