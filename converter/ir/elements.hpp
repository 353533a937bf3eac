// Elements of constants as numbers, whatever their dtype.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "converter/ir/graph.hpp"

namespace tenon::converter {

/// IEEE binary16 and bfloat16 from and to f32; rounds to nearest, halves to even.
[[nodiscard]] uint16_t HalfFromFloat(float value);
[[nodiscard]] float FloatFromHalf(uint16_t bits);
[[nodiscard]] uint16_t Bfloat16FromFloat(float value);
[[nodiscard]] float FloatFromBfloat16(uint16_t bits);

/// One element of float dtype (bool and integers below 2^53 exactly, too).
[[nodiscard]] double ReadElement(DType dtype, const std::byte* element);
/// Rounds to the dtype; integers must be in its range.
void WriteElement(DType dtype, double value, std::byte* element);

/// One element of an integer dtype or bool. u64 comes as the i64 of the same bits.
[[nodiscard]] int64_t ReadInteger(DType dtype, const std::byte* element);
void WriteInteger(DType dtype, int64_t value, std::byte* element);

/// All elements of a constant, row-major.
[[nodiscard]] std::vector<double> ReadElements(const Tensor& constant);
/// Bytes of a constant with these elements.
[[nodiscard]] std::vector<std::byte> WriteElements(DType dtype, const std::vector<double>& values);

/// Numbers that are the same on every machine: SplitMix64 (Steele, Lea and Flood, "Fast splittable
/// pseudorandom number generators", 2014).
class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15U);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
  }

 private:
  uint64_t state_;
};

/// Bytes of `count` random elements: floats are multiples of their epsilon in [-1, 1), signed
/// integers lie in [-8, 8), unsigned ones in [0, 16), bool in {0, 1}. One generator step each.
[[nodiscard]] std::vector<std::byte> RandomElements(DType dtype, int64_t count, uint64_t seed);

}  // namespace tenon::converter
