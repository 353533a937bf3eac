// Dot products of bytes, a few windows of x times a few rows of weights at once.
#pragma once

#include <cstdint>

namespace tenon::cpu::cortex_m::helium {

/// Operands as the assembly reads them; a window is `runs` runs of `run_bytes` contiguous bytes.
/// Steps are from the end of a run, rounded up to whole vectors, to the next run's start.
struct Dots {
  const int8_t* x[3];  ///< windows
  const int8_t* w[4];  ///< rows of weights
  int32_t run_bytes;   ///< 1 or more
  int32_t runs;
  int32_t x_step;
  int32_t w_step;
  const int32_t* bias;  ///< of the rows of weights: what sums begin with
  int32_t* sums;        ///< kBlockOutputs for each window
};

/// Three windows, and all four rows of weights. Writes sums of all.
void DotThree(const Dots* dots);
/// The first window alone.
void DotOne(const Dots* dots);

}  // namespace tenon::cpu::cortex_m::helium
