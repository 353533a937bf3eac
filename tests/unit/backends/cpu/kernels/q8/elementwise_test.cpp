#include <doctest/doctest.h>

#include <limits>
#include <vector>

#include "runtime/ops/attributes.hpp"
#include "tests/unit/backends/cpu/kernels/movement_fixture.hpp"
#include "tests/unit/backends/cpu/kernels/q8/bytes_fixture.hpp"

namespace tenon::cpu::testing {
namespace {

/// Every byte, several times and in every position of a vector.
Tensor AllBytes(DType dtype, int32_t count) {
  Tensor tensor(dtype, {count}, Layout::kRowMajor);
  std::vector<uint8_t> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint8_t>(i * 7 + i / 256);
  tensor.Set(values);
  return tensor;
}

QuantizedScale PickScale(Generator& random, bool hostile) {
  QuantizedScale scale;
  scale.scale = RandomValues(1, random, 0.001F, 0.2F)[0];
  scale.multiplier = Pick(random, 1 << 30, std::numeric_limits<int32_t>::max());
  scale.shift = Pick(random, -3, 1);
  if (!hostile) return scale;
  constexpr float kOdd[] = {3e38F, 1e-40F, 1.0F, 0.5F, 1e30F};
  scale.scale = kOdd[Pick(random, 0, 4)];
  scale.multiplier = Pick(random, 0, std::numeric_limits<int32_t>::max());
  scale.shift = Pick(random, -31, 30);
  return scale;
}

struct BinaryCase {
  Dims x;
  Dims y;
  Dims z;
  BinaryFunction function = BinaryFunction::kAdd;
  Rounding rounding = Rounding::kHalfEven;
  bool hostile = false;
};

QuantizedBinaryAttributes Attributes(const BinaryCase& c, DType x, DType y, DType z,
                                     Generator& random) {
  QuantizedBinaryAttributes attributes;
  attributes.function = c.function;
  attributes.x_zero_point = PickByte(x, random);
  attributes.y_zero_point = PickByte(y, random);
  attributes.x_scale = PickScale(random, c.hostile);
  attributes.y_scale = PickScale(random, c.hostile);
  attributes.output_scale = PickScale(random, c.hostile);
  attributes.left_shift = Pick(random, 0, 1) == 0 ? 20 : Pick(random, 0, 22);
  if (!c.hostile && c.rounding == Rounding::kFixedPoint) {
    attributes.output_scale.shift =
        c.function == BinaryFunction::kMul ? -6 : -attributes.left_shift - Pick(random, -1, 1);
  }
  attributes.output = PickOutput(z, c.rounding, random);
  return attributes;
}

void CheckBinary(const BinaryCase& c, Generator& random) {
  const DType x = PickByteType(random);
  const DType y = PickByteType(random);
  const DType z = PickByteType(random);
  ByteOp op("cpu.quantized_binary.bytes", "cpu.quantized_binary.portable");
  op.AddInput(RandomBytes(x, c.x, PickLayout(random), random));
  op.AddInput(RandomBytes(y, c.y, PickLayout(random), random));
  op.AddOutput(z, c.z, PickLayout(random));
  CHECK(op.Agree<uint8_t>(Attributes(c, x, y, z, random), Pick(random, 1, 3)));
}

/// Every function in each rounding.
void CheckFunctions(BinaryCase c, Generator& random) {
  for (const BinaryFunction function :
       {BinaryFunction::kAdd, BinaryFunction::kSub, BinaryFunction::kMul}) {
    for (const Rounding rounding : {Rounding::kHalfEven, Rounding::kFixedPoint}) {
      c.function = function;
      c.rounding = rounding;
      CheckBinary(c, random);
    }
  }
}

/// Row-major operands, of which either repeats, in fixed point.
void CheckRepeated(const Dims& whole, const Dims& part, Generator& random) {
  for (const bool is_first : {false, true}) {
    BinaryCase c;
    c.rounding = Rounding::kFixedPoint;
    c.function = Pick(random, 0, 1) == 0 ? BinaryFunction::kSub : BinaryFunction::kMul;
    ByteOp op("cpu.quantized_binary.bytes", "cpu.quantized_binary.portable");
    const DType x = PickByteType(random);
    const DType y = PickByteType(random);
    const DType z = PickByteType(random);
    op.AddInput(RandomBytes(x, is_first ? part : whole, Layout::kRowMajor, random));
    op.AddInput(RandomBytes(y, is_first ? whole : part, Layout::kRowMajor, random));
    op.AddOutput(z, whole, Layout::kRowMajor);
    CHECK(op.Agree<uint8_t>(Attributes(c, x, y, z, random), Pick(random, 1, 3)));
  }
}

void CheckQuantize(const Tensor& x, DType to, Layout y_layout, float scale, Rounding rounding,
                   Generator& random) {
  CAPTURE(scale);
  ByteOp op("cpu.quantize.bytes", "cpu.quantize.portable");
  op.AddInput(x);
  op.AddInput(Tensor::From<float>(DType::kF32, {1}, {scale}));
  if (Pick(random, 0, 3) != 0) op.AddInput(RandomBytes(to, {1}, Layout::kRowMajor, random));
  op.AddOutput(to, x.dims(), y_layout);
  QuantizeAttributes attributes;
  attributes.to = static_cast<int32_t>(to);
  attributes.rounding = rounding;
  CHECK(op.Agree<uint8_t>(attributes, Pick(random, 1, 3)));
}

Tensor RandomWords(DType dtype, const Dims& dims, Layout layout, Generator& random) {
  Tensor tensor(dtype, dims, layout);
  std::vector<uint16_t> values(tensor.count());
  for (uint16_t& value : values) value = static_cast<uint16_t>(random());
  tensor.Set(values);
  return tensor;
}

void CheckQuantizeWords(const Tensor& x, DType to, Layout y_layout, float scale, Rounding rounding,
                        Generator& random) {
  CAPTURE(scale);
  CAPTURE(rounding);
  ByteOp op("cpu.quantize.words", "cpu.quantize.portable");
  op.AddInput(x);
  op.AddInput(Tensor::From<float>(DType::kF32, {1}, {scale}));
  if (Pick(random, 0, 3) != 0) op.AddInput(RandomWords(to, {1}, Layout::kRowMajor, random));
  op.AddOutput(to, x.dims(), y_layout);
  QuantizeAttributes attributes;
  attributes.to = static_cast<int32_t>(to);
  attributes.rounding = rounding;
  CHECK(op.Agree<uint16_t>(attributes, Pick(random, 1, 3)));
}

}  // namespace

TEST_CASE("Lookup of bytes: every byte, any length, both dtypes") {
  ForEachQuantizedSet([] {
    Generator random(1);
    for (const int32_t count : {1, 7, 8, 31, 32, 33, 63, 64, 65, 700, 40000}) {
      for (const DType dtype : {DType::kI8, DType::kU8}) {
        ByteOp op("cpu.lookup.bytes", "cpu.lookup.portable");
        op.AddInput(AllBytes(dtype, count));
        const DType to = PickByteType(random);
        op.AddInput(RandomBytes(to, {256}, Layout::kRowMajor, random), kConstant);
        op.AddOutput(to, {count}, Layout::kRowMajor);
        CHECK(op.Agree<uint8_t>(0, Pick(random, 1, 3)));
      }
    }
  });
}

TEST_CASE("Lookup of bytes: any layouts") {
  ForEachQuantizedSet([] {
    Generator random(2);
    for (int i = 0; i < 50; ++i) {
      const Dims dims = {Pick(random, 1, 2), Pick(random, 1, 40), Pick(random, 1, 9),
                         Pick(random, 1, 200)};
      ByteOp op("cpu.lookup.bytes", "cpu.lookup.portable");
      op.AddInput(RandomBytes(DType::kI8, dims, PickLayout(random), random));
      op.AddInput(RandomBytes(DType::kU8, {256}, Layout::kRowMajor, random), kConstant);
      op.AddOutput(DType::kU8, dims, PickLayout(random));
      CHECK(op.Agree<uint8_t>(0, Pick(random, 1, 3)));
    }
  });
}

TEST_CASE("Binary on bytes: the portable kernel's bits for every function, rounding and layout") {
  ForEachQuantizedSet([] {
    Generator random(3);
    for (int i = 0; i < 15; ++i) {
      const Dims dims = {1, Pick(random, 1, 70), Pick(random, 1, 9), Pick(random, 1, 40)};
      CheckFunctions({dims, dims, dims}, random);
    }
  });
}

TEST_CASE("Binary on bytes: so many elements that tables of the operands' terms pay") {
  ForEachQuantizedSet([] {
    Generator random(10);
    for (const int32_t count : {1024, 1100, 5003, 40000}) {
      for (int i = 0; i < 8; ++i) CheckFunctions({{count}, {count}, {count}}, random);
    }
  });
}

TEST_CASE("Binary on bytes: rows of every length, whatever the operands' ranks") {
  ForEachQuantizedSet([] {
    Generator random(18);
    for (int32_t length = 1; length <= 130; ++length) {
      CAPTURE(length);
      BinaryCase c;
      c.x = {1, length};
      c.y = length % 2 == 0 ? Dims{length} : Dims{1, 1, length};
      c.z = length % 2 == 0 ? Dims{1, length} : Dims{1, 1, length};
      CheckFunctions(c, random);
    }
  });
}

TEST_CASE("Binary on bytes: broadcasts either operand") {
  ForEachQuantizedSet([] {
    Generator random(4);
    const Dims whole = {2, 37, 5, 6};
    for (const Dims& part : {Dims{1}, Dims{1, 37, 1, 1}, Dims{6}, Dims{2, 1, 5, 1}, Dims{}}) {
      CheckFunctions({whole, part, whole}, random);
      CheckFunctions({part, whole, whole}, random);
    }
  });
}

TEST_CASE("Binary on bytes: short rows of one operand again and again") {
  ForEachQuantizedSet([] {
    Generator random(11);
    for (int32_t channels = 2; channels <= 260; channels += channels < 35 ? 1 : 25) {
      // Rows that do not fill what they are written out to, and some that several threads share.
      const int32_t rows = Pick(random, 1, 2) == 1 ? Pick(random, 2, 90) : 40000 / channels;
      const Dims whole = {2, rows, channels};
      CheckRepeated(whole, {channels}, random);
      CheckRepeated(whole, {2, 1, channels}, random);
    }
  });
}

TEST_CASE("Binary on bytes: results that lie between two bytes") {
  ForEachQuantizedSet([] {
    Generator random(12);
    for (const int32_t shift : {-21, -20, -19}) {
      for (const BinaryFunction function : {BinaryFunction::kAdd, BinaryFunction::kSub}) {
        ByteOp op("cpu.quantized_binary.bytes", "cpu.quantized_binary.portable");
        op.AddInput(RandomBytes(DType::kI8, {3000}, Layout::kRowMajor, random));
        op.AddInput(RandomBytes(DType::kI8, {3000}, Layout::kRowMajor, random));
        op.AddOutput(DType::kI8, {3000}, Layout::kRowMajor);
        BinaryCase c;
        c.function = function;
        c.rounding = Rounding::kFixedPoint;
        auto attributes = Attributes(c, DType::kI8, DType::kI8, DType::kI8, random);
        attributes.left_shift = 20;
        for (QuantizedScale* scale :
             {&attributes.x_scale, &attributes.y_scale, &attributes.output_scale}) {
          scale->multiplier = 1 << 30;
          scale->shift = 0;
        }
        attributes.output_scale.shift = shift;
        CHECK(op.Agree<uint8_t>(attributes, 1));
      }
    }
  });
}

TEST_CASE("Binary on bytes: products that lie between two bytes") {
  ForEachQuantizedSet([] {
    Generator random(13);
    for (const int32_t shift : {0, -1, -2, -5}) {
      ByteOp op("cpu.quantized_binary.bytes", "cpu.quantized_binary.portable");
      op.AddInput(RandomBytes(DType::kI8, {3000}, Layout::kRowMajor, random));
      op.AddInput(RandomBytes(DType::kI8, {3000}, Layout::kRowMajor, random));
      op.AddOutput(DType::kI8, {3000}, Layout::kRowMajor);
      BinaryCase c;
      c.function = BinaryFunction::kMul;
      c.rounding = Rounding::kFixedPoint;
      auto attributes = Attributes(c, DType::kI8, DType::kI8, DType::kI8, random);
      attributes.output_scale.multiplier = 1 << 30;
      attributes.output_scale.shift = shift;
      CHECK(op.Agree<uint8_t>(attributes, 1));
    }
  });
}

TEST_CASE("Binary on bytes: scales, multipliers and shifts at the ends of what is allowed") {
  ForEachQuantizedSet([] {
    Generator random(5);
    for (int i = 0; i < 60; ++i) {
      BinaryCase c = {{600}, {600}, {600}};
      c.hostile = true;
      CheckFunctions(c, random);
    }
  });
}

TEST_CASE("Binary on bytes: the output may be an input") {
  ForEachQuantizedSet([] {
    Generator random(6);
    const BinaryCase c = {{300}, {300}, {300}};
    const auto attributes = Attributes(c, DType::kI8, DType::kI8, DType::kI8, random);
    const Tensor x = RandomBytes(DType::kI8, {300}, Layout::kRowMajor, random);
    const Tensor y = RandomBytes(DType::kI8, {300}, Layout::kRowMajor, random);
    OpFixture apart(FindKernel("cpu.quantized_binary.portable"));
    apart.AddInput(x);
    apart.AddInput(y);
    const Tensor expected = apart.AddOutput(Tensor(DType::kI8, {300}, Layout::kRowMajor));
    REQUIRE(apart.Run(attributes).ok());
    OpFixture in_place(FindKernel("cpu.quantized_binary.bytes"));
    in_place.AddInput(x);
    in_place.AddInput(y);
    in_place.AddOutput(y);
    REQUIRE(in_place.Run(attributes).ok());
    CHECK(y.Values<int8_t>() == expected.Values<int8_t>());
  });
}

TEST_CASE("Quantize to bytes: halves, numbers past the range, infinities and NaN") {
  ForEachQuantizedSet([] {
    Generator random(7);
    std::vector<float> values;
    for (int i = -2100; i <= 2100; ++i) values.push_back(static_cast<float>(i) * 0.125F);
    const float infinity = std::numeric_limits<float>::infinity();
    for (const float value : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN(), 3e38F,
                              -3e38F, 1e-40F, 0.49999997F, -0.49999997F, 8388609.0F}) {
      values.push_back(value);
    }
    const auto count = static_cast<int32_t>(values.size());
    const Tensor x = Tensor::From(DType::kF32, {count}, values);
    for (const DType to : {DType::kI8, DType::kU8}) {
      for (const float scale : {1.0F, 0.25F, 0.3F, 1e-30F, 2e38F, 0.0F, -0.7F}) {
        for (const Rounding rounding : {Rounding::kHalfEven, Rounding::kHalfAway}) {
          CheckQuantize(x, to, Layout::kRowMajor, scale, rounding, random);
        }
      }
    }
  });
}

TEST_CASE("Quantize to bytes: between any layouts, planes to channels-last among them") {
  ForEachQuantizedSet([] {
    Generator random(8);
    for (int i = 0; i < 60; ++i) {
      const Dims dims = {Pick(random, 1, 2), i % 2 == 0 ? 3 : Pick(random, 1, 20),
                         Pick(random, 1, 30), Pick(random, 1, 70)};
      const Layout x = i % 3 == 0 ? PickLayout(random) : Layout::kRowMajor;
      const Layout y = i % 4 == 0 ? PickLayout(random) : Layout::kChannelsLast;
      const float scale = Pick(random, 0, 1) == 0 ? 0.0078125F : 0.0091F;
      CheckQuantize(Random(dims, x, random), PickByteType(random), y, scale, Rounding::kHalfEven,
                    random);
    }
    CheckQuantize(Random({1, 3, 224, 224}, Layout::kRowMajor, random), DType::kI8,
                  Layout::kChannelsLast, 0.01F, Rounding::kHalfEven, random);
  });
}

TEST_CASE("Dequantize from bytes: every byte, any layouts") {
  ForEachQuantizedSet([] {
    Generator random(9);
    for (int i = 0; i < 40; ++i) {
      const Dims dims = {1, Pick(random, 1, 20), Pick(random, 1, 9), Pick(random, 1, 200)};
      const DType from = PickByteType(random);
      ByteOp op("cpu.dequantize.bytes", "cpu.dequantize.portable");
      op.AddInput(RandomBytes(from, dims, PickLayout(random), random));
      op.AddInput(Tensor::From<float>(DType::kF32, {1}, {0.037F}));
      if (i % 3 != 0) op.AddInput(RandomBytes(from, {1}, Layout::kRowMajor, random));
      op.AddOutput(DType::kF32, dims, PickLayout(random));
      CHECK(op.Agree<float>(DequantizeAttributes{}, Pick(random, 1, 3)));
    }
  });
}

TEST_CASE("Quantize to words: halves, numbers past the range, infinities and NaN, any layouts") {
  ForEachQuantizedSet([] {
    Generator random(20);
    std::vector<float> values;
    for (int i = -2100; i <= 2100; ++i) values.push_back(static_cast<float>(i) * 15.625F);
    const float infinity = std::numeric_limits<float>::infinity();
    for (const float value : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN(), 3e38F,
                              -3e38F, 1e-40F, 0.49999997F, 32767.5F, 65535.5F, 1e7F}) {
      values.push_back(value);
    }
    const auto count = static_cast<int32_t>(values.size());
    for (const DType to : {DType::kI16, DType::kU16}) {
      for (const float scale : {1.0F, 0.25F, 0.3F, 1e-30F, 2e38F, 0.0F, -0.7F}) {
        for (const Rounding rounding : {Rounding::kHalfEven, Rounding::kHalfAway}) {
          CheckQuantizeWords(Tensor::From(DType::kF32, {count}, values), to, Layout::kRowMajor,
                             scale, rounding, random);
        }
      }
      for (int i = 0; i < 20; ++i) {
        const Dims dims = {1, Pick(random, 1, 20), Pick(random, 1, 9), Pick(random, 1, 90)};
        CheckQuantizeWords(Random(dims, PickLayout(random), random), to, PickLayout(random), 3e-5F,
                           i % 2 == 0 ? Rounding::kHalfEven : Rounding::kHalfAway, random);
      }
    }
  });
}

TEST_CASE("Dequantize from words: any words, any layouts") {
  ForEachQuantizedSet([] {
    Generator random(21);
    for (int i = 0; i < 40; ++i) {
      const Dims dims = {1, Pick(random, 1, 20), Pick(random, 1, 9), Pick(random, 1, 200)};
      const DType from = i % 2 == 0 ? DType::kI16 : DType::kU16;
      ByteOp op("cpu.dequantize.words", "cpu.dequantize.portable");
      op.AddInput(RandomWords(from, dims, PickLayout(random), random));
      op.AddInput(Tensor::From<float>(DType::kF32, {1}, {0.037F}));
      if (i % 3 != 0) op.AddInput(RandomWords(from, {1}, Layout::kRowMajor, random));
      op.AddOutput(DType::kF32, dims, PickLayout(random));
      CHECK(op.Agree<float>(DequantizeAttributes{}, Pick(random, 1, 3)));
    }
  });
}

}  // namespace tenon::cpu::testing
