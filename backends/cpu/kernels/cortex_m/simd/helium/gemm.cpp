// Computes GEMMs of bytes.
#include <arm_mve.h>

#include "backends/cpu/kernels/cortex_m/simd/helium/dot_products.hpp"
#include "backends/cpu/kernels/cortex_m/simd/helium/requantize.hpp"
#include "backends/cpu/kernels/cortex_m/simd/helium/routines.hpp"

namespace tenon::cpu::cortex_m::helium {
namespace {

constexpr int kVectorBytes = 16;
constexpr int kShortVectors = 4;  // of a row of weights, that stay in registers
constexpr int kFewestPixels = 3;  // to which that is worth it

constexpr int32_t Vectors(int32_t bytes) { return (bytes + kVectorBytes - 1) / kVectorBytes; }

/// The even rows' sums precede the odd ones', as requantize.hpp says.
constexpr int8_t kRowOf[kBlockOutputs] = {0, 2, 4, 6, 1, 3, 5, 7};

// What is not inlined here would be paid for before the shortest of products.

using FullRoutine = void (*)(const FullDotProducts*);

/// Returns null if windows do not have such a size or are not contiguous.
FullRoutine FullRoutineOf(const GemmBlock& block) {
  if (block.runs != 1 || block.x_pixel != block.run_bytes) return nullptr;
  switch (block.run_bytes) {
    case 16:
      return DotFull16;
    case 32:
      return DotFull32;
    case 64:
      return DotFull64;
    default:
      return nullptr;
  }
}

/// Returns false if the block is not one of those.
bool MultiplyFull(const GemmBlock& block, int32_t* sums) {
  if (block.outputs != kBlockOutputs) return false;
  const FullRoutine multiply = FullRoutineOf(block);
  if (multiply == nullptr) return false;
  const FullDotProducts dot_products = {block.x, block.pixels, block.w, sums};
  multiply(&dot_products);
  return true;
}

/// Serves windows of one run of at most 64 bytes.
ShortDotProducts ShortDotProductsOf(const GemmBlock& block, int32_t* sums) {
  const int32_t whole = (Vectors(block.run_bytes) - 1) * kVectorBytes;
  return {block.x,
          static_cast<int32_t>(block.x_pixel) - whole,
          block.pixels,
          block.w,
          block.run_bytes,
          block.run_bytes - whole,
          sums};
}

bool IsShort(const GemmBlock& block) {
  return block.runs == 1 && block.run_bytes <= kShortVectors * kVectorBytes &&
         block.pixels >= kFewestPixels;
}

/// Multiplies by eight rows of weights at a time, for windows of more than 32 bytes.
using RowsRoutine = void (*)(const ShortDotProducts*);
RowsRoutine RowsRoutineOf(const GemmBlock& block) {
  return Vectors(block.run_bytes) == 3 ? DotRows48 : DotRows64;
}

template <typename DotProducts>
int RunBlocks(void (*multiply)(const DotProducts*), DotProducts dot_products, ptrdiff_t step,
              const Rescale& rescale, int outputs, SumBlock& results) {
  int done = 0;
  for (; done + kBlockOutputs <= outputs; done += kBlockOutputs) {
    results.first = done;
    multiply(&dot_products);
    RequantizePlain(rescale, results);
    dot_products.w += step;
    results.y += kBlockOutputs;
  }
  return done;
}

[[gnu::noinline]] int RunShort(const Rescale& rescale, const GemmBlock& block, int outputs,
                               SumBlock& results) {
  const ptrdiff_t step = ptrdiff_t{kBlockOutputs} * block.run_bytes;
  results.pixels = block.pixels;
  if (const FullRoutine multiply = FullRoutineOf(block)) {
    const FullDotProducts dot_products = {block.x, block.pixels, block.w, results.sums};
    return RunBlocks(multiply, dot_products, step, rescale, outputs, results);
  }
  if (!IsShort(block) || block.run_bytes <= 2 * kVectorBytes) return 0;
  return RunBlocks(RowsRoutineOf(block), ShortDotProductsOf(block, results.sums), step, rescale,
                   outputs, results);
}

int Run(const Rescale& rescale, const GemmBlock& block, int outputs, SumBlock& results) {
  const bool is_short = rescale.is_plain && block.run_bytes <= kShortVectors * kVectorBytes;
  return is_short ? RunShort(rescale, block, outputs, results) : 0;
}

[[gnu::noinline]] void MultiplyShort(const GemmBlock& block, int32_t* sums) {
  ShortDotProducts dot_products = ShortDotProductsOf(block, sums);
  if (block.run_bytes > 2 * kVectorBytes) return RowsRoutineOf(block)(&dot_products);
  const bool is_single = block.run_bytes <= kVectorBytes;
  const int rows = is_single ? 4 : 2;
  for (int at = 0; at < kBlockOutputs; at += rows) {
    const int row = kRowOf[at];
    if (row >= block.outputs) continue;
    dot_products.w = block.w + row * block.run_bytes;
    // The first row replaces a second one that is missing.
    dot_products.w_step = row + 2 < block.outputs ? 2 * block.run_bytes : 0;
    dot_products.sums = sums + at;
    is_single ? DotShort16(&dot_products) : DotShort32(&dot_products);
  }
}

/// Multiplies by four rows, from place `at` on.
[[gnu::noinline]] void MultiplyLong(const GemmBlock& block, int at, int32_t* sums) {
  constexpr int kRows = 4;
  DotProducts dot_products;
  for (int i = 0; i < kRows; ++i) {
    // The first row replaces those that are missing.
    const int row = kRowOf[at + i] < block.outputs ? kRowOf[at + i] : 0;
    dot_products.w[i] = block.w + row * block.depth();
  }
  const int32_t vector_bytes = Vectors(block.run_bytes) * kVectorBytes;
  dot_products.run_bytes = block.run_bytes;
  dot_products.runs = block.runs;
  dot_products.x_step = block.x_run - vector_bytes;
  dot_products.w_step = block.run_bytes - vector_bytes;
  dot_products.sums = sums + at;
  const int8_t* x = block.x;
  const ptrdiff_t x_pixel = block.x_pixel;
  int left = block.pixels;
  for (; left >= 3; left -= 3) {
    dot_products.x[0] = x;
    dot_products.x[1] = x + x_pixel;
    dot_products.x[2] = x + 2 * x_pixel;
    x += 3 * x_pixel;
    DotThree(&dot_products);
    dot_products.sums += 3 * kBlockOutputs;
  }
  for (; left > 0; --left, x += x_pixel) {
    dot_products.x[0] = x;
    DotOne(&dot_products);
    dot_products.sums += kBlockOutputs;
  }
}

void Multiply(const GemmBlock& block, int32_t* sums) {
  if (MultiplyFull(block, sums)) return;
  // Those of all rows at once want all, or four.
  const bool is_pair = block.run_bytes > kVectorBytes && block.run_bytes <= 2 * kVectorBytes;
  const bool has_rows = block.outputs == kBlockOutputs || is_pair;
  if (IsShort(block) && has_rows) return MultiplyShort(block, sums);
  MultiplyLong(block, 0, sums);
  if (block.outputs > 1) MultiplyLong(block, kBlockOutputs / 2, sums);
}

void SumWeights(const int8_t* w, ptrdiff_t depth, int rows, int32_t* sums) {
  SumRows(w, static_cast<int32_t>(depth), rows, sums);
}

void Copy(const Runs& runs) {
  if (runs.run_bytes == kVectorBytes) return CopyVectors(runs);
  // Column by column of vectors, each of which has one mask for all runs.
  for (int done = 0; done < runs.run_bytes; done += kVectorBytes) {
    const mve_pred16_t bytes = vctp8q(static_cast<uint32_t>(runs.run_bytes - done));
    int8_t* to = runs.to + done;
    const int8_t* from = runs.from + done;
    const ptrdiff_t to_run = runs.to_run;
    const ptrdiff_t from_run = runs.from_run;
    int left = runs.runs;
    do {
      vstrbq_p_s8(to, vldrbq_z_s8(from, bytes), bytes);
      to += to_run;
      from += from_run;
    } while (--left > 0);
  }
}

constexpr GemmRoutines kGemms = {
    Multiply, RequantizePairs, IsPlain, Run, SumWeights, SubtractScaled, Copy, Fill, kVectorBytes};

}  // namespace

const GemmRoutines& Gemms() { return kGemms; }

}  // namespace tenon::cpu::cortex_m::helium
