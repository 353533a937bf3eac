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

void Advance(const QuantizedGemm& gemm, Position& position) {
  if (++position.column < gemm.out_extent[1]) return;
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
Position WindowOf(const QuantizedGemm& gemm, const Position& position) {
  return {position.row * gemm.strides[0] - gemm.pads[0],
          position.column * gemm.strides[1] - gemm.pads[1]};
}

bool IsInside(const QuantizedGemm& gemm, const Block& block, const Position& window) {
  return window.row >= 0 && window.row + block.reach[0] < gemm.in_extent[0] && window.column >= 0 &&
         window.column + block.reach[1] < gemm.in_extent[1];
}

const uint8_t* ElementsAt(const QuantizedGemm& gemm, const Position& place) {
  return gemm.x + place.row * gemm.x_row + place.column * gemm.x_column;
}

/// The taps of a chunk, one after another, at one position.
class Taps {
 public:
  Taps(const QuantizedGemm& gemm, const Chunk& chunk, const Position& window)
      : gemm_(gemm),
        window_(window),
        row_(chunk.tap_begin / gemm.kernel[1]),
        column_(chunk.tap_begin % gemm.kernel[1]) {}

  /// The first of x's elements that the tap sees, or null in the padding.
  [[nodiscard]] const uint8_t* Elements() const {
    const Position at = {window_.row + row_ * gemm_.dilations[0],
                         window_.column + column_ * gemm_.dilations[1]};
    const bool inside = at.row >= 0 && at.row < gemm_.in_extent[0] && at.column >= 0 &&
                        at.column < gemm_.in_extent[1];
    return inside ? ElementsAt(gemm_, at) : nullptr;
  }

  void Next() {
    if (++column_ < gemm_.kernel[1]) return;
    column_ = 0;
    ++row_;
  }

 private:
  const QuantizedGemm& gemm_;
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
int GatherInputs(const QuantizedGemm& gemm, const Chunk& chunk, const Block& block,
                 const Position& position, int16_t* inputs) {
  const Position window = WindowOf(gemm, position);
  int filled = 0;
  if (IsInside(gemm, block, window)) {
    const uint8_t* x = ElementsAt(gemm, window);
    for (int i = 0; i < block.run_count; ++i) {
      const QuantizedRun& run = block.runs[i];
      Widen(x + run.offset, gemm.x_channel, gemm.x_flip, run.length, inputs + filled);
      filled += run.length;
    }
    return filled;
  }
  Taps taps(gemm, chunk, window);
  for (int tap = chunk.tap_begin; tap < chunk.tap_end; ++tap, taps.Next()) {
    const uint8_t* x = taps.Elements();
    const uint8_t* from = x == nullptr ? block.padding : x + chunk.channel_begin * gemm.x_channel;
    Widen(from, x == nullptr ? 1 : gemm.x_channel, gemm.x_flip, chunk.channels, inputs + filled);
    filled += chunk.channels;
  }
  return filled;
}

/// Adds the chunk's products to the sums of P positions.
template <int P>
void AddTile(const QuantizedGemm& gemm, const Chunk& chunk, const Block& block, Position& position,
             uint32_t* sums) {
  alignas(16) int16_t inputs[P][kDepth + 2];
  int count = 0;
  for (int p = 0; p < P; ++p) {
    count = GatherInputs(gemm, chunk, block, position, inputs[p]);
    inputs[p][count] = 0;  // fills up the last pair
    Advance(gemm, position);
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

LaneElements LanesOf(const QuantizedGemm& gemm, const Block& block, const uint8_t* x) {
  if (x == nullptr) return {block.padding, 1};
  return {x + block.begin * gemm.x_channel, gemm.x_channel};
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

void AddDepthwise(const QuantizedGemm& gemm, const Chunk& chunk, const Block& block,
                  const Position& position, uint32_t* sums) {
  const Position window = WindowOf(gemm, position);
  const bool inside = IsInside(gemm, block, window);
  const uint8_t* x = inside ? ElementsAt(gemm, window) : nullptr;
  Taps taps(gemm, chunk, window);
  const int count = chunk.tap_end - chunk.tap_begin;
  const auto next = [&](int tap) {
    if (inside) return LanesOf(gemm, block, x + block.runs[tap].offset);
    const LaneElements lanes = LanesOf(gemm, block, taps.Elements());
    taps.Next();
    return lanes;
  };
  Sums totals[kVectors];
  std::memcpy(totals, sums, sizeof(totals));
  for (int tap = 0; tap < count; tap += 2) {
    const LaneElements a = next(tap);
    // The last of an odd number of taps has weights of 0 beside it.
    const LaneElements b = tap + 1 < count ? next(tap + 1) : a;
    const LanePairs pairs = PairUp(a, b, gemm.x_flip, block.lanes);
    const int16_t* weights = block.weights + tap * kLanes;
    for (int v = 0; v < kVectors; ++v) {
      totals[v] += PairProducts(pairs.words[v], LoadWords(weights + v * kVectorLanes * 2));
    }
  }
  std::memcpy(sums, totals, sizeof(totals));
}

void AddChunk(const QuantizedGemm& gemm, const Chunk& chunk, Block& block) {
  PackChunk(gemm, chunk, block);
  Position position = block.first;
  uint32_t* sums = block.sums;
  int left = block.positions;
  if (gemm.depthwise) {
    for (; left > 0; --left, sums += kLanes) {
      AddDepthwise(gemm, chunk, block, position, sums);
      Advance(gemm, position);
    }
    return;
  }
  for (; left >= kTile; left -= kTile, sums += kTile * kLanes) {
    AddTile<kTile>(gemm, chunk, block, position, sums);
  }
  for (; left > 0; --left, sums += kLanes) AddTile<1>(gemm, chunk, block, position, sums);
}

/// With so few positions, packing would cost more than it saves.
bool IsDotProduct(const QuantizedGemm& gemm, const Block& block) {
  constexpr int kFewPositions = 2;
  const bool one_tap = gemm.kernel[0] == 1 && gemm.kernel[1] == 1;
  const bool contiguous = gemm.x_channel == 1 && gemm.w_channel == 1;
  return block.positions <= kFewPositions && one_tap && contiguous && !gemm.depthwise &&
         gemm.x_zero_point.step == 0;
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
void AddDotProducts(const QuantizedGemm& gemm, Block& block) {
  Position position = block.first;
  const uint8_t zero_byte =
      gemm.x_zero_point.data == nullptr ? uint8_t{0} : *gemm.x_zero_point.data;
  const auto x_zero = static_cast<uint32_t>(zero_byte ^ gemm.x_flip);
  const auto count = static_cast<uint32_t>(gemm.channels);
  for (int p = 0; p < block.positions; ++p, Advance(gemm, position)) {
    const Position window = WindowOf(gemm, position);
    if (!IsInside(gemm, block, window)) continue;  // padding adds nothing
    const uint8_t* x = ElementsAt(gemm, window);
    for (int lane = 0; lane < block.lanes; ++lane) {
      const int output = block.begin + lane;
      const uint8_t byte =
          gemm.w_zero_point.data == nullptr ? uint8_t{0} : gemm.w_zero_point.At(output);
      const auto w_zero = static_cast<uint32_t>(byte ^ gemm.w_flip);
      const DotSums dot =
          Dot(x, gemm.x_flip, gemm.w + output * gemm.w_output, gemm.w_flip, gemm.channels);
      block.sums[p * kLanes + lane] =
          dot.products - w_zero * dot.x - x_zero * dot.w + count * x_zero * w_zero;
    }
  }
}

/// Calls `store(lane, sum, y offset)` for every sum of the block.
template <typename Store>
void ForEachSum(const QuantizedGemm& gemm, const Block& block, const Store& store) {
  Position position = block.first;
  for (int p = 0; p < block.positions; ++p) {
    const ptrdiff_t y =
        position.row * gemm.y_row + position.column * gemm.y_column + block.begin * gemm.y_output;
    for (int lane = 0; lane < block.lanes; ++lane) {
      const uint32_t sum = block.sums[p * kLanes + lane] + block.constants[lane];
      store(lane, static_cast<int32_t>(sum), y + lane * gemm.y_output);
    }
    Advance(gemm, position);
  }
}

template <int32_t (*kMultiply)(int32_t, int32_t, int32_t)>
void StoreFixedPoint(const QuantizedGemm& gemm, const Block& block) {
  int32_t multipliers[kLanes] = {};
  int32_t shifts[kLanes] = {};
  for (int lane = 0; lane < block.lanes; ++lane) {
    multipliers[lane] = gemm.multiplier.At(block.begin + lane);
    shifts[lane] = gemm.shift.At(block.begin + lane);
  }
  auto* y = static_cast<uint8_t*>(gemm.y);
  ForEachSum(gemm, block, [&](int lane, int32_t sum, ptrdiff_t at) {
    y[at] = OutputByte(gemm.output, kMultiply(sum, multipliers[lane], shifts[lane]));
  });
}

void StoreScaled(const QuantizedGemm& gemm, const Block& block) {
  float scales[kLanes] = {};
  for (int lane = 0; lane < block.lanes; ++lane) {
    scales[lane] = gemm.scale.At(block.begin + lane);
  }
  if (gemm.output.to == static_cast<int32_t>(DType::kF32)) {
    auto* y = static_cast<float*>(gemm.y);
    ForEachSum(gemm, block, [&](int lane, int32_t sum, ptrdiff_t at) {
      y[at] = static_cast<float>(sum) * scales[lane];
    });
    return;
  }
  auto* y = static_cast<uint8_t*>(gemm.y);
  ForEachSum(gemm, block, [&](int lane, int32_t sum, ptrdiff_t at) {
    y[at] = OutputByte(gemm.output, RoundHalfEven(static_cast<float>(sum) * scales[lane]));
  });
}

void StoreBlock(const QuantizedGemm& gemm, const Block& block) {
  if (gemm.output.to == static_cast<int32_t>(DType::kI32)) {
    auto* y = static_cast<int32_t*>(gemm.y);
    ForEachSum(gemm, block, [&](int, int32_t sum, ptrdiff_t at) { y[at] = sum; });
  } else if (gemm.output.rounding == Rounding::kFixedPoint) {
    StoreFixedPoint<FixedPointMultiply>(gemm, block);
  } else if (gemm.output.rounding == Rounding::kFixedPointOnce) {
    StoreFixedPoint<FixedPointMultiplyOnce>(gemm, block);
  } else {
    StoreScaled(gemm, block);
  }
}

}  // namespace

int GemmTasks(const QuantizedGemm& gemm) { return CountGemmTasks(gemm, kPositions, kLanes); }

void RunGemmTask(const QuantizedGemm& gemm, int task) {
  const GemmTask part = GemmTaskAt(gemm, task, kPositions, kLanes);
  const int first = part.first_position;
  Block block;
  block.begin = part.first_output;
  block.lanes = part.lanes;
  block.positions = part.positions;
  block.first = {first / gemm.out_extent[1], first % gemm.out_extent[1]};
  for (int lane = 0; lane < block.lanes; ++lane) {
    const bool has_bias = gemm.bias.data != nullptr;
    block.constants[lane] = has_bias ? static_cast<uint32_t>(gemm.bias.At(block.begin + lane)) : 0U;
  }
  std::memset(block.sums, 0, sizeof(block.sums));

  for (int i = 0; i < 2; ++i) block.reach[i] = (gemm.kernel[i] - 1) * gemm.dilations[i];
  if (IsDotProduct(gemm, block)) {
    AddDotProducts(gemm, block);
  } else {
    ForEachGemmChunk(gemm, kDepth, [&](int tap, int tap_end, int channel, int channel_end) {
      AddChunk(gemm, {tap, tap_end, channel, channel_end - channel}, block);
    });
  }
  StoreBlock(gemm, block);
}

}  // namespace tenon::cpu::portable
