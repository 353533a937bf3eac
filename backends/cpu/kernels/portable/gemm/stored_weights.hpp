// Reads the weights of a float GEMM, in the form that the plan stores, as f32.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/portable/half.hpp"
#include "runtime/base/dtype.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::cpu::portable {

/// Reads f32 unchanged, f16 exactly, and i8 as the rounded product with their output's scale: the
/// values of a model whose weights were converted to f32 beforehand.
struct StoredWeights {
  const void* data = nullptr;
  DType dtype = DType::kF32;      ///< f32, f16 or i8
  const float* scales = nullptr;  ///< of i8: one per output, `scale_step` apart
  ptrdiff_t scale_step = 1;

  [[nodiscard]] bool IsPlain() const { return dtype == DType::kF32; }
  [[nodiscard]] const float* Plain() const { return static_cast<const float*>(data); }

  /// Writes the `count` weights of output `output` that begin at `first`, `step` apart, to `to`,
  /// `to_step` apart. All are in elements.
  void Read(int64_t first, int64_t step, int count, int64_t output, float* to,
            int64_t to_step) const {
    if (dtype == DType::kI8) {
      const int8_t* from = static_cast<const int8_t*>(data) + first;
      const float scale = scales[output * scale_step];
      for (int i = 0; i < count; ++i) to[i * to_step] = static_cast<float>(from[i * step]) * scale;
    } else if (dtype == DType::kF16) {
      const uint16_t* from = static_cast<const uint16_t*>(data) + first;
      for (int i = 0; i < count; ++i) to[i * to_step] = HalfToFloat(from[i * step]);
    } else {
      const float* from = Plain() + first;
      for (int i = 0; i < count; ++i) to[i * to_step] = from[i * step];
    }
  }
};

/// Returns those of the op's input `weights` and, where the weights are i8, of input `scale`.
[[nodiscard]] inline StoredWeights StoredWeightsOf(const OpCall& call, int weights, int scale) {
  StoredWeights stored;
  stored.data = call.Input(weights).data;
  stored.dtype = call.Input(weights).dtype;
  if (call.HasInput(scale)) {
    stored.scales = call.Input(scale).As<const float>();
    stored.scale_step = call.Input(scale).strides[0];
  }
  return stored;
}

}  // namespace tenon::cpu::portable
