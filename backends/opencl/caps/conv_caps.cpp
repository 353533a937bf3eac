#include "backends/opencl/caps/conv_caps.hpp"

#include <initializer_list>

#include "runtime/base/round_up.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::opencl {
namespace {

using In = ConvInput;

constexpr int64_t kFloatBytes = sizeof(float);
/// Is what a loaded op needs besides its weights: objects of ours and of the driver's that we
/// count.
constexpr int64_t kObjectBytes = 1024;

constexpr F32Operands kTakes = {"the OpenCL convolutions run f32 only",
                                "nothing to compute: left to the CPU"};

/// Weights may be stored in fewer bits, since they become f32 when they are packed.
const char* PackedRefusal(const OpCall& call) {
  F32Operands takes = kTakes;
  takes.not_constant = "weights and bias are packed when the plan is loaded: they must be constant";
  takes.constants = 1U << 1 | 1U << 2 | 1U << 4;
  takes.stored_weights = true;
  return F32Refusal(call, takes);
}

/// Floats of a constant input or residual, which are kept as they lie.
int64_t OtherConstants(const OpCall& call) {
  int64_t floats = 0;
  for (const int other : {0, 3}) {
    if (call.HasInput(other) && call.Input(other).data != nullptr) {
      floats += call.Input(other).Elements();
    }
  }
  return floats;
}

}  // namespace

const char* ConvTileSupports(const OpCall& call) { return PackedRefusal(call); }

const char* ConvFirstSupports(const OpCall& call) {
  if (const char* reason = PackedRefusal(call)) return reason;
  constexpr int kFewChannels = 8;
  if (call.AttributesAs<ConvAttributes>().group != 1 || call.Input(In::kX).dims[1] > kFewChannels) {
    return "for the few channels of a first layer only";
  }
  return nullptr;
}

const char* ConvDepthwiseSupports(const OpCall& call) {
  if (const char* reason = PackedRefusal(call)) return reason;
  if (!IsDepthwiseConv(call)) return "not depthwise";
  return nullptr;
}

const char* ConvWinogradSupports(const OpCall& call) {
  if (const char* reason = PackedRefusal(call)) return reason;
  if (const char* reason = WinogradRefusal(call)) return reason;
  // Beyond this the weights come from memory, four times as many as otherwise. (On a CPU 512 to 512
  // channels at 7x7 take 2.4 ms so and 2.2 ms by tiles, 256 to 256 at 14x14 1.0 and 2.0.)
  constexpr int64_t kMostWeightBytes = 12 << 20;
  const TensorView& w = call.Input(GemmInput::kWeights);
  if (int64_t{w.dims[0]} * w.dims[1] * kWinogradCoefficients * int64_t{sizeof(float)} >
      kMostWeightBytes) {
    return "Winograd's weights, four times as large, would fill the cache";
  }
  const TensorView& y = call.Output();
  // Three launches in place of one: 16 to 16 channels at 32x32 take 38 us so and 45 by tiles, but
  // each launch costs the host some microseconds too.
  constexpr int64_t kFewestMultiplyAccumulates = 2'500'000;
  if (9 * y.Elements() * call.Input(In::kWeights).dims[1] < kFewestMultiplyAccumulates) {
    return "too small for several launches";
  }
  // A register tile of the products has 7 of them; with fewer the weights are read for little.
  constexpr int64_t kFewestTiles = 7;
  const int64_t tiles =
      int64_t{CeilDiv(y.dims[2], kWinogradOutputs)} * CeilDiv(y.dims[3], kWinogradOutputs);
  if (tiles * y.dims[0] < kFewestTiles) return "too few tiles for Winograd's larger weights";
  return nullptr;
}

const char* ConvReferenceSupports(const OpCall& call) { return F32Refusal(call, kTakes); }

size_t ConvTileHeld(const OpCall& call) {
  const TensorView& w = call.Input(In::kWeights);
  const int32_t groups = call.AttributesAs<ConvAttributes>().group;
  const int64_t block = ConvTaps(call) * w.dims[1] + 1;
  int64_t most = 0;
  for (const TileShape& shape : TileShapes()) {
    const int64_t outputs = int64_t{groups} * RoundUp(w.dims[0] / groups, shape.width());
    if (outputs * block > most) most = outputs * block;
  }
  return static_cast<size_t>((most + w.dims[1] + OtherConstants(call)) * kFloatBytes +
                             kObjectBytes);
}

size_t ConvDepthwiseHeld(const OpCall& call) {
  const int64_t channels = RoundUp(call.Input(In::kWeights).dims[0], kDepthwiseLanes);
  return static_cast<size_t>(
      (channels * (ConvTaps(call) + 1) + OtherConstants(call)) * kFloatBytes + kObjectBytes);
}

size_t ConvReferenceHeld(const OpCall& call) {
  int64_t floats = OtherConstants(call);
  for (const int constant : {1, 2}) {
    if (call.HasInput(constant) && call.Input(constant).data != nullptr) {
      floats += call.Input(constant).Elements();
    }
  }
  return static_cast<size_t>(floats * kFloatBytes + 2 * kObjectBytes);
}

size_t ConvWinogradHeld(const OpCall& call) {
  const TensorView& w = call.Input(In::kWeights);
  int64_t outputs = 0;
  for (const TileShape& shape : TileShapes()) {
    if (RoundUp(w.dims[0], shape.width()) > outputs) outputs = RoundUp(w.dims[0], shape.width());
  }
  const int64_t weights = kWinogradCoefficients * outputs * (w.dims[1] + 1);
  return static_cast<size_t>((weights + outputs + w.dims[1] + OtherConstants(call)) * kFloatBytes +
                             2 * kObjectBytes);
}

void ConvPackingKey(const OpCall& call, PackingKey* key) {
  const auto& attributes = call.AttributesAs<ConvAttributes>();
  // All of them: they are compiled into the program, or choose the tile.
  key->AddWords(&attributes, sizeof(attributes) / sizeof(int32_t));
  key->AddTensor(call.Input(In::kX));
  key->AddTensor(call.Input(In::kWeights));
  if (call.HasInput(In::kBias)) key->AddTensor(call.Input(In::kBias));
  key->AddWords(call.Output().dims, 4);
  for (const int other : {3, 4}) {
    key->Add(call.HasInput(other) ? 1 : 0);
    if (call.HasInput(other)) key->AddTensor(call.Input(other));
  }
}

WinogradPieces WinogradPiecesOf(const OpCall& call) {
  // Two thirds of a second-level cache of 1 MiB, the rest of which the weights pass through.
  constexpr int64_t kPieceBytes = 768 * 1024;
  constexpr int kTileStep = 7;  // rows of the usual register tile
  const TensorView& y = call.Output();
  WinogradPieces pieces;
  pieces.tile_rows = CeilDiv(y.dims[2], kWinogradOutputs);
  pieces.tile_columns = CeilDiv(y.dims[3], kWinogradOutputs);
  pieces.tiles = y.dims[0] * pieces.tile_rows * pieces.tile_columns;
  pieces.padded_inputs = RoundUp(call.Input(In::kX).dims[1], 16);
  pieces.padded_outputs = RoundUp(y.dims[1], 16);
  const int64_t tile_bytes =
      int64_t{kWinogradCoefficients} * kFloatBytes * (pieces.padded_inputs + pieces.padded_outputs);
  int64_t tiles = kPieceBytes / tile_bytes / kTileStep * kTileStep;
  if (tiles < kTileStep) tiles = kTileStep;
  // Equal pieces: a small rest would use the caches and threads badly.
  const int64_t count = CeilDiv<int64_t>(pieces.tiles, tiles);
  const int64_t equal = CeilDiv<int64_t>(pieces.tiles, count);
  tiles = RoundUp(equal, kTileStep);
  pieces.piece_tiles = static_cast<int>(tiles < pieces.tiles ? tiles : pieces.tiles);
  return pieces;
}

size_t ConvWinogradWorkspace(const OpCall& call, int) {
  const WinogradPieces pieces = WinogradPiecesOf(call);
  return static_cast<size_t>(int64_t{kWinogradCoefficients} * pieces.piece_tiles *
                             (pieces.padded_inputs + pieces.padded_outputs) * kFloatBytes);
}

}  // namespace tenon::opencl
