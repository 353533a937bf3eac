// The predicates behind dsp.inc, for kernels of Armv7E-M cores with DSP instructions (Cortex-M4,
// M7), and what they share with the kernels: how work is cut and what the workspace contains.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/op_row.hpp"

/// Each predicate returns null for yes, else the reason, for operands that passed CheckOpCall. They
/// read dims, dtypes, attributes and which inputs are constant, never strides; constants themselves
/// where it is said.
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

/// Returns true if four outputs at a time over all pixels of a pointwise convolution, each of which
/// has `steps` times four inputs, cost less than two at a time in that many passes.
[[nodiscard]] constexpr bool QuadsPay(int64_t pixels, int64_t passes, int64_t steps) {
  // Instructions for each four outputs: what stands around them and their weights, and a pixel's
  // inputs, which are widened again.
  return 3 * steps * pixels < passes * (250 + 15 * steps) - (110 + 20 * steps);
}

/// Is the number of pairs of pixels that a Winograd pass has at most: they are listed on the stack.
inline constexpr int kMostWinogradPairs = 32;

/// Says how a convolution of three rows of taps is computed two rows of outputs (a tile) at a time,
/// with four products for six (winograd.hpp). A pass is `tiles` times `columns` columns, of which
/// column i is paired with column i + `half`. The workspace contains [inputs: for each tile four
/// sums of its rows] [weights of two outputs] [a pixel of padding].
struct WinogradPass {
  int tiles;  ///< 0: not even one fits
  int columns;
  int half;
  int row_halves;  ///< elements of a sum of rows
  size_t x_bytes;
  size_t w_bytes;
  size_t padding_bytes;

  [[nodiscard]] size_t Bytes() const { return x_bytes + w_bytes + padding_bytes; }
};
/// Is the number of rows of a tile.
inline constexpr int32_t kWinogradRows = 2;
/// Cuts a convolution that WinogradSupports accepts: passes are as large as fits and pays.
[[nodiscard]] WinogradPass WinogradPassOf(const OpCall& conv, size_t workspace_bytes);

/// Is the number of channels of a depthwise convolution that are computed at once.
inline constexpr int kDepthwisePlanes = 4;

/// Returns true for 3x3 windows with steps of 1 or 2, whose rows of x are widened into planes,
/// unless the outputs are very few; others are read where they lie and need no workspace
/// (depthwise_windows.cpp).
[[nodiscard]] bool HasDepthwisePlanes(const OpCall& conv);

/// Is how many taps of a row of such windows go at once, where channels are in fours and have
/// biases and factors of their own.
inline constexpr int kMostWindowTaps = 7;

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
/// Those with HasDepthwisePlanes, and the others.
[[nodiscard]] Reason DepthwisePlanesSupports(const OpCall& call);
[[nodiscard]] Reason DepthwiseWindowsSupports(const OpCall& call);
[[nodiscard]] size_t DepthwiseWorkspaceBytes(const OpCall& call, int threads);
[[nodiscard]] size_t DepthwiseLeastWorkspaceBytes(const OpCall& call);

/// Accepts convolutions of bytes with one group.
[[nodiscard]] Reason ConvSupports(const OpCall& call);
[[nodiscard]] size_t ConvWorkspaceBytes(const OpCall& call, int threads);
[[nodiscard]] size_t ConvLeastWorkspaceBytes(const OpCall& call);

/// Is how many words a row of a window has at most that FirstSupports accepts.
inline constexpr int kMostWindowWords = 8;
/// Accepts convolutions of i8 with one group, few channels and few outputs, in fours: their windows
/// are read where they lie. The workspace contains [weights of four outputs] [a window].
[[nodiscard]] Reason FirstSupports(const OpCall& call);
[[nodiscard]] int64_t FirstWeightHalves(const OpCall& call);
[[nodiscard]] size_t FirstBytes(const OpCall& call);
/// Is at least what other kernels need, which run those whose factors are of no usual size.
[[nodiscard]] size_t FirstWorkspaceBytes(const OpCall& call, int threads);

/// Returns true if each output has a bias and factors of its own, with which fast forms give the
/// bytes of all sums of `depth` products: RequantizeKind is not kAny. It reads them.
[[nodiscard]] bool HasFastFactors(const OpCall& call, const QuantizedOutput& output, int64_t depth);

/// Is the number of pixels that FivesSupports has at once.
inline constexpr int kFivePixels = 5;
/// Accepts convolutions of i8 with one group and few pixels in rows of fives. It reads the factors.
/// The workspace contains [widened inputs of five pixels] [a window, unless convolutions are
/// pointwise].
[[nodiscard]] Reason FivesSupports(const OpCall& call);
[[nodiscard]] size_t FivesWorkspaceBytes(const OpCall& call, int threads);

/// Accepts depthwise convolutions of i8 with 3x3 windows and few rows of outputs. It reads the
/// factors. No workspace is needed.
[[nodiscard]] Reason DepthwiseRowSupports(const OpCall& call);
/// Is the largest number of columns of x that are widened at once, on the stack; odd.
inline constexpr int kMostRowColumns = 11;
/// Returns how many outputs of windows with these steps read them.
[[nodiscard]] constexpr int DepthwiseRowOutputs(int stride) {
  return (kMostRowColumns - 3) / stride + 1;
}

/// Accepts convolutions of i8 with one group, an even number of outputs and steps of 1, whose
/// windows have three rows, and outputs of two rows and more. With little workspace they run as
/// others do.
[[nodiscard]] Reason WinogradSupports(const OpCall& call);
[[nodiscard]] size_t WinogradWorkspaceBytes(const OpCall& call, int threads);

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
/// With less workspace than its tiles want, the kernel runs as the one above.
[[nodiscard]] Reason WinogradInPlaceSupports(const OpCall& call);
[[nodiscard]] size_t WinogradInPlaceWorkspaceBytes(const OpCall& call, int threads);
/// Returns true if the convolution, which WinogradInPlaceSupports accepts, goes tile by tile, each
/// of which is a part of its own (in_place_caps.hpp).
[[nodiscard]] bool WinogradFitsInPlace(const OpCall& call, size_t workspace_bytes);

}  // namespace tenon::cpu::dsp
