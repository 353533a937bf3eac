#include "backends/cpu/kernels/portable/gemm/tile_gemm.hpp"

#include <cstring>

#include "backends/cpu/kernels/portable/elementwise/activation.hpp"

namespace tenon::cpu::portable {
namespace {

// Four lanes everywhere: what SSE, NEON and MVE have. Compilers lower it to scalars elsewhere,
// where one vector of outputs by four positions still fits 32 registers.
using Vector = float __attribute__((vector_size(16)));
constexpr int kVectorLanes = 4;

#if defined(__SSE__) || defined(__ARM_NEON) || defined(__riscv_vector)
constexpr int kVectors = 2;
#else
constexpr int kVectors = 1;
#endif
constexpr int kLanes = kVectors * kVectorLanes;  // outputs of a block
constexpr int kTile = 4;                         // positions of a tile
constexpr int kDepth = 64;       // inputs packed at once: kDepth * kLanes floats of stack
constexpr int kPositions = 128;  // positions of a task: what the packing is shared by

/// The part of the sum that is done in one go: whole taps, or a part of one tap's channels.
struct Chunk {
  int tap_begin;
  int tap_end;
  int channel_begin;
  int channel_end;
  bool first;
  bool last;
  const float* w;    ///< [taps, channels] blocks of kLanes outputs
  ptrdiff_t w_step;  ///< from one block to the next
};

/// The block of outputs that a task computes.
struct Block {
  int begin;
  int lanes;
  int interior_begin;  ///< columns whose every tap lies inside x's columns
  int interior_end;
};

Vector LoadVector(const float* data) {
  Vector vector;
  std::memcpy(&vector, data, sizeof(vector));
  return vector;
}

void StoreVector(float* data, Vector vector) { std::memcpy(data, &vector, sizeof(vector)); }

void LoadLanes(const float* data, ptrdiff_t stride, int lanes, float* values) {
  if (stride == 1 && lanes == kLanes) {
    std::memcpy(values, data, kLanes * sizeof(float));
    return;
  }
  for (int i = 0; i < lanes; ++i) values[i] = data[i * stride];
}

void StoreLanes(const float* values, int lanes, ptrdiff_t stride, float* data) {
  if (stride == 1 && lanes == kLanes) {
    std::memcpy(data, values, kLanes * sizeof(float));
    return;
  }
  for (int i = 0; i < lanes; ++i) data[i * stride] = values[i];
}

/// Sets the sums of one position to the addends.
void StartSums(const TileProduct& product, const Block& block, int row, int column, float* sums) {
  for (int i = 0; i < kLanes; ++i) sums[i] = 0.0F;
  for (const Addend& addend : product.addends) {
    if (addend.data == nullptr) continue;
    float values[kLanes] = {};
    LoadLanes(addend.data + row * addend.row + column * addend.column + block.begin * addend.output,
              addend.output, block.lanes, values);
    for (int i = 0; i < kLanes; ++i) sums[i] += values[i];
  }
}

/// Values of `count` channels from `first` on, at `offset` in an x of bytes.
void ReadBytes(const TileProduct& product, ptrdiff_t offset, int first, int count, float* values) {
  const uint8_t* from = product.x_bytes + offset + first * product.x_channel;
  const float* mean = product.x_mean + first * product.x_mean_channel;
  for (int i = 0; i < count; ++i) {
    values[i] = static_cast<float>(from[i * product.x_channel]) - mean[i * product.x_mean_channel];
  }
}

/// Adds a chunk's products to the sums of P neighbouring positions of one row. With P > 1 every
/// tap must lie inside x's columns.
template <int P, bool kDepthwise>
void AddProducts(const TileProduct& product, const Block& block, const Chunk& chunk, int row,
                 int column, float* sums) {
  Vector totals[P][kVectors];
#pragma GCC unroll 4
  for (int p = 0; p < P; ++p) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      totals[p][v] = LoadVector(sums + p * kLanes + v * kVectorLanes);
    }
  }
  const int channels = chunk.channel_end - chunk.channel_begin;
  const bool is_float = product.x_bytes == nullptr;
  const ptrdiff_t pixel = product.strides[1] * product.x_column;
  const ptrdiff_t step = is_float || kDepthwise ? pixel : kDepth;
  const ptrdiff_t channel_step = is_float ? product.x_channel : 1;
  float converted[kDepthwise ? 1 : P * kDepth];
  const float* w = chunk.w;
  for (int tap = chunk.tap_begin; tap < chunk.tap_end; ++tap, w += channels * chunk.w_step) {
    const int kernel_row = product.kernel[1] == 1 ? tap : tap / product.kernel[1];
    const int kernel_column = tap - kernel_row * product.kernel[1];
    const int x_row =
        row * product.strides[0] - product.pads[0] + kernel_row * product.dilations[0];
    if (x_row < 0 || x_row >= product.in_extent[0]) continue;
    const int x_column =
        column * product.strides[1] - product.pads[1] + kernel_column * product.dilations[1];
    if (P == 1 && (x_column < 0 || x_column >= product.in_extent[1])) continue;
    ptrdiff_t offset = x_row * product.x_row + x_column * product.x_column;
    if constexpr (kDepthwise) {
      const bool contiguous = is_float && product.x_channel == 1 && block.lanes == kLanes;
#pragma GCC unroll 4
      for (int p = 0; p < P; ++p, offset += step) {
        float gathered[kLanes] = {};
        const float* values = gathered;
        if (contiguous) {
          values = product.x + offset + block.begin;
        } else if (is_float) {
          LoadLanes(product.x + offset + block.begin * product.x_channel, product.x_channel,
                    block.lanes, gathered);
        } else {
          ReadBytes(product, offset, block.begin, block.lanes, gathered);
        }
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) {
          totals[p][v] += LoadVector(values + v * kVectorLanes) * LoadVector(w + v * kVectorLanes);
        }
      }
    } else {
      const float* x = converted;
      if (is_float) {
        x = product.x + offset + chunk.channel_begin * product.x_channel;
      } else {
        for (int p = 0; p < P; ++p) {
          ReadBytes(product, offset + p * pixel, chunk.channel_begin, channels,
                    converted + p * kDepth);
        }
      }
      const float* w_channel = w;
      for (int channel = 0; channel < channels; ++channel) {
        Vector weights[kVectors];
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) weights[v] = LoadVector(w_channel + v * kVectorLanes);
#pragma GCC unroll 4
        for (int p = 0; p < P; ++p) {
          const float value = x[p * step];
#pragma GCC unroll 2
          for (int v = 0; v < kVectors; ++v) totals[p][v] += value * weights[v];
        }
        x += channel_step;
        w_channel += chunk.w_step;
      }
    }
  }
#pragma GCC unroll 4
  for (int p = 0; p < P; ++p) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      StoreVector(sums + p * kLanes + v * kVectorLanes, totals[p][v]);
    }
  }
}

template <int P, bool kDepthwise>
void RunTile(const TileProduct& product, const Block& block, const Chunk& chunk, int row,
             int column) {
  float sums[P * kLanes] = {};
  float* y =
      product.y + row * product.y_row + column * product.y_column + block.begin * product.y_output;
  for (int p = 0; p < P; ++p) {
    if (chunk.first) {
      StartSums(product, block, row, column + p, sums + p * kLanes);
    } else {
      LoadLanes(y + p * product.y_column, product.y_output, block.lanes, sums + p * kLanes);
    }
  }
  AddProducts<P, kDepthwise>(product, block, chunk, row, column, sums);
  if (chunk.last) ApplyInPlace(product.activation, sums, P * kLanes);
  for (int p = 0; p < P; ++p) {
    StoreLanes(sums + p * kLanes, block.lanes, product.y_output, y + p * product.y_column);
  }
}

template <bool kDepthwise>
void RunPositions(const TileProduct& product, const Block& block, const Chunk& chunk, int begin,
                  int end) {
  int row = begin / product.out_extent[1];
  int column = begin % product.out_extent[1];
  while (begin < end) {
    const int left = product.out_extent[1] - column;
    const int row_end = column + (left < end - begin ? left : end - begin);
    begin += row_end - column;
    while (column < row_end) {
      if (column >= block.interior_begin && column + kTile <= block.interior_end &&
          column + kTile <= row_end) {
        RunTile<kTile, kDepthwise>(product, block, chunk, row, column);
        column += kTile;
      } else {
        RunTile<1, kDepthwise>(product, block, chunk, row, column);
        ++column;
      }
    }
    ++row;
    column = 0;
  }
}

/// Gathers the chunk's weights, outputs innermost, lanes beyond the last output zero.
void PackWeights(const TileProduct& product, const Block& block, const Chunk& chunk,
                 float* packed) {
  const int channels = chunk.channel_end - chunk.channel_begin;
  for (int tap = chunk.tap_begin; tap < chunk.tap_end; ++tap, packed += channels * kLanes) {
    const ptrdiff_t first = product.w_first + tap / product.kernel[1] * product.w_row +
                            tap % product.kernel[1] * product.w_column +
                            chunk.channel_begin * product.w_channel;
    for (int lane = 0; lane < block.lanes; ++lane) {
      const int output = block.begin + lane;
      product.w.Read(first + output * product.w_output, product.w_channel, channels,
                     product.first_scale + output, packed + lane, kLanes);
    }
    for (int lane = block.lanes; lane < kLanes; ++lane) {
      for (int channel = 0; channel < channels; ++channel) packed[channel * kLanes + lane] = 0.0F;
    }
  }
}

void RunChunk(const TileProduct& product, const Block& block, Chunk& chunk, int begin, int end) {
  float packed[kDepth * kLanes];
  const int taps = product.kernel[0] * product.kernel[1];
  if (taps == 1 && product.w_output == 1 && block.lanes == kLanes && product.w.IsPlain()) {
    chunk.w =
        product.w.Plain() + product.w_first + block.begin + chunk.channel_begin * product.w_channel;
    chunk.w_step = product.w_channel;
  } else {
    PackWeights(product, block, chunk, packed);
    chunk.w = packed;
    chunk.w_step = kLanes;
  }
  if (product.depthwise) {
    RunPositions<true>(product, block, chunk, begin, end);
  } else {
    RunPositions<false>(product, block, chunk, begin, end);
  }
  chunk.w = nullptr;  // perhaps on this function's stack
}

/// Sets the columns [begin, end) whose taps all lie inside x; empty if there are none.
void FindInterior(const TileProduct& product, Block& block) {
  const int stride = product.strides[1];
  const int last_tap = (product.kernel[1] - 1) * product.dilations[1];
  const int room = product.in_extent[1] - 1 + product.pads[1] - last_tap;
  block.interior_begin = (product.pads[1] + stride - 1) / stride;
  block.interior_end = room < 0 ? 0 : room / stride + 1;
}

int Blocks(int count, int size) { return count / size + (count % size != 0 ? 1 : 0); }

}  // namespace

int TileTasks(const TileProduct& product) {
  return Blocks(product.out_extent[0] * product.out_extent[1], kPositions) *
         Blocks(product.outputs, kLanes);
}

void RunTileTask(const TileProduct& product, int task) {
  const int output_blocks = Blocks(product.outputs, kLanes);
  const int positions = product.out_extent[0] * product.out_extent[1];
  Block block = {};
  block.begin = task % output_blocks * kLanes;
  block.lanes = product.outputs - block.begin < kLanes ? product.outputs - block.begin : kLanes;
  FindInterior(product, block);
  const int begin = task / output_blocks * kPositions;
  const int end = positions - begin < kPositions ? positions : begin + kPositions;

  // An empty sum is one chunk of no channels: the addends are still to be written.
  const int taps = product.kernel[0] * product.kernel[1];
  const int channels = product.channels;
  const int taps_at_once = channels == 0 ? taps : (channels < kDepth ? kDepth / channels : 1);
  const int channels_at_once = channels < kDepth ? channels : kDepth;
  for (int tap = 0; tap < taps; tap += taps_at_once) {
    int channel = 0;
    do {
      Chunk chunk = {};
      chunk.tap_begin = tap;
      chunk.tap_end = taps - tap < taps_at_once ? taps : tap + taps_at_once;
      chunk.channel_begin = channel;
      chunk.channel_end =
          channels - channel < channels_at_once ? channels : channel + channels_at_once;
      chunk.first = tap == 0 && channel == 0;
      chunk.last = chunk.tap_end == taps && chunk.channel_end == channels;
      RunChunk(product, block, chunk, begin, end);
      channel = chunk.channel_end;
    } while (channel < channels);
  }
}

}  // namespace tenon::cpu::portable
