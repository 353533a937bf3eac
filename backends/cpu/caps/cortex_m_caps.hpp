// What the kernels of Cortex-M cores on i8 take and need: the predicates behind cortex_m.inc, which
// the kernels' own checks share. The instruction sets, Helium (Armv8.1-M) and DSP (Armv7E-M:
// dsp.inc), have kernels under names of their own: `cpu.<op>.helium`, `cpu.<op>.dsp`.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/caps/cpu_caps.hpp"
#include "runtime/base/round_up.hpp"
#include "runtime/base/span.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::cpu {

/// Of the set that a board's unit names, "helium" or "dsp"; empty for any other name.
[[nodiscard]] Span<const KernelCaps> CortexMCaps(const char* set);

}  // namespace tenon::cpu

/// Each predicate answers null for yes, else the reason, for operands that passed CheckOpCall. They
/// read dims, dtypes, attributes and which inputs are constant, never strides.
namespace tenon::cpu::cortex_m {

/// Bytes of weights that one output sums: what is gathered of x for it lies in the workspace.
inline constexpr int64_t kMostDepth = 1 << 16;
/// Taps of a depthwise convolution: pointers to them lie on the stack.
inline constexpr int64_t kMostDepthwiseTaps = 64;
/// Windows of x that a convolution gathers at once in a workspace of `bytes`.
[[nodiscard]] int GatheredPixels(const OpCall& conv, size_t bytes);

/// i8 all through, one group.
[[nodiscard]] Reason ConvSupports(const OpCall& call);
/// As many outputs as inputs, each of a group of its own.
[[nodiscard]] Reason DepthwiseSupports(const OpCall& call);
/// One constant matrix of i8 for all batches.
[[nodiscard]] Reason MatMulSupports(const OpCall& call);

/// Sums and differences of equal shape in fixed point.
[[nodiscard]] Reason BinarySupports(const OpCall& call);
/// Tables of bytes.
[[nodiscard]] Reason LookupSupports(const OpCall& call);
/// Maxima and averages.
[[nodiscard]] Reason PoolSupports(const OpCall& call);

/// True if every window is one pixel of x, and those are all its pixels: they are read where they
/// lie, and nothing is gathered.
[[nodiscard]] bool IsInPlacePointwise(const OpCall& conv);

/// Parts of a workspace begin at multiples of this.
inline constexpr size_t kWorkspaceStep = 16;
[[nodiscard]] constexpr size_t RoundUpToStep(size_t bytes) {
  return RoundUp(bytes, kWorkspaceStep);
}

/// True if an operand is the constant part of each sum, x's zero point in it.
[[nodiscard]] bool HasFinalBias(const OpCall& call);

/// The workspace: [constant part of each sum, i32, unless HasFinalBias] [windows that are
/// gathered].
[[nodiscard]] size_t ConvWorkspaceBytes(const OpCall& call, int threads);
/// The same with as few windows as it can do with.
[[nodiscard]] size_t ConvLeastBytes(const OpCall& call, int threads);
[[nodiscard]] size_t ConvLeast(const OpCall& call);
[[nodiscard]] size_t ConvBiasBytes(const OpCall& call);
/// [the same of whole blocks of 16 channels] [a pixel of padding, unless it is a small one].
inline constexpr int kOwnPaddingChannels = 128;
[[nodiscard]] size_t DepthwiseWorkspaceBytes(const OpCall& call, int threads);
/// Over the input: [rows, see in_place_caps.hpp] [what `own` of those says], with the rows that are
/// worth a start, or with one new row only.
[[nodiscard]] size_t InPlaceWorkspaceBytes(const OpCall& call,
                                           size_t (*own)(const OpCall& call, int threads));
[[nodiscard]] size_t InPlaceLeastBytes(const OpCall& call,
                                       size_t (*own)(const OpCall& call, int threads));
[[nodiscard]] size_t ConvInPlaceWorkspace(const OpCall& call, int threads);
[[nodiscard]] size_t ConvInPlaceLeast(const OpCall& call);
[[nodiscard]] size_t DepthwiseInPlaceWorkspace(const OpCall& call, int threads);
[[nodiscard]] size_t DepthwiseInPlaceLeast(const OpCall& call);
/// [constant part of each sum, i32, unless HasFinalBias].
[[nodiscard]] size_t MatMulWorkspaceBytes(const OpCall& call, int threads);

}  // namespace tenon::cpu::cortex_m
