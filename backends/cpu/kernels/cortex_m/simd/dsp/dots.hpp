// The innermost loop of products of quantized tensors: 2 pixels times 2 outputs.
#pragma once

#include <cstdint>

namespace tenon::cpu::dsp {

/// Inputs that are multiplied in one step; a run has a multiple of them.
inline constexpr int kStepInputs = 4;

/// Sums of products of two pixels and two outputs.
///
/// A pixel's inputs are `run_count` runs of `steps` * 4 halves (i16), each `runs[i]` bytes from the
/// pixel's first; all at multiples of 4 bytes. The weights are, for each step of each run in turn,
/// 4 halves of output 0 and 4 of output 1. Assembler code knows the order of the fields.
struct PairDots {
  uint32_t sums[4];  ///< [pixel][output]: what the products are added to; they wrap
  const int16_t* x[2];
  const int16_t* w;
  const int32_t* runs;
  int32_t run_count;  ///< > 0
  int32_t steps;      ///< > 0
};

void AddPairDots(PairDots* call);

}  // namespace tenon::cpu::dsp
