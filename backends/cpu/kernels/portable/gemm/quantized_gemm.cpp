#include "backends/cpu/kernels/portable/gemm/quantized_gemm.hpp"

#include <cstring>

#include "backends/cpu/kernels/portable/gemm/quantized_block.hpp"
#include "backends/cpu/kernels/portable/quantized_values.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tenon::cpu::portable {
namespace {

using Sums = uint32_t __attribute__((vector_size(16)));  // unsigned: sums wrap
using Words = int16_t __attribute__((vector_size(16)));

constexpr int kVectorLanes = 4;
constexpr int kLanes = kQuantizedLanes;
constexpr int kVectors = kLanes / kVectorLanes;
constexpr int kDepth = kQuantizedDepth;
constexpr int kPositions = kQuantizedPositions;
constexpr int kTile = 4;  // positions of a tile

using Block = QuantizedBlock;
using Chunk = QuantizedChunk;
using Position = QuantizedPosition;

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

/// Where the window of a position begins in x: outside, maybe.
Position WindowOf(const QuantizedProduct& product, const Position& position) {
  return {position.row * product.strides[0] - product.pads[0],
          position.column * product.strides[1] - product.pads[1]};
}

bool IsInside(const QuantizedProduct& product, const Block& block, const Position& window) {
  return window.row >= 0 && window.row + block.reach[0] < product.in_extent[0] &&
         window.column >= 0 && window.column + block.reach[1] < product.in_extent[1];
}

const uint8_t* ElementsAt(const QuantizedProduct& product, const Position& place) {
  return product.x + place.row * product.x_row + place.column * product.x_column;
}

/// The taps of a chunk, one after another, at one position.
class Taps {
 public:
  Taps(const QuantizedProduct& product, const Chunk& chunk, const Position& window)
      : product_(product),
        window_(window),
        row_(chunk.tap_begin / product.kernel[1]),
        column_(chunk.tap_begin % product.kernel[1]) {}

  /// The first of x's elements that the tap sees, or null in the padding.
  [[nodiscard]] const uint8_t* Elements() const {
    const Position at = {window_.row + row_ * product_.dilations[0],
                         window_.column + column_ * product_.dilations[1]};
    const bool inside = at.row >= 0 && at.row < product_.in_extent[0] && at.column >= 0 &&
                        at.column < product_.in_extent[1];
    return inside ? ElementsAt(product_, at) : nullptr;
  }

  void Next() {
    if (++column_ < product_.kernel[1]) return;
    column_ = 0;
    ++row_;
  }

 private:
  const QuantizedProduct& product_;
  Position window_;
  int row_;
  int column_;
};

/// Copies `count` elements to words; signed ones plus 128, as everywhere here.
void Widen(const uint8_t* from, ptrdiff_t step, int32_t flip, int count, int16_t* to) {
  if (step == 1) {
    for (int i = 0; i < count; ++i) to[i] = static_cast<int16_t>(from[i] ^ flip);
  } else {
    for (int i = 0; i < count; ++i) to[i] = static_cast<int16_t>(from[i * step] ^ flip);
  }
}

/// The chunk's inputs at one position, in the order of the packed weights. Gives their number.
int GatherInputs(const QuantizedProduct& product, const Chunk& chunk, const Block& block,
                 const Position& position, int16_t* inputs) {
  const Position window = WindowOf(product, position);
  int filled = 0;
  if (IsInside(product, block, window)) {
    const uint8_t* x = ElementsAt(product, window);
    for (int i = 0; i < block.run_count; ++i) {
      const QuantizedRun& run = block.runs[i];
      Widen(x + run.offset, product.x_channel, product.x_flip, run.length, inputs + filled);
      filled += run.length;
    }
    return filled;
  }
  Taps taps(product, chunk, window);
  for (int tap = chunk.tap_begin; tap < chunk.tap_end; ++tap, taps.Next()) {
    const uint8_t* x = taps.Elements();
    const uint8_t* from =
        x == nullptr ? block.padding : x + chunk.channel_begin * product.x_channel;
    Widen(from, x == nullptr ? 1 : product.x_channel, product.x_flip, chunk.channels,
          inputs + filled);
    filled += chunk.channels;
  }
  return filled;
}

/// Adds the chunk's products to the sums of P positions.
template <int P>
void AddTile(const QuantizedProduct& product, const Chunk& chunk, const Block& block,
             Position& position, uint32_t* sums) {
  alignas(16) int16_t inputs[P][kDepth + 2];
  int count = 0;
  for (int p = 0; p < P; ++p) {
    count = GatherInputs(product, chunk, block, position, inputs[p]);
    inputs[p][count] = 0;  // fills up the last pair
    Advance(product, position);
  }
  Sums totals[P][kVectors];
  std::memcpy(totals, sums, sizeof(totals));
  for (int input = 0; input < count; input += 2) {
    const int16_t* weights = block.weights + input * kLanes;
#pragma GCC unroll 4
    for (int p = 0; p < P; ++p) {
      const Words pair = SplatPair(inputs[p] + input);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        totals[p][v] += PairProducts(pair, LoadWords(weights + v * kVectorLanes * 2));
      }
    }
  }
  std::memcpy(sums, totals, sizeof(totals));
}

/// One element of each lane.
struct LaneElements {
  const uint8_t* first;
  ptrdiff_t step;
};

LaneElements LanesOf(const QuantizedProduct& product, const Block& block, const uint8_t* x) {
  if (x == nullptr) return {block.padding, 1};
  return {x + block.begin * product.x_channel, product.x_channel};
}

struct LanePairs {
  Words words[kVectors];
};

/// Elements of two taps side by side, lane by lane.
LanePairs PairUp(const LaneElements& a, const LaneElements& b, int32_t flip, int lanes) {
  LanePairs result;
#if defined(__SSE2__)
  static_assert(kLanes == 8, "as many bytes as half a register has");
  if (a.step == 1 && b.step == 1 && lanes == kLanes) {
    const __m128i bytes =
        _mm_xor_si128(_mm_unpacklo_epi8(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(a.first)),
                                        _mm_loadl_epi64(reinterpret_cast<const __m128i*>(b.first))),
                      _mm_set1_epi8(static_cast<char>(flip)));
    result.words[0] = reinterpret_cast<Words>(_mm_unpacklo_epi8(bytes, _mm_setzero_si128()));
    result.words[1] = reinterpret_cast<Words>(_mm_unpackhi_epi8(bytes, _mm_setzero_si128()));
    return result;
  }
#endif
  int16_t pairs[kLanes * 2] = {};
  for (int i = 0; i < lanes; ++i) {
    pairs[2 * i] = static_cast<int16_t>(a.first[i * a.step] ^ flip);
    pairs[2 * i + 1] = static_cast<int16_t>(b.first[i * b.step] ^ flip);
  }
  std::memcpy(&result, pairs, sizeof(pairs));
  return result;
}

void AddDepthwise(const QuantizedProduct& product, const Chunk& chunk, const Block& block,
                  const Position& position, uint32_t* sums) {
  const Position window = WindowOf(product, position);
  const bool inside = IsInside(product, block, window);
  const uint8_t* x = inside ? ElementsAt(product, window) : nullptr;
  Taps taps(product, chunk, window);
  const int count = chunk.tap_end - chunk.tap_begin;
  const auto next = [&](int tap) {
    if (inside) return LanesOf(product, block, x + block.runs[tap].offset);
    const LaneElements lanes = LanesOf(product, block, taps.Elements());
    taps.Next();
    return lanes;
  };
  Sums totals[kVectors];
  std::memcpy(totals, sums, sizeof(totals));
  for (int tap = 0; tap < count; tap += 2) {
    const LaneElements a = next(tap);
    // The last of an odd number of taps has weights of 0 beside it.
    const LaneElements b = tap + 1 < count ? next(tap + 1) : a;
    const LanePairs pairs = PairUp(a, b, product.x_flip, block.lanes);
    const int16_t* weights = block.weights + tap * kLanes;
    for (int v = 0; v < kVectors; ++v) {
      totals[v] += PairProducts(pairs.words[v], LoadWords(weights + v * kVectorLanes * 2));
    }
  }
  std::memcpy(sums, totals, sizeof(totals));
}

void AddChunk(const QuantizedProduct& product, const Chunk& chunk, Block& block) {
  PackChunk(product, chunk, block);
  Position position = block.first;
  uint32_t* sums = block.sums;
  int left = block.positions;
  if (product.depthwise) {
    for (; left > 0; --left, sums += kLanes) {
      AddDepthwise(product, chunk, block, position, sums);
      Advance(product, position);
    }
    return;
  }
  for (; left >= kTile; left -= kTile, sums += kTile * kLanes) {
    AddTile<kTile>(product, chunk, block, position, sums);
  }
  for (; left > 0; --left, sums += kLanes) AddTile<1>(product, chunk, block, position, sums);
}

/// With so few positions packing would cost more than it saves.
bool IsDot(const QuantizedProduct& product, const Block& block) {
  constexpr int kFewPositions = 2;
  const bool one_tap = product.kernel[0] == 1 && product.kernel[1] == 1;
  const bool contiguous = product.x_channel == 1 && product.w_channel == 1;
  return block.positions <= kFewPositions && one_tap && contiguous && !product.depthwise &&
         product.x_zero_point.step == 0;
}

/// Sums of contiguous rows of x and w: of their products, and of each.
struct DotSums {
  uint32_t products = 0;
  uint32_t x = 0;
  uint32_t w = 0;
};

DotSums Dot(const uint8_t* x, int32_t x_flip, const uint8_t* w, int32_t w_flip, int count) {
  DotSums sums;
  for (int i = 0; i < count; ++i) {
    const int32_t a = x[i] ^ x_flip;
    const int32_t b = w[i] ^ w_flip;
    sums.products += static_cast<uint32_t>(a * b);
    sums.x += static_cast<uint32_t>(a);
    sums.w += static_cast<uint32_t>(b);
  }
  return sums;
}

/// The block's sums as dot products, the zero points taken out afterwards.
void AddDots(const QuantizedProduct& product, Block& block) {
  Position position = block.first;
  const uint8_t zero_byte =
      product.x_zero_point.data == nullptr ? uint8_t{0} : *product.x_zero_point.data;
  const auto x_zero = static_cast<uint32_t>(zero_byte ^ product.x_flip);
  const auto count = static_cast<uint32_t>(product.channels);
  for (int p = 0; p < block.positions; ++p, Advance(product, position)) {
    const Position window = WindowOf(product, position);
    if (!IsInside(product, block, window)) continue;  // padding adds nothing
    const uint8_t* x = ElementsAt(product, window);
    for (int lane = 0; lane < block.lanes; ++lane) {
      const int output = block.begin + lane;
      const uint8_t byte =
          product.w_zero_point.data == nullptr ? uint8_t{0} : product.w_zero_point.At(output);
      const auto w_zero = static_cast<uint32_t>(byte ^ product.w_flip);
      const DotSums dot = Dot(x, product.x_flip, product.w + output * product.w_output,
                              product.w_flip, product.channels);
      block.sums[p * kLanes + lane] =
          dot.products - w_zero * dot.x - x_zero * dot.w + count * x_zero * w_zero;
    }
  }
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

/// Taps that fit a chunk; at least one.
int TapsAtOnce(const QuantizedProduct& product) {
  return product.channels >= kDepth ? 1 : kDepth / product.channels;
}

void AddChunks(const QuantizedProduct& product, Block& block) {
  const int taps = product.kernel[0] * product.kernel[1];
  const int taps_at_once = TapsAtOnce(product);
  for (int tap = 0; tap < taps; tap += taps_at_once) {
    const int tap_end = taps - tap < taps_at_once ? taps : tap + taps_at_once;
    for (int channel = 0; channel < product.channels; channel += kDepth) {
      const int left = product.channels - channel;
      AddChunk(product, {tap, tap_end, channel, left < kDepth ? left : kDepth}, block);
    }
  }
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

  for (int i = 0; i < 2; ++i) block.reach[i] = (product.kernel[i] - 1) * product.dilations[i];
  if (IsDot(product, block)) {
    AddDots(product, block);
  } else {
    AddChunks(product, block);
  }
  StoreBlock(product, block);
}

}  // namespace tenon::cpu::portable
