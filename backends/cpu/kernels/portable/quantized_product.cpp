#include "backends/cpu/kernels/portable/quantized_product.hpp"

#include <cstring>

#include "backends/cpu/kernels/portable/quantized_values.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tenon::cpu::portable {
namespace {

using Sums = uint32_t __attribute__((vector_size(16)));  // unsigned: sums wrap
using Words = int16_t __attribute__((vector_size(16)));

constexpr int kVectorLanes = 4;
constexpr int kVectors = 2;
constexpr int kLanes = kVectors * kVectorLanes;  // outputs of a block
constexpr int kTile = 4;                         // positions of a tile
constexpr int kDepth = 64;      // inputs that are packed at once, each tap's rounded up to pairs
constexpr int kPositions = 32;  // positions of a task: what the packing is shared by

/// The part of the sum that is done in one go: whole taps, or a part of one tap's channels.
struct Chunk {
  int tap_begin;
  int tap_end;
  int channel_begin;
  int channels;
};

struct Position {
  int row;
  int column;
};

/// A block of outputs at the positions of one task.
struct Block {
  int begin;  ///< first output
  int lanes;
  int positions;
  Position first;
  uint32_t constants[kLanes];  ///< bias, less what the zero points of x add to the sum
  uint32_t sums[kPositions * kLanes];
  alignas(16) int16_t weights[kDepth * kLanes];  ///< [pair, lane, 2]; depthwise: [tap, lane]
  uint8_t padding[kDepth];  ///< what the chunk's channels (or lanes) read there
};

void Advance(const QuantizedProduct& product, Position& position) {
  if (++position.column < product.out_extent[1]) return;
  position.column = 0;
  ++position.row;
}

/// Each pair of a times the pair of b, summed.
Sums PairProducts(Words a, Words b) {
#if defined(__SSE2__)
  return reinterpret_cast<Sums>(
      _mm_madd_epi16(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#else
  Sums sums;
  for (int i = 0; i < kVectorLanes; ++i) {
    sums[i] = static_cast<uint32_t>(a[2 * i] * b[2 * i] + a[2 * i + 1] * b[2 * i + 1]);
  }
  return sums;
#endif
}

Words LoadWords(const int16_t* data) {
  Words words;
  std::memcpy(&words, data, sizeof(words));
  return words;
}

Words SplatPair(const int16_t* pair) {
  int32_t both;
  std::memcpy(&both, pair, sizeof(both));
  using Pairs = int32_t __attribute__((vector_size(16)));
  return reinterpret_cast<Words>(Pairs{both, both, both, both});
}

/// A weight less its zero point.
int32_t WeightOf(const QuantizedProduct& product, uint8_t byte, int32_t zero_point) {
  return ByteValue(byte, product.w_flip) - zero_point;
}

int32_t WeightZeroPoint(const QuantizedProduct& product, int output) {
  if (product.w_zero_point.data == nullptr) return 0;
  return ByteValue(product.w_zero_point.At(output), product.w_flip);
}

/// The byte that stands for 0 in an input channel.
uint8_t ZeroByte(const QuantizedProduct& product, int channel) {
  return product.x_zero_point.data == nullptr ? uint8_t{0} : product.x_zero_point.At(channel);
}

ptrdiff_t TapOffset(const QuantizedProduct& product, int tap) {
  return tap / product.kernel[1] * product.w_row + tap % product.kernel[1] * product.w_column;
}

/// Gathers the chunk's weights in pairs of channels, and takes from the constants what the zero
/// points of x add. Channels that fill the last pair up, and lanes beyond the last output, are 0.
void PackWeights(const QuantizedProduct& product, const Chunk& chunk, Block& block) {
  const int pairs = (chunk.channels + 1) / 2;
  std::memset(block.weights, 0, sizeof(block.weights));
  for (int i = 0; i < chunk.channels; ++i) {
    block.padding[i] = ZeroByte(product, chunk.channel_begin + i);
  }
  for (int lane = 0; lane < block.lanes; ++lane) {
    const int output = block.begin + lane;
    const int32_t zero_point = WeightZeroPoint(product, output);
    int16_t* packed = block.weights + lane * 2;
    int32_t removed = 0;
    for (int tap = chunk.tap_begin; tap < chunk.tap_end; ++tap) {
      const uint8_t* w = product.w + output * product.w_output + TapOffset(product, tap) +
                         chunk.channel_begin * product.w_channel;
      for (int i = 0; i < chunk.channels; ++i) {
        const int32_t weight = WeightOf(product, w[i * product.w_channel], zero_point);
        packed[i / 2 * kLanes * 2 + i % 2] = static_cast<int16_t>(weight);
        removed += weight * (block.padding[i] ^ product.x_flip);
      }
      packed += pairs * kLanes * 2;
    }
    block.constants[lane] -= static_cast<uint32_t>(removed);
  }
}

/// The same for one input and one output per lane.
void PackDepthwise(const QuantizedProduct& product, const Chunk& chunk, Block& block) {
  std::memset(block.weights, 0, sizeof(block.weights));
  for (int lane = 0; lane < block.lanes; ++lane) {
    const int output = block.begin + lane;
    const int32_t zero_point = WeightZeroPoint(product, output);
    block.padding[lane] = ZeroByte(product, output);
    int32_t removed = 0;
    for (int tap = chunk.tap_begin; tap < chunk.tap_end; ++tap) {
      const uint8_t byte = product.w[output * product.w_output + TapOffset(product, tap)];
      const int32_t weight = WeightOf(product, byte, zero_point);
      block.weights[(tap - chunk.tap_begin) * kLanes + lane] = static_cast<int16_t>(weight);
      removed += weight * (block.padding[lane] ^ product.x_flip);
    }
    block.constants[lane] -= static_cast<uint32_t>(removed);
  }
}

/// The first of x's elements that a tap sees at a position, or null in the padding.
const uint8_t* FindElements(const QuantizedProduct& product, const Position& position, int tap) {
  const int kernel_row = product.kernel[1] == 1 ? tap : tap / product.kernel[1];
  const int kernel_column = tap - kernel_row * product.kernel[1];
  const int row =
      position.row * product.strides[0] - product.pads[0] + kernel_row * product.dilations[0];
  const int column =
      position.column * product.strides[1] - product.pads[1] + kernel_column * product.dilations[1];
  if (row < 0 || row >= product.in_extent[0] || column < 0 || column >= product.in_extent[1]) {
    return nullptr;
  }
  return product.x + row * product.x_row + column * product.x_column;
}

/// Copies `count` elements to words; signed ones plus 128, as everywhere here.
void Widen(const uint8_t* from, ptrdiff_t step, int32_t flip, int count, int16_t* to) {
  if (step == 1) {
    for (int i = 0; i < count; ++i) to[i] = static_cast<int16_t>(from[i] ^ flip);
  } else {
    for (int i = 0; i < count; ++i) to[i] = static_cast<int16_t>(from[i * step] ^ flip);
  }
}

/// The chunk's inputs at one position, in the order of the packed weights. Gives their pairs.
int GatherInputs(const QuantizedProduct& product, const Chunk& chunk, const Block& block,
                 const Position& position, int16_t* inputs) {
  const int words = (chunk.channels + 1) / 2 * 2;
  int filled = 0;
  for (int tap = chunk.tap_begin; tap < chunk.tap_end; ++tap, filled += words) {
    const uint8_t* x = FindElements(product, position, tap);
    inputs[filled + words - 1] = 0;
    if (x == nullptr) {
      Widen(block.padding, 1, product.x_flip, chunk.channels, inputs + filled);
    } else {
      Widen(x + chunk.channel_begin * product.x_channel, product.x_channel, product.x_flip,
            chunk.channels, inputs + filled);
    }
  }
  return filled / 2;
}

/// Adds the chunk's products to the sums of P positions.
template <int P>
void AddTile(const QuantizedProduct& product, const Chunk& chunk, const Block& block,
             Position& position, uint32_t* sums) {
  alignas(16) int16_t inputs[P][kDepth];
  int pairs = 0;
  for (int p = 0; p < P; ++p) {
    pairs = GatherInputs(product, chunk, block, position, inputs[p]);
    Advance(product, position);
  }
  Sums totals[P][kVectors] = {};
  for (int pair = 0; pair < pairs; ++pair) {
    const int16_t* weights = block.weights + pair * kLanes * 2;
#pragma GCC unroll 4
    for (int p = 0; p < P; ++p) {
      const Words input = SplatPair(inputs[p] + pair * 2);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        totals[p][v] += PairProducts(input, LoadWords(weights + v * kVectorLanes * 2));
      }
    }
  }
  for (int p = 0; p < P; ++p) {
    for (int i = 0; i < kLanes; ++i) {
      sums[p * kLanes + i] += totals[p][i / kVectorLanes][i % kVectorLanes];
    }
  }
}

void AddDepthwise(const QuantizedProduct& product, const Chunk& chunk, const Block& block,
                  const Position& position, uint32_t* sums) {
  int32_t totals[kLanes] = {};
  for (int tap = chunk.tap_begin; tap < chunk.tap_end; ++tap) {
    int16_t inputs[kLanes] = {};
    const uint8_t* x = FindElements(product, position, tap);
    if (x != nullptr && product.x_channel == 1 && block.lanes == kLanes) {
      Widen(x + block.begin, 1, product.x_flip, kLanes, inputs);
    } else if (x != nullptr) {
      Widen(x + block.begin * product.x_channel, product.x_channel, product.x_flip, block.lanes,
            inputs);
    } else {
      Widen(block.padding, 1, product.x_flip, block.lanes, inputs);
    }
    const int16_t* weights = block.weights + (tap - chunk.tap_begin) * kLanes;
    for (int i = 0; i < kLanes; ++i) totals[i] += int32_t{inputs[i]} * weights[i];
  }
  for (int i = 0; i < kLanes; ++i) sums[i] += static_cast<uint32_t>(totals[i]);
}

void AddChunk(const QuantizedProduct& product, const Chunk& chunk, Block& block) {
  Position position = block.first;
  uint32_t* sums = block.sums;
  int left = block.positions;
  if (product.depthwise) {
    PackDepthwise(product, chunk, block);
    for (; left > 0; --left, sums += kLanes) {
      AddDepthwise(product, chunk, block, position, sums);
      Advance(product, position);
    }
    return;
  }
  PackWeights(product, chunk, block);
  for (; left >= kTile; left -= kTile, sums += kTile * kLanes) {
    AddTile<kTile>(product, chunk, block, position, sums);
  }
  for (; left > 0; --left, sums += kLanes) AddTile<1>(product, chunk, block, position, sums);
}

/// Calls `store(lane, sum, y offset)` for every sum of the block.
template <typename Store>
void ForEachSum(const QuantizedProduct& product, const Block& block, const Store& store) {
  Position position = block.first;
  for (int p = 0; p < block.positions; ++p) {
    const ptrdiff_t y = position.row * product.y_row + position.column * product.y_column +
                        block.begin * product.y_output;
    for (int lane = 0; lane < block.lanes; ++lane) {
      const uint32_t sum = block.sums[p * kLanes + lane] + block.constants[lane];
      store(lane, static_cast<int32_t>(sum), y + lane * product.y_output);
    }
    Advance(product, position);
  }
}

template <int32_t (*kMultiply)(int32_t, int32_t, int32_t)>
void StoreFixedPoint(const QuantizedProduct& product, const Block& block) {
  int32_t multipliers[kLanes] = {};
  int32_t shifts[kLanes] = {};
  for (int lane = 0; lane < block.lanes; ++lane) {
    multipliers[lane] = product.multiplier.At(block.begin + lane);
    shifts[lane] = product.shift.At(block.begin + lane);
  }
  auto* y = static_cast<uint8_t*>(product.y);
  ForEachSum(product, block, [&](int lane, int32_t sum, ptrdiff_t at) {
    y[at] = OutputByte(product.output, kMultiply(sum, multipliers[lane], shifts[lane]));
  });
}

void StoreScaled(const QuantizedProduct& product, const Block& block) {
  float scales[kLanes] = {};
  for (int lane = 0; lane < block.lanes; ++lane) {
    scales[lane] = product.scale.At(block.begin + lane);
  }
  if (product.output.to == static_cast<int32_t>(DType::kF32)) {
    auto* y = static_cast<float*>(product.y);
    ForEachSum(product, block, [&](int lane, int32_t sum, ptrdiff_t at) {
      y[at] = static_cast<float>(sum) * scales[lane];
    });
    return;
  }
  auto* y = static_cast<uint8_t*>(product.y);
  ForEachSum(product, block, [&](int lane, int32_t sum, ptrdiff_t at) {
    y[at] = OutputByte(product.output, RoundHalfEven(static_cast<float>(sum) * scales[lane]));
  });
}

void StoreBlock(const QuantizedProduct& product, const Block& block) {
  if (product.output.to == static_cast<int32_t>(DType::kI32)) {
    auto* y = static_cast<int32_t*>(product.y);
    ForEachSum(product, block, [&](int, int32_t sum, ptrdiff_t at) { y[at] = sum; });
  } else if (product.output.rounding == Rounding::kFixedPoint) {
    StoreFixedPoint<FixedPointMultiply>(product, block);
  } else if (product.output.rounding == Rounding::kFixedPointOnce) {
    StoreFixedPoint<FixedPointMultiplyOnce>(product, block);
  } else {
    StoreScaled(product, block);
  }
}

int Blocks(int count, int size) { return count / size + (count % size != 0 ? 1 : 0); }

/// Taps that fit a chunk with their channels rounded up to pairs; at least one.
int TapsAtOnce(const QuantizedProduct& product) {
  if (product.depthwise) return kDepth;
  const int words = product.channels >= kDepth ? kDepth : (product.channels + 1) / 2 * 2;
  return kDepth / words;
}

}  // namespace

int QuantizedTasks(const QuantizedProduct& product) {
  return Blocks(product.out_extent[0] * product.out_extent[1], kPositions) *
         Blocks(product.outputs, kLanes);
}

void RunQuantizedTask(const QuantizedProduct& product, int task) {
  const int output_blocks = Blocks(product.outputs, kLanes);
  const int positions = product.out_extent[0] * product.out_extent[1];
  const int first = task / output_blocks * kPositions;
  Block block;
  block.begin = task % output_blocks * kLanes;
  block.lanes = product.outputs - block.begin < kLanes ? product.outputs - block.begin : kLanes;
  block.positions = positions - first < kPositions ? positions - first : kPositions;
  block.first = {first / product.out_extent[1], first % product.out_extent[1]};
  for (int lane = 0; lane < block.lanes; ++lane) {
    const bool has_bias = product.bias.data != nullptr;
    block.constants[lane] =
        has_bias ? static_cast<uint32_t>(product.bias.At(block.begin + lane)) : 0U;
  }
  std::memset(block.sums, 0, sizeof(block.sums));

  const int taps = product.kernel[0] * product.kernel[1];
  const int taps_at_once = TapsAtOnce(product);
  for (int tap = 0; tap < taps; tap += taps_at_once) {
    const int tap_end = taps - tap < taps_at_once ? taps : tap + taps_at_once;
    for (int channel = 0; channel < product.channels; channel += kDepth) {
      const int left = product.channels - channel;
      AddChunk(product, {tap, tap_end, channel, left < kDepth ? left : kDepth}, block);
    }
  }
  StoreBlock(product, block);
}

}  // namespace tenon::cpu::portable
