#include "backends/cpu/kernels/portable/gemm/quantized_block.hpp"

#include <cstring>

#include "backends/cpu/kernels/portable/quantized_values.hpp"

namespace tenon::cpu::portable {
namespace {

constexpr int kLanes = kQuantizedLanes;

int32_t WeightZeroPoint(const QuantizedGemm& gemm, int output) {
  if (gemm.w_zero_point.data == nullptr) return 0;
  return ByteValue(gemm.w_zero_point.At(output), gemm.w_flip);
}

/// Returns the byte that represents 0 in an input channel.
uint8_t ZeroByte(const QuantizedGemm& gemm, int channel) {
  return gemm.x_zero_point.data == nullptr ? uint8_t{0} : gemm.x_zero_point.At(channel);
}

/// What a tap's place adds to an offset, in steps of rows and columns.
struct Tap {
  int row;
  int column;
};

Tap TapAt(const QuantizedGemm& gemm, int tap) {
  return {tap / gemm.kernel[1], tap % gemm.kernel[1]};
}

const uint8_t* WeightsOf(const QuantizedGemm& gemm, int output, const Tap& tap) {
  return gemm.w + output * gemm.w_output + tap.row * gemm.w_row + tap.column * gemm.w_column;
}

void AddRun(const QuantizedGemm& gemm, ptrdiff_t offset, int length, QuantizedBlock& block) {
  if (block.run_count > 0 && !gemm.depthwise) {
    QuantizedRun& last = block.runs[block.run_count - 1];
    if (offset == last.offset + last.length * gemm.x_channel) {
      last.length += length;
      return;
    }
  }
  block.runs[block.run_count++] = {offset, length};
}

void PackLane(const QuantizedGemm& gemm, const QuantizedChunk& chunk, int lane,
              QuantizedBlock& block) {
  const int output = block.begin + lane;
  const int32_t zero_point = WeightZeroPoint(gemm, output);
  int input = 0;
  int32_t removed = 0;
  for (int tap = chunk.tap_begin; tap < chunk.tap_end; ++tap) {
    const uint8_t* w = WeightsOf(gemm, output, TapAt(gemm, tap));
    w += chunk.channel_begin * gemm.w_channel;
    for (int i = 0; i < chunk.channels; ++i, ++input) {
      const int32_t weight = ByteValue(w[i * gemm.w_channel], gemm.w_flip) - zero_point;
      block.weights[(input / 2 * kLanes + lane) * 2 + input % 2] = static_cast<int16_t>(weight);
      removed += weight * (block.padding[gemm.depthwise ? lane : i] ^ gemm.x_flip);
    }
  }
  block.constants[lane] -= static_cast<uint32_t>(removed);
}

}  // namespace

void PackChunk(const QuantizedGemm& gemm, const QuantizedChunk& chunk, QuantizedBlock& block) {
  block.run_count = 0;
  for (int tap = chunk.tap_begin; tap < chunk.tap_end; ++tap) {
    const Tap at = TapAt(gemm, tap);
    const ptrdiff_t offset = ptrdiff_t{at.row} * gemm.dilations[0] * gemm.x_row +
                             ptrdiff_t{at.column} * gemm.dilations[1] * gemm.x_column +
                             chunk.channel_begin * gemm.x_channel;
    AddRun(gemm, offset, chunk.channels, block);
  }
  std::memset(block.weights, 0, sizeof(block.weights));
  const int zeros = gemm.depthwise ? block.lanes : chunk.channels;
  const int first = gemm.depthwise ? block.begin : chunk.channel_begin;
  for (int i = 0; i < zeros; ++i) block.padding[i] = ZeroByte(gemm, first + i);
  for (int lane = 0; lane < block.lanes; ++lane) PackLane(gemm, chunk, lane, block);
}

}  // namespace tenon::cpu::portable
