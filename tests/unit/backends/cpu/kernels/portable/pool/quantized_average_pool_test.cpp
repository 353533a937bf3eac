#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "runtime/ops/rows.hpp"
#include "tests/unit/backends/cpu/kernels/quantized_naive.hpp"

namespace tenon::cpu::testing {
namespace {

struct Problem {
  int32_t images = 2;
  int32_t channels = 19;
  int32_t extent[2] = {9, 8};
  int32_t out[2] = {};
  DType x = DType::kI8;
  DType y = DType::kI8;
  Layout layout = Layout::kRowMajor;
  int threads = 1;
};

int32_t WindowsAlong(const PoolAttributes& a, const int32_t* extent, int axis) {
  const int32_t window = (a.kernel[axis] - 1) * a.dilations[axis] + 1;
  const int32_t room = extent[axis] + a.pads[axis] + a.pads[axis + 2] - window;
  const int32_t whole = room / a.strides[axis] + 1;
  const bool more = a.ceil_mode != 0 && room % a.strides[axis] != 0 &&
                    whole * a.strides[axis] < extent[axis] + a.pads[axis];
  return whole + (more ? 1 : 0);
}

/// Sum and count of one window.
struct WindowSum {
  int64_t sum = 0;
  int64_t count = 0;
};

WindowSum Look(const Problem& p, const QuantizedAveragePoolAttributes& attributes,
               const std::vector<int64_t>& x, int32_t plane, int32_t out_row, int32_t out_column) {
  const PoolAttributes& a = attributes.pool;
  WindowSum window;
  for (int32_t i = 0; i < a.kernel[0]; ++i) {
    for (int32_t j = 0; j < a.kernel[1]; ++j) {
      const int32_t row = out_row * a.strides[0] - a.pads[0] + i * a.dilations[0];
      const int32_t column = out_column * a.strides[1] - a.pads[1] + j * a.dilations[1];
      const bool inside = row >= 0 && row < p.extent[0] && column >= 0 && column < p.extent[1];
      const bool padding = row < p.extent[0] + a.pads[2] && column < p.extent[1] + a.pads[3];
      if (inside || (padding && a.count_include_pad != 0)) ++window.count;
      if (!inside) continue;
      const int32_t at = (plane * p.extent[0] + row) * p.extent[1] + column;
      window.sum += x[static_cast<size_t>(at)] - attributes.x_zero_point;
    }
  }
  return window;
}

/// The nearest integer to a quotient, halves away from zero.
int64_t NaiveHalfAway(int64_t sum, int64_t count) {
  const int64_t magnitude = ((sum < 0 ? -sum : sum) * 2 + count) / (2 * count);
  return sum < 0 ? -magnitude : magnitude;
}

int64_t NaiveAverage(const QuantizedAveragePoolAttributes& a, const WindowSum& window) {
  if (a.output.rounding == Rounding::kHalfAway) return NaiveHalfAway(window.sum, window.count);
  const float factor = a.scale.scale / static_cast<float>(window.count);
  return NaiveHalfEven(static_cast<float>(window.sum) * factor);
}

void Run(Problem p, const QuantizedAveragePoolAttributes& attributes, Generator& random) {
  for (int i = 0; i < 2; ++i) p.out[i] = WindowsAlong(attributes.pool, p.extent, i);
  OpFixture op(OpKind::kQuantizedAveragePool);
  const Tensor x = op.AddInput(
      RandomBytesAndEnds(p.x, {p.images, p.channels, p.extent[0], p.extent[1]}, p.layout, random));
  const Tensor y = op.AddOutput(Tensor(p.y, {p.images, p.channels, p.out[0], p.out[1]}, p.layout));
  const Status status = op.Run(attributes, p.threads);
  REQUIRE_MESSAGE(status.ok(), Words(status));
  CHECK(y.GapsIntact());
  const std::vector<int64_t> values = Integers(x);
  std::vector<int64_t> expected;
  for (int32_t plane = 0; plane < p.images * p.channels; ++plane) {
    for (int32_t i = 0; i < p.out[0] * p.out[1]; ++i) {
      const WindowSum window = Look(p, attributes, values, plane, i / p.out[1], i % p.out[1]);
      expected.push_back(NaiveStored(attributes.output, NaiveAverage(attributes, window)));
    }
  }
  CHECK(Integers(y) == expected);
}

TEST_CASE("Quantized average pool: windows of all kinds, both roundings, in every layout") {
  Generator random(1);
  for (int round = 0; round < 150; ++round) {
    CAPTURE(round);
    Problem p;
    p.x = Pick(random, 0, 1) == 0 ? DType::kI8 : DType::kU8;
    p.y = Pick(random, 0, 1) == 0 ? DType::kI8 : DType::kU8;
    p.layout = kAllLayouts[round % 5];
    p.channels = Pick(random, 1, 40);
    QuantizedAveragePoolAttributes a;
    for (int i = 0; i < 2; ++i) {
      a.pool.kernel[i] = Pick(random, 1, 4);
      a.pool.strides[i] = Pick(random, 1, 3);
      a.pool.dilations[i] = Pick(random, 1, 2);
      a.pool.pads[i] = Pick(random, 0, a.pool.kernel[i] - 1);
      a.pool.pads[i + 2] = Pick(random, 0, a.pool.kernel[i] - 1);
    }
    a.pool.ceil_mode = Pick(random, 0, 1);
    a.pool.count_include_pad = Pick(random, 0, 1);
    a.x_zero_point = Pick(random, LeastOf(p.x), MostOf(p.x));
    a.scale.scale = static_cast<float>(Pick(random, 1, 200)) * 0.01F;
    const Rounding rounding = Pick(random, 0, 1) == 0 ? Rounding::kHalfAway : Rounding::kHalfEven;
    a.output = RandomOutput(p.y, rounding, random);
    Run(p, a, random);
  }
}

TEST_CASE("Quantized average pool: the mean of a whole image, on several threads") {
  Generator random(2);
  Problem p;
  p.channels = 130;
  p.extent[0] = p.extent[1] = 25;
  p.threads = 3;
  p.layout = Layout::kChannelsLast;
  QuantizedAveragePoolAttributes a;
  a.pool.kernel[0] = a.pool.kernel[1] = 25;
  a.output.rounding = Rounding::kHalfAway;
  Run(p, a, random);
}

TEST_CASE("Quantized average pool: halves go away from zero, or to the even neighbour") {
  for (const Rounding rounding : {Rounding::kHalfAway, Rounding::kHalfEven}) {
    QuantizedAveragePoolAttributes a;
    a.pool.kernel[1] = 2;
    a.pool.strides[1] = 2;
    a.output.rounding = rounding;
    OpFixture op(OpKind::kQuantizedAveragePool);
    op.AddInput(
        Tensor::From(DType::kI8, {1, 1, 1, 8}, std::vector<int8_t>{0, 1, 0, -1, 1, 2, -1, -2}));
    const Tensor y = op.AddOutput(Tensor(DType::kI8, {1, 1, 1, 4}));
    REQUIRE(op.Run(a).ok());
    const std::vector<int8_t> expected = rounding == Rounding::kHalfAway
                                             ? std::vector<int8_t>{1, -1, 2, -2}
                                             : std::vector<int8_t>{0, 0, 2, -2};
    CHECK(y.Values<int8_t>() == expected);
  }
}

TEST_CASE("Quantized average pool: a window that counts more padding than 32 bits hold") {
  QuantizedAveragePoolAttributes a;
  for (int i = 0; i < 2; ++i) {
    a.pool.kernel[i] = 1 << 20;
    a.pool.pads[i] = (1 << 20) - 1;
    a.pool.strides[i] = 1 << 20;
  }
  a.pool.count_include_pad = 1;
  a.output.rounding = Rounding::kHalfAway;
  a.output.zero_point = 7;
  OpFixture op(OpKind::kQuantizedAveragePool);
  op.AddInput(Tensor::From(DType::kI8, {1, 1, 1, 1}, std::vector<int8_t>{127}));
  const Tensor y = op.AddOutput(Tensor(DType::kI8, {1, 1, 1, 1}));
  const Status status = op.Run(a);
  REQUIRE_MESSAGE(status.ok(), Words(status));
  CHECK(y.Values<int8_t>() == std::vector<int8_t>{7});
}

}  // namespace
}  // namespace tenon::cpu::testing
