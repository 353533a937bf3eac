// Reads and writes elements of constants as numbers, whatever their dtype.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "converter/ir/graph.hpp"

namespace tenon::converter {

[[nodiscard]] inline bool IsConstantF32(const Graph& graph, TensorId id) {
  return graph.tensor(id).IsConstant() && graph.tensor(id).dtype == DType::kF32;
}

/// Converts IEEE binary16 and bfloat16 from and to f32; rounds to nearest, halves to even.
[[nodiscard]] uint16_t HalfFromFloat(float value);
[[nodiscard]] float FloatFromHalf(uint16_t bits);
[[nodiscard]] uint16_t Bfloat16FromFloat(float value);
[[nodiscard]] float FloatFromBfloat16(uint16_t bits);

/// Reads one element of float dtype (and exactly also of bool and of integers below 2^53).
[[nodiscard]] double ReadElement(DType dtype, const std::byte* element);
/// Rounds to the dtype. Of integers the lowest bits are kept of what 64 bits hold; what they cannot
/// hold is taken for their end, NaN for 0.
void WriteElement(DType dtype, double value, std::byte* element);

/// Reads one element of an integer dtype or bool. u64 is returned as the i64 of the same bits.
[[nodiscard]] int64_t ReadInteger(DType dtype, const std::byte* element);
void WriteInteger(DType dtype, int64_t value, std::byte* element);

/// Returns all elements of a constant, row-major.
[[nodiscard]] std::vector<double> ReadElements(const Tensor& constant);
/// Returns the bytes of a constant with these elements.
[[nodiscard]] std::vector<std::byte> WriteElements(DType dtype, const std::vector<double>& values);

/// Generates random numbers that are the same on every machine: SplitMix64 (Steele, Lea and Flood,
/// "Fast splittable pseudorandom number generators", 2014).
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

/// Returns the bytes of `count` random elements: floats are multiples of their epsilon in [-1, 1),
/// signed integers lie in [-8, 8), unsigned ones in [0, 16), bool in {0, 1}. Each takes one
/// generator step.
[[nodiscard]] std::vector<std::byte> RandomElements(DType dtype, int64_t count, uint64_t seed);

}  // namespace tenon::converter
