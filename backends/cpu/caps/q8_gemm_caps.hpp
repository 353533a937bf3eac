// What the fast quantized convolution and matrix product take, and what they hold.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/caps/tiles.hpp"
#include "runtime/ops/op_row.hpp"
#include "runtime/ops/packing_key.hpp"

namespace tenon::cpu::q8 {

/// Kernel taps of one pixel: their offsets lie on the stack.
inline constexpr int kMostTaps = 512;
/// Rows of the input are copied to the stack, with their padding, unless the kernel is 1x1.
inline constexpr int kMostBandBytes = 48 * 1024;
/// Bytes that a step reads at once: fewer channels are taken only where they are copied.
inline constexpr int kFewestDirectChannels = kDepthStep;

/// Null for yes, else the reason. They read dims, dtypes, attributes, and which inputs are
/// constant.
[[nodiscard]] const char* ConvSupports(const OpCall& call);
[[nodiscard]] const char* MatMulSupports(const OpCall& call);

/// True if the convolution reads each pixel once, where it lies: 1x1 without padding.
[[nodiscard]] bool IsDirect(const OpCall& conv);

/// Weights less their zero points that are no i8 are the sums of up to three, each multiplied in a
/// pass of its own over the constant weights, whose output channels run along `output_axis`.
inline constexpr int kMostPasses = 3;
[[nodiscard]] int WeightPasses(const OpCall& call, int output_axis);
[[nodiscard]] int MatMulOutputAxis(const OpCall& call);

/// What the packed weights depend on. KernelCaps::packing_key.
void ConvPackingKey(const OpCall& call, PackingKey* key);
void MatMulPackingKey(const OpCall& call, PackingKey* key);

/// KernelCaps::packed_bytes.
[[nodiscard]] size_t ConvPackedBytes(const OpCall& call);
[[nodiscard]] size_t MatMulPackedBytes(const OpCall& call);

}  // namespace tenon::cpu::q8
