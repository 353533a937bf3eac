// Describes a GEMM's weights and results, and loops over its outputs, two at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/cortex_m/simd/dsp/dot_products.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/requantize.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::cpu::dsp {

struct Outputs {
  Rescale rescale;
  const uint8_t* w = nullptr;  ///< `depth` bytes for each output
  int count = 0;
  int depth = 0;
  bool is_signed = true;                 ///< of the weights
  const uint8_t* zero_points = nullptr;  ///< of the weights; null: 0
  ptrdiff_t zero_point_step = 0;
  RequantizeKind kind = RequantizeKind::kAny;
  bool doubles_inputs = false;   ///< doubled inputs double the sums (see IsDoubled)
  bool doubles_weights = false;  ///< doubled weights do so too

  /// Returns true if assembler code stores the bytes and the weights are used unchanged.
  [[nodiscard]] bool IsSimple() const {
    return kind != RequantizeKind::kAny && is_signed && zero_points == nullptr;
  }
};

/// Describes a quantized convolution or matrix product in which each output's weights are
/// contiguous.
[[nodiscard]] Outputs OutputsOf(const OpCall& op, const QuantizedOutput& output, int count,
                                int depth);

/// Computes all outputs of the GEMM's `pixels` pixels. `w` is a buffer for the weights of two
/// outputs. `bytes` is a buffer for two rows of weights, rounded up to words, where `depth` is no
/// multiple of 4.
void RunOutputs(const Outputs& outputs, int pixels, int16_t* w, uint8_t* bytes, PairGemm& gemm);

}  // namespace tenon::cpu::dsp
