// What `load` makes for quantized convolutions and matrix products: constants packed for the
// routines, with the zero points folded into the bias. All ops with the same constants share it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/q8/gemm_routines.hpp"
#include "runtime/base/status.hpp"
#include "runtime/base/tensor_view.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::cpu::q8 {

/// `convolutions` equal and independent parts, `outputs` channels together. A tap reads `columns`
/// pixels that lie side by side, `channels` of each: depth = columns * channels.
struct GemmShape {
  int outputs = 1;
  int convolutions = 1;
  int channels = 1;
  int columns = 1;
  int taps = 1;

  [[nodiscard]] int Depth() const { return columns * channels; }
};

/// Strided i8 or u8: w(m, c, column, tap) = data[m * output_step + c * channel_step + column *
/// column_step + (tap / taps_in_row) * row_step + (tap % taps_in_row) * tap_step].
struct GemmWeightsView {
  const uint8_t* data = nullptr;
  bool is_signed = true;
  int64_t output_step = 0;
  int64_t channel_step = 0;
  int64_t column_step = 0;
  int64_t row_step = 0;
  int64_t tap_step = 0;
  int taps_in_row = 1;
};

/// Lies in one block with everything that it points to.
struct PackedGemm {
  const GemmRoutines* routines;
  size_t bytes;
  EpilogueKind kind;
  bool fixed_point;
  bool once;       ///< fixed point is rounded once
  int32_t passes;  ///< over weights that are the sums of so many i8; see WeightPasses
  int32_t group_count;
  GemmGroup* groups;
  uint8_t* padding;  ///< the zero point of each input channel, as x has it
};

/// Packs the constants of `op`, a quantized convolution or product with inputs 1 to 6 constant.
/// `x_channels`: of all parts together. Errors: no memory.
Status PackGemm(const OpCall& op, const GemmShape& shape, const GemmWeightsView& weights,
                const QuantizedOutput& output, int x_channels, int passes, void** shared);

[[nodiscard]] GemmEpilogue MakeEpilogue(const PackedGemm& packed, const QuantizedOutput& output);

/// `held_bytes`, `open` and `unload` of the kernels that use it.
size_t PackedGemmBytes(const void* shared, const void* state);

}  // namespace tenon::cpu::q8
