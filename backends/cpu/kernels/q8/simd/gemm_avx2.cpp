// The AVX2 GEMM multiplies pairs of 16-bit numbers. (The instruction for bytes saturates, which is
// not exact.) Bytes are widened to 16 bits once for all their outputs, so that a pair is one load;
// a tile of up to 6 pixels by 16 channels, or 3 by 32, stays in registers until its outputs are
// done.
#include <immintrin.h>

#include <cstring>

#include "backends/cpu/kernels/q8/gemm_routines.hpp"
#include "backends/cpu/kernels/q8/simd/gemm_outputs_avx2.hpp"

namespace tenon::cpu::q8 {
namespace {

constexpr int kStepBytes = 2 * kDepthStep;
constexpr int kMostPixels = 6;
/// Few pixels have registers for twice the channels.
constexpr int kMostWidePixels = 3;
/// Is the most bytes of a pixel that `Run` widens at once: those of six pixels stay in the
/// first-level cache.
constexpr int kChunk = 512;
/// Is how many steps ahead weights are asked for.
constexpr int kStepsAhead = 16;
/// Is the distance of such pixels, in numbers of 16 bits: not that of the cache's ways.
constexpr int kRow = kChunk + 16;

int ChannelAt(int p, int) { return p; }

/// 16 channels at a time: bytes 0 and 1 of each, then bytes 2 and 3.
int WeightPlace(int p, int k, int) {
  const int block = p / kBlock;
  return block * kBlock * kDepthStep + k / 2 * 2 * kBlock + p % kBlock * 2 + k % 2;
}

[[gnu::always_inline]] inline __m256i LoadPairs(const int8_t* from) {
  return _mm256_cvtepi8_epi16(_mm_load_si128(reinterpret_cast<const __m128i*>(from)));
}

[[gnu::always_inline]] inline __m256i LoadSums(const int32_t* from) {
  return _mm256_load_si256(reinterpret_cast<const __m256i*>(from));
}

/// Adds the products of pairs. From its own instructions the compiler makes all products of a step
/// first, for which registers do not suffice.
[[gnu::always_inline]] inline void AddProducts(__m256i x, __m256i weights, __m256i& sums) {
  __m256i products;
  asm("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0"
      : "+x"(sums), "=&x"(products)
      : "x"(x), "x"(weights));
}

[[gnu::always_inline]] inline void WidenEight(const uint8_t* from, __m128i flip, int16_t* to) {
  const __m128i eight = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_cvtepu8_epi16(_mm_xor_si128(eight, flip)));
}

[[gnu::always_inline]] inline void WidenSixteen(const uint8_t* from, __m128i flip, int16_t* to) {
  const __m128i sixteen = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                      _mm256_cvtepu8_epi16(_mm_xor_si128(sixteen, flip)));
}

/// What is left of a run is widened together with bytes before it, some of them for a second time.
void Widen(const uint8_t* x, int64_t count, uint32_t flip, int16_t* to) {
  const __m128i flips = _mm_set1_epi32(static_cast<int32_t>(flip));
  int64_t i = 0;
  for (; i + 16 <= count; i += 16) WidenSixteen(x + i, flips, to + i);
  if (i == count) return;
  if (count >= 16) return WidenSixteen(x + count - 16, flips, to + count - 16);
  if (count >= 8) {
    WidenEight(x, flips, to);
    return WidenEight(x + count - 8, flips, to + count - 8);
  }
  for (; i < count; ++i) to[i] = static_cast<int16_t>(x[i] ^ static_cast<uint8_t>(flip));
}

int32_t SumWide(const int16_t* x, int64_t count) {
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i sums = _mm256_setzero_si256();
  int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const __m256i sixteen = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + i));
    sums = _mm256_add_epi32(sums, _mm256_madd_epi16(sixteen, ones));
  }
  const __m128i four =
      _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
  const __m128i two = _mm_add_epi32(four, _mm_unpackhi_epi64(four, four));
  int32_t sum = _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 1)));
  for (; i < count; ++i) sum += x[i];
  return sum;
}

/// Describes the tiles of one group and a run of pixels, from place `place` of the group on.
struct TileCall {
  const GemmCall* call;
  const ByteBounds* bounds;
  int64_t x_step;
  const int64_t* taps;
  int tap_count;
  int depth;
  const int8_t* weights;
  int place;
  const int32_t* start;  ///< sums before the first product: the bias, or a row for each pixel
  int64_t start_step;
  int32_t* sums;  ///< null: the sums are whole, and become outputs
};

/// Stores the outputs of one pixel from its kVectors * 8 sums, of any kind, one by one.
template <int kVectors>
[[gnu::noinline]] void StoreExactly(const TileCall& tile, const int32_t* sums, uint8_t* y) {
  const GemmGroup& group = *tile.call->group;
  const int p = tile.place;
  GemmGroup part = group;
  part.width = kVectors * kLanes;
  part.channels = group.channels - p < part.width ? group.channels - p : part.width;
  if (part.multiplier != nullptr) part.multiplier += p;
  if (part.shift != nullptr) part.shift += p;
  StoreFromSums(kAvx2GemmRoutines, part, *tile.call->epilogue, sums, y);
}

/// Stores outputs of 32 bits: the sums of `pixels` pixels, or what they stand for.
[[gnu::noinline]] void StoreWide(const TileCall& tile, const int32_t* sums, int pixels, int vectors,
                                 uint8_t* y) {
  const GemmGroup& group = *tile.call->group;
  const bool are_floats = tile.call->epilogue->kind == EpilogueKind::kFloats;
  const int channels = group.channels - tile.place;
  for (int i = 0; i < pixels; ++i, sums += kMostWidth, y += tile.call->y_step) {
    for (int v = 0; v < vectors; ++v) {
      __m256i words = LoadSums(sums + v * kLanes);
      if (are_floats) {
        const __m256 factor = _mm256_load_ps(group.factor + tile.place + v * kLanes);
        words = _mm256_castps_si256(_mm256_mul_ps(_mm256_cvtepi32_ps(words), factor));
      }
      StoreSomeWords(words, channels - v * kLanes, y + 4 * v * kLanes);
    }
  }
}

template <int kPixels, int kVectors>
struct Sums {
  __m256i of[kPixels][kVectors];

  [[gnu::always_inline]] void Start(const TileCall& tile, const int32_t* x_sums) {
#pragma GCC unroll 6
    for (int i = 0; i < kPixels; ++i) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        of[i][v] = LoadSums(tile.start + i * tile.start_step + v * kLanes);
      }
    }
    if (x_sums == nullptr) return;
    const int32_t* factor = tile.call->group->x_sum_factor + tile.place;
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const __m256i factors = LoadSums(factor + v * kLanes);
#pragma GCC unroll 6
      for (int i = 0; i < kPixels; ++i) {
        const __m256i product = _mm256_mullo_epi32(_mm256_set1_epi32(x_sums[i]), factors);
        of[i][v] = _mm256_add_epi32(of[i][v], product);
      }
    }
  }

  /// Adds the products of one step of all pixels, which lie `step` bytes apart.
  [[gnu::always_inline]] void Add(const char* x, int64_t step, const int8_t* weights) {
    const char* fourth = x + 3 * step;
    // Else the compiler keeps an address for each pixel, for which registers do not suffice.
    asm("" : "+r"(fourth));
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      __m256i pairs[kVectors];
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        pairs[v] =
            LoadPairs(weights + v / 2 * kBlock * kDepthStep + half * 2 * kBlock + v % 2 * kBlock);
      }
#pragma GCC unroll 6
      for (int i = 0; i < kPixels; ++i) {
        const char* pixel = i < 3 ? x + i * step : fourth + (i - 3) * step;
        int32_t two;
        std::memcpy(&two, pixel + 4 * half, sizeof two);
        const __m256i both = _mm256_set1_epi32(two);
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) AddProducts(both, pairs[v], of[i][v]);
      }
    }
  }

  /// Asks for weights of a later step: those of other channels lie between, and what comes from
  /// beyond the second-level cache is not foreseen.
  [[gnu::always_inline]] static void LookAhead(const int8_t* weights) {
    constexpr int kLine = 64;
    constexpr int kBytes = kVectors * kLanes * kDepthStep;
#pragma GCC unroll 4
    for (int i = 0; i < kBytes; i += kLine) _mm_prefetch(weights + i, _MM_HINT_T0);
  }

  [[gnu::always_inline]] void AddTaps(const TileCall& tile, const int16_t* x) {
    const int8_t* weights = tile.weights;
    const int64_t weight_step = int64_t{tile.call->group->width} * kDepthStep;
    const int64_t depth = 2 * int64_t{tile.depth};  // bytes
    const int64_t last = depth < kStepBytes ? 0 : depth - kStepBytes;
    const int64_t step = 2 * tile.x_step;
    for (int t = 0; t < tile.tap_count; ++t) {
      const char* tap = reinterpret_cast<const char*>(x + tile.taps[t]);
      for (int64_t k = 0; k < depth; k += kStepBytes, weights += weight_step) {
        int64_t at = k < last ? k : last;
        asm("" : "+r"(at));  // else there are two loops
        LookAhead(weights + kStepsAhead * weight_step);
        Add(tap + at, step, weights);
      }
    }
    // Else the compiler keeps sums in memory for what comes after the loop.
#pragma GCC unroll 6
    for (int i = 0; i < kPixels; ++i) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) asm("" : "+x"(of[i][v]));
    }
  }

  [[gnu::always_inline]] void Store(int32_t* sums) const {
#pragma GCC unroll 6
    for (int i = 0; i < kPixels; ++i) StorePixel(i, sums + i * kMostWidth);
  }

  [[gnu::always_inline]] void StorePixel(int i, int32_t* sums) const {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      _mm256_store_si256(reinterpret_cast<__m256i*>(sums + v * kLanes), of[i][v]);
    }
  }

  /// Rounds what the sums of a pixel stand for.
  template <EpilogueKind kKind>
  [[gnu::always_inline]] inline void Round(const GemmGroup& group, int place, int i,
                                           __m256i (&rounded)[kVectors], __m256i& unlike) const {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const int p = place + v * kLanes;
      rounded[v] = kKind == EpilogueKind::kHalfEven ? HalfEven(group, p, of[i][v])
                                                    : FixedPoint(group, p, of[i][v], unlike);
    }
  }

  template <EpilogueKind kKind>
  [[gnu::always_inline]] inline void Requantize(const TileCall& tile, uint8_t* y) const {
    const GemmGroup& group = *tile.call->group;
    const int64_t y_step = tile.call->y_step;
    const int channels = group.channels - tile.place;
#pragma GCC unroll 3
    for (int i = 0; i < kPixels; i += 2, y += 2 * y_step) {
      constexpr int kLast = kPixels - 1;
      const int next = i < kLast ? i + 1 : i;
      __m256i unlike = _mm256_setzero_si256();
      __m256i unlike_next = _mm256_setzero_si256();
      __m256i first[kVectors];
      __m256i second[kVectors];
      Round<kKind>(group, tile.place, i, first, unlike);
      if (next == i) {
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) second[v] = first[v];
      } else {
        Round<kKind>(group, tile.place, next, second, unlike_next);
      }
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; v += 2) {
        const int odd = kVectors > 1 ? v + 1 : v;
        const __m256i bytes = tile.bounds->Pack(first[v], first[odd], second[v], second[odd]);
        const int count = channels - v * kLanes;
        StoreSome(_mm256_castsi256_si128(bytes), count, y + v * kLanes);
        if (next != i) {
          StoreSome(_mm256_extracti128_si256(bytes, 1), count, y + y_step + v * kLanes);
        }
      }
      if (kKind == EpilogueKind::kFixedPoint &&
          _mm256_testz_si256(_mm256_or_si256(unlike, unlike_next),
                             _mm256_or_si256(unlike, unlike_next)) == 0) {
        StorePixelExactly(tile, i, y);
        if (next != i) StorePixelExactly(tile, next, y + y_step);
      }
    }
  }

  [[gnu::always_inline]] inline void StorePixelExactly(const TileCall& tile, int i,
                                                       uint8_t* y) const {
    alignas(32) int32_t sums[kVectors * kLanes];
    StorePixel(i, sums);
    StoreExactly<kVectors>(tile, sums, y);
  }
};

/// Computes tiles of pixels in succession, all of the same channels. `x_sums` may be null.
template <int kPixels, int kVectors>
void RunTiles(const TileCall& tile, const int16_t* x, const int32_t* x_sums, uint8_t* y,
              int tiles) {
  const GemmCall& call = *tile.call;
  const bool is_wide =
      call.epilogue->kind == EpilogueKind::kSums || call.epilogue->kind == EpilogueKind::kFloats;
  const EpilogueKind kind =
      call.group->is_tame || is_wide ? call.epilogue->kind : EpilogueKind::kExact;
  for (; tiles > 0; --tiles, x += kPixels * tile.x_step, y += kPixels * call.y_step) {
    Sums<kPixels, kVectors> sums;
    sums.Start(tile, x_sums);
    if (x_sums != nullptr) x_sums += kPixels;
    sums.AddTaps(tile, x);
    if (tile.sums != nullptr) {
      sums.Store(tile.sums);
    } else if (kind == EpilogueKind::kHalfEven) {
      sums.template Requantize<EpilogueKind::kHalfEven>(tile, y);
    } else if (kind == EpilogueKind::kFixedPoint) {
      sums.template Requantize<EpilogueKind::kFixedPoint>(tile, y);
    } else if (is_wide) {
      alignas(32) int32_t stored[kPixels * kMostWidth];
      sums.Store(stored);
      StoreWide(tile, stored, kPixels, kVectors, y);
    } else {
      alignas(32) int32_t stored[kPixels * kMostWidth];
      sums.Store(stored);
      for (int i = 0; i < kPixels; ++i) {
        StoreExactly<kVectors>(tile, stored + i * kMostWidth, y + i * call.y_step);
      }
    }
  }
}

using TilesFunction = void (*)(const TileCall&, const int16_t*, const int32_t*, uint8_t*, int);
constexpr TilesFunction kTiles[kMostPixels] = {RunTiles<1, 2>, RunTiles<2, 2>, RunTiles<3, 2>,
                                               RunTiles<4, 2>, RunTiles<5, 2>, RunTiles<6, 2>};
/// For at most 8 channels at the end of a group.
constexpr TilesFunction kNarrowTiles[kMostPixels] = {
    RunTiles<1, 1>, RunTiles<2, 1>, RunTiles<3, 1>, RunTiles<4, 1>, RunTiles<5, 1>, RunTiles<6, 1>};
constexpr TilesFunction kWideTiles[kMostWidePixels] = {RunTiles<1, 4>, RunTiles<2, 4>,
                                                       RunTiles<3, 4>};

/// For whole groups of one pixel: their weights are read in order.
constexpr TilesFunction kGroupTiles[1] = {RunTiles<1, kMostWidth / kLanes>};

/// Describes which tiles suit what is left of a group.
struct TileChoice {
  const TilesFunction* table;
  int channels;
};

TileChoice ChooseTiles(int channels, int pixels) {
  if (pixels == 1 && channels > kMostWidth - kBlock) return {kGroupTiles, kMostWidth};
  if (pixels <= kMostWidePixels && channels > kBlock) return {kWideTiles, 2 * kBlock};
  return {channels <= kLanes ? kNarrowTiles : kTiles, kBlock};
}

/// Computes the channels from the tile's place on for `pixels` pixels at `x` in tiles of about
/// equal sizes.
void RunPixels(const TileCall& tile, const TilesFunction* table, int pixels, const int16_t* x,
               uint8_t* y) {
  const int tiles = (pixels + kMostPixels - 1) / kMostPixels;
  const int size = pixels / tiles;
  const int larger = pixels % tiles;
  const int32_t* x_sums = tile.call->x_sums;
  table[size - 1](tile, x, x_sums, y, tiles - larger);
  if (larger == 0) return;
  const int64_t done = int64_t{size} * (tiles - larger);
  if (x_sums != nullptr) x_sums += done;
  table[size](tile, x + done * tile.x_step, x_sums, y + done * tile.call->y_step, larger);
}

/// Computes all channels of the group for `pixels` pixels. `whole` is a tile of place 0.
void RunChannels(const TileCall& whole, int pixels, const int16_t* x, uint8_t* y) {
  const GemmGroup& group = *whole.call->group;
  const EpilogueKind kind = whole.call->epilogue->kind;
  const int y_bytes = kind == EpilogueKind::kSums || kind == EpilogueKind::kFloats ? 4 : 1;
  TileCall tile = whole;
  while (tile.place < group.width) {
    const TileChoice choice = ChooseTiles(group.channels - tile.place, pixels);
    RunPixels(tile, choice.table, pixels, x, y);
    tile.place += choice.channels;
    tile.weights += choice.channels * kDepthStep;
    tile.start += choice.channels;
    y += int64_t{choice.channels} * y_bytes;
    if (tile.sums != nullptr) tile.sums += choice.channels;
  }
}

TileCall FirstTile(const GemmCall& call, const ByteBounds& bounds) {
  TileCall tile = {};
  tile.call = &call;
  tile.bounds = &bounds;
  tile.depth = call.depth;
  tile.weights = call.group->weights;
  tile.start = call.group->bias;
  return tile;
}

void RunWide(const GemmCall& call) {
  const ByteBounds bounds(*call.epilogue);
  TileCall tile = FirstTile(call, bounds);
  tile.x_step = call.x_step;
  tile.taps = call.taps;
  tile.tap_count = call.tap_count;
  RunChannels(tile, call.pixels, call.wide_x, call.y);
}

/// Computes the outputs of a tile of pixels at `x`, whose bytes it widens chunk by chunk; the sums
/// wait in memory for the next one.
void RunChunks(const TileCall& first, int pixels, const uint8_t* x, uint8_t* y) {
  alignas(32) int16_t widened[kMostPixels * kRow];
  alignas(32) int32_t sums[kMostPixels * kMostWidth];
  const int64_t no_taps[1] = {0};
  const GemmCall& call = *first.call;
  const int depth = call.depth;
  const int64_t weight_step = int64_t{call.group->width} * kDepthStep;
  TileCall tile = first;
  tile.x_step = kRow;
  tile.taps = no_taps;
  tile.tap_count = 1;
  for (int tap = 0; tap < call.tap_count; ++tap) {
    for (int from = 0; from < depth; from += kChunk) {
      const int end = from + kChunk < depth ? from + kChunk : depth;
      const int early = from > 0 ? kDepthStep : 0;  // the last step may begin before its chunk
      for (int i = 0; i < pixels; ++i) {
        Widen(x + call.taps[tap] + i * call.x_step + from - early, end - from + early, call.flip,
              widened + i * kRow + kDepthStep - early);
      }
      const int16_t* begin = widened + kDepthStep;
      tile.depth = end - from;
      if (early > 0 && tile.depth < kDepthStep) {
        begin = widened + tile.depth;
        tile.depth = kDepthStep;
      }
      const bool is_last = tap + 1 == call.tap_count && end == depth;
      tile.sums = is_last ? nullptr : sums;
      RunChannels(tile, pixels, begin, y);
      tile.start = sums;
      tile.start_step = kMostWidth;
      tile.weights += (end - from + kDepthStep - 1) / kDepthStep * weight_step;
    }
  }
}

void Run(const GemmCall& call) {
  const ByteBounds bounds(*call.epilogue);
  const TileCall tile = FirstTile(call, bounds);
  const uint8_t* x = call.x + call.group->source;
  for (int first = 0; first < call.pixels; first += kMostPixels) {
    const int left = call.pixels - first;
    RunChunks(tile, left < kMostPixels ? left : kMostPixels, x + first * call.x_step,
              call.y + first * call.y_step);
  }
}

}  // namespace

const GemmRoutines kAvx2GemmRoutines = {"avx2",
                                        Run,
                                        WeightPlace,
                                        ChannelAt,
                                        /*signed_x=*/false,
                                        RunWide,
                                        Widen,
                                        SumWide,
                                        &kAvx2WinogradRoutines};

}  // namespace tenon::cpu::q8
