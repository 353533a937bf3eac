// The innermost loops of products of quantized tensors: pairs of pixels times pairs of outputs.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/cortex_m/simd/dsp/requantize.hpp"

namespace tenon::cpu::dsp {

/// Is the number of inputs that are multiplied in one step.
inline constexpr int kStepInputs = 4;

/// Describes the products of pairs of pixels with the weights of two outputs. Inputs and weights
/// are halves (i16) at multiples of 4 bytes. Assembler code relies on the order of the fields.
///
/// Weights: for each step in turn, 4 halves of output 0 and 4 of output 1.
/// Inputs are either paired: for each pair, for each step in turn, 4 halves of pixel 0 and 4 of
/// pixel 1. Or they are in runs: each pixel has several runs of `steps` steps, and `gaps` gives the
/// bytes from a pixel's address to its first run, and from the end of a run to the next one.
struct PairGemm {
  uint32_t bias[4];  ///< initial values of the sums: [pixel][output]
  const int16_t* w;
  uint32_t code;  ///< used by the routine, needs no value
  Requantizer requantizer[2];
  uint8_t* output;      ///< start of output 0's bytes
  const PairPlaces* y;  ///< offsets from `output`; the second pixel's bytes are stored first
  uint32_t unused;
  const int16_t* w_end;  ///< end of the weights; must differ from `w`
  /// The sums are [pair][pixel][output], modulo 2^32. Null: bytes are stored.
  uint32_t* sums;
  /// There are two pointers for each pair; or it is null.
  const int16_t* const* x_runs;
  const int32_t* gaps;      ///< used with `x_runs`
  const int16_t* x_paired;  ///< used without `x_runs`
  int32_t steps;            ///< of a run, or of all inputs; > 0
  RequantizeKind kind;      ///< used without `sums`; not kAny
};

void MultiplyPairs(const PairGemm& gemm);

}  // namespace tenon::cpu::dsp
