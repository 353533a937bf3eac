// The innermost loops of products of quantized tensors: pairs of pixels times pairs of outputs.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/cortex_m/simd/dsp/requantize.hpp"

namespace tenon::cpu::dsp {

/// Inputs that are multiplied in one step.
inline constexpr int kStepInputs = 4;

/// Gemms of pairs of pixels with the weights of two outputs. Inputs and weights are halves (i16)
/// at multiples of 4 bytes. Assembler code knows the order of the fields.
///
/// Weights: for each step in turn, 4 halves of output 0 and 4 of output 1.
/// Inputs, either paired: for each pair, for each step in turn, 4 halves of pixel 0 and 4 of pixel
/// 1. Or in runs: each pixel's are several runs of `steps` steps; `gaps` gives the bytes from a
/// pixel's address to its first run, and from the end of a run to the next one.
struct PairGemm {
  uint32_t bias[4];  ///< what sums begin with: [pixel][output]
  const int16_t* w;
  uint32_t code;  ///< no input
  Requantizer requantizer[2];
  uint8_t* output;      ///< where the bytes of output 0 begin
  const PairPlaces* y;  ///< from `output`; the second pixel's bytes are stored first
  uint32_t unused;
  const int16_t* w_end;  ///< not `w`
  /// [pair][pixel][output], modulo 2^32. Null: bytes are stored.
  uint32_t* sums;
  /// Two for each pair; or null.
  const int16_t* const* x_runs;
  const int32_t* gaps;      ///< where there is `x_runs`
  const int16_t* x_paired;  ///< where there is no `x_runs`
  int32_t steps;            ///< of a run, or of all inputs; > 0
  RequantizeKind kind;      ///< where there is no `sums`; not kAny
};

void MultiplyPairs(const PairGemm& gemm);

}  // namespace tenon::cpu::dsp
