// Says which convolutions Winograd's vector kernel takes, what they cost, and how it cuts them.
#include "backends/cpu/caps/f32_caps.hpp"
#include "runtime/base/round_up.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/kernel_refusals.hpp"

namespace tenon::cpu::f32 {
namespace {

constexpr int64_t kTaps = 9;
/// Weights of more bytes come from memory in every run.
constexpr int64_t kFarWeightBytes = 4 << 20;

int Groups(const OpCall& call) { return call.AttributesAs<ConvAttributes>().group; }

int64_t WeightBytes(const OpCall& call) {
  const TensorView& w = call.Input(GemmInput::kWeights);
  return int64_t{kWinogradCoefficients} * RoundUp(w.dims[1], kChannelBlock) * w.dims[0] *
         int64_t{sizeof(float)};
}

int64_t Pixels(const OpCall& call) {
  const TensorView& y = call.Output();
  return int64_t{y.dims[0]} * y.dims[2] * y.dims[3];
}

/// Returns true where Winograd's weights, of 36 coefficients where direct products read 9 taps,
/// come from memory for so few outputs that they take longer than the products which they spare.
/// Those of groups never do: 0.5 to 1.05 of the direct products' time at 7x7, from memory.
bool WeightsOutweighTiles(const OpCall& call) {
  // As many products a pair of channels as memory takes to bring its coefficients: 45e9 of them a
  // second beside 10e9 bytes.
  constexpr int64_t kReadingProducts = 36 * int64_t{sizeof(float)} * 45 / 10;
  if (WeightBytes(call) <= kFarWeightBytes || Groups(call) > 1) return false;
  const int64_t tiles = WinogradBlocksOf(call).tiles;
  return kTaps * Pixels(call) < int64_t{kWinogradCoefficients} * tiles + kReadingProducts;
}

/// Returns the outputs of a group, with what register tiles lose where the last vector is half
/// full: between 8 lanes and none, by the instruction set.
int64_t TileOutputs(const OpCall& call) {
  const int outputs = call.Input(GemmInput::kWeights).dims[0] / Groups(call);
  return (RoundUp(outputs, kWidthStep) + RoundUp(outputs, 2 * kWidthStep)) / 2;
}

/// Returns the products that register tiles take for groups.
int64_t DirectProducts(const OpCall& call) {
  return kTaps * Pixels(call) * call.Input(0).dims[1] * TileOutputs(call);
}

}  // namespace

const char* WinogradSupports(const OpCall& call) {
  if (const char* reason = ConvRefusal(call)) return reason;
  if (const char* reason = WinogradRefusal(call, /*grouped=*/true)) return reason;
  if (WeightsOutweighTiles(call)) {
    return "weights four times as large take longer to read than they save";
  }
  return Groups(call) > 1 && WinogradProducts(call) >= DirectProducts(call)
             ? "groups of so few channels that transforms take longer than the products they spare"
             : nullptr;
}

int64_t WinogradProducts(const OpCall& call) {
  constexpr int64_t kForTransforms = 12;
  constexpr int64_t kForTransformsOfSlices = 6;
  constexpr int64_t kForGroup = 150;  // each time that a register tile takes one
  constexpr int64_t kForWeights = 2;
  const int groups = Groups(call);
  const int64_t inputs = call.Input(0).dims[1];
  const int64_t outputs = call.Output().dims[1];
  const int64_t tiles = WinogradBlocksOf(call).tiles;
  const int64_t transformed =
      tiles * (RoundUp<int64_t>(inputs, kChannelBlock) + RoundUp<int64_t>(outputs, kWidthStep));
  if (groups == 1) {
    return kWinogradCoefficients *
           ((tiles + kForWeights) * inputs * outputs + kForTransforms * transformed);
  }
  // Of a single tile too few sums are in flight: it takes as long as two.
  return kWinogradCoefficients *
         (((tiles > 1 ? tiles : 2) + 1) * inputs * TileOutputs(call) +
          kForTransformsOfSlices * transformed + kForGroup * groups * CeilDiv(tiles, kMostPixels));
}

int64_t WinogradWeightBytesAgain(const OpCall& call, int64_t cache_bytes) {
  const TensorView& w = call.Input(GemmInput::kWeights);
  const WinogradBlocks blocks = WinogradBlocksOf(call);
  const int64_t weights = int64_t{w.dims[0]} * w.dims[1];
  const int64_t taps = int64_t{w.dims[2]} * w.dims[3];
  const int64_t bytes = weights * kWinogradCoefficients * static_cast<int64_t>(sizeof(float));
  // Where they fill the cache, tiles have replaced them when the next block reads them.
  const int64_t passes =
      bytes > cache_bytes / 2 ? CeilDiv<int64_t>(blocks.tiles, blocks.block_tiles) : 1;
  return passes * bytes - weights * taps * static_cast<int64_t>(sizeof(float));
}

WinogradBlocks WinogradBlocksOf(const OpCall& call) {
  // Coefficients of one block and its products stay in the second-level cache (512 KiB and more).
  constexpr int64_t kBlockBytes = 240 * 1024;
  constexpr int kMostTiles = 56;
  // Where a tile's pointers are found takes little beside transforms of so many channels.
  constexpr int kSliceInputs = 64;
  const TensorView& w = call.Input(GemmInput::kWeights);
  const TensorView& y = call.Output();
  const int groups = Groups(call);
  WinogradBlocks blocks;
  blocks.tiles =
      y.dims[0] * CeilDiv(y.dims[2], kWinogradOutputs) * CeilDiv(y.dims[3], kWinogradOutputs);
  blocks.slices = 1;
  if (groups > 1) {
    const int slices = CeilDiv(groups * w.dims[1], kSliceInputs);
    const int even = slices == 1 ? 1 : RoundUp(slices, 2);  // for two threads
    blocks.slices = even < groups ? even : groups;
  }
  const int slice = CeilDiv(groups, blocks.slices);
  blocks.padded_inputs = RoundUp(slice * w.dims[1], kChannelBlock);
  const int outputs = RoundUp(w.dims[0] / groups, kWidthStep);
  blocks.bundles_slices = groups > 1 && outputs <= kMostWidth;
  const int width = blocks.bundles_slices ? slice * outputs : kMostWidth;
  const int64_t tile_bytes =
      int64_t{kWinogradCoefficients} * (blocks.padded_inputs + width) * int64_t{sizeof(float)};
  int64_t tiles = kBlockBytes / tile_bytes;
  if (tiles < blocks.tiles) tiles = tiles / kMostPixels * kMostPixels;
  // Every block reads all weights: large ones are read by few blocks, whose coefficients come from
  // the cache beyond.
  if (groups == 1 && WeightBytes(call) > kFarWeightBytes) tiles = kMostTiles;
  if (tiles < kMostPixels) tiles = kMostPixels;
  if (tiles > kMostTiles) tiles = kMostTiles;
  blocks.block_tiles = static_cast<int>(tiles < blocks.tiles ? tiles : blocks.tiles);
  blocks.tile_bytes = static_cast<size_t>(tile_bytes);
  return blocks;
}

size_t WinogradWorkspaceBytes(const OpCall& call, int threads) {
  const WinogradBlocks blocks = WinogradBlocksOf(call);
  size_t most = 0;
  for (int parts = 1; parts <= threads && parts <= blocks.MostParts(); ++parts) {
    const size_t bytes = static_cast<size_t>(parts) * blocks.PartBytes(parts);
    if (bytes > most) most = bytes;
  }
  return most;
}

}  // namespace tenon::cpu::f32
