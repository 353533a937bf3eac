#include <doctest/doctest.h>

#include <vector>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/backends/cpu/kernels/pool_cases.hpp"
#include "tests/unit/backends/cpu/kernels/q8/bytes_fixture.hpp"

namespace tenon::cpu::testing {
namespace {

PoolCase Whole(int32_t channels, int32_t size) {
  PoolCase c;
  c.x = {1, channels, size, size};
  for (int32_t& kernel : c.attributes.kernel) kernel = size;
  REQUIRE(InferOutput(c));
  return c;
}

void CheckMax(const PoolCase& c, Generator& random) {
  const DType dtype = PickByteType(random);
  ByteOp op("cpu.max_pool.bytes", "cpu.max_pool.portable");
  op.AddInput(RandomBytes(dtype, c.x, PickChannelsLast(random), random));
  op.AddOutput(dtype, c.y, PickChannelsLast(random));
  CHECK(op.Agree<uint8_t>(c.attributes, Pick(random, 1, 3)));
}

void CheckAverage(const PoolCase& c, Rounding rounding, Generator& random) {
  const DType x = PickByteType(random);
  const DType y = PickByteType(random);
  ByteOp op("cpu.quantized_average_pool.bytes", "cpu.quantized_average_pool.portable");
  op.AddInput(RandomBytes(x, c.x, PickChannelsLast(random), random));
  op.AddOutput(y, c.y, PickChannelsLast(random));
  QuantizedAveragePoolAttributes attributes;
  attributes.pool = c.attributes;
  attributes.x_zero_point = PickByte(x, random);
  attributes.scale.scale = Pick(random, 0, 9) == 0 ? 3e38F : 0.9F;
  attributes.output = PickOutput(y, rounding, random);
  CHECK(op.Agree<uint8_t>(attributes, Pick(random, 1, 3)));
}

void CheckSum(const std::vector<int32_t>& dims, bool keep_dims, Rounding rounding, bool hostile,
              Generator& random) {
  const DType x = PickByteType(random);
  const DType y = PickByteType(random);
  ByteOp op("cpu.quantized_reduce.bytes", "cpu.quantized_reduce.portable");
  op.AddInput(RandomBytes(x, dims, PickChannelsLast(random), random));
  const std::vector<int32_t> kept = {dims[0], dims[1], 1, 1};
  const std::vector<int32_t> dropped = {dims[0], dims[1]};
  op.AddOutput(y, keep_dims ? kept : dropped, Layout::kRowMajor);
  QuantizedReduceAttributes attributes;
  attributes.reduce.axes_mask = (1 << 2) | (1 << 3);
  attributes.reduce.keep_dims = keep_dims ? 1 : 0;
  attributes.x_zero_point = PickByte(x, random);
  attributes.scale.scale = hostile ? 2e38F : 0.02F;
  attributes.scale.multiplier = hostile ? static_cast<int32_t>(random() >> 1) : 1'300'000'000;
  attributes.scale.shift = hostile ? Pick(random, -31, 30) : -5;
  attributes.output = PickOutput(y, rounding, random);
  CHECK(op.Agree<uint8_t>(attributes, Pick(random, 1, 3)));
}

}  // namespace

TEST_CASE("Max pool of bytes: the portable kernel's bits on random windows") {
  ForEachQuantizedSet([] {
    Generator random(1);
    for (int i = 0; i < 150; ++i) CheckMax(RandomPoolCase(random, 150, 14), random);
  });
}

TEST_CASE("Average pool of bytes: the portable kernel's bits on random windows") {
  ForEachQuantizedSet([] {
    Generator random(2);
    for (int i = 0; i < 150; ++i) {
      CheckAverage(RandomPoolCase(random, 150, 14),
                   i % 2 == 0 ? Rounding::kHalfEven : Rounding::kHalfAway, random);
    }
  });
}

TEST_CASE("Pools of bytes: any number of channels, as one window over everything") {
  ForEachQuantizedSet([] {
    Generator random(3);
    for (int32_t channels = 1; channels <= 300; channels += channels < 70 ? 1 : 13) {
      const PoolCase c = Whole(channels, 7);
      CheckMax(c, random);
      CheckAverage(c, Rounding::kHalfEven, random);
      CheckAverage(c, Rounding::kHalfAway, random);
    }
  });
}

TEST_CASE("Sums over images of bytes: any number of channels, both roundings") {
  ForEachQuantizedSet([] {
    Generator random(4);
    for (int32_t channels = 1; channels <= 300; channels += channels < 40 ? 1 : 29) {
      const std::vector<int32_t> dims = {Pick(random, 1, 2), channels, Pick(random, 1, 9),
                                         Pick(random, 1, 9)};
      for (const Rounding rounding : {Rounding::kHalfEven, Rounding::kFixedPoint}) {
        CheckSum(dims, Pick(random, 0, 1) == 0, rounding, false, random);
        CheckSum(dims, Pick(random, 0, 1) == 0, rounding, true, random);
      }
    }
  });
}

TEST_CASE(
    "Sums over images of bytes: more elements than sums of 16 bits hold, all of them extreme") {
  ForEachQuantizedSet([] {
    Generator random(7);
    for (const int32_t byte : {0, 127, 128, 255}) {
      for (const DType dtype : {DType::kI8, DType::kU8}) {
        ByteOp op("cpu.quantized_reduce.bytes", "cpu.quantized_reduce.portable");
        Tensor x(dtype, {1, 20, 33, 31}, Layout::kChannelsLast);
        x.Set(std::vector<uint8_t>(x.count(), static_cast<uint8_t>(byte)));
        op.AddInput(x);
        op.AddOutput(dtype, {1, 20, 1, 1}, Layout::kRowMajor);
        QuantizedReduceAttributes attributes;
        attributes.reduce.axes_mask = (1 << 2) | (1 << 3);
        attributes.reduce.keep_dims = 1;
        attributes.x_zero_point = PickByte(dtype, random);
        attributes.scale.scale = 0.0004F;
        attributes.output = PickOutput(dtype, Rounding::kHalfEven, random);
        CHECK(op.Agree<uint8_t>(attributes, 1));
      }
    }
  });
}

TEST_CASE("Pools of bytes: refuse channels that are no neighbours") {
  Generator random(6);
  const PoolCase c = Whole(16, 4);
  for (const Layout layout : {Layout::kRowMajor, Layout::kChannelsLastSpaced}) {
    ByteOp op("cpu.max_pool.bytes", "cpu.max_pool.portable");
    op.AddInput(RandomBytes(DType::kI8, c.x, layout, random));
    op.AddOutput(DType::kI8, c.y, Layout::kChannelsLast);
    CHECK(op.Check(c.attributes).code() == StatusCode::kUnsupported);
  }
}

}  // namespace tenon::cpu::testing
