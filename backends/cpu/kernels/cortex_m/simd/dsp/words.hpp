// The instructions of Armv7E-M's DSP extension that the kernels of this folder use, on words of two
// 16-bit halves. On other processors they are plain C++, so that the same kernels are tested there.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__ARM_FEATURE_DSP) && defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
#define TENON_DSP_INSTRUCTIONS 1
#else
#define TENON_DSP_INSTRUCTIONS 0
#endif

namespace tenon::cpu::dsp {

/// Loads a word from any address.
[[nodiscard]] inline uint32_t LoadWord(const void* address) {
  uint32_t word;
  std::memcpy(&word, address, sizeof word);
  return word;
}

inline void StoreWord(void* address, uint32_t word) { std::memcpy(address, &word, sizeof word); }

/// Stores two words at a multiple of 4 bytes (STRD).
inline void StoreTwoWords(void* address, uint32_t first, uint32_t second) {
#if TENON_DSP_INSTRUCTIONS
  auto* const words = static_cast<uint32_t*>(__builtin_assume_aligned(address, 4));
  __asm__("strd %1, %2, %0" : "=m"(*reinterpret_cast<uint64_t*>(words)) : "r"(first), "r"(second));
#else
  StoreWord(address, first);
  StoreWord(static_cast<uint8_t*>(address) + 4, second);
#endif
}

[[nodiscard]] constexpr int32_t LowHalf(uint32_t word) { return static_cast<int16_t>(word); }
[[nodiscard]] constexpr int32_t HighHalf(uint32_t word) { return static_cast<int16_t>(word >> 16); }
[[nodiscard]] constexpr uint32_t Halves(int32_t low, int32_t high) {
  return (static_cast<uint32_t>(low) & 0xFFFFU) | static_cast<uint32_t>(high) << 16;
}

/// Adds bytes 0 and 2 of `word`, which are signed, to the halves; sums wrap (SXTAB16).
[[nodiscard]] inline uint32_t AddEvenBytes(uint32_t halves, uint32_t word) {
#if TENON_DSP_INSTRUCTIONS
  uint32_t sums;
  __asm__("sxtab16 %0, %1, %2" : "=r"(sums) : "r"(halves), "r"(word));
  return sums;
#else
  return Halves(LowHalf(halves) + static_cast<int8_t>(word),
                HighHalf(halves) + static_cast<int8_t>(word >> 16));
#endif
}

/// Adds bytes 1 and 3 likewise.
[[nodiscard]] inline uint32_t AddOddBytes(uint32_t halves, uint32_t word) {
#if TENON_DSP_INSTRUCTIONS
  uint32_t sums;
  __asm__("sxtab16 %0, %1, %2, ror #8" : "=r"(sums) : "r"(halves), "r"(word));
  return sums;
#else
  return AddEvenBytes(halves, word >> 8);
#endif
}

/// Join the low half of each (PKHBT), and the high half of each (PKHTB).
[[nodiscard]] inline uint32_t LowHalves(uint32_t low, uint32_t high) {
  return (low & 0xFFFFU) | high << 16;
}
[[nodiscard]] inline uint32_t HighHalves(uint32_t low, uint32_t high) {
  return (high & 0xFFFF0000U) | low >> 16;
}

/// Doubles each half; they wrap (SADD16).
[[nodiscard]] inline uint32_t DoubledHalves(uint32_t word) {
#if TENON_DSP_INSTRUCTIONS
  uint32_t halves;
  __asm__("sadd16 %0, %1, %1" : "=r"(halves) : "r"(word));
  return halves;
#else
  return Halves(LowHalf(word) * 2, HighHalf(word) * 2);
#endif
}

/// Add and subtract halves; they wrap (SADD16, SSUB16).
[[nodiscard]] inline uint32_t SumOfHalves(uint32_t a, uint32_t b) {
#if TENON_DSP_INSTRUCTIONS
  uint32_t halves;
  __asm__("sadd16 %0, %1, %2" : "=r"(halves) : "r"(a), "r"(b));
  return halves;
#else
  return Halves(LowHalf(a) + LowHalf(b), HighHalf(a) + HighHalf(b));
#endif
}
[[nodiscard]] inline uint32_t DifferenceOfHalves(uint32_t a, uint32_t b) {
#if TENON_DSP_INSTRUCTIONS
  uint32_t halves;
  __asm__("ssub16 %0, %1, %2" : "=r"(halves) : "r"(a), "r"(b));
  return halves;
#else
  return Halves(LowHalf(a) - LowHalf(b), HighHalf(a) - HighHalf(b));
#endif
}

/// Returns sum + the products of low and of high halves; sums wrap (SMLAD).
[[nodiscard]] inline uint32_t AddProducts(uint32_t a, uint32_t b, uint32_t sum) {
#if TENON_DSP_INSTRUCTIONS
  __asm__("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(a), "r"(b));
  return sum;
#else
  return sum + static_cast<uint32_t>(LowHalf(a) * LowHalf(b)) +
         static_cast<uint32_t>(HighHalf(a) * HighHalf(b));
#endif
}

/// Returns sum + (a * b + 2^31) / 2^32, rounded down (SMMLAR). The sum must fit 32 bits.
[[nodiscard]] inline int32_t AddHighProduct(int32_t a, int32_t b, int32_t sum) {
#if TENON_DSP_INSTRUCTIONS
  __asm__("smmlar %0, %1, %2, %0" : "+r"(sum) : "r"(a), "r"(b));
  return sum;
#else
  return static_cast<int32_t>((int64_t{a} * b + (int64_t{1} << 31)) >> 32) + sum;
#endif
}

/// Returns sum + a * b / 2^32, rounded down (SMMLA). The sum must fit 32 bits.
[[nodiscard]] inline int32_t AddHighWord(int32_t a, int32_t b, int32_t sum) {
#if TENON_DSP_INSTRUCTIONS
  __asm__("smmla %0, %1, %2, %0" : "+r"(sum) : "r"(a), "r"(b));
  return sum;
#else
  return static_cast<int32_t>((int64_t{a} * b) >> 32) + sum;
#endif
}

/// Limits the value to the range of i8 (SSAT).
[[nodiscard]] inline int32_t SaturateToByte(int32_t value) {
#if TENON_DSP_INSTRUCTIONS
  __asm__("ssat %0, #8, %0" : "+r"(value));
  return value;
#else
  return value < -128 ? -128 : (value > 127 ? 127 : value);
#endif
}

/// Returns sum + the product of low halves (SMLABB).
[[nodiscard]] inline uint32_t AddLowProduct(uint32_t a, uint32_t b, uint32_t sum) {
  return sum + static_cast<uint32_t>(LowHalf(a) * LowHalf(b));
}

}  // namespace tenon::cpu::dsp
