#include "backends/cpu/caps/vector_caps.hpp"

#include "runtime/base/round_up.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::f32 {
namespace {

constexpr int kChannelBlock = 16;
constexpr int kMostWidth = 32;
constexpr int kCoefficients = 36;

constexpr const char* kF32Only = "vector kernels run f32 only";
constexpr const char* kEmpty = "vector kernels are not used for empty tensors";

/// The refusals that all kernels without weights share.
const char* CommonRefusal(const OpCall& call) {
  for (int i = 0; i < call.InputCount(); ++i) {
    if (!call.HasInput(i)) continue;
    if (call.Input(i).dtype != DType::kF32) return kF32Only;
    if (call.Input(i).Elements() == 0) return kEmpty;
  }
  return call.Output().Elements() == 0 ? kEmpty : nullptr;
}

/// True if the kernels take the operand in this dtype: weights may be stored in fewer bits than
/// they are packed in, and where `bytes` says so x too.
bool TakesDType(const OpCall& call, int input, bool bytes) {
  const DType dtype = call.Input(input).dtype;
  if (input == 0 && bytes && dtype == DType::kU8) return true;
  if (input == 1 && (dtype == DType::kF16 || dtype == DType::kI8)) return true;
  return dtype == DType::kF32;
}

/// And those of kernels with weights, which may have a scale.
const char* WeightsRefusal(const OpCall& call, int scale, bool bytes = false) {
  for (int i = 0; i < call.InputCount(); ++i) {
    if (!call.HasInput(i)) continue;
    if (!TakesDType(call, i, bytes)) return kF32Only;
    if (call.Input(i).Elements() == 0) return kEmpty;
    const bool is_packed = i == 1 || i == 2 || i == scale;
    if (is_packed && call.Input(i).data == nullptr) {
      return "vector kernels pack weights and bias when the plan is loaded: they must be constant";
    }
  }
  return call.Output().Elements() == 0 ? kEmpty : nullptr;
}

const char* ConvRefusal(const OpCall& call, bool bytes = false) {
  return WeightsRefusal(call, 4, bytes);
}

int64_t Taps(const OpCall& conv) { return int64_t{conv.Input(1).dims[2]} * conv.Input(1).dims[3]; }

bool IsDepthwise(const OpCall& conv) {
  const auto& attributes = conv.AttributesAs<ConvAttributes>();
  return attributes.group > 1 && conv.Input(1).dims[1] == 1 &&
         conv.Input(1).dims[0] == attributes.group;
}

}  // namespace

const char* ConvSupports(const OpCall& call) {
  if (const char* reason = ConvRefusal(call)) return reason;
  if (Taps(call) > kMostTaps) return "more taps than the vector kernel keeps pointers to";
  const auto& attributes = call.AttributesAs<ConvAttributes>();
  const int outputs = call.Input(1).dims[0] / attributes.group;
  if (attributes.group > 1 && outputs < 16) return "groups too narrow for vectors";
  return nullptr;
}

const char* FirstConvSupports(const OpCall& call) {
  if (const char* reason = ConvRefusal(call, /*bytes=*/true)) return reason;
  if (call.AttributesAs<ConvAttributes>().group != 1 ||
      call.Input(0).dims[1] > kMostFirstChannels) {
    return "for the few channels of a first layer only";
  }
  if (Taps(call) == 1) return "a 1x1 convolution needs no copy of its rows";
  const int64_t taps = Taps(call) * call.Input(0).dims[1];
  const int64_t rows = int64_t{call.Input(1).dims[2]} * call.Input(0).dims[1];
  if (taps > kMostFirstTaps || PaddedRow(call) * rows > kMostRowFloats) {
    return "rows or kernel too large for the stack";
  }
  return nullptr;
}

int64_t PaddedRow(const OpCall& conv) {
  const auto& attributes = conv.AttributesAs<ConvAttributes>();
  return int64_t{conv.Output().dims[3] - 1} * attributes.strides[1] +
         int64_t{conv.Input(1).dims[3] - 1} * attributes.dilations[1] + 1;
}

const char* DepthwiseSupports(const OpCall& call) {
  if (const char* reason = ConvRefusal(call)) return reason;
  if (!IsDepthwise(call)) return "not depthwise";
  if (Taps(call) > kMostDepthwiseTaps) return "more taps than the vector kernel keeps pointers to";
  return nullptr;
}

const char* WinogradSupports(const OpCall& call) {
  if (const char* reason = ConvRefusal(call)) return reason;
  const auto& attributes = call.AttributesAs<ConvAttributes>();
  const TensorView& w = call.Input(1);
  const bool is_3x3 = w.dims[2] == 3 && w.dims[3] == 3;
  for (int i = 0; i < 2; ++i) {
    if (!is_3x3 || attributes.strides[i] != 1 || attributes.dilations[i] != 1) {
      return "Winograd's way is for 3x3 with stride 1";
    }
  }
  if (attributes.group != 1) return "Winograd's way is for one group";
  constexpr int64_t kMostWeightBytes = 12 << 20;
  if (int64_t{w.dims[0]} * w.dims[1] * kCoefficients * int64_t{sizeof(float)} > kMostWeightBytes) {
    return "Winograd's weights, four times as large, would fill the cache";
  }
  if (w.dims[0] < 8 || w.dims[1] < 8) return "too few channels to pay for Winograd's transforms";
  // It gains 3 to 4 times where its tiles of 4x4 outputs are full. A single row, the thinnest part
  // of a split image, fills a quarter of them.
  const TensorView& y = call.Output();
  const int64_t computed = int64_t{RoundUp(y.dims[2], 4)} * RoundUp(y.dims[3], 4);
  if (computed > 3 * int64_t{y.dims[2]} * y.dims[3]) {
    return "so few rows or columns that Winograd's tiles would be mostly empty";
  }
  return nullptr;
}

const char* MatMulSupports(const OpCall& call) {
  if (const char* reason = WeightsRefusal(call, 3)) return reason;
  if (call.AttributesAs<MatMulAttributes>().transpose_a != 0) {
    return "the vector product takes its first factor as it is";
  }
  const TensorView& b = call.Input(1);
  for (int i = 0; i + 2 < b.rank; ++i) {
    if (b.dims[i] != 1) return "the vector product takes one matrix for all batches";
  }
  if (b.rank > call.Input(0).rank) return "the vector product takes one matrix for all batches";
  if (call.HasInput(2)) {
    const TensorView& bias = call.Input(2);
    const TensorView& y = call.Output();
    bool along_last = bias.rank > 0 && bias.dims[bias.rank - 1] == y.dims[y.rank - 1];
    for (int i = 0; i + 1 < bias.rank; ++i) along_last = along_last && bias.dims[i] == 1;
    if (!along_last) return "the vector product takes a bias along the last dimension only";
  }
  return nullptr;
}

const char* PoolSupports(const OpCall& call) { return CommonRefusal(call); }

const char* SoftmaxSupports(const OpCall& call) {
  if (const char* reason = CommonRefusal(call)) return reason;
  if (call.AttributesAs<SoftmaxAttributes>().axis != call.Input(0).rank - 1) {
    return "the vector softmax runs along the innermost dimension only";
  }
  return nullptr;
}

const char* ChannelSoftmaxSupports(const OpCall& call) {
  if (const char* reason = CommonRefusal(call)) return reason;
  if (call.Input(0).rank != 4 || call.AttributesAs<SoftmaxAttributes>().axis != 1) {
    return "the vector softmax runs along the innermost dimension only";
  }
  return nullptr;
}

const char* LrnSupports(const OpCall& call) {
  if (const char* reason = CommonRefusal(call)) return reason;
  if (call.Input(0).rank != 4) return "the vector local response normalisation takes rank 4";
  if (call.AttributesAs<LrnAttributes>().size > kMostLrnWindow ||
      call.Input(0).dims[1] > kMostLrnDepth) {
    return "a wider window or more channels than the vector kernel's buffer takes";
  }
  return nullptr;
}

WinogradBlocks WinogradBlocksOf(const OpCall& call) {
  // Coefficients of one block and its products stay in the second-level cache (512 KiB and more).
  constexpr int64_t kBlockBytes = 240 * 1024;
  constexpr int kTileStep = 14;  // what the widest inner loop takes at once
  constexpr int kMostTiles = 56;
  const TensorView& y = call.Output();
  WinogradBlocks blocks;
  blocks.tiles = y.dims[0] * ((y.dims[2] + 3) / 4) * ((y.dims[3] + 3) / 4);
  blocks.padded_inputs = RoundUp(call.Input(0).dims[1], kChannelBlock);
  const int64_t tile_bytes =
      int64_t{kCoefficients} * (blocks.padded_inputs + kMostWidth) * int64_t{sizeof(float)};
  int64_t tiles = kBlockBytes / tile_bytes / kTileStep * kTileStep;
  if (tiles < kTileStep) tiles = kTileStep;
  if (tiles > kMostTiles) tiles = kMostTiles;
  blocks.block_tiles = static_cast<int>(tiles < blocks.tiles ? tiles : blocks.tiles);
  blocks.tile_bytes = static_cast<size_t>(tile_bytes);
  return blocks;
}

size_t WinogradWorkspaceBytes(const OpCall& call, int threads) {
  const WinogradBlocks blocks = WinogradBlocksOf(call);
  size_t most = 0;
  for (int parts = 1; parts <= threads && parts <= kMostWinogradParts && parts <= blocks.tiles;
       ++parts) {
    const size_t bytes = static_cast<size_t>(parts) * blocks.PartBytes(parts);
    if (bytes > most) most = bytes;
  }
  return most;
}

}  // namespace tenon::cpu::f32
