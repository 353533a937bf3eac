#include "backends/cpu/kernels/portable/gemm/tile_gemm.hpp"

#include <cstring>

#include "backends/cpu/kernels/portable/elementwise/functions.hpp"

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
void StartSums(const TileGemm& gemm, const Block& block, int row, int column, float* sums) {
  for (int i = 0; i < kLanes; ++i) sums[i] = 0.0F;
  for (const Addend& addend : gemm.addends) {
    if (addend.data == nullptr) continue;
    float values[kLanes] = {};
    LoadLanes(addend.data + row * addend.row + column * addend.column + block.begin * addend.output,
              addend.output, block.lanes, values);
    for (int i = 0; i < kLanes; ++i) sums[i] += values[i];
  }
}

/// Values of `count` channels from `first` on, at `offset` in an x of bytes.
void ReadBytes(const TileGemm& gemm, ptrdiff_t offset, int first, int count, float* values) {
  const uint8_t* from = gemm.x_bytes + offset + first * gemm.x_channel;
  const float* mean = gemm.x_mean + first * gemm.x_mean_channel;
  for (int i = 0; i < count; ++i) {
    values[i] = static_cast<float>(from[i * gemm.x_channel]) - mean[i * gemm.x_mean_channel];
  }
}

/// Adds a chunk's products to the sums of P neighbouring positions of one row. With P > 1 every
/// tap must lie inside x's columns.
template <int P, bool kDepthwise>
void AddProducts(const TileGemm& gemm, const Block& block, const Chunk& chunk, int row, int column,
                 float* sums) {
  Vector totals[P][kVectors];
#pragma GCC unroll 4
  for (int p = 0; p < P; ++p) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      totals[p][v] = LoadVector(sums + p * kLanes + v * kVectorLanes);
    }
  }
  const int channels = chunk.channel_end - chunk.channel_begin;
  const bool is_float = gemm.x_bytes == nullptr;
  const ptrdiff_t pixel = gemm.strides[1] * gemm.x_column;
  const ptrdiff_t step = is_float || kDepthwise ? pixel : kDepth;
  const ptrdiff_t channel_step = is_float ? gemm.x_channel : 1;
  float converted[kDepthwise ? 1 : P * kDepth];
  const float* w = chunk.w;
  for (int tap = chunk.tap_begin; tap < chunk.tap_end; ++tap, w += channels * chunk.w_step) {
    const int kernel_row = gemm.kernel[1] == 1 ? tap : tap / gemm.kernel[1];
    const int kernel_column = tap - kernel_row * gemm.kernel[1];
    const int x_row = row * gemm.strides[0] - gemm.pads[0] + kernel_row * gemm.dilations[0];
    if (x_row < 0 || x_row >= gemm.in_extent[0]) continue;
    const int x_column =
        column * gemm.strides[1] - gemm.pads[1] + kernel_column * gemm.dilations[1];
    if (P == 1 && (x_column < 0 || x_column >= gemm.in_extent[1])) continue;
    ptrdiff_t offset = x_row * gemm.x_row + x_column * gemm.x_column;
    if constexpr (kDepthwise) {
      const bool contiguous = is_float && gemm.x_channel == 1 && block.lanes == kLanes;
#pragma GCC unroll 4
      for (int p = 0; p < P; ++p, offset += step) {
        float gathered[kLanes] = {};
        const float* values = gathered;
        if (contiguous) {
          values = gemm.x + offset + block.begin;
        } else if (is_float) {
          LoadLanes(gemm.x + offset + block.begin * gemm.x_channel, gemm.x_channel, block.lanes,
                    gathered);
        } else {
          ReadBytes(gemm, offset, block.begin, block.lanes, gathered);
        }
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) {
          totals[p][v] += LoadVector(values + v * kVectorLanes) * LoadVector(w + v * kVectorLanes);
        }
      }
    } else {
      const float* x = converted;
      if (is_float) {
        x = gemm.x + offset + chunk.channel_begin * gemm.x_channel;
      } else {
        for (int p = 0; p < P; ++p) {
          ReadBytes(gemm, offset + p * pixel, chunk.channel_begin, channels,
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
void RunTile(const TileGemm& gemm, const Block& block, const Chunk& chunk, int row, int column) {
  float sums[P * kLanes] = {};
  float* y = gemm.y + row * gemm.y_row + column * gemm.y_column + block.begin * gemm.y_output;
  for (int p = 0; p < P; ++p) {
    if (chunk.first) {
      StartSums(gemm, block, row, column + p, sums + p * kLanes);
    } else {
      LoadLanes(y + p * gemm.y_column, gemm.y_output, block.lanes, sums + p * kLanes);
    }
  }
  AddProducts<P, kDepthwise>(gemm, block, chunk, row, column, sums);
  if (chunk.last) ApplyInPlace(gemm.activation, sums, P * kLanes);
  for (int p = 0; p < P; ++p) {
    StoreLanes(sums + p * kLanes, block.lanes, gemm.y_output, y + p * gemm.y_column);
  }
}

template <bool kDepthwise>
void RunPositions(const TileGemm& gemm, const Block& block, const Chunk& chunk, int begin,
                  int end) {
  int row = begin / gemm.out_extent[1];
  int column = begin % gemm.out_extent[1];
  while (begin < end) {
    const int left = gemm.out_extent[1] - column;
    const int row_end = column + (left < end - begin ? left : end - begin);
    begin += row_end - column;
    while (column < row_end) {
      if (column >= block.interior_begin && column + kTile <= block.interior_end &&
          column + kTile <= row_end) {
        RunTile<kTile, kDepthwise>(gemm, block, chunk, row, column);
        column += kTile;
      } else {
        RunTile<1, kDepthwise>(gemm, block, chunk, row, column);
        ++column;
      }
    }
    ++row;
    column = 0;
  }
}

/// Gathers the chunk's weights, outputs innermost, lanes beyond the last output zero.
void PackWeights(const TileGemm& gemm, const Block& block, const Chunk& chunk, float* packed) {
  const int channels = chunk.channel_end - chunk.channel_begin;
  for (int tap = chunk.tap_begin; tap < chunk.tap_end; ++tap, packed += channels * kLanes) {
    const ptrdiff_t first = gemm.w_first + tap / gemm.kernel[1] * gemm.w_row +
                            tap % gemm.kernel[1] * gemm.w_column +
                            chunk.channel_begin * gemm.w_channel;
    for (int lane = 0; lane < block.lanes; ++lane) {
      const int output = block.begin + lane;
      gemm.w.Read(first + output * gemm.w_output, gemm.w_channel, channels,
                  gemm.first_scale + output, packed + lane, kLanes);
    }
    for (int lane = block.lanes; lane < kLanes; ++lane) {
      for (int channel = 0; channel < channels; ++channel) packed[channel * kLanes + lane] = 0.0F;
    }
  }
}

void RunChunk(const TileGemm& gemm, const Block& block, Chunk& chunk, int begin, int end) {
  float packed[kDepth * kLanes];
  const int taps = gemm.Taps();
  if (taps == 1 && gemm.w_output == 1 && block.lanes == kLanes && gemm.w.IsPlain()) {
    chunk.w = gemm.w.Plain() + gemm.w_first + block.begin + chunk.channel_begin * gemm.w_channel;
    chunk.w_step = gemm.w_channel;
  } else {
    PackWeights(gemm, block, chunk, packed);
    chunk.w = packed;
    chunk.w_step = kLanes;
  }
  if (gemm.depthwise) {
    RunPositions<true>(gemm, block, chunk, begin, end);
  } else {
    RunPositions<false>(gemm, block, chunk, begin, end);
  }
  chunk.w = nullptr;  // perhaps on this function's stack
}

/// Sets the columns [begin, end) whose taps all lie inside x; empty if there are none.
void FindInterior(const TileGemm& gemm, Block& block) {
  const int stride = gemm.strides[1];
  const int last_tap = (gemm.kernel[1] - 1) * gemm.dilations[1];
  const int room = gemm.in_extent[1] - 1 + gemm.pads[1] - last_tap;
  block.interior_begin = (gemm.pads[1] + stride - 1) / stride;
  block.interior_end = room < 0 ? 0 : room / stride + 1;
}

}  // namespace

int GemmTasks(const TileGemm& gemm) { return CountGemmTasks(gemm, kPositions, kLanes); }

void RunGemmTask(const TileGemm& gemm, int task) {
  const GemmTask part = GemmTaskAt(gemm, task, kPositions, kLanes);
  Block block = {};
  block.begin = part.first_output;
  block.lanes = part.lanes;
  FindInterior(gemm, block);
  const int end = part.first_position + part.positions;
  // An empty sum runs too: the addends are still to be written.
  ForEachGemmChunk(gemm, kDepth, [&](int tap, int tap_end, int channel, int channel_end) {
    Chunk chunk = {};
    chunk.tap_begin = tap;
    chunk.tap_end = tap_end;
    chunk.channel_begin = channel;
    chunk.channel_end = channel_end;
    chunk.first = tap == 0 && channel == 0;
    chunk.last = tap_end == gemm.Taps() && channel_end == gemm.channels;
    RunChunk(gemm, block, chunk, part.first_position, end);
  });
}

}  // namespace tenon::cpu::portable
