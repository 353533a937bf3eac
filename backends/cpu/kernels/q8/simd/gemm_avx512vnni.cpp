// In AVX-512 with VNNI, one instruction multiplies and adds 16 channels by four bytes of x. A tile
// of up to 6 pixels by 64 channels stays in registers.
#include <immintrin.h>

#include <cstring>

#include "backends/cpu/kernels/q8/gemm_routines.hpp"

namespace tenon::cpu::q8 {
namespace {

constexpr int kLanes = 16;

/// Most pixels of a tile for each number of vectors: accumulators, weights, a value of x and the
/// mask fill the 32 registers.
constexpr int kMostPixels = 16;
constexpr int kTilePixels[5] = {0, 16, 12, 8, 6};

/// Channels stand so in the vectors that packing 32 bits to 8 puts them in order: packs interleave
/// within quarters of registers.
int ChannelAt(int p, int width) {
  const int vectors = width / kLanes;
  const int vector = p / kLanes;
  const int quarter = p % kLanes / 4;
  return quarter * 4 * vectors + vector * 4 + p % 4;
}

int WeightPlace(int p, int k, int) { return p * kDepthStep + k; }

[[gnu::always_inline]] inline __m512i BroadcastFour(const uint8_t* from) {
  int32_t four;
  std::memcpy(&four, from, sizeof four);
  return _mm512_set1_epi32(four);
}

/// Contains the sums of a tile.
template <int kPixels, int kVectors>
struct Tile {
  __m512i sums[kPixels][kVectors];

  [[gnu::always_inline]] void Start(const int32_t* bias) {
#pragma GCC unroll 16
    for (int i = 0; i < kPixels; ++i) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sums[i][v] = _mm512_load_si512(bias + v * kLanes);
    }
  }

  /// Adds one step: four bytes of each pixel.
  [[gnu::always_inline]] void Add(const uint8_t* x, int64_t step, const int8_t* weights,
                                  __m512i flip) {
    __m512i w[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) w[v] = _mm512_load_si512(weights + v * 64);
#pragma GCC unroll 16
    for (int i = 0; i < kPixels; ++i) {
      const __m512i four = _mm512_xor_si512(BroadcastFour(x + i * step), flip);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        sums[i][v] = _mm512_dpbusd_epi32(sums[i][v], four, w[v]);
      }
    }
  }

  /// There is one body for whole steps and the last: with two, the compiler runs out of registers.
  [[gnu::always_inline]] void AddTaps(const GemmCall& call, const uint8_t* x) {
    const __m512i flip = _mm512_set1_epi32(static_cast<int32_t>(call.flip));
    const int8_t* weights = call.group->weights;
    const int64_t step = call.x_step;
    const int64_t depth = call.depth;
    const int64_t last = depth < kDepthStep ? 0 : depth - kDepthStep;
    for (int t = 0; t < call.tap_count; ++t) {
      const uint8_t* tap = x + call.taps[t];
      for (int64_t k = 0; k < depth; k += kDepthStep) {
        Add(tap + (k < last ? k : last), step, weights, flip);
        weights += kVectors * 64;
      }
    }
#pragma GCC unroll 16
    for (int i = 0; i < kPixels; ++i) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) asm("" : "+v"(sums[i][v]));
    }
  }
};

/// Bounds of the output and what else its last steps need, in every lane.
struct Output {
  explicit Output(const GemmEpilogue& epilogue)
      : zero_point(_mm512_set1_epi16(static_cast<int16_t>(epilogue.zero_point))),
        min(_mm512_set1_epi8(static_cast<int8_t>(epilogue.min))),
        max(_mm512_set1_epi8(static_cast<int8_t>(epilogue.max))),
        flip(_mm512_set1_epi32(static_cast<int32_t>(epilogue.flip))) {}

  /// Four vectors of rounded products as bytes: quarter by quarter four of each.
  [[gnu::always_inline]] __m512i Pack(__m512i a, __m512i b, __m512i c, __m512i d) const {
    const __m512i low = _mm512_adds_epi16(_mm512_packs_epi32(a, b), zero_point);
    const __m512i high = _mm512_adds_epi16(_mm512_packs_epi32(c, d), zero_point);
    const __m512i bytes = _mm512_packs_epi16(low, high);
    return _mm512_xor_si512(_mm512_min_epi8(_mm512_max_epi8(bytes, min), max), flip);
  }

  __m512i zero_point;
  __m512i min;
  __m512i max;
  __m512i flip;
};

/// Stores what was packed of pixels that begin at `y`: one of four or three vectors, or as many as
/// fill four.
template <int kVectors>
[[gnu::always_inline]] inline void StorePacked(__m512i bytes, int channels, int pixels,
                                               int64_t y_step, uint8_t* y) {
  const __mmask64 mask = ~uint64_t{0} >> (64 - channels);
  if constexpr (kVectors == 4) {
    if (channels == 64) {
      _mm512_storeu_si512(y, bytes);
    } else {
      _mm512_mask_storeu_epi8(y, mask, bytes);
    }
  } else if constexpr (kVectors == 3) {
    const __m512i order = _mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 15, 15, 15, 15);
    _mm512_mask_storeu_epi8(y, mask, _mm512_permutexvar_epi32(order, bytes));
  } else if constexpr (kVectors == 2) {
    const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    const __m512i sorted = _mm512_permutexvar_epi64(order, bytes);
    const auto half = static_cast<__mmask32>(mask);
    _mm256_mask_storeu_epi8(y, half, _mm512_castsi512_si256(sorted));
    if (pixels > 1) _mm256_mask_storeu_epi8(y + y_step, half, _mm512_extracti64x4_epi64(sorted, 1));
  } else {
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i sorted = _mm512_permutexvar_epi32(order, bytes);
    const auto quarter = static_cast<__mmask16>(mask);
    _mm_mask_storeu_epi8(y, quarter, _mm512_castsi512_si128(sorted));
    if (pixels > 1) {
      _mm_mask_storeu_epi8(y + y_step, quarter, _mm512_extracti64x2_epi64(sorted, 1));
    }
    if (pixels > 2) {
      _mm_mask_storeu_epi8(y + 2 * y_step, quarter, _mm512_extracti64x2_epi64(sorted, 2));
    }
    if (pixels > 3) {
      _mm_mask_storeu_epi8(y + 3 * y_step, quarter, _mm512_extracti64x2_epi64(sorted, 3));
    }
  }
}

/// Says which vector is packed as the `part`-th of four that begin at pixel `i`.
template <int kVectors>
constexpr int PartVector(int part) {
  if (kVectors >= 3) return part < kVectors ? part : kVectors - 1;
  return part % kVectors;
}
template <int kPixels, int kVectors>
constexpr int PartPixel(int i, int part) {
  const int pixel = kVectors >= 3 ? i : i + part / kVectors;
  return pixel < kPixels ? pixel : kPixels - 1;
}

/// Packs and stores the rounded products of a tile.
template <int kPixels, int kVectors>
[[gnu::always_inline]] inline void StoreTile(const __m512i (&rounded)[kPixels][kVectors],
                                             const GemmCall& call, uint8_t* y) {
  constexpr int kPack = kVectors >= 3 ? 1 : 4 / kVectors;  // pixels that are packed together
  const Output output(*call.epilogue);
#pragma GCC unroll 16
  for (int i = 0; i < kPixels; i += kPack) {
    const __m512i bytes =
        output.Pack(rounded[PartPixel<kPixels, kVectors>(i, 0)][PartVector<kVectors>(0)],
                    rounded[PartPixel<kPixels, kVectors>(i, 1)][PartVector<kVectors>(1)],
                    rounded[PartPixel<kPixels, kVectors>(i, 2)][PartVector<kVectors>(2)],
                    rounded[PartPixel<kPixels, kVectors>(i, 3)][PartVector<kVectors>(3)]);
    StorePacked<kVectors>(bytes, call.group->channels, kPixels - i, call.y_step,
                          y + i * call.y_step);
  }
}

/// The two exact roundings of FixedPointMultiply: the high half of a product of 64 bits, halves up,
/// then a shift, halves away from zero. No multiplier is INT32_MIN.
[[gnu::always_inline]] inline __m512i MultiplyExactly(__m512i sums, const int32_t* multipliers,
                                                      const int32_t* shifts) {
  const __m512i zero = _mm512_setzero_si512();
  const __m512i factor = _mm512_load_si512(multipliers);
  const __m512i shift = _mm512_load_si512(shifts);
  const __m512i left = _mm512_sllv_epi32(sums, _mm512_max_epi32(shift, zero));
  const __m512i right = _mm512_max_epi32(_mm512_sub_epi32(zero, shift), zero);
  const __m512i half = _mm512_set1_epi64(int64_t{1} << 30);
  const __m512i even = _mm512_add_epi64(_mm512_mul_epi32(left, factor), half);
  const __m512i odd = _mm512_add_epi64(
      _mm512_mul_epi32(_mm512_srli_epi64(left, 32), _mm512_srli_epi64(factor, 32)), half);
  const __m512i product =
      _mm512_mask_blend_epi32(0xAAAA, _mm512_srli_epi64(even, 31), _mm512_slli_epi64(odd, 1));
  // What is shifted out, against half of it, which a negative number must pass.
  const __m512i one = _mm512_set1_epi32(1);
  const __m512i out_mask = _mm512_sub_epi32(_mm512_sllv_epi32(one, right), one);
  const __m512i out = _mm512_and_si512(product, out_mask);
  const __m512i threshold =
      _mm512_add_epi32(_mm512_srli_epi32(out_mask, 1), _mm512_srli_epi32(product, 31));
  const __m512i shifted = _mm512_srav_epi32(product, right);
  const __mmask16 up = _mm512_cmpgt_epi32_mask(out, threshold);
  return _mm512_mask_add_epi32(shifted, up, shifted, one);
}

/// Puts `word` of each sum's product with its channel's factor in its place.
template <int kPixels, int kVectors, typename Word>
[[gnu::always_inline]] inline void Scale(Tile<kPixels, kVectors>& tile, const GemmCall& call,
                                         const Word& word) {
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    const __m512 factor = _mm512_load_ps(call.group->factor + v * kLanes);
#pragma GCC unroll 16
    for (int i = 0; i < kPixels; ++i) {
      tile.sums[i][v] = word(_mm512_mul_ps(_mm512_cvtepi32_ps(tile.sums[i][v]), factor));
    }
  }
}

template <int kPixels, int kVectors>
[[gnu::always_inline]] inline void RequantizeHalfEven(Tile<kPixels, kVectors>& tile,
                                                      const GemmCall& call, uint8_t* y) {
  Scale(tile, call, [](__m512 x) { return _mm512_cvtps_epi32(x); });  // halves to even
  StoreTile<kPixels, kVectors>(tile.sums, call, y);
}

/// Rounds the product with a factor a little too large and one a little too small: by 5 * 2^-24 of
/// it, which is more than all rounding errors of floats together. Where both agree, that is the
/// result of the two exact roundings, of which the first reaches `offset` towards larger
/// magnitudes. Gives a bit for each pixel with a sum for which they do not.
template <int kPixels, int kVectors>
[[gnu::always_inline]] inline uint32_t RequantizeFixedPoint(Tile<kPixels, kVectors>& tile,
                                                            const GemmCall& call, uint8_t* y) {
  const __m512i sign = _mm512_set1_epi32(INT32_MIN);
  __m512i unlike[kPixels];
#pragma GCC unroll 16
  for (int i = 0; i < kPixels; ++i) unlike[i] = _mm512_setzero_si512();
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    const __m512 above = _mm512_load_ps(call.group->factor + v * kLanes);
    const __m512 below = _mm512_load_ps(call.group->factor_below + v * kLanes);
    const __m512i offset = _mm512_load_si512(call.group->offset + v * kLanes);
#pragma GCC unroll 16
    for (int i = 0; i < kPixels; ++i) {
      const __m512i sum = tile.sums[i][v];
      const __m512 value = _mm512_cvtepi32_ps(sum);
      const __m512 reach = _mm512_castsi512_ps(_mm512_ternarylogic_epi32(sum, sign, offset, 0xEA));
      const __m512i high = _mm512_cvtps_epi32(_mm512_fmadd_ps(value, above, reach));
      const __m512i low = _mm512_cvtps_epi32(_mm512_fmadd_ps(value, below, reach));
      unlike[i] = _mm512_ternarylogic_epi32(unlike[i], high, low, 0xF6);
      tile.sums[i][v] = high;
    }
  }
  uint32_t doubtful = 0;
#pragma GCC unroll 16
  for (int i = 0; i < kPixels; ++i) {
    doubtful |= _mm512_test_epi32_mask(unlike[i], unlike[i]) != 0 ? 1U << i : 0U;
  }
  StoreTile<kPixels, kVectors>(tile.sums, call, y);
  return doubtful;
}

/// Stores the first `channels` of a pixel's words, which stand quarter by quarter of each vector.
template <int kVectors>
[[gnu::always_inline]] inline void StorePixelWords(const __m512i (&words)[kVectors], int channels,
                                                   uint8_t* y) {
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    const __m128i quarters[4] = {
        _mm512_castsi512_si128(words[v]), _mm512_extracti32x4_epi32(words[v], 1),
        _mm512_extracti32x4_epi32(words[v], 2), _mm512_extracti32x4_epi32(words[v], 3)};
#pragma GCC unroll 4
    for (int quarter = 0; quarter < 4; ++quarter) {
      const int first = quarter * kNeighbours * kVectors + v * kNeighbours;
      uint8_t* const to = y + int64_t{first} * 4;
      if (channels >= first + kNeighbours) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to), quarters[quarter]);
      } else if (channels > first) {
        const auto mask = static_cast<__mmask8>((1U << (channels - first)) - 1U);
        _mm_mask_storeu_epi32(to, mask, quarters[quarter]);
      }
    }
  }
}

/// Stores the sums of a tile, or their products with the factors as floats.
template <int kPixels, int kVectors>
[[gnu::always_inline]] inline void StoreWords(Tile<kPixels, kVectors>& tile, const GemmCall& call,
                                              uint8_t* y) {
  if (call.epilogue->kind == EpilogueKind::kFloats) {
    Scale(tile, call, [](__m512 x) { return _mm512_castps_si512(x); });
  }
  const int channels = call.group->channels;
  if (channels == kVectors * kLanes) {
#pragma GCC unroll 16
    for (int i = 0; i < kPixels; ++i) {
      StorePixelWords<kVectors>(tile.sums[i], kVectors * kLanes, y + i * call.y_step);
    }
    return;
  }
#pragma GCC unroll 16
  for (int i = 0; i < kPixels; ++i) {
    StorePixelWords<kVectors>(tile.sums[i], channels, y + i * call.y_step);
  }
}

/// Stores the sums of a tile to memory, and then makes outputs of them one by one.
template <int kPixels, int kVectors>
[[gnu::noinline]] void RunExactTile(const GemmCall& call, const uint8_t* x, uint8_t* y) {
  alignas(64) int32_t sums[kPixels][kVectors * kLanes];
  {
    Tile<kPixels, kVectors> tile;
    tile.Start(call.group->bias);
    tile.AddTaps(call, x);
    for (int i = 0; i < kPixels; ++i) {
      for (int v = 0; v < kVectors; ++v) _mm512_store_si512(sums[i] + v * kLanes, tile.sums[i][v]);
    }
  }
  for (int i = 0; i < kPixels; ++i) {
    StoreFromSums(kAvx512VnniGemmRoutines, *call.group, *call.epilogue, sums[i],
                  y + i * call.y_step);
  }
}

/// One pixel, where the fast rounding has no answer or products may be of any size: floats beyond
/// +-2^22 are outside every byte as well.
template <int kVectors>
[[gnu::noinline]] void RunWidePixel(const GemmCall& call, const uint8_t* x, uint8_t* y) {
  const GemmGroup& group = *call.group;
  const bool half_even = call.epilogue->kind == EpilogueKind::kHalfEven;
  if (call.epilogue->once) return RunExactTile<1, kVectors>(call, x, y);
  const __m512 most = _mm512_set1_ps(4194304.0F);
  const __m512 least = _mm512_set1_ps(-4194304.0F);
  Tile<1, kVectors> tile;
  tile.Start(group.bias);
  tile.AddTaps(call, x);
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    const int p = v * kLanes;
    __m512i& sums = tile.sums[0][v];
    if (half_even) {
      const __m512 product =
          _mm512_mul_ps(_mm512_cvtepi32_ps(sums), _mm512_load_ps(group.factor + p));
      sums = _mm512_cvtps_epi32(_mm512_min_ps(_mm512_max_ps(product, least), most));
    } else {
      sums = MultiplyExactly(sums, group.multiplier + p, group.shift + p);
    }
  }
  StoreTile<1, kVectors>(tile.sums, call, y);
}

template <int kPixels, int kVectors>
void RunTile(const GemmCall& call, const uint8_t* x, uint8_t* y) {
  if constexpr (kPixels <= kTilePixels[kVectors]) {
    const EpilogueKind kind = call.epilogue->kind;
    if (kind == EpilogueKind::kExact) return RunExactTile<kPixels, kVectors>(call, x, y);
    const bool are_words = kind == EpilogueKind::kSums || kind == EpilogueKind::kFloats;
    if (!are_words && !call.group->is_tame) {
      for (int i = 0; i < kPixels; ++i) {
        RunWidePixel<kVectors>(call, x + i * call.x_step, y + i * call.y_step);
      }
      return;
    }
    Tile<kPixels, kVectors> tile;
    tile.Start(call.group->bias);
    tile.AddTaps(call, x);
    if (are_words) return StoreWords<kPixels, kVectors>(tile, call, y);
    if (kind == EpilogueKind::kHalfEven)
      return RequantizeHalfEven<kPixels, kVectors>(tile, call, y);
    uint32_t doubtful = RequantizeFixedPoint<kPixels, kVectors>(tile, call, y);
    for (; doubtful != 0; doubtful &= doubtful - 1) {
      const int i = __builtin_ctz(doubtful);
      RunWidePixel<kVectors>(call, x + i * call.x_step, y + i * call.y_step);
    }
  }
}

using TileFunction = void (*)(const GemmCall& call, const uint8_t* x, uint8_t* y);

/// By pixels less one.
template <int kVectors>
struct TileTable {
  static constexpr TileFunction kRun[kMostPixels] = {
      RunTile<1, kVectors>,  RunTile<2, kVectors>,  RunTile<3, kVectors>,  RunTile<4, kVectors>,
      RunTile<5, kVectors>,  RunTile<6, kVectors>,  RunTile<7, kVectors>,  RunTile<8, kVectors>,
      RunTile<9, kVectors>,  RunTile<10, kVectors>, RunTile<11, kVectors>, RunTile<12, kVectors>,
      RunTile<13, kVectors>, RunTile<14, kVectors>, RunTile<15, kVectors>, RunTile<16, kVectors>};
};

void Run(const GemmCall& whole) {
  constexpr const TileFunction* kTables[4] = {TileTable<1>::kRun, TileTable<2>::kRun,
                                              TileTable<3>::kRun, TileTable<4>::kRun};
  const int vectors = whole.group->width / kLanes;
  const TileFunction* table = kTables[vectors - 1];
  const int most = kTilePixels[vectors];
  const int tiles = (whole.pixels + most - 1) / most;
  GemmCall call = whole;
  call.x += whole.group->source;
  for (int tile = 0, first = 0; tile < tiles; ++tile) {
    // Tiles of equal sizes: one of a single pixel would take as long as one of several.
    const int pixels = (whole.pixels - first) / (tiles - tile);
    table[pixels - 1](call, call.x + first * call.x_step, call.y + first * call.y_step);
    first += pixels;
  }
}

}  // namespace

const GemmRoutines kAvx512VnniGemmRoutines = {
    "avx512vnni",       Run,     WeightPlace, ChannelAt,
    /*signed_x=*/false, nullptr, nullptr,     nullptr,   nullptr};

}  // namespace tenon::cpu::q8
