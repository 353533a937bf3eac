// Computes GEMMs of floats, for convolution and matrix product: a tile of neighbouring positions
// times a block of outputs stays in registers while the inputs are summed.
//
// It takes any strides: a block of weights is first gathered into a small buffer on the stack,
// outputs innermost, so that the sum runs over vectors of outputs for all layouts of x, w and y.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/portable/gemm/gemm_shape.hpp"
#include "backends/cpu/kernels/portable/gemm/stored_weights.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::portable {

/// Is a term added before the activation; `data` null: none. Strides are in elements, and 0
/// repeats.
struct Addend {
  const float* data = nullptr;
  ptrdiff_t output = 0;
  ptrdiff_t row = 0;
  ptrdiff_t column = 0;
};

/// Computes y = activation(addends + the sum of GemmShape). An addend may be y itself.
struct TileGemm : GemmShape {
  const float* x = nullptr;
  const uint8_t* x_bytes = nullptr;  ///< if not null x is this, less x_mean[i]
  const float* x_mean = nullptr;     ///< of channel 0
  ptrdiff_t x_mean_channel = 0;

  StoredWeights w;
  ptrdiff_t w_first = 0;      ///< where the weights of output 0 lie
  ptrdiff_t first_scale = 0;  ///< the output of `w` that output 0 is

  float* y = nullptr;

  Addend addends[2];
  Activation activation;
};

/// Returns the number of independent parts; 0 if it has no outputs.
[[nodiscard]] int GemmTasks(const TileGemm& gemm);

/// Computes part `task` of [0, GemmTasks).
void RunGemmTask(const TileGemm& gemm, int task);

}  // namespace tenon::cpu::portable
