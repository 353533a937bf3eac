// quantize, dequantize and lookup.
#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "runtime/ops/rows.hpp"
#include "tests/unit/backends/cpu/kernels/quantized_naive.hpp"

namespace tenon::cpu::testing {
namespace {

using Dims = std::vector<int32_t>;

struct StoredRange {
  int64_t least;
  int64_t most;
};

StoredRange StoredRangeOf(DType dtype) {
  switch (dtype) {
    case DType::kI8:
      return {-128, 127};
    case DType::kU8:
      return {0, 255};
    case DType::kI16:
      return {-32768, 32767};
    case DType::kU16:
      return {0, 65535};
    default:
      return {INT32_MIN, INT32_MAX};
  }
}

/// Stores and reads integers of any width.
Tensor IntegerTensor(DType dtype, const Dims& dims, const std::vector<int64_t>& values,
                     Layout layout = Layout::kRowMajor) {
  const auto convert = [&](auto zero) {
    std::vector<decltype(zero)> narrow;
    for (const int64_t value : values) narrow.push_back(static_cast<decltype(zero)>(value));
    return Tensor::From(dtype, dims, narrow, layout);
  };
  if (DTypeBytes(dtype) == 1) return convert(uint8_t{0});
  if (DTypeBytes(dtype) == 2) return convert(uint16_t{0});
  return convert(int32_t{0});
}

std::vector<int64_t> ValuesOf(const Tensor& tensor) {
  const auto read = [&](auto zero) {
    const auto narrow = tensor.Values<decltype(zero)>();
    return std::vector<int64_t>(narrow.begin(), narrow.end());
  };
  switch (tensor.dtype()) {
    case DType::kI16:
      return read(int16_t{0});
    case DType::kU16:
      return read(uint16_t{0});
    case DType::kI32:
      return read(int32_t{0});
    default:
      return Integers(tensor);
  }
}

int64_t NaiveHalfAway(float x) {
  if (std::isnan(x)) return 0;
  const double bounded = std::clamp(static_cast<double>(x), -1e9, 1e9);
  const double magnitude = std::floor(std::fabs(bounded) + 0.5);
  return static_cast<int64_t>(bounded < 0 ? -magnitude : magnitude);
}

struct Parameters {
  std::vector<float> scales;
  std::vector<int64_t> zeros;  ///< as many, or none
};

Parameters RandomParameters(DType dtype, int32_t count, bool zeros, Generator& random) {
  Parameters p;
  const StoredRange range = StoredRangeOf(dtype);
  for (int32_t i = 0; i < count; ++i) {
    p.scales.push_back(static_cast<float>(Pick(random, 1, 1000)) * 1e-4F);
    if (zeros) {
      p.zeros.push_back(
          Pick(random, static_cast<int32_t>(range.least), static_cast<int32_t>(range.most)));
    }
  }
  return p;
}

size_t IndexAlong(const Dims& dims, int32_t axis, size_t flat) {
  size_t inner = 1;
  for (size_t i = static_cast<size_t>(axis) + 1; i < dims.size(); ++i) {
    inner *= static_cast<size_t>(dims[i]);
  }
  return dims.empty() ? 0 : flat / inner % static_cast<size_t>(dims[static_cast<size_t>(axis)]);
}

void AddParameters(OpFixture& op, const Parameters& p, DType dtype) {
  const auto count = static_cast<int32_t>(p.scales.size());
  op.AddInput(Tensor::From(DType::kF32, {count}, p.scales));
  if (!p.zeros.empty()) op.AddInput(IntegerTensor(dtype, {count}, p.zeros));
}

void RunQuantize(const Tensor& x, const QuantizeAttributes& a, const Parameters& p, Layout layout) {
  const auto dtype = static_cast<DType>(a.to);
  OpFixture op(OpKind::kQuantize);
  op.AddInput(x);
  AddParameters(op, p, dtype);
  const Tensor y = op.AddOutput(Tensor(dtype, x.dims(), layout));
  const Status status = op.Run(a, 2);
  REQUIRE_MESSAGE(status.ok(), Words(status));
  CHECK(y.GapsIntact());
  const std::vector<float> values = x.Values<float>();
  std::vector<int64_t> expected;
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t k = p.scales.size() == 1 ? 0 : IndexAlong(x.dims(), a.axis, i);
    const float quotient = values[i] / p.scales[k];
    const int64_t rounded =
        a.rounding == Rounding::kHalfAway ? NaiveHalfAway(quotient) : NaiveHalfEven(quotient);
    const StoredRange range = StoredRangeOf(dtype);
    expected.push_back(
        std::clamp(rounded + (p.zeros.empty() ? 0 : p.zeros[k]), range.least, range.most));
  }
  CHECK(ValuesOf(y) == expected);
}

TEST_CASE("Quantize: every dtype and rounding, along every axis, in every layout") {
  Generator random(1);
  const Dims dims = {2, 5, 3, 7};
  for (const DType dtype : {DType::kI8, DType::kU8, DType::kI16, DType::kU16}) {
    for (const Rounding rounding : {Rounding::kHalfEven, Rounding::kHalfAway}) {
      for (int32_t axis = -1; axis < 4; ++axis) {
        QuantizeAttributes a;
        a.to = static_cast<int32_t>(dtype);
        a.axis = std::max<int32_t>(axis, 0);
        a.rounding = rounding;
        const int32_t count = axis < 0 ? 1 : dims[static_cast<size_t>(axis)];
        const Layout layout = kAllLayouts[Pick(random, 0, 4)];
        const float reach = DTypeBytes(dtype) == 1 ? 3.0F : 900.0F;
        RunQuantize(Random(dims, layout, random, -reach, reach), a,
                    RandomParameters(dtype, count, Pick(random, 0, 3) != 0, random),
                    kAllLayouts[Pick(random, 0, 4)]);
      }
    }
  }
}

TEST_CASE("Quantize: halves, infinities, NaN, and numbers far beyond every dtype") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {
      0.5F,   1.5F,   2.5F,      -0.5F,
      -1.5F,  -2.5F,  0.0F,      -0.0F,
      1e30F,  -1e30F, kInfinity, -kInfinity,
      126.5F, 127.5F, -128.5F,   std::numeric_limits<float>::quiet_NaN()};
  const Tensor x = Tensor::From(DType::kF32, {static_cast<int32_t>(values.size())}, values);
  for (const Rounding rounding : {Rounding::kHalfEven, Rounding::kHalfAway}) {
    for (const DType dtype : {DType::kI8, DType::kU8, DType::kI16, DType::kU16}) {
      QuantizeAttributes a;
      a.to = static_cast<int32_t>(dtype);
      a.rounding = rounding;
      RunQuantize(x, a, {{1.0F}, {5}}, Layout::kRowMajor);
      for (const float scale : {0.0F, -1.0F, kInfinity, std::numeric_limits<float>::quiet_NaN(),
                                std::numeric_limits<float>::denorm_min()}) {
        RunQuantize(x, a, {{scale}, {5}}, Layout::kRowMajor);
      }
    }
  }
}

TEST_CASE("Quantize: NaN gives the zero point") {
  OpFixture op(OpKind::kQuantize);
  op.AddInput(Tensor::From(DType::kF32, {1}, std::vector<float>{std::nanf("")}));
  AddParameters(op, {{0.5F}, {-7}}, DType::kI8);
  const Tensor y = op.AddOutput(Tensor(DType::kI8, {1}));
  REQUIRE(op.Run(QuantizeAttributes{}).ok());
  CHECK(y.Values<int8_t>() == std::vector<int8_t>{-7});
}

TEST_CASE("Quantize: a scalar, and long rows on several threads") {
  Generator random(2);
  RunQuantize(Random({}, Layout::kRowMajor, random), {}, {{0.01F}, {3}}, Layout::kRowMajor);
  RunQuantize(Random({3, 40000}, Layout::kRowMajor, random), {}, {{0.01F}, {}}, Layout::kRowMajor);
}

TEST_CASE("Dequantize: every dtype, along every axis, in every layout") {
  Generator random(3);
  const Dims dims = {2, 5, 3, 7};
  for (const DType dtype : {DType::kI8, DType::kU8, DType::kI16, DType::kU16, DType::kI32}) {
    const StoredRange range = StoredRangeOf(dtype);
    for (int32_t axis = -1; axis < 4; ++axis) {
      DequantizeAttributes a;
      a.axis = std::max<int32_t>(axis, 0);
      const int32_t count = axis < 0 ? 1 : dims[static_cast<size_t>(axis)];
      const Parameters p = RandomParameters(dtype, count, axis % 2 == 0, random);
      std::vector<int64_t> values;
      for (int i = 0; i < 210; ++i) {
        values.push_back(
            Pick(random, static_cast<int32_t>(range.least), static_cast<int32_t>(range.most)));
      }
      OpFixture op(OpKind::kDequantize);
      const Tensor x =
          op.AddInput(IntegerTensor(dtype, dims, values, kAllLayouts[Pick(random, 0, 4)]));
      AddParameters(op, p, dtype);
      const Tensor y = op.AddOutput(Tensor(DType::kF32, dims, kAllLayouts[Pick(random, 0, 4)]));
      const Status status = op.Run(a);
      REQUIRE_MESSAGE(status.ok(), Words(status));
      CHECK(y.GapsIntact());
      std::vector<float> expected;
      for (size_t i = 0; i < values.size(); ++i) {
        const size_t k = axis < 0 ? 0 : IndexAlong(dims, axis, i);
        const int64_t difference = Wrap32(values[i] - (p.zeros.empty() ? 0 : p.zeros[k]));
        expected.push_back(static_cast<float>(difference) * p.scales[k]);
      }
      CHECK(y.Values<float>() == expected);
    }
  }
}

TEST_CASE("Lookup: i8 and u8 to tables of i8, u8 and f32, in every layout") {
  Generator random(4);
  for (const DType from : {DType::kI8, DType::kU8}) {
    for (const DType to : {DType::kI8, DType::kU8, DType::kF32}) {
      for (const Layout layout : kAllLayouts) {
        OpFixture op(OpKind::kLookup);
        const Tensor x = op.AddInput(RandomBytesAndEnds(from, {2, 9, 6, 5}, layout, random));
        const Tensor table = op.AddInput(
            to == DType::kF32 ? Random({256}, Layout::kRowMajor, random)
                              : RandomBytesAndEnds(to, {256}, Layout::kRowMajor, random),
            kConstant);
        const Tensor y = op.AddOutput(Tensor(to, {2, 9, 6, 5}, layout));
        struct None {};
        const Status status = op.Run(None{}, 2);
        REQUIRE_MESSAGE(status.ok(), Words(status));
        CHECK(y.GapsIntact());
        std::vector<double> actual;
        std::vector<double> expected;
        for (const int64_t value : Integers(x)) {
          const auto entry = static_cast<size_t>(value - LeastOf(from));
          expected.push_back(to == DType::kF32 ? static_cast<double>(table.Values<float>()[entry])
                                               : static_cast<double>(Integers(table)[entry]));
        }
        if (to == DType::kF32) {
          for (const float value : y.Values<float>()) actual.push_back(value);
        } else {
          for (const int64_t value : Integers(y)) actual.push_back(static_cast<double>(value));
        }
        CHECK(actual == expected);
      }
    }
  }
}

TEST_CASE("Lookup: may write over its input") {
  OpFixture op(OpKind::kLookup);
  const Tensor x = op.AddInput(Tensor::From(DType::kI8, {3}, std::vector<int8_t>{-128, 0, 127}));
  std::vector<int8_t> entries(256);
  for (size_t i = 0; i < 256; ++i) entries[i] = static_cast<int8_t>(i / 3);
  op.AddInput(Tensor::From(DType::kI8, {256}, entries), kConstant);
  op.AddOutput(x);
  struct None {};
  REQUIRE(op.Run(None{}).ok());
  CHECK(x.Values<int8_t>() == std::vector<int8_t>{0, 42, 85});
}

}  // namespace
}  // namespace tenon::cpu::testing
