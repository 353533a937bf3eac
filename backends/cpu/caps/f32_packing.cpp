// Gives the keys and sizes of the vector kernels' packed weights, which they keep per op or, where
// they are computed, in the workspace.
#include <initializer_list>

#include "backends/cpu/caps/f32_caps.hpp"
#include "runtime/base/round_up.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/kernel_refusals.hpp"

namespace tenon::cpu::f32 {
namespace {

// Of the kernels' blocks: arrays begin at cache lines, a header and a descriptor for each group of
// channels stand in front. The narrowest instruction set makes the most groups.
constexpr int64_t kLine = 64;
constexpr int64_t kHeaderBytes = 128;
constexpr int64_t kGroupBytes = 48;
constexpr int64_t kNarrowestTile = kGenericTile.width;
constexpr int64_t kFewestLanes = 4;

constexpr int64_t FloatBytes(int64_t count) {
  return RoundUp<int64_t>(count * int64_t{sizeof(float)}, kLine);
}

/// `convolutions` times `outputs` channels, each from `depth` channels over `taps`. In place, only
/// a last group that is no whole number of vectors is packed.
size_t GroupedBytes(int64_t convolutions, int64_t outputs, int64_t depth, int64_t taps,
                    bool in_place) {
  const int64_t groups = convolutions * RoundUp<int64_t>(outputs, kNarrowestTile) / kNarrowestTile;
  int64_t packed = outputs;
  if (in_place) packed = outputs % kWidthStep == 0 ? 0 : outputs % kMostWidth;
  const int64_t channels = convolutions * RoundUp<int64_t>(packed, kWidthStep);
  return static_cast<size_t>(kHeaderBytes + RoundUp<int64_t>(groups * kGroupBytes, kLine) +
                             FloatBytes(channels * depth * taps) + FloatBytes(channels) +
                             FloatBytes(depth * convolutions + kMostWidth));
}

void AddConstants(const OpCall& call, int scale, PackingKey* key) {
  key->AddTensor(call.Input(GemmInput::kWeights));
  for (const int other : {2, scale}) {
    key->Add(call.HasInput(other) ? 1 : 0);
    if (call.HasInput(other)) key->AddTensor(call.Input(other));
  }
}

/// Weights that are stored in fewer bits are packed as f32 wherever they lie.
bool IsPlain(const OpCall& call) { return call.Input(GemmInput::kWeights).dtype == DType::kF32; }

size_t ConvBytes(const OpCall& call, bool in_place) {
  const TensorView& w = call.Input(GemmInput::kWeights);
  const int32_t convolutions = call.AttributesAs<ConvAttributes>().group;
  return GroupedBytes(convolutions, w.dims[0] / convolutions, w.dims[1], ConvTaps(call), in_place);
}

size_t MatMulBytes(const OpCall& call, bool in_place) {
  const TensorView& a = call.Input(0);
  const TensorView& y = call.Output();
  return GroupedBytes(1, y.dims[y.rank - 1], a.dims[a.rank - 1], 1, in_place);
}

}  // namespace

void ConvPackingKey(const OpCall& call, PackingKey* key) {
  key->Add(call.AttributesAs<ConvAttributes>().group);
  AddConstants(call, 4, key);
}

void MatMulPackingKey(const OpCall& call, PackingKey* key) {
  key->Add(call.AttributesAs<MatMulAttributes>().transpose_b);
  AddConstants(call, 3, key);
}

size_t ConvPackedBytes(const OpCall& call) { return ConvBytes(call, IsPlain(call)); }
size_t ConvPanelsBytes(const OpCall& call) { return ConvBytes(call, /*in_place=*/false); }

size_t WinogradPackedBytes(const OpCall& call) {
  const TensorView& w = call.Input(GemmInput::kWeights);
  const int32_t convolutions = call.AttributesAs<ConvAttributes>().group;
  return GroupedBytes(convolutions, w.dims[0] / convolutions, w.dims[1], kWinogradCoefficients,
                      false);
}

size_t NarrowConvPackedBytes(const OpCall& call) {
  return static_cast<size_t>(kLine + FloatBytes(call.Input(GemmInput::kWeights).Elements()) +
                             FloatBytes(kNarrowBias));
}

size_t PixelConvPackedBytes(const OpCall& call) {
  const TensorView& w = call.Input(GemmInput::kWeights);
  const int32_t groups = call.AttributesAs<ConvAttributes>().group;
  const int64_t outputs = int64_t{groups} * RoundUp<int64_t>(w.dims[0] / groups, kPixelOutputStep);
  return static_cast<size_t>(kLine + FloatBytes(outputs * w.dims[1] * ConvTaps(call)) +
                             FloatBytes(outputs));
}

size_t DepthwisePackedBytes(const OpCall& call) {
  const TensorView& w = call.Input(GemmInput::kWeights);
  const int64_t channels = RoundUp<int64_t>(w.dims[0], kChannelBlock);
  const bool in_place = IsPlain(call) && w.dims[0] % kFewestLanes == 0;
  return static_cast<size_t>(kHeaderBytes +
                             (in_place ? 0 : FloatBytes(channels * w.dims[1] * ConvTaps(call))) +
                             2 * FloatBytes(channels));
}

BatchedRows BatchedRowsOf(const OpCall& matmul) {
  const TensorView& y = matmul.Output();
  const int64_t rows = y.Elements() / y.dims[y.rank - 1];
  if (HasOneMatrix(matmul)) return {1, rows};
  return {rows / y.dims[y.rank - 2], y.dims[y.rank - 2]};
}

bool ReadsComputedInPlace(const OpCall& matmul) {
  return matmul.AttributesAs<MatMulAttributes>().transpose_b == 0 &&
         BatchedRowsOf(matmul).rows <= kMostRowsInPlace;
}

size_t ComputedMatMulBlockBytes(const OpCall& call) {
  return MatMulBytes(call, ReadsComputedInPlace(call));
}

size_t ComputedMatMulWorkspaceBytes(const OpCall& call, int threads) {
  const int64_t batches = BatchedRowsOf(call).batches;
  const int64_t blocks = batches < threads ? 1 : threads;
  return static_cast<size_t>(kLine) + static_cast<size_t>(blocks) * ComputedMatMulBlockBytes(call);
}

size_t ComputedConvWorkspaceBytes(const OpCall& call, int /*threads*/) {
  return static_cast<size_t>(kLine) + ConvBytes(call, /*in_place=*/false);
}

size_t MatMulPackedBytes(const OpCall& call) { return MatMulBytes(call, IsPlain(call)); }
size_t MatMulPanelsBytes(const OpCall& call) { return MatMulBytes(call, /*in_place=*/false); }

}  // namespace tenon::cpu::f32
