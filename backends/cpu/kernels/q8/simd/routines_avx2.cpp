// The AVX2 routines multiply 16-bit pairs, 16 channels at a time.
#define TENON_Q8_ISA avx2
#define TENON_BYTES_WIDTH 32

#include <immintrin.h>

#include <cstring>

#include "backends/cpu/kernels/q8/byte_routines.hpp"
#include "backends/cpu/kernels/q8/simd/depthwise_avx2.hpp"
#include "backends/cpu/kernels/q8/simd/dynamic.hpp"
#include "backends/cpu/kernels/q8/simd/elementwise_avx2.hpp"
#include "backends/cpu/kernels/q8/simd/layer_norm.hpp"
#include "backends/cpu/kernels/q8/simd/pool.hpp"
#include "backends/cpu/kernels/q8/simd/softmax.hpp"

namespace tenon::cpu::q8 {
namespace {

/// Looks 32 bytes up: in each of the table's 16 parts by their lower bits, of which their upper
/// bits choose one after the other.
[[gnu::always_inline]] inline __m256i LookUp(const uint8_t* table, __m256i index) {
  const __m256i in_part = _mm256_and_si256(index, _mm256_set1_epi8(15));
  const auto part = [&](int i) {
    const __m128i entries = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table + 16 * i));
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(entries), in_part);
  };
  // The highest bit of a byte chooses.
  const __m256i bit4 = _mm256_slli_epi16(index, 3);
  const __m256i bit5 = _mm256_slli_epi16(index, 2);
  const __m256i bit6 = _mm256_slli_epi16(index, 1);
  __m256i found[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    found[i] = _mm256_blendv_epi8(part(2 * i), part(2 * i + 1), bit4);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    found[i] = _mm256_blendv_epi8(found[2 * i], found[2 * i + 1], bit5);
  }
  const __m256i low = _mm256_blendv_epi8(found[0], found[1], bit6);
  const __m256i high = _mm256_blendv_epi8(found[2], found[3], bit6);
  return _mm256_blendv_epi8(low, high, index);
}

void RunLookup(const LookupCall& call) {
  constexpr int kBytes = 32;
  const uint8_t* table = call.table;
  const __m256i flip = _mm256_set1_epi8(static_cast<char>(call.flip));
  const auto run = [&](const uint8_t* x, uint8_t* y) {
    const __m256i index = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y),
                        LookUp(table, _mm256_xor_si256(index, flip)));
  };
  int i = 0;
  for (; i + kBytes <= call.count; i += kBytes) run(call.x + i, call.y + i);
  const int left = call.count - i;
  if (left < kBytes / 4) {
    LookupCall rest = call;
    rest.x += i;
    rest.y += i;
    rest.count = left;
    return avx2::RunLookup(rest);
  }
  uint8_t bytes[kBytes] = {};
  std::memcpy(bytes, call.x + i, static_cast<size_t>(left));
  run(bytes, bytes);
  std::memcpy(call.y + i, bytes, static_cast<size_t>(left));
}

}  // namespace

const ByteRoutines kAvx2ByteRoutines = {
    "avx2",
    {/*vectors=*/2, /*group=*/2, /*is_byte=*/false, /*is_column=*/false, /*widest=*/16,
     /*pairs_rows=*/true, /*overlaps=*/true},
    avx2::RunDepthwise,
    avx2::RunDepthwiseWindow,
    RunLookup,
    avx2::RunWideBinary,
    avx2::RunQuantize,
    avx2::RunDequantize,
    avx2::RunQuantizeWords,
    avx2::RunDequantizeWords,
    avx2::RunLayerNorm,
    avx2::RunSoftmax,
    avx2::RunMaxPool,
    avx2::RunSumPool,
    avx2::RunInterleave3,
    avx2::RunRange,
    avx2::RunScaleSums,
};

}  // namespace tenon::cpu::q8
