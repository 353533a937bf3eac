// The data that `load` makes for quantized convolutions and matrix products: constants packed for
// the routines, with the zero points folded into the bias. All ops with the same constants share
// it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/q8/gemm_routines.hpp"
#include "runtime/base/status.hpp"
#include "runtime/base/tensor_view.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::cpu::q8 {

/// Describes `convolutions` equal and independent parts, which have `outputs` channels together. A
/// tap reads `columns` adjacent pixels and `channels` of each: depth = columns * channels.
struct GemmShape {
  int outputs = 1;
  int convolutions = 1;
  int channels = 1;
  int columns = 1;
  int taps = 1;
  /// Numbers of 16 bits that stand for all weights, of which no bytes are packed then: whoever
  /// fills them subtracts the zero points of x from x.
  int64_t coefficients = 0;

  [[nodiscard]] int Depth() const { return columns * channels; }
};

/// Describes strided weights of i8 or u8: w(m, c, column, tap) = data[m * output_step + c *
/// channel_step + column * column_step + (tap / taps_in_row) * row_step + (tap % taps_in_row) *
/// tap_step].
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

/// Is one block of memory with everything that it points to.
struct PackedGemm {
  const GemmRoutines* routines;
  size_t bytes;
  EpilogueKind kind;
  bool fixed_point;
  bool once;       ///< fixed point has one rounding
  int32_t passes;  ///< number of i8 tensors whose sum the weights are; see WeightPasses
  bool sums_x;     ///< groups have an x_sum_factor, and weights one pass
  int32_t group_count;
  GemmGroup* groups;
  uint8_t* padding;       ///< the zero point of each input channel, as x has it
  int16_t* coefficients;  ///< null, or what a GemmShape wants instead of weights
  int32_t depth_parts;    ///< of the coefficients: into so many parts their channels are cut
};

/// Returns what the pass over i8 of this number takes of a weight, the rest is for the next.
[[nodiscard]] constexpr int32_t ClampToByte(int32_t value) {
  return value < -128 ? -128 : (value > 127 ? 127 : value);
}

/// Returns what the packed weights are less than bytes of that dtype, where x is summed.
[[nodiscard]] constexpr int32_t OffsetOfSummed(DType dtype) {
  return dtype == DType::kU8 ? 128 : 0;
}

/// Packs the constants of `op`, a quantized convolution or matrix product whose inputs 2 to 6 are
/// constant. `x_channels` counts the channels of all parts together. Without data of `weights` the
/// groups have none: whoever packs them later adds to the bias what the zero points do. With
/// `may_sum_x`, weights of several passes are packed for one where the routines take sums of x.
/// Errors: no memory.
Status PackGemm(const OpCall& op, const GemmShape& shape, const GemmWeightsView& weights,
                const QuantizedOutput& output, int x_channels, int passes, bool may_sum_x,
                void** shared);

/// Returns the zero point of channel `c` of x, as the routines take it.
[[nodiscard]] int32_t XZeroPointOf(const OpCall& op, const GemmRoutines& routines, int c);

[[nodiscard]] GemmEpilogue MakeEpilogue(const PackedGemm& packed, const QuantizedOutput& output);

/// Are `held_bytes`, `open` and `unload` of the kernels that use it.
size_t PackedGemmBytes(const void* shared, const void* state);

}  // namespace tenon::cpu::q8
