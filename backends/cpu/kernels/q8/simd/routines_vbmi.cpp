// Adds what AVX-512 VBMI allows: lookups and interleaving by permutations of bytes from two
// registers.
#define TENON_Q8_ISA avx512

#include <immintrin.h>

#include "backends/cpu/kernels/q8/byte_routines.hpp"
#include "backends/cpu/kernels/q8/simd/elementwise.hpp"
#include "backends/cpu/kernels/q8/simd/elementwise512.hpp"

namespace tenon::cpu::q8 {
namespace {

constexpr int kBytes = 64;

[[gnu::always_inline]] inline __mmask64 First(int count) {
  return count >= kBytes ? ~__mmask64{0} : (__mmask64{1} << count) - 1;
}

/// Contains the table in registers.
struct Table {
  __m512i quarters[4];

  [[gnu::always_inline]] inline __m512i At(__m512i index) const {
    // Permutations look at the lower 7 bits; the highest chooses between the halves.
    const __m512i low = _mm512_permutex2var_epi8(quarters[0], index, quarters[1]);
    const __m512i high = _mm512_permutex2var_epi8(quarters[2], index, quarters[3]);
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(index), low, high);
  }
};

/// Contains what a fixed-point sum adds for each byte of an operand: a table for each byte of the
/// number.
struct Summands {
  alignas(64) uint8_t planes[4][256];

  void Fill(const FixedPointFactor& factor, uint8_t flip, int32_t zero_point, int32_t left_shift,
            bool negative) {
    for (int i = 0; i < 256; ++i) {
      const int32_t x = avx512::ValueOf(static_cast<uint8_t>(i), flip) - zero_point;
      const auto scaled = static_cast<uint32_t>(avx512::Scaled(factor, x * (1 << left_shift)));
      const uint32_t summand = negative ? 0U - scaled : scaled;
      for (int plane = 0; plane < 4; ++plane) {
        planes[plane][i] = static_cast<uint8_t>(summand >> (8 * plane));
      }
    }
  }

  [[gnu::always_inline]] inline __m512i PlaneOf(int plane, __m512i x) const {
    const uint8_t* from = planes[plane];
    const Table table = {{_mm512_load_si512(from), _mm512_load_si512(from + 64),
                          _mm512_load_si512(from + 128), _mm512_load_si512(from + 192)}};
    return table.At(x);
  }

  /// Returns them in the order of avx512::Widened.
  [[gnu::always_inline]] inline avx512::WideIntegers Of(__m512i x) const {
    const __m512i first = PlaneOf(0, x);
    const __m512i second = PlaneOf(1, x);
    const __m512i third = PlaneOf(2, x);
    const __m512i fourth = PlaneOf(3, x);
    const __m512i low = avx512::Low8(first, second);
    const __m512i high = avx512::High8(first, second);
    const __m512i upper_low = avx512::Low8(third, fourth);
    const __m512i upper_high = avx512::High8(third, fourth);
    return {avx512::Low16(low, upper_low), avx512::High16(low, upper_low),
            avx512::Low16(high, upper_high), avx512::High16(high, upper_high)};
  }
};

/// Computes a tame fixed-point sum or difference.
void SumInFixedPoint(const BinaryCall& call) {
  using R = avx512::Register<__m512i>;
  Summands x_summands;
  Summands y_summands;
  x_summands.Fill(call.x_factor, call.x_flip, call.x_zero_point, call.left_shift, false);
  y_summands.Fill(call.y_factor, call.y_flip, call.y_zero_point, call.left_shift,
                  call.function == ByteFunction::kSubtract);
  const avx512::Factor factor = avx512::MakeFactor(call.z_factor, 0);
  const avx512::Narrow narrow(call.output);
  for (int i = 0; i < call.count; i += kBytes) {
    const __mmask64 present = First(call.count - i);
    const avx512::WideIntegers x = x_summands.Of(R::LoadFirst(present, call.x + i));
    const avx512::WideIntegers y = y_summands.Of(R::LoadFirst(present, call.y + i));
    const avx512::WideIntegers sums = avx512::Each(x, y, [&](__m512i left, __m512i right) {
      return avx512::FixedPointProduct(avx512::Add32(left, right), factor);
    });
    avx512::StoreFirst(call.z + i, present, narrow.Of(sums));
  }
}

/// Say which pixel of the planes each byte of three registers of pixels is from, and which plane.
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

void BinaryByPermutation(const BinaryCall& call) {
  constexpr int kWorthTables = 1024;
  const bool is_sum = call.fixed_point && call.function != ByteFunction::kMultiply;
  if (is_sum && call.count >= kWorthTables && avx512::IsTameFixedPoint(call)) {
    return SumInFixedPoint(call);
  }
  avx512::RunBinary512(call);
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

}  // namespace tenon::cpu::q8
