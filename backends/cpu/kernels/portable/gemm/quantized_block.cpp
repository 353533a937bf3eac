#include "backends/cpu/kernels/portable/gemm/quantized_block.hpp"

#include <cstring>

#include "backends/cpu/kernels/portable/quantized_values.hpp"

namespace tenon::cpu::portable {
namespace {

constexpr int kLanes = kQuantizedLanes;

int32_t WeightZeroPoint(const QuantizedProduct& product, int output) {
  if (product.w_zero_point.data == nullptr) return 0;
  return ByteValue(product.w_zero_point.At(output), product.w_flip);
}

/// The byte that stands for 0 in an input channel.
uint8_t ZeroByte(const QuantizedProduct& product, int channel) {
  return product.x_zero_point.data == nullptr ? uint8_t{0} : product.x_zero_point.At(channel);
}

/// What a tap's place adds to an offset, in steps of rows and columns.
struct Tap {
  int row;
  int column;
};

Tap TapAt(const QuantizedProduct& product, int tap) {
  return {tap / product.kernel[1], tap % product.kernel[1]};
}

const uint8_t* WeightsOf(const QuantizedProduct& product, int output, const Tap& tap) {
  return product.w + output * product.w_output + tap.row * product.w_row +
         tap.column * product.w_column;
}

void AddRun(const QuantizedProduct& product, ptrdiff_t offset, int length, QuantizedBlock& block) {
  if (block.run_count > 0 && !product.depthwise) {
    QuantizedRun& last = block.runs[block.run_count - 1];
    if (offset == last.offset + last.length * product.x_channel) {
      last.length += length;
      return;
    }
  }
  block.runs[block.run_count++] = {offset, length};
}

void PackLane(const QuantizedProduct& product, const QuantizedChunk& chunk, int lane,
              QuantizedBlock& block) {
  const int output = block.begin + lane;
  const int32_t zero_point = WeightZeroPoint(product, output);
  int input = 0;
  int32_t removed = 0;
  for (int tap = chunk.tap_begin; tap < chunk.tap_end; ++tap) {
    const uint8_t* w = WeightsOf(product, output, TapAt(product, tap));
    w += chunk.channel_begin * product.w_channel;
    for (int i = 0; i < chunk.channels; ++i, ++input) {
      const int32_t weight = ByteValue(w[i * product.w_channel], product.w_flip) - zero_point;
      block.weights[(input / 2 * kLanes + lane) * 2 + input % 2] = static_cast<int16_t>(weight);
      removed += weight * (block.padding[product.depthwise ? lane : i] ^ product.x_flip);
    }
  }
  block.constants[lane] -= static_cast<uint32_t>(removed);
}

}  // namespace

void PackChunk(const QuantizedProduct& product, const QuantizedChunk& chunk,
               QuantizedBlock& block) {
  block.run_count = 0;
  for (int tap = chunk.tap_begin; tap < chunk.tap_end; ++tap) {
    const Tap at = TapAt(product, tap);
    const ptrdiff_t offset = ptrdiff_t{at.row} * product.dilations[0] * product.x_row +
                             ptrdiff_t{at.column} * product.dilations[1] * product.x_column +
                             chunk.channel_begin * product.x_channel;
    AddRun(product, offset, chunk.channels, block);
  }
  std::memset(block.weights, 0, sizeof(block.weights));
  const int zeros = product.depthwise ? block.lanes : chunk.channels;
  const int first = product.depthwise ? block.begin : chunk.channel_begin;
  for (int i = 0; i < zeros; ++i) block.padding[i] = ZeroByte(product, first + i);
  for (int lane = 0; lane < block.lanes; ++lane) PackLane(product, chunk, lane, block);
}

}  // namespace tenon::cpu::portable
