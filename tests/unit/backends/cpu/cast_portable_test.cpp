#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "backends/cpu/kernels/portable/half.hpp"
#include "backends/cpu/kernels/portable/kernels.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/backends/cpu/op_fixture.hpp"

namespace tenon::cpu::testing {
namespace {

// The reference works on long double, whose 64-bit mantissa (on x86; 113 bits elsewhere) holds
// every value of every dtype, one element at a time.
using Wide = long double;
static_assert(std::numeric_limits<Wide>::digits >= 64);

constexpr DType DTypeAt(int i) { return static_cast<DType>(i); }

struct IntegerRange {
  bool is_signed;
  int bits;
};

IntegerRange RangeOf(DType dtype) {
  const bool is_signed =
      dtype == DType::kI8 || dtype == DType::kI16 || dtype == DType::kI32 || dtype == DType::kI64;
  return {is_signed, 8 * DTypeBytes(dtype)};
}

/// Decodes the element whose bits are the low bytes of `bits`.
Wide Decode(DType dtype, uint64_t bits) {
  switch (dtype) {
    case DType::kF32: {
      float value;
      std::memcpy(&value, &bits, sizeof(value));
      return static_cast<Wide>(value);
    }
    case DType::kF64: {
      double value;
      std::memcpy(&value, &bits, sizeof(value));
      return static_cast<Wide>(value);
    }
    case DType::kF16:
      return static_cast<Wide>(portable::HalfToFloat(static_cast<uint16_t>(bits)));
    case DType::kBf16:
      return static_cast<Wide>(portable::Bfloat16ToFloat(static_cast<uint16_t>(bits)));
    case DType::kBool:
      return bits != 0 ? 1.0L : 0.0L;
    default: {
      const IntegerRange range = RangeOf(dtype);
      if (range.is_signed && (bits >> static_cast<unsigned>(range.bits - 1) & 1U) != 0) {
        return static_cast<Wide>(bits) - std::ldexp(1.0L, range.bits);
      }
      return static_cast<Wide>(bits);
    }
  }
}

/// Bits of the float type with `mantissa` explicit bits and `bias`, nearest to x, halves to even;
/// from the definition, by scaling to an integer.
uint64_t EncodeFloat(Wide x, int mantissa, int exponent_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const auto total = static_cast<unsigned>(mantissa + exponent_bits);
  const uint64_t sign = std::signbit(x) ? uint64_t{1} << total : 0;
  const Wide magnitude = std::abs(x);
  const uint64_t infinity = ((uint64_t{1} << static_cast<unsigned>(exponent_bits)) - 1)
                            << static_cast<unsigned>(mantissa);
  if (magnitude == 0.0L) return sign;
  if (std::isinf(magnitude)) return sign | infinity;
  int exponent = 0;
  std::frexp(magnitude, &exponent);  // magnitude = f * 2^exponent, 1/2 <= f < 1
  exponent = std::max(exponent - 1, 1 - bias);
  const Wide scaled = std::nearbyint(std::ldexp(magnitude, mantissa - exponent));
  // A mantissa that rounds up to the next power of two carries into the exponent by itself.
  const auto fraction = static_cast<uint64_t>(scaled);
  const uint64_t bits =
      fraction + (static_cast<uint64_t>(exponent + bias - 1) << static_cast<unsigned>(mantissa));
  return sign | std::min(bits, infinity);
}

uint64_t EncodeInteger(Wide x, DType dtype, bool saturate) {
  const IntegerRange range = RangeOf(dtype);
  const uint64_t mask = range.bits == 64 ? ~uint64_t{0} : (uint64_t{1} << range.bits) - 1;
  if (saturate) {
    const Wide low = range.is_signed ? -std::ldexp(1.0L, range.bits - 1) : 0.0L;
    const Wide high = std::ldexp(1.0L, range.is_signed ? range.bits - 1 : range.bits) - 1.0L;
    x = std::min(std::max(std::trunc(x), low), high);
  }
  const uint64_t bits = x < 0.0L ? 0 - static_cast<uint64_t>(-x) : static_cast<uint64_t>(x);
  return bits & mask;
}

bool IsNanOf(DType dtype, uint64_t bits) { return std::isnan(Decode(dtype, bits)); }

uint64_t Expected(DType from, DType to, uint64_t bits) {
  const Wide x = Decode(from, bits);
  switch (to) {
    case DType::kF32:
      return EncodeFloat(x, 23, 8);
    case DType::kF64:
      return EncodeFloat(x, 52, 11);
    case DType::kF16:
      return EncodeFloat(x, 10, 5);
    case DType::kBf16:
      return EncodeFloat(x, 7, 8);
    case DType::kBool:
      return x != 0.0L ? 1 : 0;
    default:
      if (std::isnan(x)) return 0;
      return EncodeInteger(x, to, IsFloat(from));
  }
}

/// Random bits of many sizes, and the values around the bounds of every type.
std::vector<uint64_t> Samples(DType dtype, Generator& random) {
  std::vector<uint64_t> samples;
  const auto add = [&](uint64_t bits) {
    const auto width = static_cast<unsigned>(8 * DTypeBytes(dtype));
    if (width < 64) bits &= (uint64_t{1} << width) - 1;
    samples.push_back(dtype == DType::kBool ? bits & 1U : bits);
  };
  for (int i = 0; i < 3000; ++i) {
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
  OpFixture op(kCastRow, portable::CastCheck, portable::CastRun);
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
  OpFixture op(kCastRow, portable::CastCheck, portable::CastRun);
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
    OpFixture op(kCastRow, portable::CastCheck, portable::CastRun);
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
  OpFixture op(kCastRow, portable::CastCheck, portable::CastRun);
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
