// The predicates behind dsp.inc, for kernels of Armv7E-M cores with DSP instructions (Cortex-M4,
// M7), and what they share with the kernels: how work is cut and what the workspace contains.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/ops/op_row.hpp"

/// Each predicate returns null for yes, else the reason, for operands that passed CheckOpCall. They
/// read dims, dtypes, attributes and which inputs are constant, never strides.
namespace tenon::cpu::dsp {

/// Is the largest number of runs of inputs of one output: their addresses are on the stack.
inline constexpr int kMostRuns = 64;
/// Is the largest number of inputs of one output.
inline constexpr int64_t kMostDepth = 1 << 16;

/// Is the largest number of output pixels of a pass: their addresses are on the stack.
inline constexpr int kMostPassPixels = 64;

/// Says what the workspace contains of x, widened to 16 bits less its zero point.
enum class ConvMode : uint8_t {
  kPixels,   ///< the pixels that are read, in pairs; for pointwise convolutions
  kWindows,  ///< all that each pixel reads, in pairs; for windows that are small or of odd size
  kRows,     ///< parts of rows, with their padding
};

/// Says how a convolution is computed: pass by pass, where each is a rectangle of output pixels. A
/// pass widens its inputs once for all outputs and then, for two outputs at a time, the weights. A
/// pixel's inputs are `runs` runs of `steps` times four elements. The workspace contains [inputs]
/// [weights of two outputs] [bytes of two windows].
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
/// Cuts a convolution that ConvSupports accepts and that has at least one output: passes are as
/// large as fits and pays. With less than ConvLeastWorkspaceBytes, the result may exceed the
/// workspace.
[[nodiscard]] ConvBand ConvBandOf(const OpCall& conv, size_t workspace_bytes);

/// Is the number of channels of a depthwise convolution that are computed at once.
inline constexpr int kDepthwisePlanes = 4;

/// Returns true for 3x3 windows with steps of 1 or 2, whose rows of x are widened into planes;
/// others are read where they lie and need no workspace (depthwise_windows.cpp).
[[nodiscard]] bool HasDepthwisePlanes(const OpCall& conv);

/// Describes the workspace: for each of these channels `rows` widened rows of x.
struct DepthwisePlanes {
  int rows;
  int row_halves;  ///< even
  int lines;       ///< rows of y that are computed at once, for 3x3 windows with steps of 1; else 1
};
/// Returns these with as many lines as fit and pay.
[[nodiscard]] DepthwisePlanes DepthwisePlanesOf(const OpCall& conv, size_t workspace_bytes);

/// Returns the workspace of a convolution of 3x3 windows, with steps of 1 or 2 and channels in
/// fours, that computes two rows at once (depthwise_pairs.cpp); 0 for others.
[[nodiscard]] size_t DepthwisePairsBytes(const OpCall& conv);

/// Accepts convolutions of bytes with as many outputs as inputs, each in a group of its own.
[[nodiscard]] Reason DepthwiseSupports(const OpCall& call);
[[nodiscard]] size_t DepthwiseWorkspaceBytes(const OpCall& call, int threads);
[[nodiscard]] size_t DepthwiseLeastWorkspaceBytes(const OpCall& call);

/// Accepts convolutions of bytes with one group.
[[nodiscard]] Reason ConvSupports(const OpCall& call);
[[nodiscard]] size_t ConvWorkspaceBytes(const OpCall& call, int threads);
[[nodiscard]] size_t ConvLeastWorkspaceBytes(const OpCall& call);

/// Accepts one constant matrix of i8 for all batches. The workspace contains a widened row of a.
[[nodiscard]] Reason MatMulSupports(const OpCall& call);
[[nodiscard]] size_t MatMulWorkspaceBytes(const OpCall& call, int threads);

/// Accepts sums and differences of bytes, of operands of equal shape. The workspace contains a
/// table for each operand, where tables pay and both fit.
inline constexpr size_t kBinaryTableBytes = 2048;
[[nodiscard]] Reason BinarySupports(const OpCall& call);
[[nodiscard]] size_t BinaryWorkspaceBytes(const OpCall& call, int threads);
[[nodiscard]] size_t BinaryLeastWorkspaceBytes(const OpCall& call);

/// Takes a convolution that InPlaceConvSupports accepts; true if each pass, before it writes, has
/// read all inputs that it overwrites and that later passes need.
[[nodiscard]] bool KeepsInputs(const OpCall& conv, size_t workspace_bytes);

/// Returns the workspace over the input. It is at least what the portable kernel needs for that,
/// because other processors run that kernel. Windows that are read where they lie go part by part
/// (in_place_caps.hpp).
[[nodiscard]] size_t DepthwiseInPlaceWorkspaceBytes(const OpCall& call, int threads);
[[nodiscard]] size_t DepthwiseInPlaceLeastBytes(const OpCall& call);
[[nodiscard]] size_t ConvInPlaceWorkspaceBytes(const OpCall& call, int threads);
[[nodiscard]] size_t ConvInPlaceLeastBytes(const OpCall& call);

}  // namespace tenon::cpu::dsp
