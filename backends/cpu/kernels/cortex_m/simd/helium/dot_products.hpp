// Dot products of bytes, of many windows of x with a few rows of weights. They are in assembly
// because sums of products go to even registers only, of which the compiler keeps too few free.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/cortex_m/routines.hpp"

namespace tenon::cpu::cortex_m::helium {

/// Describes windows of one run of at most 64 bytes: the weights stay in registers.
struct ShortDotProducts {
  const int8_t* x;
  int32_t x_step;   ///< distance from the last whole vector of a window's run to the next window
  int32_t windows;  ///< 1 or more
  const int8_t* w;  ///< the first row; the next one is `w_step` further on
  int32_t w_step;
  int32_t bytes;  ///< length of a run's last vector: 1 to 16
  int32_t* sums;  ///< sums of the first window; the next one's are kBlockOutputs further on
};

/// These take runs of up to 16 bytes with four rows of weights, and up to 32 bytes with two.
void DotShort16(const ShortDotProducts* dot_products);
void DotShort32(const ShortDotProducts* dot_products);

/// These take runs of 33 to 48 and of 49 to 64 bytes with kBlockOutputs rows of weights. Sums of
/// rows 0, 2, 4, 6 precede those of 1, 3, 5, 7.
void DotRows48(const ShortDotProducts* dot_products);
void DotRows64(const ShortDotProducts* dot_products);

/// Describes contiguous windows of exactly 16, 32 or 64 bytes, with kBlockOutputs rows of weights.
/// Sums of rows 0, 2, 4, 6 precede those of 1, 3, 5, 7.
struct FullDotProducts {
  const int8_t* x;
  int32_t windows;  ///< 1 or more
  const int8_t* w;
  int32_t* sums;  ///< sums of the first window; the next one's are kBlockOutputs further on
};

void DotFull16(const FullDotProducts* dot_products);
void DotFull32(const FullDotProducts* dot_products);
void DotFull64(const FullDotProducts* dot_products);

/// Sums each of `rows` rows (1 or more) of `bytes` weights (1 or more).
void SumRows(const int8_t* w, int32_t bytes, int32_t rows, int32_t* sums);

/// Copies runs of 16 bytes, one or more.
void CopyVectors(const Runs& runs);

/// Describes any windows: `runs` runs of `run_bytes` contiguous bytes.
struct DotProducts {
  const int8_t* x[3];  ///< windows
  const int8_t* w[4];  ///< rows of weights
  int32_t run_bytes;   ///< 1 or more
  int32_t runs;
  /// Is the distance from the end of a run, rounded up to whole vectors, to the next run.
  int32_t x_step;
  int32_t w_step;
  int32_t* sums;  ///< sums of the first window; the next one's are kBlockOutputs further on
};

/// Computes all sums of three windows and all four rows of weights.
void DotThree(const DotProducts* dot_products);
/// Computes those of the first window alone.
void DotOne(const DotProducts* dot_products);

}  // namespace tenon::cpu::cortex_m::helium
