#include "converter/ir/elements.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <set>

namespace tenon::converter {
namespace {

template <typename T>
std::vector<T> As(const std::vector<std::byte>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST_CASE("SplitMix64: gives the published sequence") {
  SplitMix64 generator(1234567);  // the test vector that other implementations use
  CHECK(generator.Next() == 6457827717110365317U);
  CHECK(generator.Next() == 3203168211198807973U);
  CHECK(generator.Next() == 9817491932198370423U);
}

TEST_CASE("RandomElements: f32 values are the same on every machine") {
  const std::vector<float> values = As<float>(RandomElements(DType::kF32, 3, 1234567));
  // 2^-23 * (x >> 40) - 1 of the sequence above.
  CHECK(values[0] == static_cast<float>(6457827717110365317U >> 40) / 8388608.0F - 1.0F);
  CHECK(values[1] == static_cast<float>(3203168211198807973U >> 40) / 8388608.0F - 1.0F);
  CHECK(values[2] == static_cast<float>(9817491932198370423U >> 40) / 8388608.0F - 1.0F);
}

TEST_CASE("RandomElements: values fill their ranges") {
  for (DType dtype : {DType::kF32, DType::kF16, DType::kBf16, DType::kF64}) {
    Tensor tensor{"t", dtype, Shape({4000}), Layout::kRowMajor, nullptr, kNone};
    tensor.constant =
        std::make_shared<const std::vector<std::byte>>(RandomElements(dtype, 4000, 3));
    double least = 9;
    double most = -9;
    for (double value : ReadElements(tensor)) {
      least = std::min(least, value);
      most = std::max(most, value);
    }
    CHECK(least >= -1.0);
    CHECK(least < -0.98);
    CHECK(most < 1.0);
    CHECK(most > 0.98);
  }
  std::set<int> seen;
  for (int8_t value : As<int8_t>(RandomElements(DType::kI8, 1000, 5))) seen.insert(value);
  CHECK(seen.size() == 16);
  CHECK(*seen.begin() == -8);
  CHECK(*seen.rbegin() == 7);
}

TEST_CASE("Half: every value survives the way through f32") {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = FloatFromHalf(static_cast<uint16_t>(bits));
    if (std::isnan(value)) {
      REQUIRE(std::isnan(FloatFromHalf(HalfFromFloat(value))));
    } else {
      REQUIRE(HalfFromFloat(value) == bits);
    }
  }
}

TEST_CASE("Half: known values") {
  CHECK(FloatFromHalf(0x3C00) == 1.0F);
  CHECK(FloatFromHalf(0x7BFF) == 65504.0F);
  CHECK(FloatFromHalf(0x0001) == std::ldexp(1.0F, -24));
  CHECK(FloatFromHalf(0xC000) == -2.0F);
}

TEST_CASE("Half: rounds to nearest, halves to even, and overflows to infinity") {
  CHECK(HalfFromFloat(1.0F + std::ldexp(1.0F, -11)) == 0x3C00);      // half way: even below
  CHECK(HalfFromFloat(1.0F + 3 * std::ldexp(1.0F, -11)) == 0x3C02);  // half way: even above
  CHECK(HalfFromFloat(std::ldexp(1.0F, -25)) == 0);
  CHECK(HalfFromFloat(65519.0F) == 0x7BFF);
  CHECK(HalfFromFloat(65520.0F) == 0x7C00);
}

TEST_CASE("Bfloat16: rounds to nearest, halves to even, keeps NaN") {
  CHECK(FloatFromBfloat16(0x3F80) == 1.0F);
  CHECK(Bfloat16FromFloat(1.0F + std::ldexp(1.0F, -8)) == 0x3F80);
  CHECK(Bfloat16FromFloat(1.0F + 3 * std::ldexp(1.0F, -8)) == 0x3F82);
  CHECK(std::isnan(FloatFromBfloat16(Bfloat16FromFloat(std::numeric_limits<float>::quiet_NaN()))));
}

TEST_CASE("Integers: the ends of every range survive") {
  std::byte element[8];
  const auto survives = [&](DType dtype, int64_t value) {
    WriteInteger(dtype, value, element);
    return ReadInteger(dtype, element) == value;
  };
  CHECK(survives(DType::kI8, -128));
  CHECK(survives(DType::kU8, 255));
  CHECK(survives(DType::kI16, -32768));
  CHECK(survives(DType::kU16, 65535));
  CHECK(survives(DType::kI32, INT32_MIN));
  CHECK(survives(DType::kU32, UINT32_MAX));
  CHECK(survives(DType::kI64, INT64_MIN));
  CHECK_FALSE(survives(DType::kU8, 256));
}

TEST_CASE("Integers: what no integer holds becomes an end of 64 bits, NaN becomes 0") {
  std::byte element[8];
  const auto kept = [&](DType dtype, double value) {
    WriteElement(dtype, value, element);
    return ReadInteger(dtype, element);
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  CHECK(kept(DType::kI64, kInfinity) == INT64_MAX);
  CHECK(kept(DType::kI64, -1e300) == INT64_MIN);
  CHECK(kept(DType::kI64, std::nan("")) == 0);
  CHECK(kept(DType::kU64, 18446744073709549568.0) == -2048);  // the last below 2^64
  CHECK(kept(DType::kU64, kInfinity) == -1);
  CHECK(kept(DType::kU64, -1) == -1);
  CHECK(kept(DType::kI32, -2147483648.0) == INT32_MIN);
}

}  // namespace
}  // namespace tenon::converter
