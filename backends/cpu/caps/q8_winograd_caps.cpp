#include "backends/cpu/caps/q8_winograd_caps.hpp"

#include "backends/cpu/caps/q8_gemm_caps.hpp"
#include "runtime/base/round_up.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/kernel_refusals.hpp"

namespace tenon::cpu::q8 {
namespace {

using In = QuantizedGemmInput;

constexpr int64_t kTileOutputs = int64_t{kWinogradOutputs} * kWinogradOutputs;
/// The input's coefficients of a block stay in the second-level cache.
constexpr int64_t kBlockBytes = 384 * 1024;
constexpr int kMostTiles = 48;

constexpr bool IsByte(DType dtype) { return dtype == DType::kI8 || dtype == DType::kU8; }

}  // namespace

const char* WinogradSupports(const OpCall& call) {
  if (const char* reason = ConvSupports(call)) return reason;
  if (const char* reason = WinogradRefusal(call)) return reason;
  if (!IsByte(call.Input(In::kX).dtype) || !IsByte(call.Output().dtype)) {
    return "Winograd's way is for i8 and u8";
  }
  const TensorView& y = call.Output();
  const int64_t direct = int64_t{y.dims[0]} * y.dims[2] * y.dims[3] * 9 *
                         call.Input(In::kX).dims[1] * RoundUp<int64_t>(y.dims[1], kWidthStep);
  return WinogradProducts(call) >= direct
             ? "so few outputs that Winograd's transforms and its weights take longer than the "
               "products which they spare"
             : nullptr;
}

int64_t WinogradCut::CoefficientStep() const {
  // Coefficients whose distances are multiples of 4 KiB would share one set of the first-level
  // cache.
  constexpr int64_t kSetNumbers = 2048;
  constexpr int64_t kLineNumbers = 32;
  const auto step = RoundUp<int64_t>(int64_t{block_tiles} * numbers, kLineNumbers);
  return step % kSetNumbers < kLineNumbers ? step + kLineNumbers : step;
}

size_t WinogradCut::BlockBytes() const {
  const int64_t inputs = kWinogradCoefficients * CoefficientStep() * 2;
  const int64_t products = int64_t{kWinogradCoefficients} * block_tiles * kWinogradWidth * 4;
  const int64_t sums = block_tiles * kTileOutputs * kWinogradWidth * 4;
  return static_cast<size_t>(RoundUp<int64_t>(inputs, kLineBytes) + products + sums);
}

WinogradCut WinogradCutOf(const OpCall& call) {
  const TensorView& y = call.Output();
  WinogradCut cut;
  cut.tiles =
      y.dims[0] * CeilDiv(y.dims[2], kWinogradOutputs) * CeilDiv(y.dims[3], kWinogradOutputs);
  cut.numbers = RoundUp(call.Input(In::kX).dims[1], 2);
  cut.outputs = RoundUp(y.dims[1], kWinogradWidth);
  int64_t tiles = kBlockBytes / (int64_t{kWinogradCoefficients} * cut.numbers * 2);
  tiles = tiles / kWinogradTilesAtOnce * kWinogradTilesAtOnce;
  if (tiles < kWinogradTilesAtOnce) tiles = kWinogradTilesAtOnce;
  if (tiles > kMostTiles) tiles = kMostTiles;
  cut.block_tiles = static_cast<int>(tiles < cut.tiles ? tiles : cut.tiles);
  return cut;
}

WinogradCut WinogradCut::OfParts(int parts) const {
  WinogradCut cut = *this;
  const int tiles_of_part = CeilDiv(tiles, parts);
  if (tiles_of_part < cut.block_tiles) cut.block_tiles = tiles_of_part;
  return cut;
}

size_t WinogradWorkspaceBytes(const OpCall& call, int threads) {
  const WinogradCut cut = WinogradCutOf(call);
  size_t most = 0;
  for (int parts = 1; parts <= threads && parts <= kMostWinogradParts && parts <= cut.tiles;
       ++parts) {
    const size_t bytes = static_cast<size_t>(parts) * cut.OfParts(parts).BlockBytes();
    if (bytes > most) most = bytes;
  }
  return most + kLineBytes;  // it begins at the first cache line
}

size_t WinogradPackedBytes(const OpCall& call) {
  const WinogradCut cut = WinogradCutOf(call);
  const int64_t coefficients = int64_t{kWinogradCoefficients} * cut.numbers * cut.outputs * 2;
  // Processors with instructions for products of bytes hold the weights as they are.
  return ConvPackedBytes(call) + static_cast<size_t>(RoundUp<int64_t>(coefficients, kLineBytes));
}

int64_t WinogradProducts(const OpCall& call) {
  // Measured on Zen 4 with AVX2: what the transforms of a tile take for each channel, and what
  // reading a weight's 36 numbers of 16 bits takes, which come from the last cache.
  constexpr int64_t kInputTransform = 110;
  constexpr int64_t kOutputTransform = 600;
  constexpr int64_t kReading = 120;
  const WinogradCut cut = WinogradCutOf(call);
  const int64_t inputs = cut.numbers;
  const int64_t outputs = cut.outputs;
  return cut.tiles * (kWinogradCoefficients * inputs * outputs + kInputTransform * inputs +
                      kOutputTransform * outputs) +
         kReading * inputs * outputs;
}

}  // namespace tenon::cpu::q8
