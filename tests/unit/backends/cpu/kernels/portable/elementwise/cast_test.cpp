#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/backends/cpu/kernels/op_fixture.hpp"

namespace tenon::cpu::testing {
namespace {

// The reference works on a sign, 64 bits and a power of two, which hold every value of every dtype
// on every target, one element at a time.
struct Exact {
  enum class Kind { kFinite, kInfinity, kNan };
  Kind kind = Kind::kFinite;
  bool negative = false;
  uint64_t significand = 0;
  int exponent = 0;  ///< the magnitude is significand * 2^exponent

  [[nodiscard]] bool IsZero() const { return kind == Kind::kFinite && significand == 0; }
};

/// A float type as IEEE 754 (3.4) describes it.
struct FloatFormat {
  int mantissa;  ///< explicit bits
  int exponent_bits;

  [[nodiscard]] int bias() const { return (1 << (exponent_bits - 1)) - 1; }
};

FloatFormat FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return {23, 8};
    case DType::kF64:
      return {52, 11};
    case DType::kF16:
      return {10, 5};
    default:
      return {7, 8};
  }
}

uint64_t LowBits(int count) { return count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1; }

constexpr DType DTypeAt(int i) { return static_cast<DType>(i); }

struct IntegerRange {
  bool is_signed;
  int bits;
};

IntegerRange IntegerRangeOf(DType dtype) {
  const bool is_signed =
      dtype == DType::kI8 || dtype == DType::kI16 || dtype == DType::kI32 || dtype == DType::kI64;
  return {is_signed, 8 * DTypeBytes(dtype)};
}

Exact DecodeFloat(FloatFormat format, uint64_t bits) {
  Exact value;
  value.negative = (bits >> (format.mantissa + format.exponent_bits) & 1U) != 0;
  const uint64_t fraction = bits & LowBits(format.mantissa);
  const uint64_t exponent = bits >> format.mantissa & LowBits(format.exponent_bits);
  if (exponent == LowBits(format.exponent_bits)) {
    value.kind = fraction == 0 ? Exact::Kind::kInfinity : Exact::Kind::kNan;
    return value;
  }
  // Subnormal numbers have the least exponent and no leading 1.
  value.significand = fraction + (exponent == 0 ? 0 : uint64_t{1} << format.mantissa);
  value.exponent = std::max(static_cast<int>(exponent), 1) - format.bias() - format.mantissa;
  return value;
}

/// Decodes the element whose bits are the low bytes of `bits`.
Exact Decode(DType dtype, uint64_t bits) {
  if (IsFloat(dtype)) return DecodeFloat(FormatOf(dtype), bits);
  Exact value;
  const IntegerRange range = IntegerRangeOf(dtype);
  value.negative = range.is_signed && (bits >> (range.bits - 1) & 1U) != 0;
  value.significand = value.negative ? (0 - bits) & LowBits(range.bits) : bits;
  if (dtype == DType::kBool) value.significand = bits != 0 ? 1 : 0;
  return value;
}

/// significand / 2^bits, nearest, halves to even.
uint64_t RoundedShift(uint64_t significand, int bits) {
  if (bits > 64) return 0;
  const uint64_t whole = bits == 64 ? 0 : significand >> bits;
  const uint64_t rest = significand & LowBits(bits);
  const uint64_t half = uint64_t{1} << (bits - 1);
  return whole + (rest > half || (rest == half && (whole & 1U) != 0) ? 1 : 0);
}

/// Bits of the nearest value of a float type, halves to even, from the definition.
uint64_t EncodeFloat(const Exact& x, FloatFormat format) {
  const uint64_t sign = uint64_t{x.negative} << (format.mantissa + format.exponent_bits);
  const uint64_t infinity = LowBits(format.exponent_bits) << format.mantissa;
  if (x.IsZero()) return sign;
  if (x.kind == Exact::Kind::kInfinity) return sign | infinity;
  int exponent = x.exponent - 1;  // 2^exponent <= magnitude < 2^(exponent + 1)
  for (uint64_t rest = x.significand; rest != 0; rest >>= 1U) ++exponent;
  exponent = std::max(exponent, 1 - format.bias());
  if (exponent > format.bias()) return sign | infinity;
  const int shift = x.exponent + format.mantissa - exponent;
  const uint64_t fraction =
      shift >= 0 ? x.significand << shift : RoundedShift(x.significand, -shift);
  // A mantissa that rounds up to the next power of two carries into the exponent by itself.
  const uint64_t bits =
      fraction + (static_cast<uint64_t>(exponent + format.bias() - 1) << format.mantissa);
  return sign | std::min(bits, infinity);
}

/// The magnitude's whole part; as many bits as there are where it needs more.
uint64_t Truncated(const Exact& x) {
  if (x.kind == Exact::Kind::kInfinity) return ~uint64_t{0};
  if (x.exponent <= 0) return x.exponent <= -64 ? 0 : x.significand >> -x.exponent;
  const bool fits = x.exponent < 64 && x.significand <= ~uint64_t{0} >> x.exponent;
  return fits ? x.significand << x.exponent : ~uint64_t{0};
}

uint64_t EncodeInteger(const Exact& x, DType dtype, bool saturate) {
  const IntegerRange range = IntegerRangeOf(dtype);
  uint64_t magnitude = Truncated(x);
  if (saturate) {
    const uint64_t highest = LowBits(range.is_signed ? range.bits - 1 : range.bits);
    const uint64_t lowest = range.is_signed ? highest + 1 : 0;
    magnitude = std::min(magnitude, x.negative ? lowest : highest);
  }
  return (x.negative ? 0 - magnitude : magnitude) & LowBits(range.bits);
}

bool IsNanOf(DType dtype, uint64_t bits) { return Decode(dtype, bits).kind == Exact::Kind::kNan; }

uint64_t Expected(DType from, DType to, uint64_t bits) {
  const Exact x = Decode(from, bits);
  if (IsFloat(to)) return EncodeFloat(x, FormatOf(to));
  if (to == DType::kBool) return x.IsZero() ? 0 : 1;
  if (x.kind == Exact::Kind::kNan) return 0;
  return EncodeInteger(x, to, IsFloat(from));
}

/// Random bits of many sizes, and the values around the bounds of every type.
std::vector<uint64_t> Samples(DType dtype, Generator& random) {
  std::vector<uint64_t> samples;
  const auto add = [&](uint64_t bits) {
    const auto width = static_cast<unsigned>(8 * DTypeBytes(dtype));
    if (width < 64) bits &= (uint64_t{1} << width) - 1;
    samples.push_back(dtype == DType::kBool ? bits & 1U : bits);
  };
  for (int i = 0; i < RandomCases(3000); ++i) {
    const uint64_t bits = uint64_t{random()} << 32U | random();
    add(IsFloat(dtype) ? bits : bits >> static_cast<unsigned>(Pick(random, 0, 63)));
    if (!IsFloat(dtype)) add(0 - (bits >> static_cast<unsigned>(Pick(random, 0, 63))));
  }
  const double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<double> edges = {0.0,     -0.0,    0.5,       -0.5,       0.99,         1.0,
                               -1.0,    2.5,     kInfinity, -kInfinity, std::nan(""), 65504.0,
                               65519.0, 65520.0, 1e300,     3.4e38,     1e-45};
  for (int bits : {7, 8, 15, 16, 31, 32, 63, 64}) {
    const double power = std::ldexp(1.0, bits);
    for (double edge : {power, power - 1.0, power + 1.0, std::nextafter(power, 0.0), power - 0.5}) {
      edges.push_back(edge);
      edges.push_back(-edge);
    }
  }
  for (double edge : edges) {
    if (dtype == DType::kF64) {
      uint64_t bits;
      std::memcpy(&bits, &edge, sizeof(bits));
      add(bits);
    } else if (dtype == DType::kF32) {
      const auto narrow = static_cast<float>(edge);
      uint32_t bits;
      std::memcpy(&bits, &narrow, sizeof(bits));
      add(bits);
    }
  }
  return samples;
}

Tensor FromBits(DType dtype, const std::vector<uint64_t>& bits, Layout layout) {
  const std::vector<int32_t> dims = {1, 3, static_cast<int32_t>(bits.size() / 3), 1};
  switch (DTypeBytes(dtype)) {
    case 1:
      return Tensor::From(dtype, dims, std::vector<uint8_t>(bits.begin(), bits.end()), layout);
    case 2:
      return Tensor::From(dtype, dims, std::vector<uint16_t>(bits.begin(), bits.end()), layout);
    case 4:
      return Tensor::From(dtype, dims, std::vector<uint32_t>(bits.begin(), bits.end()), layout);
    default:
      return Tensor::From(dtype, dims, bits, layout);
  }
}

std::vector<uint64_t> ToBits(const Tensor& tensor) {
  const auto widen = [](const auto& values) {
    return std::vector<uint64_t>(values.begin(), values.end());
  };
  switch (DTypeBytes(tensor.dtype())) {
    case 1:
      return widen(tensor.Values<uint8_t>());
    case 2:
      return widen(tensor.Values<uint16_t>());
    case 4:
      return widen(tensor.Values<uint32_t>());
    default:
      return widen(tensor.Values<uint64_t>());
  }
}

void CheckCast(DType from, DType to, Layout from_layout, Layout to_layout, Generator& random) {
  std::vector<uint64_t> bits = Samples(from, random);
  bits.resize(bits.size() / 3 * 3);
  OpFixture op(OpKind::kCast);
  const Tensor x = op.AddInput(FromBits(from, bits, from_layout));
  const Tensor y = op.AddOutput(Tensor(to, x.dims(), to_layout));
  REQUIRE(op.Run(CastAttributes{static_cast<int32_t>(to)}).ok());
  CHECK(y.GapsIntact());
  const std::vector<uint64_t> actual = ToBits(y);
  for (size_t i = 0; i < bits.size(); ++i) {
    CAPTURE(DTypeName(from));
    CAPTURE(DTypeName(to));
    CAPTURE(bits[i]);
    if (IsFloat(to) && IsNanOf(from, bits[i])) {
      REQUIRE(IsNanOf(to, actual[i]));
    } else {
      REQUIRE(actual[i] == (from == to ? bits[i] : Expected(from, to, bits[i])));
    }
  }
}

TEST_CASE("Cast: every dtype to every dtype, to the last bit") {
  Generator random(1);
  for (int from = 0; from < kDTypeCount; ++from) {
    for (int to = 0; to < kDTypeCount; ++to) {
      CheckCast(DTypeAt(from), DTypeAt(to), Layout::kRowMajor, Layout::kRowMajor, random);
      CheckCast(DTypeAt(from), DTypeAt(to), Layout::kChannelsLastSpaced, Layout::kRowMajorGaps,
                random);
    }
  }
}

TEST_CASE("Cast: a float truncates towards zero, saturates, and NaN becomes 0") {
  OpFixture op(OpKind::kCast);
  const float infinity = std::numeric_limits<float>::infinity();
  op.AddInput(Tensor::From(
      DType::kF32, {8},
      std::vector<float>{1.9F, -1.9F, 300.0F, -300.0F, infinity, -infinity, std::nanf(""), -0.9F}));
  const Tensor y = op.AddOutput(Tensor(DType::kI8, {8}));
  REQUIRE(op.Run(CastAttributes{static_cast<int32_t>(DType::kI8)}).ok());
  CHECK(y.Values<int8_t>() == std::vector<int8_t>{1, -1, 127, -128, 127, -128, 0, 0});
}

TEST_CASE("Cast: f64 and i64 beside the middle of two short floats round once, not twice") {
  const auto cast = [](const Tensor& x, DType to) {
    OpFixture op(OpKind::kCast);
    op.AddInput(x);
    const Tensor y = op.AddOutput(Tensor(to, {2}));
    REQUIRE(op.Run(CastAttributes{static_cast<int32_t>(to)}).ok());
    return y.Values<uint16_t>();
  };
  using Bits = std::vector<uint16_t>;
  const double tiny = std::ldexp(1.0, -40);  // lost in an f32 near 1
  const auto doubles = [&](double step) {
    return Tensor::From(DType::kF64, {2},
                        std::vector<double>{1.0 + step / 2 + tiny, 1.0 + 1.5 * step - tiny});
  };
  CHECK(cast(doubles(std::ldexp(1.0, -7)), DType::kBf16) == Bits{0x3F81, 0x3F81});
  CHECK(cast(doubles(std::ldexp(1.0, -10)), DType::kF16) == Bits{0x3C01, 0x3C01});
  const int64_t step = int64_t{1} << 33U;  // of bf16 at 2^40
  const Tensor integers = Tensor::From(
      DType::kI64, {2},
      std::vector<int64_t>{(step << 7U) + step / 2 + 1, -(step << 7U) - step * 3 / 2 + 1});
  CHECK(cast(integers, DType::kBf16) == Bits{0x5381, 0xD381});
}

TEST_CASE("Cast: large tensors are cut over threads without a trace") {
  Generator random(2);
  OpFixture op(OpKind::kCast);
  const Tensor x =
      op.AddInput(Random({1, 7, 101, 103}, Layout::kRowMajor, random, -1000.0F, 1000.0F));
  const Tensor y = op.AddOutput(Tensor(DType::kI32, {1, 7, 101, 103}, Layout::kChannelsLast));
  REQUIRE(op.Run(CastAttributes{static_cast<int32_t>(DType::kI32)}, 3).ok());
  std::vector<int32_t> expected;
  for (float value : x.Values<float>()) expected.push_back(static_cast<int32_t>(value));
  CHECK(y.Values<int32_t>() == expected);
}

}  // namespace
}  // namespace tenon::cpu::testing
