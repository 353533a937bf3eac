// Winograd's F(4x4, 3x3) of bytes in whole numbers, which gives the bits of direct sums: the
// matrices are those of Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (2015),
// section 4.3, but each row of G is multiplied by its denominator. A sum then comes out 9 * 2^n
// times as large, n being at most 6, in the ring of 32-bit numbers: the inverse of 9 and a shift
// bring it back.
//
// Numbers of 16 bits hold both transforms: of an input, at most 100 * 255, and of weights, at most
// 49 * 255.
#include <immintrin.h>

#include <cstring>

#include "backends/cpu/caps/q8_winograd_caps.hpp"
#include "backends/cpu/kernels/q8/gemm_routines.hpp"
#include "backends/cpu/kernels/q8/simd/gemm_outputs_avx2.hpp"
#include "runtime/ops/kernel_refusals.hpp"

namespace tenon::cpu::q8 {
namespace {

constexpr int kSide = 6;  // of an input tile
constexpr int kOutputs = kWinogradOutputs;
constexpr int kWidth = kWinogradWidth;  // channels of products and sums
constexpr int kPlaces = kOutputs * kOutputs;

using Words16 = int16_t __attribute__((vector_size(32)));
using Words8 = int16_t __attribute__((vector_size(16)));
using Sums8 = int32_t __attribute__((vector_size(32)));
using Ring8 = uint32_t __attribute__((vector_size(32)));  // sums modulo 2^32

template <typename V>
[[gnu::always_inline]] inline V Widen(const uint8_t* from, uint8_t flip) {
  const __m128i flips = _mm_set1_epi8(static_cast<char>(flip));
  if constexpr (sizeof(V) == 32) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return reinterpret_cast<V>(_mm256_cvtepu8_epi16(_mm_xor_si128(bytes, flips)));
  } else {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
    return reinterpret_cast<V>(_mm_cvtepu8_epi16(_mm_xor_si128(bytes, flips)));
  }
}

/// Multiplies a column of six by B transposed.
template <typename V>
[[gnu::always_inline]] inline void InputColumn(const V* d, V* t) {
  const V even = d[4] - (d[2] << 2);
  const V odd = d[3] - (d[1] << 2);
  const V even_two = d[4] - d[2];
  const V odd_two = (d[3] - d[1]) << 1;
  t[0] = ((d[0] - d[2]) << 2) + even_two;
  t[1] = even + odd;
  t[2] = even - odd;
  t[3] = even_two + odd_two;
  t[4] = even_two - odd_two;
  t[5] = ((d[1] - d[3]) << 2) + (d[5] - d[3]);
}

template <typename V>
[[gnu::always_inline]] inline void InputLanes(const WinogradInputCall& call, int channel) {
  const V zeros = Widen<V>(call.zero_points + channel, call.flip);
  V columns[kSide][kSide];  // [column][row of the transform]
#pragma GCC unroll 6
  for (int c = 0; c < kSide; ++c) {
    V d[kSide];
#pragma GCC unroll 6
    for (int r = 0; r < kSide; ++r) {
      d[r] = Widen<V>(call.pixels[r * kSide + c] + channel, call.flip) - zeros;
    }
    InputColumn(d, columns[c]);
  }
#pragma GCC unroll 6
  for (int r = 0; r < kSide; ++r) {
    const V row[kSide] = {columns[0][r], columns[1][r], columns[2][r],
                          columns[3][r], columns[4][r], columns[5][r]};
    V t[kSide];
    InputColumn(row, t);
#pragma GCC unroll 6
    for (int c = 0; c < kSide; ++c) {
      std::memcpy(call.to + (r * kSide + c) * call.step + channel, &t[c], sizeof(V));
    }
  }
}

/// What is left of the channels is transformed together with some before it.
void RunInput(const WinogradInputCall& call) {
  constexpr int kWide = 16;
  constexpr int kNarrow = 8;
  const int channels = call.channels;
  if (channels >= kWide) {
    for (int channel = 0; channel < channels; channel += kWide) {
      const int last = channels - kWide;
      InputLanes<Words16>(call, channel < last ? channel : last);
    }
  } else {
    InputLanes<Words8>(call, 0);
    if (channels > kNarrow) InputLanes<Words8>(call, channels - kNarrow);
  }
  if (channels % 2 == 0) return;
  for (int i = 0; i < kSide * kSide; ++i) call.to[i * call.step + channels] = 0;
}

/// Adds the products of pairs. From its own instructions the compiler makes all products of a step
/// first, for which registers do not suffice.
[[gnu::always_inline]] inline void AddProducts(__m256i x, __m256i weights, __m256i& sums) {
  __m256i products;
  asm("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0"
      : "+x"(sums), "=&x"(products)
      : "x"(x), "x"(weights));
}

template <int kTiles>
void MultiplyTiles(const WinogradProductCall& call, const int16_t* x, int32_t* to) {
  __m256i sums[kTiles][2];
#pragma GCC unroll 6
  for (int i = 0; i < kTiles; ++i) sums[i][0] = sums[i][1] = _mm256_setzero_si256();
  const char* at = reinterpret_cast<const char*>(x);
  const char* const end = at + int64_t{call.pairs} * 4;
  const int64_t step = call.x_step * 2;
  const int16_t* weights = call.weights;
  // The next coefficient's weights follow.
  const int64_t panel = int64_t{call.pairs} * 4 * kWidth;
  for (; at != end; at += 4, weights += 2 * kWidth) {
    const char* fourth = at + 3 * step;
    // Else the compiler keeps an address for each tile, for which registers do not suffice.
    asm("" : "+r"(fourth));
    _mm_prefetch(reinterpret_cast<const char*>(weights) + panel, _MM_HINT_T1);
    const __m256i low = _mm256_load_si256(reinterpret_cast<const __m256i*>(weights));
    const __m256i high = _mm256_load_si256(reinterpret_cast<const __m256i*>(weights + kWidth));
#pragma GCC unroll 6
    for (int i = 0; i < kTiles; ++i) {
      int32_t two;
      std::memcpy(&two, i < 3 ? at + i * step : fourth + (i - 3) * step, sizeof two);
      const __m256i both = _mm256_set1_epi32(two);
      AddProducts(both, low, sums[i][0]);
      AddProducts(both, high, sums[i][1]);
    }
  }
#pragma GCC unroll 6
  for (int i = 0; i < kTiles; ++i) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(to + i * kWidth), sums[i][0]);
    _mm256_store_si256(reinterpret_cast<__m256i*>(to + i * kWidth + kLanes), sums[i][1]);
  }
}

/// Multiplies in steps of about equal sizes.
void RunProduct(const WinogradProductCall& call) {
  using Function = void (*)(const WinogradProductCall&, const int16_t*, int32_t*);
  constexpr Function kFunctions[kWinogradTilesAtOnce] = {MultiplyTiles<1>, MultiplyTiles<2>,
                                                         MultiplyTiles<3>, MultiplyTiles<4>,
                                                         MultiplyTiles<5>, MultiplyTiles<6>};
  const int steps = (call.tiles + kWinogradTilesAtOnce - 1) / kWinogradTilesAtOnce;
  const int size = call.tiles / steps;
  const int larger = call.tiles % steps;
  const int16_t* x = call.x;
  int32_t* to = call.sums;
  for (int i = 0; i < steps; ++i) {
    const int count = size + (i < larger ? 1 : 0);
    kFunctions[count - 1](call, x, to);
    x += count * call.x_step;
    to += count * kWidth;
  }
}

/// Multiplies a column of six by A transposed, and its rows by 24, 12, 6 and 6. What goes beyond
/// 32 bits on the way comes back.
[[gnu::always_inline]] inline void OutputColumn(const Ring8* m, Ring8* t) {
  const Ring8 sum = m[1] + m[2];
  const Ring8 difference = m[1] - m[2];
  const Ring8 sum_two = m[3] + m[4];
  const Ring8 difference_two = m[3] - m[4];
  t[0] = ((m[0] + sum) << 2) + (m[0] << 1) + sum_two;
  t[1] = (difference << 1) + difference_two;
  t[2] = sum + sum_two;
  t[3] = difference + ((difference_two + m[5] + (m[5] << 1)) << 1);
}

/// Of the eight channels from `from` on.
template <bool kFirst>
[[gnu::always_inline]] inline void OutputLanes(const int32_t* from, int64_t coefficient_step,
                                               int32_t* to) {
  Ring8 columns[kSide][kOutputs];
#pragma GCC unroll 6
  for (int c = 0; c < kSide; ++c) {
    Ring8 m[kSide];
#pragma GCC unroll 6
    for (int r = 0; r < kSide; ++r) {
      std::memcpy(&m[r], from + (r * kSide + c) * coefficient_step, sizeof m[r]);
    }
    OutputColumn(m, columns[c]);
  }
  constexpr uint32_t kInverseOfNine = 954437177;
  constexpr int kTwos[kOutputs] = {3, 2, 1, 1};
#pragma GCC unroll 4
  for (int r = 0; r < kOutputs; ++r) {
    const Ring8 row[kSide] = {columns[0][r], columns[1][r], columns[2][r],
                              columns[3][r], columns[4][r], columns[5][r]};
    Ring8 t[kOutputs];
    OutputColumn(row, t);
#pragma GCC unroll 4
    for (int c = 0; c < kOutputs; ++c) {
      int32_t* place = to + (r * kOutputs + c) * kWidth;
      const auto whole = reinterpret_cast<Sums8>(t[c] * kInverseOfNine);
      Sums8 sums = whole >> (kTwos[r] + kTwos[c]);
      if constexpr (!kFirst) {
        Sums8 before;
        std::memcpy(&before, place, sizeof before);
        sums += before;
      }
      std::memcpy(place, &sums, sizeof sums);
    }
  }
}

template <bool kFirst>
void TransformOutputs(const WinogradOutputCall& call) {
  const int64_t step = int64_t{call.tiles} * kWidth;
  for (int t = 0; t < call.tiles; ++t) {
    for (int half = 0; half < kWidth; half += kLanes) {
      OutputLanes<kFirst>(call.products + t * kWidth + half, step,
                          call.sums + t * kPlaces * kWidth + half);
    }
  }
}

void RunOutput(const WinogradOutputCall& call) {
  call.is_first ? TransformOutputs<true>(call) : TransformOutputs<false>(call);
}

/// Stores the outputs of one pixel from its sums, of any kind, one by one.
[[gnu::noinline]] void StoreExactly(const WinogradStoreCall& call, const int32_t* sums,
                                    uint8_t* y) {
  GemmGroup part = *call.group;
  alignas(32) int32_t with_bias[kWidth];
  for (int p = 0; p < kWidth; ++p) {
    with_bias[p] = static_cast<int32_t>(static_cast<uint32_t>(sums[p]) +
                                        static_cast<uint32_t>(part.bias[call.place + p]));
  }
  part.width = kWidth;
  part.channels = part.channels - call.place < kWidth ? part.channels - call.place : kWidth;
  if (part.multiplier != nullptr) part.multiplier += call.place;
  if (part.shift != nullptr) part.shift += call.place;
  StoreFromSums(kAvx2GemmRoutines, part, *call.epilogue, with_bias, y);
}

[[gnu::always_inline]] inline __m256i SumsAt(const WinogradStoreCall& call, const int32_t* sums,
                                             int at) {
  return _mm256_add_epi32(
      _mm256_load_si256(reinterpret_cast<const __m256i*>(sums + at)),
      _mm256_load_si256(reinterpret_cast<const __m256i*>(call.group->bias + call.place + at)));
}

/// Stores two neighbours of a row, or the last one twice.
template <EpilogueKind kKind>
[[gnu::always_inline]] inline void StorePair(const WinogradStoreCall& call,
                                             const ByteBounds& bounds, const int32_t* first,
                                             const int32_t* second, uint8_t* y, uint8_t* y_second) {
  __m256i rounded[4];
  __m256i unlike = _mm256_setzero_si256();
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const int at = i % 2 * kLanes;
    const __m256i sums = SumsAt(call, i < 2 ? first : second, at);
    rounded[i] = kKind == EpilogueKind::kHalfEven
                     ? HalfEven(*call.group, call.place + at, sums)
                     : FixedPoint(*call.group, call.place + at, sums, unlike);
  }
  const __m256i bytes = bounds.Pack(rounded[0], rounded[1], rounded[2], rounded[3]);
  const int count = call.group->channels - call.place;
  StoreSome(_mm256_castsi256_si128(bytes), count, y);
  StoreSome(_mm256_extracti128_si256(bytes, 1), count, y_second);
  if (kKind == EpilogueKind::kFixedPoint && _mm256_testz_si256(unlike, unlike) == 0) {
    StoreExactly(call, first, y);
    StoreExactly(call, second, y_second);
  }
}

void RunStore(const WinogradStoreCall& call) {
  const ByteBounds bounds(*call.epilogue);
  const EpilogueKind kind = call.group->is_tame ? call.epilogue->kind : EpilogueKind::kExact;
  for (int r = 0; r < call.rows; ++r) {
    uint8_t* row = call.y + r * call.row_step;
    for (int c = 0; c < call.columns; c += 2) {
      const int next = c + 1 < call.columns ? c + 1 : c;
      const int32_t* first = call.sums + (r * kOutputs + c) * kWidth;
      const int32_t* second = call.sums + (r * kOutputs + next) * kWidth;
      uint8_t* y = row + c * call.pixel_step;
      uint8_t* y_second = row + next * call.pixel_step;
      if (kind == EpilogueKind::kHalfEven) {
        StorePair<EpilogueKind::kHalfEven>(call, bounds, first, second, y, y_second);
      } else if (kind == EpilogueKind::kFixedPoint) {
        StorePair<EpilogueKind::kFixedPoint>(call, bounds, first, second, y, y_second);
      } else {
        StoreExactly(call, first, y);
        StoreExactly(call, second, y_second);
      }
    }
  }
}

}  // namespace

const WinogradRoutines kAvx2WinogradRoutines = {RunInput, RunProduct, RunOutput, RunStore};

}  // namespace tenon::cpu::q8
