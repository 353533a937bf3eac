// The AVX2 GEMM multiplies pairs of 16-bit numbers. (The instruction for bytes saturates, which is
// not exact.) The bytes of a few pixels are widened to 16 bits once for all their outputs, so that
// a pair is one load; a tile of up to 6 pixels by 16 channels, or 3 by 32, stays in registers.
#include <immintrin.h>

#include <cstring>

#include "backends/cpu/kernels/q8/gemm_routines.hpp"

namespace tenon::cpu::q8 {
namespace {

constexpr int kLanes = 8;
constexpr int kBlock = 16;  // channels
constexpr int kMostPixels = 6;
/// Is the most bytes of a pixel that are widened at once: those of six pixels stay in the
/// first-level cache.
constexpr int kChunk = 512;
/// Is the distance of widened pixels, in numbers of 16 bits: not that of the cache's ways.
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

/// Widens the steps of one pixel's taps in order, a chunk each time.
class Widener {
 public:
  explicit Widener(const GemmCall& call)
      : call_(call),
        flip_(_mm_set1_epi32(static_cast<int32_t>(call.flip))),
        // Bytes before the last step where that is read from elsewhere.
        whole_(call.depth < kDepthStep ? kDepthStep : call.depth / kDepthStep * kDepthStep),
        padded_((call.depth + kDepthStep - 1) / kDepthStep * kDepthStep) {}

  /// Returns how many bytes the next chunk has; 0: all taps are done.
  [[nodiscard]] int Next() const {
    const int64_t left = int64_t{call_.tap_count - tap_} * padded_ - byte_;
    return left < kChunk ? static_cast<int>(left) : kChunk;
  }

  /// Widens `bytes` of the pixel at `x`.
  void Widen(const uint8_t* x, int bytes, int16_t* to) const {
    // Stores of vectors might change members, for all that the compiler knows.
    const __m128i flip = flip_;
    const int whole = whole_;
    int tap = tap_;
    for (int byte = byte_; bytes > 0; ++tap, byte = 0) {
      const uint8_t* from = x + call_.taps[tap];
      const int end = byte + bytes < padded_ ? byte + bytes : padded_;
      const int whole_end = end < whole ? end : whole;
      bytes -= end - byte;
      for (; byte + 16 <= whole_end; byte += 16, to += 16) {
        const __m128i sixteen = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + byte));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                            _mm256_cvtepu8_epi16(_mm_xor_si128(sixteen, flip)));
      }
      if (byte + 8 <= whole_end) {
        const __m128i eight = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + byte));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                         _mm_cvtepu8_epi16(_mm_xor_si128(eight, flip)));
        byte += 8;
        to += 8;
      }
      // What is left: a step, and the last one where that is read from elsewhere.
      for (; byte < end; byte += kDepthStep, to += kDepthStep) {
        Widen4(from + (byte < whole ? byte : call_.depth - kDepthStep), flip, to);
      }
    }
  }

  void MoveOn(int bytes) {
    const int64_t at = int64_t{tap_} * padded_ + byte_ + bytes;
    tap_ = static_cast<int>(at / padded_);
    byte_ = static_cast<int>(at % padded_);
  }

 private:
  [[gnu::always_inline]] static void Widen4(const uint8_t* from, __m128i flip, int16_t* to) {
    int32_t four;
    std::memcpy(&four, from, sizeof four);
    const __m128i bytes = _mm_xor_si128(_mm_cvtsi32_si128(four), flip);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_cvtepu8_epi16(bytes));
  }

  const GemmCall& call_;
  const __m128i flip_;
  const int whole_;
  const int padded_;
  int tap_ = 0;
  int byte_ = 0;  ///< of the tap
};

/// Adds the products of `steps` steps of widened pixels to the sums of kPixels by kBlocks blocks of
/// channels; rows of sums have kMostWidth entries.
template <int kPixels, int kBlocks>
void RunTile(const int16_t* x, const int8_t* weights, int64_t weight_step, int steps,
             int32_t* sums) {
  constexpr int kVectors = 2 * kBlocks;
  __m256i tile[kPixels][kVectors];
#pragma GCC unroll 6
  for (int i = 0; i < kPixels; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      tile[i][v] =
          _mm256_load_si256(reinterpret_cast<const __m256i*>(sums + i * kMostWidth + v * kLanes));
    }
  }
  for (int step = 0; step < steps; ++step, weights += weight_step, x += kDepthStep) {
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      __m256i pairs[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        pairs[v] =
            LoadPairs(weights + v / 2 * kBlock * kDepthStep + half * 2 * kBlock + v % 2 * kBlock);
      }
#pragma GCC unroll 6
      for (int i = 0; i < kPixels; ++i) {
        int32_t two;
        std::memcpy(&two, x + i * kRow + 2 * half, sizeof two);
        const __m256i both = _mm256_set1_epi32(two);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          tile[i][v] = _mm256_add_epi32(tile[i][v], _mm256_madd_epi16(both, pairs[v]));
          // Else the compiler adds products first, for which registers do not suffice.
          asm("" : "+x"(tile[i][v]));
        }
      }
    }
  }
#pragma GCC unroll 6
  for (int i = 0; i < kPixels; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      _mm256_store_si256(reinterpret_cast<__m256i*>(sums + i * kMostWidth + v * kLanes),
                         tile[i][v]);
    }
  }
}

using TileFunction = void (*)(const int16_t*, const int8_t*, int64_t, int, int32_t*);
constexpr TileFunction kTiles[kMostPixels] = {RunTile<1, 1>, RunTile<2, 1>, RunTile<3, 1>,
                                              RunTile<4, 1>, RunTile<5, 1>, RunTile<6, 1>};
/// Few pixels have registers for twice the channels.
constexpr TileFunction kWideTiles[] = {RunTile<1, 2>, RunTile<2, 2>, RunTile<3, 2>};
constexpr int kMostWidePixels = 3;

/// Writes the sums of `pixels` pixels at `x`.
void SumPixels(const GemmCall& call, const uint8_t* x, int pixels, int32_t* sums) {
  alignas(32) int16_t widened[kMostPixels * kRow];
  const GemmGroup& group = *call.group;
  const int64_t weight_step = int64_t{group.width} * kDepthStep;
  for (int i = 0; i < pixels; ++i) {
    for (int p = 0; p < group.width; p += kLanes) {
      _mm256_store_si256(reinterpret_cast<__m256i*>(sums + i * kMostWidth + p),
                         _mm256_load_si256(reinterpret_cast<const __m256i*>(group.bias + p)));
    }
  }
  const int8_t* weights = group.weights;
  Widener widener(call);
  for (int bytes = kChunk; bytes == kChunk;) {
    bytes = widener.Next();
    for (int i = 0; i < pixels; ++i) {
      widener.Widen(x + i * call.x_step, bytes, widened + i * kRow);
    }
    if (bytes == kChunk) widener.MoveOn(bytes);
    const int steps = bytes / kDepthStep;
    int first = 0;
    if (pixels <= kMostWidePixels) {
      for (; first + 2 * kBlock <= group.width; first += 2 * kBlock) {
        kWideTiles[pixels - 1](widened, weights + first * kDepthStep, weight_step, steps,
                               sums + first);
      }
    }
    for (; first < group.width; first += kBlock) {
      kTiles[pixels - 1](widened, weights + first * kDepthStep, weight_step, steps, sums + first);
    }
    weights += steps * weight_step;
  }
}

/// Contains what turns rounded products into bytes in every lane. It is made once for a run of
/// pixels: stores of bytes might change the epilogue, for all that the compiler knows.
struct ByteBounds {
  explicit ByteBounds(const GemmEpilogue& epilogue)
      : zero_point(_mm256_set1_epi16(static_cast<int16_t>(epilogue.zero_point))),
        min(_mm_set1_epi8(static_cast<int8_t>(epilogue.min))),
        max(_mm_set1_epi8(static_cast<int8_t>(epilogue.max))),
        flip(_mm_set1_epi32(static_cast<int32_t>(epilogue.flip))) {}

  /// Packs 16 rounded products.
  [[gnu::always_inline]] __m128i Pack(__m256i a, __m256i b) const {
    const __m256i words =
        _mm256_adds_epi16(_mm256_permute4x64_epi64(_mm256_packs_epi32(a, b), 0xD8), zero_point);
    const __m128i bytes =
        _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    return _mm_xor_si128(_mm_min_epi8(_mm_max_epi8(bytes, min), max), flip);
  }

  __m256i zero_point;
  __m128i min;
  __m128i max;
  __m128i flip;
};

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

/// Stores the first `count` of 16 bytes.
[[gnu::always_inline]] inline void StoreSome(__m128i bytes, int count, uint8_t* to) {
  if (count >= kBlock) return _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
  if (count >= 8) {
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), bytes);
    to += 8;
    count -= 8;
    bytes = _mm_srli_si128(bytes, 8);
  }
  uint64_t left = static_cast<uint64_t>(_mm_cvtsi128_si64(bytes));
  for (; count > 0; --count, left >>= 8) *to++ = static_cast<uint8_t>(left);
}

/// Stores the outputs of one pixel from its sums, of a kind that has a fast form.
template <EpilogueKind kKind>
[[gnu::always_inline]] inline void RequantizePixel(const GemmCall& call, const ByteBounds& bounds,
                                                   const int32_t* sums, uint8_t* y) {
  const GemmGroup& group = *call.group;
  __m256i unlike = _mm256_setzero_si256();
  for (int p = 0; p < group.width; p += kBlock) {
    const __m256i a = _mm256_load_si256(reinterpret_cast<const __m256i*>(sums + p));
    const __m256i b = _mm256_load_si256(reinterpret_cast<const __m256i*>(sums + p + kLanes));
    constexpr bool kHalfEven = kKind == EpilogueKind::kHalfEven;
    const __m256i low = kHalfEven ? HalfEven(group, p, a) : FixedPoint(group, p, a, unlike);
    const __m256i high =
        kHalfEven ? HalfEven(group, p + kLanes, b) : FixedPoint(group, p + kLanes, b, unlike);
    StoreSome(bounds.Pack(low, high), group.channels - p, y + p);
  }
  if (_mm256_testz_si256(unlike, unlike) == 0) {
    StoreFromSums(kAvx2GemmRoutines, group, *call.epilogue, sums, y);
  }
}

/// Stores the outputs of `pixels` pixels from `first` on.
void Requantize(const GemmCall& call, const ByteBounds& bounds, int first, int pixels,
                const int32_t* sums) {
  uint8_t* y = call.y + first * call.y_step;
  const EpilogueKind kind = call.group->is_tame ? call.epilogue->kind : EpilogueKind::kExact;
  for (int i = 0; i < pixels; ++i, y += call.y_step, sums += kMostWidth) {
    if (kind == EpilogueKind::kHalfEven) {
      RequantizePixel<EpilogueKind::kHalfEven>(call, bounds, sums, y);
    } else if (kind == EpilogueKind::kFixedPoint) {
      RequantizePixel<EpilogueKind::kFixedPoint>(call, bounds, sums, y);
    } else {
      StoreFromSums(kAvx2GemmRoutines, *call.group, *call.epilogue, sums, y);
    }
  }
}

void Run(const GemmCall& call) {
  alignas(32) int32_t sums[kMostPixels * kMostWidth];
  const ByteBounds bounds(*call.epilogue);
  const uint8_t* x = call.x + call.group->source;
  const int tiles = (call.pixels + kMostPixels - 1) / kMostPixels;
  for (int tile = 0, done = 0; tile < tiles; ++tile) {
    const int pixels = (call.pixels - done) / (tiles - tile);
    SumPixels(call, x + done * call.x_step, pixels, sums);
    Requantize(call, bounds, done, pixels, sums);
    done += pixels;
  }
}

}  // namespace

const GemmRoutines kAvx2GemmRoutines = {"avx2", Run, WeightPlace, ChannelAt,
                                        /*signed_x=*/false};

}  // namespace tenon::cpu::q8
