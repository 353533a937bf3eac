// What AVX-512 VBMI adds: lookups and interleaving by permutations of bytes from two registers.
#include <immintrin.h>

#include "backends/cpu/kernels/bytes/byte_routines.hpp"

namespace tenon::cpu::bytes {
namespace {

constexpr int kBytes = 64;

[[gnu::always_inline]] inline __mmask64 First(int count) {
  return count >= kBytes ? ~__mmask64{0} : (__mmask64{1} << count) - 1;
}

/// The table in registers.
struct Table {
  __m512i quarters[4];

  [[gnu::always_inline]] inline __m512i At(__m512i index) const {
    // Permutations look at the lower 7 bits; the highest chooses between the halves.
    const __m512i low = _mm512_permutex2var_epi8(quarters[0], index, quarters[1]);
    const __m512i high = _mm512_permutex2var_epi8(quarters[2], index, quarters[3]);
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(index), low, high);
  }
};

/// Which pixel of the planes stands at each byte of three registers of pixels, and which plane.
struct Interleaving {
  alignas(64) uint8_t source[3][kBytes];  ///< of the first two planes: 64 more of the second
  alignas(64) uint8_t third[3][kBytes];
  uint64_t is_third[3];
};

constexpr Interleaving MakeInterleaving() {
  Interleaving made = {};
  for (int i = 0; i < 3 * kBytes; ++i) {
    const int pixel = i / 3;
    const int plane = i % 3;
    made.source[i / kBytes][i % kBytes] = static_cast<uint8_t>(plane == 1 ? 64 + pixel : pixel);
    made.third[i / kBytes][i % kBytes] = static_cast<uint8_t>(pixel);
    if (plane == 2) made.is_third[i / kBytes] |= uint64_t{1} << (i % kBytes);
  }
  return made;
}

constexpr Interleaving kInterleaving = MakeInterleaving();

}  // namespace

void LookupByPermutation(const LookupCall& call) {
  Table table;
  for (int i = 0; i < 4; ++i) table.quarters[i] = _mm512_loadu_si512(call.table + i * kBytes);
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(call.flip));
  int i = 0;
  for (; i + kBytes <= call.count; i += kBytes) {
    const __m512i x = _mm512_loadu_si512(call.x + i);
    _mm512_storeu_si512(call.y + i, table.At(_mm512_xor_si512(x, flip)));
  }
  if (i == call.count) return;
  const __mmask64 rest = First(call.count - i);
  const __m512i x = _mm512_maskz_loadu_epi8(rest, call.x + i);
  _mm512_mask_storeu_epi8(call.y + i, rest, table.At(_mm512_xor_si512(x, flip)));
}

void InterleaveByPermutation(const uint8_t* const* planes, uint8_t* y, int count) {
  for (int first = 0; first < count; first += kBytes, y += int64_t{3} * kBytes) {
    const int pixels = count - first < kBytes ? count - first : kBytes;
    const __mmask64 present = First(pixels);
    __m512i x[3];
    for (int i = 0; i < 3; ++i) x[i] = _mm512_maskz_loadu_epi8(present, planes[i] + first);
    for (int i = 0; i < 3; ++i) {
      const __m512i source = _mm512_load_si512(kInterleaving.source[i]);
      const __m512i third = _mm512_load_si512(kInterleaving.third[i]);
      const __m512i two = _mm512_permutex2var_epi8(x[0], source, x[1]);
      const __m512i all = _mm512_mask_permutexvar_epi8(two, kInterleaving.is_third[i], third, x[2]);
      const int left = 3 * pixels - i * kBytes;
      if (left > 0) _mm512_mask_storeu_epi8(y + i * kBytes, First(left), all);
    }
  }
}

}  // namespace tenon::cpu::bytes
