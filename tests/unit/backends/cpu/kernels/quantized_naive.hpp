// What tests of quantized kernels share: random tensors of bytes, and the way from a real result to
// a stored one in 64-bit integers and double, written again and not as the kernels do it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "runtime/ops/attributes.hpp"
#include "tests/unit/backends/cpu/kernels/op_fixture.hpp"

namespace tenon::cpu::testing {

[[nodiscard]] inline int32_t LeastOf(DType dtype) { return dtype == DType::kI8 ? -128 : 0; }
[[nodiscard]] inline int32_t MostOf(DType dtype) { return dtype == DType::kI8 ? 127 : 255; }

/// The elements of an i8 or u8 tensor in logical order.
[[nodiscard]] inline std::vector<int64_t> Integers(const Tensor& tensor) {
  std::vector<int64_t> values;
  if (tensor.dtype() == DType::kI8) {
    for (const int8_t value : tensor.Values<int8_t>()) values.push_back(value);
  } else {
    for (const uint8_t value : tensor.Values<uint8_t>()) values.push_back(value);
  }
  return values;
}

/// Bytes of the whole range of the dtype, its ends more often than the others.
[[nodiscard]] inline Tensor RandomBytesAndEnds(DType dtype, const std::vector<int32_t>& dims,
                                               Layout layout, Generator& random) {
  Tensor tensor(dtype, dims, layout);
  std::vector<uint8_t> values(tensor.count());
  for (uint8_t& value : values) {
    const int32_t ends = Pick(random, 0, 9);
    const int32_t chosen = ends == 0   ? LeastOf(dtype)
                           : ends == 1 ? MostOf(dtype)
                                       : Pick(random, LeastOf(dtype), MostOf(dtype));
    value = static_cast<uint8_t>(chosen);
  }
  tensor.Set(values);
  return tensor;
}

/// floor of a / 2^bits.
[[nodiscard]] inline int64_t FloorShift(int64_t a, int bits) {
  const int64_t unit = int64_t{1} << bits;
  return a >= 0 ? a / unit : -((-a + unit - 1) / unit);
}

/// x * multiplier * 2^(shift - 31) as TFLite's reference rounds it: x shifted left in 32 bits that
/// wrap; the product to the nearest of 2^-31, halves up; to the right to the nearest, halves away
/// from zero.
[[nodiscard]] inline int64_t NaiveFixedPoint(int64_t x, int64_t multiplier, int shift) {
  shift = std::clamp(shift, -31, 30);
  if (shift > 0) {
    const int64_t wrapped = (x * (int64_t{1} << shift)) & 0xFFFFFFFF;
    x = wrapped >= (int64_t{1} << 31) ? wrapped - (int64_t{1} << 32) : wrapped;
  }
  int64_t high = FloorShift(x * multiplier + (int64_t{1} << 30), 31);
  high = std::min<int64_t>(high, INT32_MAX);
  if (shift >= 0) return high;
  const double exact = std::ldexp(static_cast<double>(high), shift);
  return std::llround(exact);
}

/// The same product rounded once, halves up.
[[nodiscard]] inline int64_t NaiveFixedPointOnce(int64_t x, int64_t multiplier, int shift) {
  const int right = 31 - std::clamp(shift, -31, 30);
  const int64_t half = int64_t{1} << (right - 1);
  return static_cast<int32_t>(FloorShift(x * multiplier + half, right));
}

/// The nearest integer of a float, halves to even; NaN: 0.
[[nodiscard]] inline int64_t NaiveHalfEven(float x) {
  if (std::isnan(x)) return 0;
  const double bounded = std::clamp(static_cast<double>(x), -1e9, 1e9);
  const double low = std::floor(bounded);
  const double rest = bounded - low;
  const auto integer = static_cast<int64_t>(low);
  if (rest != 0.5) return rest > 0.5 ? integer + 1 : integer;
  return integer % 2 == 0 ? integer : integer + 1;
}

[[nodiscard]] inline int64_t NaiveRescale(const QuantizedScale& scale, Rounding rounding,
                                          int64_t value) {
  if (rounding == Rounding::kFixedPoint) {
    return NaiveFixedPoint(value, scale.multiplier, scale.shift);
  }
  if (rounding == Rounding::kFixedPointOnce) {
    return NaiveFixedPointOnce(value, scale.multiplier, scale.shift);
  }
  return NaiveHalfEven(static_cast<float>(value) * scale.scale);
}

/// 32-bit sums wrap.
[[nodiscard]] inline int64_t Wrap32(int64_t value) {
  return static_cast<int32_t>(static_cast<uint32_t>(static_cast<uint64_t>(value)));
}

[[nodiscard]] inline int64_t NaiveStored(const QuantizedOutput& output, int64_t rounded) {
  return std::clamp<int64_t>(rounded + output.zero_point, output.min, output.max);
}

/// An output of i8 or u8 with a random zero point, now and then with narrower bounds.
[[nodiscard]] inline QuantizedOutput RandomOutput(DType dtype, Rounding rounding,
                                                  Generator& random) {
  QuantizedOutput output;
  output.to = static_cast<int32_t>(dtype);
  output.rounding = rounding;
  output.zero_point = Pick(random, LeastOf(dtype), MostOf(dtype));
  output.min = LeastOf(dtype);
  output.max = MostOf(dtype);
  if (Pick(random, 0, 2) == 0) output.min = output.zero_point;
  if (Pick(random, 0, 2) == 0) output.max = Pick(random, output.min, output.max);
  return output;
}

/// A factor that brings sums of about `magnitude` into the range of a byte, both forms.
[[nodiscard]] inline QuantizedScale RandomScale(double magnitude, Generator& random) {
  const double factor = Pick(random, 20, 300) / magnitude;
  QuantizedScale scale;
  scale.scale = static_cast<float>(factor);
  int exponent = 0;
  const double mantissa = std::frexp(factor, &exponent);
  scale.multiplier =
      static_cast<int32_t>(std::min<int64_t>(std::llround(std::ldexp(mantissa, 31)), INT32_MAX));
  scale.shift = std::clamp(exponent, -31, 30);
  return scale;
}

}  // namespace tenon::cpu::testing
