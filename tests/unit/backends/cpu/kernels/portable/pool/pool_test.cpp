#include <doctest/doctest.h>

#include <vector>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/backends/cpu/kernels/op_fixture.hpp"

namespace tenon::cpu::testing {
namespace {

using Dims = std::vector<int32_t>;

struct PoolCase {
  Dims x;
  Dims y;
  PoolAttributes attributes;
};

int32_t OutExtent(int32_t in, const PoolAttributes& a, size_t axis) {
  const int32_t reach = (a.kernel[axis] - 1) * a.dilations[axis] + 1;
  const int32_t padded = in + a.pads[axis] + a.pads[2 + axis];
  int32_t out = (padded - reach) / a.strides[axis] + 1;
  const bool rest = (padded - reach) % a.strides[axis] != 0;
  if (a.ceil_mode != 0 && rest && out * a.strides[axis] < in + a.pads[axis]) ++out;
  return out;
}

PoolCase RandomCase(Generator& random) {
  PoolCase c;
  PoolAttributes& a = c.attributes;
  c.x = {Pick(random, 1, 2), Pick(random, 1, 40), 0, 0};
  c.y = c.x;
  a.ceil_mode = Pick(random, 0, 1);
  a.count_include_pad = Pick(random, 0, 1);
  for (size_t i = 0; i < 2; ++i) {
    a.kernel[i] = Pick(random, 1, 4);
    a.strides[i] = Pick(random, 1, 3);
    a.dilations[i] = Pick(random, 1, 2);
    const int32_t reach = (a.kernel[i] - 1) * a.dilations[i] + 1;
    a.pads[i] = Pick(random, 0, reach - 1);
    a.pads[2 + i] = Pick(random, 0, reach - 1);
    c.x[2 + i] = Pick(random, reach, 12);
    c.y[2 + i] = OutExtent(c.x[2 + i], a, i);
  }
  return c;
}

struct Window {
  double sum = 0.0;
  double maximum = -std::numeric_limits<double>::infinity();
  int counted = 0;  ///< inside the input or, with count_include_pad, its padding
};

/// Every output's window by the definition, in row-major order.
template <typename T>
std::vector<Window> NaiveWindows(const PoolCase& c, const std::vector<T>& x) {
  const PoolAttributes& a = c.attributes;
  std::vector<Window> windows;
  for (int32_t plane = 0; plane < c.x[0] * c.x[1]; ++plane) {
    for (int32_t oh = 0; oh < c.y[2]; ++oh) {
      for (int32_t ow = 0; ow < c.y[3]; ++ow) {
        Window window;
        for (int32_t kh = 0; kh < a.kernel[0]; ++kh) {
          for (int32_t kw = 0; kw < a.kernel[1]; ++kw) {
            const int32_t ih = oh * a.strides[0] - a.pads[0] + kh * a.dilations[0];
            const int32_t iw = ow * a.strides[1] - a.pads[1] + kw * a.dilations[1];
            const bool inside = ih >= 0 && ih < c.x[2] && iw >= 0 && iw < c.x[3];
            const bool in_padding = ih < c.x[2] + a.pads[2] && iw < c.x[3] + a.pads[3];
            if (inside || (a.count_include_pad != 0 && in_padding)) ++window.counted;
            if (!inside) continue;
            const auto value =
                static_cast<double>(x[static_cast<size_t>((plane * c.x[2] + ih) * c.x[3] + iw)]);
            window.sum += value;
            window.maximum = std::max(window.maximum, value);
          }
        }
        windows.push_back(window);
      }
    }
  }
  return windows;
}

TEST_CASE("MaxPool: agrees with the definition over random windows and layouts") {
  Generator random(1);
  for (int i = 0; i < 200; ++i) {
    const PoolCase c = RandomCase(random);
    OpFixture op(OpKind::kMaxPool);
    const Tensor x = op.AddInput(Random(c.x, kAllLayouts[Pick(random, 0, 4)], random, -9, -1));
    const Tensor y = op.AddOutput(Tensor(DType::kF32, c.y, kAllLayouts[Pick(random, 0, 4)]));
    REQUIRE(op.Run(c.attributes, Pick(random, 1, 3)).ok());
    std::vector<double> expected;
    for (const Window& w : NaiveWindows(c, x.Values<float>())) expected.push_back(w.maximum);
    INFO("case ", i);
    CHECK(LargestRelativeError(y.Values<float>(), expected) == 0.0);
    CHECK(y.GapsIntact());
  }
}

template <typename T>
void CheckIntegerMaxPool(DType dtype) {
  Generator random(2);
  for (int i = 0; i < 20; ++i) {
    const PoolCase c = RandomCase(random);
    Tensor x(dtype, c.x, Layout::kChannelsLast);
    std::vector<T> values(x.count());
    for (T& value : values) {
      value = static_cast<T>(Pick(random, std::numeric_limits<T>::is_signed ? -128 : 0, 127));
    }
    x.Set(values);
    OpFixture op(OpKind::kMaxPool);
    op.AddInput(x);
    const Tensor y = op.AddOutput(Tensor(dtype, c.y, Layout::kChannelsLast));
    REQUIRE(op.Run(c.attributes).ok());
    std::vector<T> expected;
    for (const Window& w : NaiveWindows(c, values)) expected.push_back(static_cast<T>(w.maximum));
    CHECK(y.Values<T>() == expected);
  }
}

TEST_CASE("MaxPool: runs integers") {
  CheckIntegerMaxPool<int8_t>(DType::kI8);
  CheckIntegerMaxPool<uint8_t>(DType::kU8);
  CheckIntegerMaxPool<int32_t>(DType::kI32);
  CheckIntegerMaxPool<int64_t>(DType::kI64);
}

TEST_CASE("MaxPool: a NaN wins wherever it stands in the window") {
  const std::vector<int32_t> dims = {1, 1, 1, 3};
  for (size_t place = 0; place < 3; ++place) {
    std::vector<float> values = {1.0F, 2.0F, 3.0F};
    values[place] = std::nanf("");
    OpFixture op(OpKind::kMaxPool);
    op.AddInput(Tensor::From(DType::kF32, dims, values));
    const Tensor y = op.AddOutput(Tensor(DType::kF32, {1, 1, 1, 1}));
    PoolAttributes attributes;
    attributes.kernel[1] = 3;
    REQUIRE(op.Run(attributes).ok());
    CHECK(std::isnan(y.Values<float>()[0]));
  }
}

TEST_CASE("AveragePool: agrees with the definition over random windows and layouts") {
  Generator random(3);
  for (int i = 0; i < 200; ++i) {
    const PoolCase c = RandomCase(random);
    OpFixture op(OpKind::kAveragePool);
    const Tensor x = op.AddInput(Random(c.x, kAllLayouts[Pick(random, 0, 4)], random));
    const Tensor y = op.AddOutput(Tensor(DType::kF32, c.y, kAllLayouts[Pick(random, 0, 4)]));
    REQUIRE(op.Run(c.attributes, Pick(random, 1, 3)).ok());
    std::vector<double> expected;
    for (const Window& w : NaiveWindows(c, x.Values<float>())) {
      expected.push_back(w.sum / w.counted);
    }
    INFO("case ", i);
    CHECK(LargestRelativeError(y.Values<float>(), expected) < 1e-6);
    CHECK(y.GapsIntact());
  }
}

TEST_CASE("AveragePool: the number of threads does not change a bit") {
  Generator random(4);
  const Tensor x = Random({2, 35, 20, 20}, Layout::kChannelsLast, random);
  PoolAttributes attributes;
  attributes.kernel[0] = attributes.kernel[1] = 3;
  std::vector<float> expected;
  for (const int threads : {1, 2, 5}) {
    OpFixture op(OpKind::kAveragePool);
    op.AddInput(x);
    const Tensor y = op.AddOutput(Tensor(DType::kF32, {2, 35, 18, 18}, Layout::kChannelsLast));
    REQUIRE(op.Run(attributes, threads).ok());
    if (expected.empty()) expected = y.Values<float>();
    CHECK(y.Values<float>() == expected);
  }
}

TEST_CASE("Pools: no channels at all write nothing") {
  PoolAttributes attributes;
  OpFixture op(OpKind::kMaxPool);
  op.AddInput(Tensor(DType::kF32, {1, 0, 4, 4}));
  op.AddOutput(Tensor(DType::kF32, {1, 0, 4, 4}));
  CHECK(op.Run(attributes, 2).ok());
}

}  // namespace
}  // namespace tenon::cpu::testing
