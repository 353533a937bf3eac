// What kernels of several backends ask of an op, each beside what it asks alone: answers as
// KernelCaps::supports gives them, null or the reason, for operands that passed CheckOpCall.
#pragma once

#include <cstdint>

#include "runtime/ops/op_row.hpp"

namespace tenon {

/// Operands of a kernel on f32, and what it says of others.
struct F32Operands {
  const char* not_f32;
  const char* empty;
  /// Of inputs (a bit mask) that are packed when the plan is loaded, which must be constant.
  const char* not_constant = nullptr;
  uint32_t constants = 0;
  bool stored_weights = false;  ///< input 1, a constant, may be stored in fewer bits
  bool byte_input = false;      ///< input 0 may be u8
};
[[nodiscard]] const char* F32Refusal(const OpCall& call, const F32Operands& takes);

/// Weights that one output pixel of a convolution reads of each input channel.
[[nodiscard]] int64_t ConvTaps(const OpCall& conv);
/// True if every window is one pixel of x.
[[nodiscard]] bool IsPointwiseConv(const OpCall& conv);
/// True if each channel is convolved for itself.
[[nodiscard]] bool IsDepthwiseConv(const OpCall& conv);

/// Returns how many outputs each input channel has of its own (1: depthwise); 0 if outputs read
/// several channels, or there is but one.
[[nodiscard]] int32_t ChannelMultiplier(const OpCall& conv);

/// Winograd's F(4x4, 3x3) makes 4x4 outputs of a channel from 36 coefficients.
inline constexpr int kWinogradCoefficients = 36;
inline constexpr int kWinogradOutputs = 4;
/// Null for convolutions of 3x3 with steps of 1 that are worth its transforms on a CPU's caches,
/// and for `grouped` ones, whose number of channels is to be asked for more closely.
[[nodiscard]] const char* WinogradRefusal(const OpCall& conv, bool grouped = false);

/// True if the second factor of a matrix product is one matrix for all batches.
[[nodiscard]] bool HasOneMatrix(const OpCall& matmul);
/// True if its bias, if it has one, is of one value per column.
[[nodiscard]] bool HasBiasAlongLast(const OpCall& matmul);

}  // namespace tenon
