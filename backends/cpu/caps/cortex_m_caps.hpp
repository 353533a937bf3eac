// The predicates and sizes behind cortex_m.inc, for the kernels of Cortex-M cores on i8; the
// kernels' own checks share them. Each instruction set, Helium (Armv8.1-M) and DSP (Armv7E-M:
// dsp.inc), has kernels under names of its own: `cpu.<op>.helium`, `cpu.<op>.dsp`.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/caps/cpu_caps.hpp"
#include "runtime/base/round_up.hpp"
#include "runtime/base/span.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::cpu {

/// Returns the kernels of the set that a board's unit names, "helium" or "dsp"; none for any other
/// name.
[[nodiscard]] Span<const KernelCaps> CortexMCaps(const char* set);

}  // namespace tenon::cpu

/// Each predicate returns null for yes, else the reason, for operands that passed CheckOpCall. They
/// read dims, dtypes, attributes and which inputs are constant, never strides.
namespace tenon::cpu::cortex_m {

/// Is the most bytes of weights that one output sums: the inputs gathered for it are in the
/// workspace.
inline constexpr int64_t kMostDepth = 1 << 16;
/// Is the largest number of taps of a depthwise convolution: pointers to them are on the stack.
inline constexpr int64_t kMostDepthwiseTaps = 64;
/// Is the number of outputs of a block of products.
inline constexpr int kBlockOutputs = 8;
/// Is the largest number of positions (pixels, rows of a matrix) of a block.
inline constexpr int kBlockPixels = 64;
/// Is the largest number of channels and pixels of a block of a depthwise convolution.
inline constexpr int kBlockChannels = 16;
inline constexpr int kDepthwisePixels = 32;

/// Returns how many windows of x a convolution gathers at once in a workspace of `bytes`.
[[nodiscard]] int GatheredPixels(const OpCall& conv, size_t bytes);

/// Accepts convolutions of i8 operands in one group.
[[nodiscard]] Reason ConvSupports(const OpCall& call);
/// Accepts convolutions with as many outputs as inputs, each in a group of its own.
[[nodiscard]] Reason DepthwiseSupports(const OpCall& call);
/// Accepts one constant matrix of i8 for all batches.
[[nodiscard]] Reason MatMulSupports(const OpCall& call);

/// Accepts sums and differences of tensors of equal shape in fixed point.
[[nodiscard]] Reason BinarySupports(const OpCall& call);
/// Accepts lookups of bytes in tables.
[[nodiscard]] Reason LookupSupports(const OpCall& call);
/// Windows of pools have fewer taps, so that small cores need no floats of 64-bit integers.
inline constexpr int64_t kMostPoolTaps = int64_t{1} << 30;
/// Accepts maxima and averages.
[[nodiscard]] Reason PoolSupports(const OpCall& call);

/// Returns true if every window is one pixel of x, and those are all its pixels: they are read in
/// place, and nothing is gathered.
[[nodiscard]] bool IsInPlacePointwise(const OpCall& conv);

/// Parts of a workspace begin at multiples of this.
inline constexpr size_t kWorkspaceStep = 16;
[[nodiscard]] constexpr size_t RoundUpToStep(size_t bytes) {
  return RoundUp(bytes, kWorkspaceStep);
}

/// Returns true if an operand is the constant part of each sum, which includes x's zero point.
[[nodiscard]] bool HasFinalBias(const OpCall& call);

/// Returns the workspace: [constant part of each sum, i32, unless HasFinalBias] [windows that are
/// gathered].
[[nodiscard]] size_t ConvWorkspaceBytes(const OpCall& call, int threads);
/// Returns the same with the fewest windows that suffice.
[[nodiscard]] size_t ConvLeastBytes(const OpCall& call, int threads);
[[nodiscard]] size_t ConvLeast(const OpCall& call);
[[nodiscard]] size_t ConvBiasBytes(const OpCall& call);
/// The workspace is [constant part of each sum for whole blocks of 16 channels, unless
/// HasFinalBias] [a pixel of padding, unless it is a small one].
inline constexpr int kOwnPaddingChannels = 128;
[[nodiscard]] size_t DepthwiseWorkspaceBytes(const OpCall& call, int threads);
/// Returns the workspace over the input: [rows, see in_place_caps.hpp] [what `own` gives for them],
/// with as many rows as are worth a start, or with one new row only.
[[nodiscard]] size_t InPlaceWorkspaceBytes(const OpCall& call,
                                           size_t (*own)(const OpCall& call, int threads));
[[nodiscard]] size_t InPlaceLeastBytes(const OpCall& call,
                                       size_t (*own)(const OpCall& call, int threads));
[[nodiscard]] size_t ConvInPlaceWorkspace(const OpCall& call, int threads);
[[nodiscard]] size_t ConvInPlaceLeast(const OpCall& call);
[[nodiscard]] size_t DepthwiseInPlaceWorkspace(const OpCall& call, int threads);
[[nodiscard]] size_t DepthwiseInPlaceLeast(const OpCall& call);
/// Returns the workspace: [constant part of each sum, i32, unless HasFinalBias].
[[nodiscard]] size_t MatMulWorkspaceBytes(const OpCall& call, int threads);

}  // namespace tenon::cpu::cortex_m
