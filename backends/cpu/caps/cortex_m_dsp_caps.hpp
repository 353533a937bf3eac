// Rows of the CPU's capability table for the kernels of Armv7E-M cores with DSP instructions
// (Cortex-M4, M7), and what those kernels and their rows share: how work is cut, and what lies in
// the workspace.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/caps/cpu_caps.hpp"
#include "runtime/base/span.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::cpu {

[[nodiscard]] Span<const KernelCaps> DspCaps();

}  // namespace tenon::cpu

/// Each predicate answers null for yes, else the reason, for operands that passed CheckOpCall. They
/// read dims, dtypes, attributes and which inputs are constant, never strides.
namespace tenon::cpu::dsp {

/// Runs of inputs of one output: their places lie on the stack.
inline constexpr int kMostRuns = 64;

/// Output pixels of a pass at most.
inline constexpr int kMostPassPixels = 32;

/// How a convolution is computed: pass by pass, each a rectangle of output pixels. The inputs that
/// a pass reads are widened to 16 bits less their zero point, with the padding, so that every
/// output's inputs are `runs` runs of `run` contiguous halves; then, for two outputs at a time, the
/// weights. The workspace holds [inputs] [weights of two outputs].
/// Of a pointwise convolution, whose passes are rows of pixels, the workspace holds these in pairs
/// (see PairProduct).
struct ConvBand {
  bool is_paired;
  int channels;    ///< halves of a pixel: one more than the input's where runs must be even
  int row_step;    ///< rows of the band from an output row to the next
  int pixel_step;  ///< pixels of the band from an output pixel to the next
  int runs;
  int run;         ///< halves
  int steps;       ///< of 4 halves, of a run
  int rows;        ///< output rows of a pass
  int columns;     ///< output columns of a pass
  int in_rows;     ///< rows of the band
  int in_columns;  ///< pixels of a row of the band
  int row_halves;  ///< of a row of the band; even
  size_t x_bytes;
  size_t w_bytes;
};
/// Of a convolution that ConvSupports takes, with at least one output.
[[nodiscard]] ConvBand ConvBandOf(const OpCall& conv);

/// One group; bytes.
[[nodiscard]] Reason ConvSupports(const OpCall& call);
/// True if every window is one pixel of x.
[[nodiscard]] bool IsPointwise(const OpCall& conv);
[[nodiscard]] size_t ConvWorkspaceBytes(const OpCall& call, int threads);

}  // namespace tenon::cpu::dsp
