// The AVX2 GEMM multiplies pairs of 16-bit numbers. (The instruction for bytes saturates, which is
// not exact.) A tile of up to 4 pixels by 16 channels stays in registers.
#include <immintrin.h>

#include <cstring>

#include "backends/cpu/kernels/q8/gemm_routines.hpp"

namespace tenon::cpu::q8 {
namespace {

constexpr int kLanes = 8;
constexpr int kTileWidth = 16;
constexpr int kMostPixels = 4;

int ChannelAt(int p, int) { return p; }

/// 16 channels at a time: bytes 0 and 2 of each, then bytes 1 and 3, so that a mask and a shift
/// make both pairs of 16 bits out of four bytes of x.
int WeightPlace(int p, int k, int) {
  const int block = p / kTileWidth;
  return block * kTileWidth * kDepthStep + k % 2 * 2 * kTileWidth + p % kTileWidth * 2 + k / 2;
}

[[gnu::always_inline]] inline __m256i LoadPairs(const int8_t* from) {
  return _mm256_cvtepi8_epi16(_mm_load_si128(reinterpret_cast<const __m128i*>(from)));
}

/// Writes the sums of one pixel by 32 channels: a pixel alone has registers for twice the channels,
/// and its bytes are spread once for both halves.
void RunWideTile(const GemmCall& call, const uint8_t* x, int first, int32_t* sums) {
  const __m256i flip = _mm256_set1_epi32(static_cast<int32_t>(call.flip));
  const __m256i low_bytes = _mm256_set1_epi32(0x00FF00FF);
  const int64_t weight_step = int64_t{call.group->width} * kDepthStep;
  const int8_t* weights = call.group->weights + int64_t{first} * kDepthStep;
  __m256i tile[4];
  for (int i = 0; i < 4; ++i) {
    tile[i] = _mm256_load_si256(reinterpret_cast<const __m256i*>(call.group->bias + first) + i);
  }
  const int64_t depth = call.depth;
  const int64_t last = depth < kDepthStep ? 0 : depth - kDepthStep;
  for (int t = 0; t < call.tap_count; ++t) {
    const uint8_t* tap = x + call.taps[t];
    for (int64_t k = 0; k < depth; k += kDepthStep, weights += weight_step) {
      int32_t four;
      std::memcpy(&four, tap + (k < last ? k : last), sizeof four);
      const __m256i bytes = _mm256_xor_si256(_mm256_set1_epi32(four), flip);
      const __m256i even = _mm256_and_si256(bytes, low_bytes);
      const __m256i odd = _mm256_srli_epi16(bytes, 8);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        const int8_t* pairs = weights + i / 2 * kTileWidth * kDepthStep + i % 2 * 16;
        tile[i] = _mm256_add_epi32(tile[i], _mm256_madd_epi16(even, LoadPairs(pairs)));
        tile[i] = _mm256_add_epi32(tile[i], _mm256_madd_epi16(odd, LoadPairs(pairs + 32)));
      }
    }
  }
  for (int i = 0; i < 4; ++i) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(sums + first) + i, tile[i]);
  }
}

/// Writes the sums of `kPixels` by 16 channels to `sums`, whose rows have kMostWidth entries.
template <int kPixels>
void RunTile(const GemmCall& call, const uint8_t* x, int first, int32_t* sums) {
  const __m256i flip = _mm256_set1_epi32(static_cast<int32_t>(call.flip));
  const __m256i low_bytes = _mm256_set1_epi32(0x00FF00FF);
  const int64_t weight_step = int64_t{call.group->width} * kDepthStep;
  const int8_t* weights = call.group->weights + int64_t{first} * kDepthStep;
  const auto* bias = reinterpret_cast<const __m256i*>(call.group->bias + first);
  __m256i tile[kPixels][2];
#pragma GCC unroll 4
  for (int i = 0; i < kPixels; ++i) {
    tile[i][0] = _mm256_load_si256(bias);
    tile[i][1] = _mm256_load_si256(bias + 1);
  }
  const int64_t depth = call.depth;
  const int64_t last = depth < kDepthStep ? 0 : depth - kDepthStep;
  for (int t = 0; t < call.tap_count; ++t) {
    const uint8_t* tap = x + call.taps[t];
    for (int64_t k = 0; k < depth; k += kDepthStep, weights += weight_step) {
      const uint8_t* from = tap + (k < last ? k : last);
      const __m256i even0 = LoadPairs(weights);
      const __m256i even1 = LoadPairs(weights + 16);
      const __m256i odd0 = LoadPairs(weights + 32);
      const __m256i odd1 = LoadPairs(weights + 48);
#pragma GCC unroll 4
      for (int i = 0; i < kPixels; ++i) {
        int32_t four;
        std::memcpy(&four, from + i * call.x_step, sizeof four);
        const __m256i bytes = _mm256_xor_si256(_mm256_set1_epi32(four), flip);
        const __m256i even = _mm256_and_si256(bytes, low_bytes);
        const __m256i odd = _mm256_srli_epi16(bytes, 8);
        tile[i][0] = _mm256_add_epi32(tile[i][0], _mm256_madd_epi16(even, even0));
        tile[i][1] = _mm256_add_epi32(tile[i][1], _mm256_madd_epi16(even, even1));
        tile[i][0] = _mm256_add_epi32(tile[i][0], _mm256_madd_epi16(odd, odd0));
        tile[i][1] = _mm256_add_epi32(tile[i][1], _mm256_madd_epi16(odd, odd1));
      }
    }
  }
  for (int i = 0; i < kPixels; ++i) {
    auto* to = reinterpret_cast<__m256i*>(sums + i * kMostWidth + first);
    _mm256_store_si256(to, tile[i][0]);
    _mm256_store_si256(to + 1, tile[i][1]);
  }
}

/// Packs 16 rounded products into bytes.
[[gnu::always_inline]] inline __m128i Pack(__m256i a, __m256i b, const GemmEpilogue& epilogue) {
  const __m256i words =
      _mm256_adds_epi16(_mm256_permute4x64_epi64(_mm256_packs_epi32(a, b), 0xD8),
                        _mm256_set1_epi16(static_cast<int16_t>(epilogue.zero_point)));
  const __m128i bytes =
      _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  const __m128i bounded =
      _mm_min_epi8(_mm_max_epi8(bytes, _mm_set1_epi8(static_cast<int8_t>(epilogue.min))),
                   _mm_set1_epi8(static_cast<int8_t>(epilogue.max)));
  return _mm_xor_si128(bounded, _mm_set1_epi32(static_cast<int32_t>(epilogue.flip)));
}

[[gnu::always_inline]] inline __m256i HalfEven(const GemmGroup& group, int p, __m256i sums) {
  return _mm256_cvtps_epi32(
      _mm256_mul_ps(_mm256_cvtepi32_ps(sums), _mm256_load_ps(group.factor + p)));
}

/// As for AVX-512: what a factor a little too large and one a little too small agree on is exact.
[[gnu::always_inline]] inline __m256i FixedPoint(const GemmGroup& group, int p, __m256i sums,
                                                 __m256i& unlike) {
  const __m256 value = _mm256_cvtepi32_ps(sums);
  const __m256i sign = _mm256_and_si256(sums, _mm256_set1_epi32(INT32_MIN));
  const __m256 reach = _mm256_or_ps(_mm256_castsi256_ps(sign), _mm256_load_ps(group.offset + p));
  const __m256i high =
      _mm256_cvtps_epi32(_mm256_fmadd_ps(value, _mm256_load_ps(group.factor + p), reach));
  const __m256i low =
      _mm256_cvtps_epi32(_mm256_fmadd_ps(value, _mm256_load_ps(group.factor_below + p), reach));
  unlike = _mm256_or_si256(unlike, _mm256_xor_si256(high, low));
  return high;
}

/// Stores the outputs of one pixel from its sums.
void RequantizePixel(const GemmCall& call, const int32_t* sums, uint8_t* y) {
  const GemmGroup& group = *call.group;
  const EpilogueKind kind = call.epilogue->kind;
  if (!group.is_tame || (kind != EpilogueKind::kHalfEven && kind != EpilogueKind::kFixedPoint)) {
    return StoreFromSums(kAvx2GemmRoutines, group, *call.epilogue, sums, y);
  }
  alignas(16) uint8_t bytes[kMostWidth];
  __m256i unlike = _mm256_setzero_si256();
  for (int p = 0; p < group.width; p += kTileWidth) {
    const __m256i a = _mm256_load_si256(reinterpret_cast<const __m256i*>(sums + p));
    const __m256i b = _mm256_load_si256(reinterpret_cast<const __m256i*>(sums + p + kLanes));
    const bool half_even = kind == EpilogueKind::kHalfEven;
    const __m256i low = half_even ? HalfEven(group, p, a) : FixedPoint(group, p, a, unlike);
    const __m256i high =
        half_even ? HalfEven(group, p + kLanes, b) : FixedPoint(group, p + kLanes, b, unlike);
    const __m128i packed = Pack(low, high, *call.epilogue);
    const bool is_whole = p + kTileWidth <= group.channels;
    _mm_storeu_si128(reinterpret_cast<__m128i*>(is_whole ? y + p : bytes + p), packed);
  }
  const int whole = group.channels / kTileWidth * kTileWidth;
  for (int m = whole; m < group.channels; ++m) y[m] = bytes[m];
  if (_mm256_testz_si256(unlike, unlike) == 0) {
    StoreFromSums(kAvx2GemmRoutines, group, *call.epilogue, sums, y);
  }
}

void Run(const GemmCall& call) {
  using TileFunction = void (*)(const GemmCall&, const uint8_t*, int, int32_t*);
  constexpr TileFunction kTiles[kMostPixels] = {RunTile<1>, RunTile<2>, RunTile<3>, RunTile<4>};
  alignas(32) int32_t sums[kMostPixels * kMostWidth];
  const uint8_t* x = call.x + call.group->source;
  const int tiles = (call.pixels + kMostPixels - 1) / kMostPixels;
  for (int tile = 0, done = 0; tile < tiles; ++tile) {
    const int pixels = (call.pixels - done) / (tiles - tile);
    int first = 0;
    for (; pixels == 1 && first + 2 * kTileWidth <= call.group->width; first += 2 * kTileWidth) {
      RunWideTile(call, x + done * call.x_step, first, sums);
    }
    for (; first < call.group->width; first += kTileWidth) {
      kTiles[pixels - 1](call, x + done * call.x_step, first, sums);
    }
    for (int i = 0; i < pixels; ++i) {
      RequantizePixel(call, sums + i * kMostWidth, call.y + (done + i) * call.y_step);
    }
    done += pixels;
  }
}

}  // namespace

const GemmRoutines kAvx2GemmRoutines = {"avx2", Run, WeightPlace, ChannelAt,
                                        /*signed_x=*/false};

}  // namespace tenon::cpu::q8
