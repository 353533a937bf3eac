// What the kernels of Armv7E-M cores with DSP instructions (Cortex-M4, M7) take and need: the
// predicates behind dsp.inc, and what they share with the kernels: how work is cut, and what lies
// in the workspace.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/ops/op_row.hpp"

/// Each predicate answers null for yes, else the reason, for operands that passed CheckOpCall. They
/// read dims, dtypes, attributes and which inputs are constant, never strides.
namespace tenon::cpu::dsp {

/// Runs of inputs of one output: their places lie on the stack.
inline constexpr int kMostRuns = 64;
/// Inputs of one output.
inline constexpr int64_t kMostDepth = 1 << 16;

/// Output pixels of a pass at most: where they lie, stands on the stack.
inline constexpr int kMostPassPixels = 64;

/// What the workspace holds of x, widened to 16 bits less its zero point.
enum class ConvMode : uint8_t {
  kPixels,   ///< the pixels that are read, in pairs; of pointwise convolutions
  kWindows,  ///< all that each pixel reads, in pairs; where that is little or its size is odd
  kRows,     ///< parts of rows, with their padding
};

/// How a convolution is computed: pass by pass, each a rectangle of output pixels. What a pass
/// reads is widened for all outputs; then, for two outputs at a time, the weights. A pixel's inputs
/// are `runs` runs of `steps` times four elements. The workspace holds [inputs] [weights of two
/// outputs] [bytes of two windows].
struct ConvBand {
  ConvMode mode;
  int runs;
  int steps;       ///< of a run
  int pixels;      ///< of a pass, at most
  int rows;        ///< output rows of a pass
  int columns;     ///< output columns of a pass
  int in_rows;     ///< kRows: rows of x
  int row_halves;  ///< kRows: elements of a part of a row
  size_t x_bytes;
  size_t w_bytes;
  size_t window_bytes;  ///< kWindows

  [[nodiscard]] size_t Bytes() const;  ///< of all the workspace
};
/// Of a convolution that ConvSupports takes, with at least one output: passes as large as there is
/// room for and are worth it. In less than ConvLeastWorkspaceBytes it may not fit.
[[nodiscard]] ConvBand ConvBandOf(const OpCall& conv, size_t workspace_bytes);

/// Channels of a depthwise convolution that go through at once.
inline constexpr int kDepthwisePlanes = 4;

/// Of each of these channels, the workspace holds `rows` widened rows of x; then its weights.
struct DepthwisePlanes {
  int rows;
  int row_halves;  ///< even
  int lines;       ///< rows of y that go through at once, of 3x3 windows with steps of 1; else 1
};
/// With as many lines as there is room for and are worth it.
[[nodiscard]] DepthwisePlanes DepthwisePlanesOf(const OpCall& conv, size_t workspace_bytes);

/// As many outputs as inputs, each of a group of its own; bytes.
[[nodiscard]] Reason DepthwiseSupports(const OpCall& call);
[[nodiscard]] size_t DepthwiseWorkspaceBytes(const OpCall& call, int threads);
[[nodiscard]] size_t DepthwiseLeastWorkspaceBytes(const OpCall& call);

/// One group; bytes.
[[nodiscard]] Reason ConvSupports(const OpCall& call);
[[nodiscard]] size_t ConvWorkspaceBytes(const OpCall& call, int threads);
[[nodiscard]] size_t ConvLeastWorkspaceBytes(const OpCall& call);

/// One constant matrix of i8 for all batches. The workspace holds a widened row of a.
[[nodiscard]] Reason MatMulSupports(const OpCall& call);
[[nodiscard]] size_t MatMulWorkspaceBytes(const OpCall& call, int threads);

/// Sums and differences of bytes, of operands of equal shape. The workspace holds a table of each
/// operand, where they pay and there is room for both.
inline constexpr size_t kBinaryTableBytes = 2048;
[[nodiscard]] Reason BinarySupports(const OpCall& call);
[[nodiscard]] size_t BinaryWorkspaceBytes(const OpCall& call, int threads);
[[nodiscard]] size_t BinaryLeastWorkspaceBytes(const OpCall& call);

/// Of a convolution that InPlaceConvSupports takes: true if each pass has read all inputs in whose
/// place it writes, and that later ones need, before it writes.
[[nodiscard]] bool KeepsInputs(const OpCall& conv, size_t workspace_bytes);

/// Over the input: no less than the portable kernel needs for that, which other processors then
/// run.
[[nodiscard]] size_t DepthwiseInPlaceWorkspaceBytes(const OpCall& call, int threads);
[[nodiscard]] size_t DepthwiseInPlaceLeastBytes(const OpCall& call);
[[nodiscard]] size_t ConvInPlaceWorkspaceBytes(const OpCall& call, int threads);
[[nodiscard]] size_t ConvInPlaceLeastBytes(const OpCall& call);

}  // namespace tenon::cpu::dsp
