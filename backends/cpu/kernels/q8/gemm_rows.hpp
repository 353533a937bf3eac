// Runs a packed GEMM over rows of pixels, which are read in place: 1x1 convolutions and matrix
// products.
#pragma once

#include <cstdint>

#include "backends/cpu/caps/q8_gemm_caps.hpp"
#include "backends/cpu/kernels/q8/gemm_weights.hpp"
#include "runtime/backend_api/parallel.hpp"
#include "runtime/base/round_up.hpp"

namespace tenon::cpu::q8 {

/// Gives the distances in bytes between the pixels of an operand.
struct PixelSteps {
  int64_t image = 0;
  int64_t row = 0;
  int64_t pixel = 0;
};

/// Describes `images` x `height` rows of `width` pixels.
struct GemmRows {
  const uint8_t* x = nullptr;
  uint8_t* y = nullptr;
  PixelSteps x_steps;
  PixelSteps y_steps;
  int images = 1;
  int height = 1;
  int width = 1;
  int depth = 1;    ///< bytes that each product reads of a pixel
  int y_bytes = 1;  ///< of an output element
  uint32_t flip = 0;
};

/// Returns true if rows of pixels of that depth may be summed (PackGemm's `may_sum_x`).
[[nodiscard]] bool FitsWideRows(int depth);

void RunGemmRows(const PackedGemm& packed, const GemmEpilogue& epilogue, const GemmRows& rows,
                 const ParallelRunner* parallel);

/// Is the number of multiply-accumulates that take about as long as starting a second thread.
inline constexpr int64_t kSmallWork = 100'000;

/// The first cache line that begins in a workspace, which has kLineBytes more than it needs.
[[nodiscard]] inline uint8_t* FirstLine(void* workspace) {
  const auto address = reinterpret_cast<uintptr_t>(workspace);
  return static_cast<uint8_t*>(workspace) + (RoundUp<uintptr_t>(address, kLineBytes) - address);
}

/// Returns 0x80808080 for x of i8, which the routines take as u8, and else 0.
[[nodiscard]] inline uint32_t FlipOf(const TensorView& x) {
  return x.dtype == DType::kI8 ? 0x80808080U : 0U;
}

}  // namespace tenon::cpu::q8
