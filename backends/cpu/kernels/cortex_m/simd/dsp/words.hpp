// The instructions of Armv7E-M's DSP extension that the kernels of this folder are made of, on
// words of two 16-bit halves; in plain C++ on other processors, so that the same kernels are tested
// there.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__ARM_FEATURE_DSP) && defined(__thumb2__)
#define TENON_DSP_INSTRUCTIONS 1
#else
#define TENON_DSP_INSTRUCTIONS 0
#endif

namespace tenon::cpu::dsp {

/// A word at any address.
[[nodiscard]] inline uint32_t LoadWord(const void* address) {
  uint32_t word;
  std::memcpy(&word, address, sizeof word);
  return word;
}

inline void StoreWord(void* address, uint32_t word) { std::memcpy(address, &word, sizeof word); }

[[nodiscard]] constexpr int32_t LowHalf(uint32_t word) { return static_cast<int16_t>(word); }
[[nodiscard]] constexpr int32_t HighHalf(uint32_t word) { return static_cast<int16_t>(word >> 16); }
[[nodiscard]] constexpr uint32_t Halves(int32_t low, int32_t high) {
  return (static_cast<uint32_t>(low) & 0xFFFFU) | static_cast<uint32_t>(high) << 16;
}

/// Bytes 0 and 2 as signed halves (SXTB16).
[[nodiscard]] inline uint32_t EvenBytes(uint32_t word) {
#if TENON_DSP_INSTRUCTIONS
  uint32_t halves;
  __asm__("sxtb16 %0, %1" : "=r"(halves) : "r"(word));
  return halves;
#else
  return Halves(static_cast<int8_t>(word), static_cast<int8_t>(word >> 16));
#endif
}

/// Bytes 1 and 3.
[[nodiscard]] inline uint32_t OddBytes(uint32_t word) {
#if TENON_DSP_INSTRUCTIONS
  uint32_t halves;
  __asm__("sxtb16 %0, %1, ror #8" : "=r"(halves) : "r"(word));
  return halves;
#else
  return EvenBytes(word >> 8);
#endif
}

/// The low half of each (PKHBT), and the high half of each (PKHTB).
[[nodiscard]] inline uint32_t LowHalves(uint32_t low, uint32_t high) {
  return (low & 0xFFFFU) | high << 16;
}
[[nodiscard]] inline uint32_t HighHalves(uint32_t low, uint32_t high) {
  return (high & 0xFFFF0000U) | low >> 16;
}

/// Differences of halves; they wrap (SSUB16).
[[nodiscard]] inline uint32_t SubtractHalves(uint32_t a, uint32_t b) {
#if TENON_DSP_INSTRUCTIONS
  uint32_t halves;
  __asm__("ssub16 %0, %1, %2" : "=r"(halves) : "r"(a), "r"(b));
  return halves;
#else
  return Halves(LowHalf(a) - LowHalf(b), HighHalf(a) - HighHalf(b));
#endif
}

/// sum + the products of low and of high halves; sums wrap (SMLAD).
[[nodiscard]] inline uint32_t AddProducts(uint32_t a, uint32_t b, uint32_t sum) {
#if TENON_DSP_INSTRUCTIONS
  __asm__("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(a), "r"(b));
  return sum;
#else
  return sum + static_cast<uint32_t>(LowHalf(a) * LowHalf(b)) +
         static_cast<uint32_t>(HighHalf(a) * HighHalf(b));
#endif
}

/// (a * b + 2^31) / 2^32, rounded down (SMMULR).
[[nodiscard]] inline int32_t RoundedHighProduct(int32_t a, int32_t b) {
#if TENON_DSP_INSTRUCTIONS
  int32_t high;
  __asm__("smmulr %0, %1, %2" : "=r"(high) : "r"(a), "r"(b));
  return high;
#else
  return static_cast<int32_t>((int64_t{a} * b + (int64_t{1} << 31)) >> 32);
#endif
}

/// Within the range of i8 (SSAT).
[[nodiscard]] inline int32_t SaturateToByte(int32_t value) {
#if TENON_DSP_INSTRUCTIONS
  __asm__("ssat %0, #8, %0" : "+r"(value));
  return value;
#else
  return value < -128 ? -128 : (value > 127 ? 127 : value);
#endif
}

/// sum + the product of low halves (SMLABB).
[[nodiscard]] inline uint32_t AddLowProduct(uint32_t a, uint32_t b, uint32_t sum) {
  return sum + static_cast<uint32_t>(LowHalf(a) * LowHalf(b));
}

}  // namespace tenon::cpu::dsp
