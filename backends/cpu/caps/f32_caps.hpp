// The predicates and sizes behind f32.inc, for the fast f32 kernels, whose own checks share them.
// Shapes for which another form of the op is faster are refused here (measured).
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/caps/tiles.hpp"
#include "runtime/ops/conv_geometry.hpp"
#include "runtime/ops/functions.hpp"
#include "runtime/ops/kernel_refusals.hpp"
#include "runtime/ops/op_row.hpp"
#include "runtime/ops/packing_key.hpp"

/// Each predicate returns null for yes, else the reason as a constant text, for operands that
/// passed CheckOpCall. They read dims, dtypes and attributes, never strides, and of data only
/// whether an input is constant.
namespace tenon::cpu::f32 {

/// Are the largest number of kernel taps of one pixel, and of a tile's pixels in all: pointers to
/// them are on the stack.
inline constexpr int kMostTaps = 1024;
inline constexpr int kMostTapPointers = 160 * kMostPixels;
inline constexpr int kMostDepthwiseTaps = 1024;  ///< 31x31 and more
/// These limit the floats, and the taps, of the input rows that first layers copy to the stack for
/// one output row.
inline constexpr int kMostFirstChannels = 16;
inline constexpr int kMostRowFloats = 12288;
inline constexpr int kMostFirstTaps = 1024;
/// Are the elements of a tile of several elementwise steps, and the length of rows that are better
/// one long one, where they follow each other in memory.
inline constexpr int kElementwiseTile = 2048;
inline constexpr int kShortColumns = 64;
/// Functions of two operands go along rows of so many elements and more, where the innermost two
/// loops have so many; else through blocks.
inline constexpr int32_t kShortestBinaryRow = 8;
inline constexpr int64_t kFewestRowElements = 128;
/// Rows that lie apart are brought together where they are shorter than this.
inline constexpr int kFewStridedColumns = 8;

/// Returns true for depthwise kernels (multiplier 1) whose loops load every input column once for
/// all its outputs: square, without dilation, of 2, 3, 5 or 7 columns. Outputs of different rows
/// share nothing, so that these may have any stride. Groups of `group` channels have those of 3
/// columns, one apart: each further loop is some 50 KB of code.
[[nodiscard]] constexpr bool IsCompactDepthwise(const int* kernel, const int* strides,
                                                const int* dilations, int group = 1) {
  const bool steps_one = (kernel[1] == 2 || kernel[1] == 7) && strides[1] == 1;
  const bool known = group == 1 ? kernel[1] == 3 || kernel[1] == 5 || steps_one
                                : kernel[1] == 3 && strides[1] == 1;
  return kernel[0] == kernel[1] && known && strides[1] <= 2 && dilations[0] == 1 &&
         dilations[1] == 1;
}

/// Refuses what no vector convolution takes. With `bytes`, images may be of bytes.
[[nodiscard]] const char* ConvRefusal(const OpCall& call, bool bytes = false);
/// Returns true for windows whose columns follow each other in memory, and which all lie inside the
/// image: register tiles read each of their rows as one.
[[nodiscard]] bool HasColumnsAsOne(const ConvGeometry& conv);
/// Accepts any convolution that register tiles can compute.
[[nodiscard]] const char* ConvSupports(const OpCall& call);
/// Accepts those of them whose weights are large enough to be copied to panels.
[[nodiscard]] const char* ConvPanelsSupports(const OpCall& call);
/// Accepts few input channels, which may have any layout and be bytes.
[[nodiscard]] const char* FirstConvSupports(const OpCall& call);
/// Accepts few outputs of a window of enough floats.
[[nodiscard]] const char* NarrowConvSupports(const OpCall& call);
/// Returns what the outputs of a pixel take there, in products of full registers: fitted to 60
/// shapes on Zen 4, AVX-512 and AVX2, whose sums and lanes take equally long.
[[nodiscard]] int64_t NarrowConvProducts(const OpCall& call);
/// Accepts few outputs of each group, whose pixels are enough to fill registers.
[[nodiscard]] const char* PixelConvSupports(const OpCall& call);
/// Returns what it takes, in products of full registers, with those that copying the inputs takes.
[[nodiscard]] int64_t PixelConvProducts(const OpCall& call);
/// Accepts one input channel for every output or several, and groups of few channels.
[[nodiscard]] const char* DepthwiseSupports(const OpCall& call);
/// Returns how many input channels each output reads where the kernel takes so many, else 0: those
/// of a group of as many outputs.
[[nodiscard]] int FewGroupChannels(const OpCall& conv);
/// Accepts 3x3 with stride 1 where the time saved exceeds that of the transforms.
[[nodiscard]] const char* WinogradSupports(const OpCall& call);
/// Returns what it takes, in products of full registers. Each of 36 coefficients of a tile of 16
/// outputs is one product of all inputs with all outputs of a group. The transforms, vector
/// arithmetic too, take as long as so many products for a coefficient of a channel, and reading a
/// weight as long as so many: fitted to the sweep of `tenon profile` on Zen 4 (AVX-512), 16 % apart
/// on the mean, and seen in ResNet-50 and DenseNet-121 with AVX2 there. Those of grouped ones,
/// whose coefficients stay nearer, are fitted to 22 shapes there.
[[nodiscard]] int64_t WinogradProducts(const OpCall& call);
/// Returns the bytes of weights that are read from beyond a core's own cache of so many bytes, less
/// those of the op's own: coefficients are 36 for nine, and each block of tiles reads all of them.
[[nodiscard]] int64_t WinogradWeightBytesAgain(const OpCall& call, int64_t cache_bytes);
/// Accepts a second factor that is one matrix. It must be constant, which the kernel's check
/// verifies.
[[nodiscard]] const char* MatMulSupports(const OpCall& call);
[[nodiscard]] const char* MatMulPanelsSupports(const OpCall& call);

/// Accepts products with one column, of which each batch may have its own.
[[nodiscard]] const char* MatMulColumnSupports(const OpCall& call);

/// Accepts convolutions and products whose weights need not be constant: of products, each batch
/// may have its own second factor.
[[nodiscard]] const char* ComputedConvSupports(const OpCall& call);
[[nodiscard]] const char* ComputedMatMulSupports(const OpCall& call);
/// Counts the products of a batched one, and the rows of each; those by one matrix are one product.
struct BatchedRows {
  int64_t batches;
  int64_t rows;
};
[[nodiscard]] BatchedRows BatchedRowsOf(const OpCall& matmul);
/// Few rows read a second factor where it is: packing it would take longer than it saves.
inline constexpr int kMostRowsInPlace = 64;
[[nodiscard]] bool ReadsComputedInPlace(const OpCall& matmul);
/// Return the bytes of the block of packed weights of one product, and of the workspaces.
[[nodiscard]] size_t ComputedMatMulBlockBytes(const OpCall& call);
[[nodiscard]] size_t ComputedMatMulWorkspaceBytes(const OpCall& call, int threads);
[[nodiscard]] size_t ComputedConvWorkspaceBytes(const OpCall& call, int threads);

[[nodiscard]] const char* PoolSupports(const OpCall& call);
/// Maxima of images of at most so many channels are taken row by row.
inline constexpr int kMostRowMaximaChannels = 3;
/// Accepts softmax along the last axis, whose elements are contiguous, or along another that has
/// columns enough beside each other.
[[nodiscard]] const char* SoftmaxSupports(const OpCall& call);
/// Accepts softmax along the channels of an image tensor.
[[nodiscard]] const char* ChannelSoftmaxSupports(const OpCall& call);
[[nodiscard]] const char* LayerNormSupports(const OpCall& call);
/// Accepts as many keys and elements of a query as the kernel's buffers on the stack take.
[[nodiscard]] const char* AttentionSupports(const OpCall& call);
/// Returns true for the functions that vector kernels compute, alone and in epilogues.
[[nodiscard]] bool HasVectorForm(UnaryFunction function);
[[nodiscard]] const char* UnarySupports(const OpCall& call);
[[nodiscard]] const char* ElementwiseSupports(const OpCall& call);
[[nodiscard]] const char* BinarySupports(const OpCall& call);
/// Accepts linear sampling.
[[nodiscard]] const char* GridSampleSupports(const OpCall& call);
/// Accepts windows of at most kMostLrnWindow of at most kMostLrnDepth channels of an image tensor.
[[nodiscard]] const char* LrnSupports(const OpCall& call);

/// Returns the floats, per channel, of the padded input row that one output row of a convolution
/// reads.
[[nodiscard]] int64_t PaddedRow(const OpCall& conv);
/// Returns how many output rows of a first layer share one copy of their inputs, at most: with a
/// dilation, whose rows are copied without those between them, one.
[[nodiscard]] int FirstBandRows(const OpCall& conv);

/// Limits the floats, and the products of an output, of what such a convolution keeps on the stack.
inline constexpr int kMostPixelFloats = 12288;
inline constexpr int kMostPixelProducts = 2048;

/// Says how a convolution whose registers are filled by neighbouring pixels cuts its outputs: what
/// a band of rows, or a segment of a row, reads of a group's inputs is copied to planes. A stride
/// makes as many planes of a channel, each of every so many rows or columns: in one of them, what
/// neighbouring pixels read of a tap is neighbours.
struct PixelBands {
  int rows;           ///< of a band
  int columns;        ///< of a segment
  int bands;          ///< of an image
  int segments;       ///< of a row
  int phases[2];      ///< planes of a channel, by rows and columns
  int plane_rows;     ///< for `rows`
  int plane_columns;  ///< of each row, with those beyond the last pixel
  int64_t floats;     ///< of all planes, and what a last vector reads behind them

  [[nodiscard]] int64_t PlaneFloats() const { return int64_t{plane_rows} * plane_columns; }
};
/// Returns bands of no rows where a single register of pixels reads too much.
[[nodiscard]] PixelBands PixelBandsOf(const OpCall& conv);
/// Returns how many registers of so many lanes a band's pixels fill: those of each row, or of all
/// rows as one with what lies between them.
[[nodiscard]] int64_t PixelVectors(const PixelBands& bands, int lanes);

/// Is enough for one part per thread, whatever their number, up to so many.
inline constexpr int kMostWinogradParts = 8;

/// Says how a Winograd convolution's tiles of 4x4 outputs are cut into blocks, on any instruction
/// set. Grouped convolutions are cut into slices of several groups, too.
struct WinogradBlocks {
  int tiles;            ///< of all images
  int block_tiles;      ///< the most in one block
  int slices;           ///< 1 to the number of groups
  int padded_inputs;    ///< input channels of the largest slice, rounded up
  bool bundles_slices;  ///< products of all a slice's groups are there at once, else of one group
  size_t tile_bytes;    ///< workspace of one tile: its coefficients and products

  /// Returns how many parts the work can have.
  [[nodiscard]] int MostParts() const {
    const int64_t pieces = int64_t{tiles} * slices;
    return pieces < kMostWinogradParts ? static_cast<int>(pieces) : kMostWinogradParts;
  }

  /// Returns the workspace of each of `parts` equal parts of the work: that of its largest block.
  [[nodiscard]] size_t PartBytes(int parts) const {
    const int share = slices > 1 ? tiles : (tiles + parts - 1) / parts;
    const auto of_block = static_cast<size_t>(share < block_tiles ? share : block_tiles);
    return tile_bytes * of_block + 2 * kWinogradCoefficients * kLineFloats * sizeof(float);
  }

  /// Returns the floats from coefficient to coefficient, where each has so many. Distances of whole
  /// KiB would put more of a tile's coefficients into one set of the first-level cache than it
  /// holds.
  [[nodiscard]] static int64_t StepOf(int64_t floats) {
    constexpr int64_t kSetFloats = 256;
    const int64_t step = (floats + kLineFloats - 1) / kLineFloats * kLineFloats;
    return step % kSetFloats == 0 ? step + kLineFloats : step;
  }
  static constexpr int kLineFloats = 16;
};
[[nodiscard]] WinogradBlocks WinogradBlocksOf(const OpCall& call);
[[nodiscard]] size_t WinogradWorkspaceBytes(const OpCall& call, int threads);

/// Returns the floats of each batch's keys and values as attention packs them: whole groups of
/// kWidthStep columns.
[[nodiscard]] int64_t PackedKeyFloats(const OpCall& attention);
[[nodiscard]] int64_t PackedValueFloats(const OpCall& attention);
/// Those of all batches, whatever the number of threads.
[[nodiscard]] size_t AttentionWorkspaceBytes(const OpCall& call, int threads);

/// Is KernelCaps::packing_key: what the packed weights of these kernels depend on, which is the
/// constants and how they are read, not the images.
void ConvPackingKey(const OpCall& call, PackingKey* key);
void MatMulPackingKey(const OpCall& call, PackingKey* key);

/// Is KernelCaps::packed_bytes: the most over all instruction sets.
[[nodiscard]] size_t ConvPackedBytes(const OpCall& call);  ///< first layers too
[[nodiscard]] size_t ConvPanelsBytes(const OpCall& call);
[[nodiscard]] size_t NarrowConvPackedBytes(const OpCall& call);
[[nodiscard]] size_t PixelConvPackedBytes(const OpCall& call);
[[nodiscard]] size_t DepthwisePackedBytes(const OpCall& call);
[[nodiscard]] size_t WinogradPackedBytes(const OpCall& call);
[[nodiscard]] size_t MatMulPackedBytes(const OpCall& call);
[[nodiscard]] size_t MatMulPanelsBytes(const OpCall& call);

}  // namespace tenon::cpu::f32
