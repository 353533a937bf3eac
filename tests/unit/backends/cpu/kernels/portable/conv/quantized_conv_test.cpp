#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/ops/rows.hpp"
#include "tests/unit/backends/cpu/kernels/quantized_naive.hpp"

namespace tenon::cpu {
namespace {

using namespace testing;

enum class ZeroPoint { kNone, kOne, kEach };

struct Case {
  int32_t images = 1;
  int32_t channels = 8;
  int32_t outputs = 8;
  int32_t group = 1;
  std::array<int32_t, 2> extent = {7, 9};
  std::array<int32_t, 2> kernel = {3, 3};
  std::array<int32_t, 2> strides = {1, 1};
  std::array<int32_t, 2> dilations = {1, 1};
  std::array<int32_t, 4> pads = {1, 1, 1, 1};
  DType x = DType::kI8;
  DType w = DType::kI8;
  DType y = DType::kI8;
  Rounding rounding = Rounding::kFixedPoint;
  bool bias = true;
  bool factors_each = true;
  ZeroPoint x_zero = ZeroPoint::kOne;
  ZeroPoint w_zero = ZeroPoint::kNone;
  Layout layout = Layout::kRowMajor;
  Layout w_layout = Layout::kRowMajor;
  int threads = 1;
};

QuantizedConvAttributes AttributesOf(const Case& c, Generator& random) {
  QuantizedConvAttributes attributes;
  attributes.conv.group = c.group;
  for (size_t i = 0; i < 2; ++i) {
    attributes.conv.strides[i] = c.strides[i];
    attributes.conv.dilations[i] = c.dilations[i];
  }
  for (size_t i = 0; i < 4; ++i) attributes.conv.pads[i] = c.pads[i];
  if (c.y == DType::kI8 || c.y == DType::kU8) {
    attributes.output = RandomOutput(c.y, c.rounding, random);
  } else {
    attributes.output.to = static_cast<int32_t>(c.y);
    attributes.output.rounding = Rounding::kHalfEven;
  }
  return attributes;
}

/// All operands of one case, those that are absent empty.
struct Operands {
  QuantizedConvAttributes attributes;
  Tensor x;
  Tensor w;
  std::vector<int32_t> bias;
  std::vector<float> scales;
  std::vector<int32_t> multipliers;
  std::vector<int8_t> shifts;
  std::vector<int64_t> x_zero;
  std::vector<int64_t> w_zero;
  Tensor y;
};

std::array<int32_t, 2> OutputExtent(const Case& c) {
  std::array<int32_t, 2> extent = {};
  for (size_t i = 0; i < 2; ++i) {
    const int32_t window = (c.kernel[i] - 1) * c.dilations[i] + 1;
    extent[i] = (c.extent[i] + c.pads[i] + c.pads[i + 2] - window) / c.strides[i] + 1;
  }
  return extent;
}

std::vector<int64_t> RandomZeros(ZeroPoint form, int32_t count, DType dtype, Generator& random) {
  std::vector<int64_t> zeros(form == ZeroPoint::kEach ? static_cast<size_t>(count) : 1U);
  for (int64_t& zero : zeros) zero = Pick(random, LeastOf(dtype), MostOf(dtype));
  if (form == ZeroPoint::kNone) zeros.clear();
  return zeros;
}

Operands Make(const Case& c, Generator& random) {
  const std::array<int32_t, 2> out = OutputExtent(c);
  const int32_t depth = c.channels / c.group;
  Operands o = {
      AttributesOf(c, random),
      RandomBytesAndEnds(c.x, {c.images, c.channels, c.extent[0], c.extent[1]}, c.layout, random),
      RandomBytesAndEnds(c.w, {c.outputs, depth, c.kernel[0], c.kernel[1]}, c.w_layout, random),
      {},
      {},
      {},
      {},
      RandomZeros(c.x_zero, c.channels, c.x, random),
      RandomZeros(c.w_zero, c.outputs, c.w, random),
      Tensor(c.y, {c.images, c.outputs, out[0], out[1]}, c.layout)};
  const double magnitude = 128.0 * 128.0 * depth * c.kernel[0] * c.kernel[1];
  for (int32_t i = 0; c.bias && i < c.outputs; ++i) o.bias.push_back(Pick(random, -90000, 90000));
  for (int32_t i = 0; i < (c.factors_each ? c.outputs : 1); ++i) {
    const QuantizedScale scale = RandomScale(magnitude / 4, random);
    o.scales.push_back(scale.scale);
    o.multipliers.push_back(scale.multiplier);
    o.shifts.push_back(static_cast<int8_t>(scale.shift));
  }
  return o;
}

int64_t At(const std::vector<int64_t>& one_or_each, int32_t index) {
  if (one_or_each.empty()) return 0;
  return one_or_each[one_or_each.size() == 1 ? 0 : static_cast<size_t>(index)];
}

/// The convolution's sums, in 64 bits, wrapped at the end.
std::vector<int64_t> NaiveSums(const Case& c, const Operands& o) {
  const std::array<int32_t, 2> out = OutputExtent(c);
  const std::vector<int64_t> x = Integers(o.x);
  const std::vector<int64_t> w = Integers(o.w);
  const int32_t depth = c.channels / c.group;
  const int32_t group_outputs = c.outputs / c.group;
  std::vector<int64_t> sums;
  for (int32_t n = 0; n < c.images; ++n) {
    for (int32_t m = 0; m < c.outputs; ++m) {
      for (int32_t position = 0; position < out[0] * out[1]; ++position) {
        int64_t sum = o.bias.empty() ? 0 : o.bias[static_cast<size_t>(m)];
        for (int32_t i = 0; i < depth * c.kernel[0] * c.kernel[1]; ++i) {
          const int32_t channel = m / group_outputs * depth + i / (c.kernel[0] * c.kernel[1]);
          const int32_t row = position / out[1] * c.strides[0] - c.pads[0] +
                              i / c.kernel[1] % c.kernel[0] * c.dilations[0];
          const int32_t column =
              position % out[1] * c.strides[1] - c.pads[1] + i % c.kernel[1] * c.dilations[1];
          if (row < 0 || row >= c.extent[0] || column < 0 || column >= c.extent[1]) continue;
          const int32_t at =
              ((n * c.channels + channel) * c.extent[0] + row) * c.extent[1] + column;
          const int64_t weight = w[static_cast<size_t>(m * depth * c.kernel[0] * c.kernel[1] + i)];
          sum += (x[static_cast<size_t>(at)] - At(o.x_zero, channel)) * (weight - At(o.w_zero, m));
        }
        sums.push_back(Wrap32(sum));
      }
    }
  }
  return sums;
}

int32_t OutputOf(const Case& c, size_t index) {
  const std::array<int32_t, 2> out = OutputExtent(c);
  return static_cast<int32_t>(index / static_cast<size_t>(out[0] * out[1])) % c.outputs;
}

Tensor VectorOf(DType dtype, const std::vector<int64_t>& values) {
  std::vector<uint8_t> bytes;
  for (const int64_t value : values) bytes.push_back(static_cast<uint8_t>(value));
  return Tensor::From(dtype, {static_cast<int32_t>(values.size())}, bytes);
}

void AddInputs(OpFixture& op, const Case& c, const Operands& o) {
  const auto count = static_cast<int32_t>(o.multipliers.size());
  op.AddInput(o.x);
  op.AddInput(o.w, kConstant);
  if (o.bias.empty()) {
    op.AddAbsentInput();
  } else {
    op.AddInput(Tensor::From(DType::kI32, {c.outputs}, o.bias), kConstant);
  }
  const bool rescales = c.y != DType::kI32;
  const bool fixed = rescales && o.attributes.output.rounding == Rounding::kFixedPoint;
  if (!rescales) op.AddAbsentInput();
  if (rescales && !fixed) op.AddInput(Tensor::From(DType::kF32, {count}, o.scales), kConstant);
  if (fixed) op.AddInput(Tensor::From(DType::kI32, {count}, o.multipliers), kConstant);
  if (fixed) op.AddInput(Tensor::From(DType::kI8, {count}, o.shifts), kConstant);
  if (!fixed) op.AddAbsentInput();
  if (o.x_zero.empty()) op.AddAbsentInput();
  if (!o.x_zero.empty()) op.AddInput(VectorOf(c.x, o.x_zero), kConstant);
  if (!o.w_zero.empty()) op.AddInput(VectorOf(c.w, o.w_zero), kConstant);
}

void CheckBytes(const Case& c, const Operands& o, const std::vector<int64_t>& sums) {
  const std::vector<int64_t> actual = Integers(o.y);
  size_t wrong = 0;
  for (size_t i = 0; i < sums.size(); ++i) {
    const auto k = static_cast<size_t>(c.factors_each ? OutputOf(c, i) : 0);
    const QuantizedScale scale = {o.scales[k], o.multipliers[k], o.shifts[k]};
    const int64_t rounded = NaiveRescale(scale, c.rounding, sums[i]);
    wrong += actual[i] != NaiveStored(o.attributes.output, rounded) ? 1 : 0;
  }
  CHECK(wrong == 0);
}

/// Runs the case on operands that may have been spoiled since they were made.
void RunAndCheck(const Case& c, const Operands& o) {
  OpFixture op(OpKind::kQuantizedConv);
  AddInputs(op, c, o);
  op.AddOutput(o.y);
  const Status status = op.Run(o.attributes, c.threads);
  REQUIRE_MESSAGE(status.ok(), Words(status));
  CHECK(o.y.GapsIntact());
  const std::vector<int64_t> sums = NaiveSums(c, o);
  if (c.y == DType::kI32) {
    const std::vector<int32_t> actual = o.y.Values<int32_t>();
    CHECK(std::vector<int64_t>(actual.begin(), actual.end()) == sums);
  } else if (c.y == DType::kF32) {
    std::vector<float> expected;
    for (size_t i = 0; i < sums.size(); ++i) {
      const auto k = static_cast<size_t>(c.factors_each ? OutputOf(c, i) : 0);
      expected.push_back(static_cast<float>(sums[i]) * o.scales[k]);
    }
    CHECK(o.y.Values<float>() == expected);
  } else {
    CheckBytes(c, o, sums);
  }
}

void Run(const Case& c, uint32_t seed) {
  CAPTURE(seed);
  Generator random(seed);
  RunAndCheck(c, Make(c, random));
}

TEST_CASE("Quantized conv: every pair of dtypes, output and rounding") {
  uint32_t seed = 1;
  for (const DType x : {DType::kI8, DType::kU8}) {
    for (const DType w : {DType::kI8, DType::kU8}) {
      for (const DType y : {DType::kI8, DType::kU8, DType::kI32, DType::kF32}) {
        for (const Rounding rounding : {Rounding::kFixedPoint, Rounding::kHalfEven}) {
          Case c;
          c.x = x;
          c.w = w;
          c.y = y;
          c.rounding = rounding;
          c.outputs = 11;
          Run(c, seed++);
        }
      }
    }
  }
}

TEST_CASE("Quantized conv: every layout of x, y and weights, with odd numbers of channels") {
  uint32_t seed = 100;
  for (const Layout layout : kAllLayouts) {
    for (const Layout w_layout : {Layout::kRowMajor, Layout::kOutputsLast, Layout::kRowMajorGaps}) {
      for (const int32_t channels : {1, 3, 8, 70}) {
        Case c;
        c.images = 2;
        c.channels = channels;
        c.outputs = 9;
        c.layout = layout;
        c.w_layout = w_layout;
        Run(c, seed++);
      }
    }
  }
}

TEST_CASE("Quantized conv: groups and depthwise, with every form of zero points") {
  uint32_t seed = 200;
  struct Groups {
    int32_t channels, outputs, group;
  };
  for (const Groups groups : {Groups{6, 9, 3}, Groups{19, 19, 19}, Groups{8, 16, 8},
                              Groups{16, 16, 16}, Groups{140, 4, 2}}) {
    for (const ZeroPoint x_zero : {ZeroPoint::kNone, ZeroPoint::kOne, ZeroPoint::kEach}) {
      for (const ZeroPoint w_zero : {ZeroPoint::kNone, ZeroPoint::kOne, ZeroPoint::kEach}) {
        for (const Layout layout : {Layout::kRowMajor, Layout::kChannelsLast}) {
          Case c;
          c.channels = groups.channels;
          c.outputs = groups.outputs;
          c.group = groups.group;
          c.x_zero = x_zero;
          c.w_zero = w_zero;
          c.layout = layout;
          c.x = seed % 2 == 0 ? DType::kU8 : DType::kI8;
          c.w = seed % 3 == 0 ? DType::kU8 : DType::kI8;
          Run(c, seed++);
        }
      }
    }
  }
}

TEST_CASE("Quantized conv: strides, dilations, windows and padding of all kinds") {
  Generator random(7);
  for (uint32_t seed = 400; seed < 520; ++seed) {
    Case c;
    c.channels = Pick(random, 1, 5) * 2;
    c.group = Pick(random, 0, 3) == 0 ? c.channels : Pick(random, 1, 2);
    c.outputs = c.group * Pick(random, 1, 3);
    for (size_t i = 0; i < 2; ++i) {
      c.kernel[i] = Pick(random, 1, 5);
      c.strides[i] = Pick(random, 1, 3);
      c.dilations[i] = Pick(random, 1, 3);
      c.pads[i] = Pick(random, 0, 6);
      c.pads[i + 2] = Pick(random, 0, 6);
      c.extent[i] = Pick(random, 1, 12) + (c.kernel[i] - 1) * c.dilations[i];
    }
    c.bias = Pick(random, 0, 1) == 0;
    c.factors_each = Pick(random, 0, 1) == 0;
    c.rounding = Pick(random, 0, 1) == 0 ? Rounding::kHalfEven : Rounding::kFixedPoint;
    c.x_zero = static_cast<ZeroPoint>(Pick(random, 0, 2));
    c.w_zero = static_cast<ZeroPoint>(Pick(random, 0, 2));
    c.layout = kAllLayouts[Pick(random, 0, 4)];
    Run(c, seed);
  }
}

TEST_CASE("Quantized conv: long sums of large windows, and more taps than are packed at once") {
  Case c;
  c.extent = {13, 13};
  c.kernel = {11, 9};
  c.pads = {5, 4, 5, 4};
  Run(c, 600);
  c.group = 8;
  Run(c, 601);
  c = Case();
  c.channels = 520;
  c.kernel = {1, 1};
  c.pads = {0, 0, 0, 0};
  Run(c, 602);
}

TEST_CASE("Quantized conv: threads do not change a bit") {
  for (const int32_t group : {1, 4, 32}) {
    Case c;
    c.images = 3;
    c.channels = c.outputs = 32;
    c.group = group;
    c.extent = {15, 17};
    c.threads = 3;
    Run(c, 700);
  }
}

TEST_CASE("Quantized conv: no images make no output") {
  Case c;
  c.images = 0;
  Run(c, 800);
}

TEST_CASE("Quantized conv: a bias and weights at their limits wrap the sum") {
  Case c;
  Generator random(900);
  Operands o = Make(c, random);
  for (size_t i = 0; i < o.bias.size(); ++i) o.bias[i] = i % 2 == 0 ? INT32_MAX : INT32_MIN;
  RunAndCheck(c, o);
}

TEST_CASE("Quantized conv: multipliers and shifts of any bits are defined") {
  Case c;
  Generator random(901);
  Operands o = Make(c, random);
  o.multipliers = {INT32_MIN, INT32_MAX, 0, -1, 1, INT32_MIN, 1 << 30, INT32_MAX};
  o.shifts = {127, -128, 127, 31, -32, -128, 30, 30};
  RunAndCheck(c, o);
}

TEST_CASE("Quantized conv: scales that are no numbers are defined") {
  Case c;
  c.rounding = Rounding::kHalfEven;
  Generator random(902);
  Operands o = Make(c, random);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  o.scales = {std::numeric_limits<float>::quiet_NaN(),
              kInfinity,
              -kInfinity,
              0.0F,
              -0.0F,
              -1.0F,
              std::numeric_limits<float>::max(),
              std::numeric_limits<float>::denorm_min()};
  RunAndCheck(c, o);
}

}  // namespace
}  // namespace tenon::cpu
