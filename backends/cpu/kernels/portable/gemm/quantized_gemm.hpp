// Computes GEMMs of bytes in integers, for quantized convolution and matrix product: a tile of
// neighbouring positions times a block of outputs.
//
// It takes any strides: weights less their zero points, and inputs, are first gathered into small
// buffers on the stack as pairs of 16-bit words, which most processors multiply and add in one
// instruction. The zero point of x is subtracted from the sum afterwards: padding reads as the zero
// point, so that the amount is the same at every position.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/portable/gemm/gemm_shape.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::portable {

/// Contains one number for each output or input channel, or (step 0) one for all. Null: none.
template <typename T>
struct PerChannel {
  const T* data = nullptr;
  ptrdiff_t step = 0;

  [[nodiscard]] T At(ptrdiff_t channel) const { return data[channel * step]; }
  void Skip(ptrdiff_t channels) {
    if (data != nullptr) data += channels * step;
  }
};

/// Computes the sum of GemmShape of i8 and u8 elements. attributes.hpp (quantized convolution) says
/// what becomes of it.
struct QuantizedGemm : GemmShape {
  const uint8_t* x = nullptr;
  int32_t x_flip = 0;  ///< SignFlip of x's dtype
  PerChannel<uint8_t> x_zero_point;

  const uint8_t* w = nullptr;
  int32_t w_flip = 0;
  PerChannel<uint8_t> w_zero_point;

  void* y = nullptr;

  PerChannel<int32_t> bias;
  PerChannel<float> scale;         ///< kHalfEven
  PerChannel<int32_t> multiplier;  ///< kFixedPoint
  PerChannel<int8_t> shift;        ///< kFixedPoint
  QuantizedOutput output;
};

/// Returns the number of independent parts; 0 if it has no outputs.
[[nodiscard]] int GemmTasks(const QuantizedGemm& gemm);

/// Computes part `task` of [0, GemmTasks).
void RunGemmTask(const QuantizedGemm& gemm, int task);

/// Takes inputs 0 to 6 of a quantized convolution or matrix product: sets data and dtypes of x, w
/// and y, the vectors of channels, and the output, but no strides or extents.
void SetQuantizedOperands(const OpCall& call, const QuantizedOutput& output, QuantizedGemm& gemm);

/// Advances y by `elements`.
void MoveOutput(QuantizedGemm& gemm, ptrdiff_t elements);

/// Advances the vectors of output channels by `outputs`.
void SkipOutputs(QuantizedGemm& gemm, ptrdiff_t outputs);

}  // namespace tenon::cpu::portable
