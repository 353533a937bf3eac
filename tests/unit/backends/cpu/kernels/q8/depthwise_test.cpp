#include <doctest/doctest.h>

#include <limits>
#include <vector>

#include "runtime/ops/attributes.hpp"
#include "tests/unit/backends/cpu/kernels/paired_conv.hpp"
#include "tests/unit/backends/cpu/kernels/q8/bytes_fixture.hpp"

namespace tenon::cpu::testing {
namespace {

constexpr const char* kBytesDepthwise = "cpu.quantized_conv.bytes_depthwise";

struct DepthwiseCase {
  ConvCase conv;
  DType x = DType::kI8;
  DType y = DType::kI8;
  Rounding rounding = Rounding::kHalfEven;
  DType w = DType::kI8;
  bool w_zero_points = false;
  bool hostile = false;            ///< factors of any bits
  bool small_multipliers = false;  ///< with shifts about 0
};

DepthwiseCase Case(int32_t channels, int32_t size, int32_t kernel, int32_t stride, int32_t pad,
                   int32_t dilation = 1) {
  DepthwiseCase c;
  c.conv.x = {1, channels, size, size};
  c.conv.w = {channels, 1, kernel, kernel};
  c.conv.attributes = Conv(channels, stride, pad, dilation);
  return c;
}

/// True if the padded input holds a window.
bool FitsIn(const ConvCase& c) {
  for (size_t i = 0; i < 2; ++i) {
    const ConvAttributes& a = c.attributes;
    if (c.x[2 + i] + a.pads[i] + a.pads[2 + i] <= (c.w[2 + i] - 1) * a.dilations[i]) return false;
  }
  return true;
}

DepthwiseCase RandomCase(Generator& random) {
  DepthwiseCase c;
  const int32_t channels = Pick(random, 1, 150);
  do {
    c.conv.x = {Pick(random, 1, 2), channels, Pick(random, 1, 12), Pick(random, 1, 12)};
    c.conv.w = {channels, 1, Pick(random, 1, 5), Pick(random, 1, 5)};
    c.conv.attributes.group = channels;
    for (int i = 0; i < 2; ++i) {
      c.conv.attributes.strides[i] = Pick(random, 1, 3);
      c.conv.attributes.dilations[i] = Pick(random, 1, 2);
      c.conv.attributes.pads[i] = Pick(random, 0, 3);
      c.conv.attributes.pads[2 + i] = Pick(random, 0, 3);
    }
  } while (!FitsIn(c.conv));
  return c;
}

/// As requantized sums have them: most results lie within the output's range.
std::vector<float> RandomFactors(size_t count, bool hostile, Generator& random) {
  std::vector<float> factors = RandomValues(count, random, 0.0001F, 0.02F);
  if (!hostile) return factors;
  constexpr float kOdd[] = {std::numeric_limits<float>::quiet_NaN(),
                            std::numeric_limits<float>::infinity(),
                            -0.01F,
                            0.0F,
                            3e38F,
                            1e-40F};
  for (float& factor : factors) {
    if (Pick(random, 0, 1) == 0) factor = kOdd[Pick(random, 0, 5)];
  }
  return factors;
}

void AddFactors(const DepthwiseCase& c, Generator& random, ByteOp& op) {
  const bool each = Pick(random, 0, 3) != 0;
  const int32_t count = each ? c.conv.w[0] : 1;
  if (c.rounding == Rounding::kHalfEven) {
    const auto factors = RandomFactors(static_cast<size_t>(count), c.hostile, random);
    op.AddInput(Tensor::From(DType::kF32, {count}, factors), kConstant);
    op.AddAbsentInput();
    return;
  }
  std::vector<int32_t> multipliers(static_cast<size_t>(count));
  std::vector<int8_t> shifts(static_cast<size_t>(count));
  for (size_t i = 0; i < multipliers.size(); ++i) {
    multipliers[i] = c.hostile ? static_cast<int32_t>(random())
                               : Pick(random, 1 << 30, std::numeric_limits<int32_t>::max());
    shifts[i] = static_cast<int8_t>(c.hostile ? Pick(random, -128, 127) : Pick(random, -12, -4));
    if (c.small_multipliers) {
      multipliers[i] = Pick(random, 1 << 21, 1 << 23);
      shifts[i] = static_cast<int8_t>(Pick(random, -1, 1));
    }
    if (c.hostile && Pick(random, 0, 3) == 0) {
      multipliers[i] = std::numeric_limits<int32_t>::min();
    }
  }
  op.AddInput(Tensor::From(DType::kI32, {count}, multipliers), kConstant);
  op.AddInput(Tensor::From(DType::kI8, {count}, shifts), kConstant);
}

void AddBias(const DepthwiseCase& c, Generator& random, ByteOp& op) {
  if (Pick(random, 0, 3) == 0) {
    op.AddAbsentInput();
    return;
  }
  std::vector<int32_t> bias(static_cast<size_t>(c.conv.w[0]));
  for (int32_t& value : bias) {
    value = c.hostile ? static_cast<int32_t>(random()) : Pick(random, -20000, 20000);
  }
  op.AddInput(Tensor::From(DType::kI32, {c.conv.w[0]}, bias), kConstant);
}

void CheckAgreement(const DepthwiseCase& c, Generator& random) {
  CAPTURE(c.conv.x[1]);
  CAPTURE(c.conv.x[3]);
  CAPTURE(c.conv.w[3]);
  CAPTURE(c.conv.attributes.strides[1]);
  ByteOp op(kBytesDepthwise, kPortableConv);
  const auto channels_last = [&] {
    return Pick(random, 0, 1) == 0 ? Layout::kChannelsLast : Layout::kChannelsLastGaps;
  };
  op.AddInput(RandomBytes(c.x, c.conv.x, channels_last(), random));
  op.AddInput(RandomBytes(c.w, c.conv.w, Layout::kRowMajor, random), kConstant);
  AddBias(c, random, op);
  AddFactors(c, random, op);
  if (Pick(random, 0, 4) != 0) {
    const int32_t count = Pick(random, 0, 3) == 0 ? c.conv.x[1] : 1;
    op.AddInput(RandomBytes(c.x, {count}, Layout::kRowMajor, random), kConstant);
  } else if (c.w_zero_points) {
    op.AddAbsentInput();
  }
  if (c.w_zero_points) {
    const int32_t count = Pick(random, 0, 1) == 0 ? c.conv.w[0] : 1;
    op.AddInput(RandomBytes(c.w, {count}, Layout::kRowMajor, random), kConstant);
  }
  op.AddOutput(c.y, OutputDims(c.conv), channels_last());
  QuantizedConvAttributes attributes;
  attributes.conv = c.conv.attributes;
  attributes.output = PickOutput(c.y, c.rounding, random);
  CHECK(op.Agree<uint8_t>(attributes, Pick(random, 1, 3)));
}

/// The case with every pair of dtypes and each rounding.
void CheckAllForms(DepthwiseCase c, Generator& random) {
  for (const DType x : {DType::kI8, DType::kU8}) {
    for (const DType y : {DType::kI8, DType::kU8}) {
      for (const Rounding rounding : {Rounding::kHalfEven, Rounding::kFixedPoint}) {
        c.x = x;
        c.y = y;
        c.rounding = rounding;
        CheckAgreement(c, random);
      }
    }
  }
}

}  // namespace

TEST_CASE("Depthwise on bytes: the portable kernel's bits on random windows") {
  ForEachQuantizedSet([] {
    Generator random(1);
    for (int i = 0; i < 40; ++i) CheckAllForms(RandomCase(random), random);
  });
}

TEST_CASE("Depthwise on bytes: weights of u8, and weights with zero points") {
  ForEachQuantizedSet([] {
    Generator random(11);
    for (int i = 0; i < 40; ++i) {
      DepthwiseCase c = i % 2 == 0 ? RandomCase(random) : Case(Pick(random, 8, 70), 7, 3, 1, 1);
      c.w = PickByteType(random);
      c.w_zero_points = c.w == DType::kI8 || Pick(random, 0, 3) != 0;
      CheckAllForms(c, random);
    }
  });
}

TEST_CASE("Depthwise on bytes: 3x3 with strides 1 and 2, any number of channels") {
  ForEachQuantizedSet([] {
    Generator random(2);
    for (int32_t channels = 1; channels <= 200; channels += channels < 70 ? 1 : 13) {
      for (const int32_t stride : {1, 2}) {
        DepthwiseCase c = Case(channels, Pick(random, 3, 9), 3, stride, Pick(random, 0, 2));
        c.x = PickByteType(random);
        c.y = PickByteType(random);
        c.rounding = Pick(random, 0, 1) == 0 ? Rounding::kHalfEven : Rounding::kFixedPoint;
        CheckAgreement(c, random);
      }
    }
  });
}

TEST_CASE("Depthwise on bytes: 5x5, 1x1, dilated and one that is all padding's width") {
  ForEachQuantizedSet([] {
    Generator random(3);
    for (const DepthwiseCase& c :
         {Case(72, 9, 5, 1, 2), Case(40, 9, 5, 2, 2), Case(48, 7, 1, 1, 0), Case(33, 9, 3, 1, 2, 2),
          Case(16, 1, 3, 1, 1), Case(64, 2, 3, 2, 2), Case(24, 12, 11, 1, 5)}) {
      CheckAllForms(c, random);
    }
  });
}

TEST_CASE("Depthwise on bytes: windows whose rows are taken in pairs, at any width and padding") {
  ForEachQuantizedSet([] {
    Generator random(10);
    for (int i = 0; i < 150; ++i) {
      DepthwiseCase c = Case(Pick(random, 8, 70), 1, 1, 1, 0);
      c.conv.w[2] = Pick(random, 2, 7);
      c.conv.w[3] = 3 + 2 * (i % 3);
      c.conv.attributes.strides[0] = Pick(random, 1, 3);
      c.conv.attributes.strides[1] = Pick(random, 1, 2);
      c.conv.attributes.dilations[0] = Pick(random, 1, 2);
      for (int32_t& pad : c.conv.attributes.pads) pad = Pick(random, 0, 4);
      do {
        c.conv.x[2] = Pick(random, 1, 15);
        c.conv.x[3] = Pick(random, 1, 24);
      } while (!FitsIn(c.conv));
      c.x = PickByteType(random);
      c.y = PickByteType(random);
      c.rounding = Pick(random, 0, 1) == 0 ? Rounding::kHalfEven : Rounding::kFixedPoint;
      CheckAgreement(c, random);
    }
  });
}

TEST_CASE("Depthwise on bytes: one window in each image, as a stream's step has it") {
  ForEachQuantizedSet([] {
    Generator random(8);
    for (int i = 0; i < 60; ++i) {
      DepthwiseCase c = Case(Pick(random, 1, 100), 1, 1, 1, 0, Pick(random, 1, 2));
      const int32_t dilation = c.conv.attributes.dilations[0];
      c.conv.x[0] = Pick(random, 1, 2);
      // Of one row or column as of both; beyond the window, the image may go on.
      for (size_t k = 0; k < 2; ++k) {
        c.conv.w[2 + k] = i % 3 == static_cast<int>(k) ? 1 : Pick(random, 1, i % 3 == 2 ? 7 : 21);
        c.conv.x[2 + k] = (c.conv.w[2 + k] - 1) * dilation + 1 + Pick(random, 0, 1);
        c.conv.attributes.strides[k] = 2;
      }
      CheckAllForms(c, random);
    }
  });
}

TEST_CASE("Depthwise on bytes: one window of which a part is padding") {
  ForEachQuantizedSet([] {
    Generator random(9);
    for (const size_t side : {0, 1, 2, 3}) {
      DepthwiseCase c = Case(60, 5, 5, 2, 0);
      c.conv.x[2 + side % 2] = 4;
      c.conv.attributes.pads[side] = 1;
      CheckAllForms(c, random);
    }
  });
}

TEST_CASE("Depthwise on bytes: images of one column, also such as several threads share") {
  ForEachQuantizedSet([] {
    Generator random(12);
    for (int i = 0; i < 40; ++i) {
      DepthwiseCase c = Case(Pick(random, 1, 150), 1, 1, 1, 0);
      c.conv.x[0] = Pick(random, 1, 2);
      c.conv.attributes.strides[0] = Pick(random, 1, 3);
      c.conv.attributes.dilations[0] = Pick(random, 1, 2);
      c.conv.attributes.pads[0] = Pick(random, 0, 3);
      c.conv.attributes.pads[2] = Pick(random, 0, 3);
      c.conv.w[2] = Pick(random, 1, 9);
      do {
        c.conv.x[2] = Pick(random, 1, i % 4 == 0 ? 300 : 40);
      } while (!FitsIn(c.conv));
      CheckAllForms(c, random);
    }
  });
}

TEST_CASE("Depthwise on bytes: large enough for several threads") {
  ForEachQuantizedSet([] {
    Generator random(4);
    CheckAllForms(Case(96, 40, 3, 1, 1), random);
    CheckAllForms(Case(960, 7, 3, 1, 1), random);
  });
}

TEST_CASE("Depthwise on bytes: fixed-point factors that shift by nothing, or to the left") {
  ForEachQuantizedSet([] {
    Generator random(7);
    for (int i = 0; i < 20; ++i) {
      DepthwiseCase c = RandomCase(random);
      c.small_multipliers = true;
      CheckAllForms(c, random);
    }
  });
}

TEST_CASE("Depthwise on bytes: factors and bias of any bits") {
  ForEachQuantizedSet([] {
    Generator random(5);
    for (int i = 0; i < 40; ++i) {
      DepthwiseCase c = RandomCase(random);
      c.hostile = true;
      CheckAllForms(c, random);
    }
  });
}

TEST_CASE(
    "Depthwise on bytes: refuses channels that are no neighbours, and factors computed later") {
  Generator random(6);
  for (const bool constant : {true, false}) {
    const DepthwiseCase c = Case(16, 5, 3, 1, 1);
    ByteOp op(kBytesDepthwise, kPortableConv);
    const Layout layout = constant ? Layout::kRowMajor : Layout::kChannelsLast;
    op.AddInput(RandomBytes(c.x, c.conv.x, layout, random));
    op.AddInput(RandomBytes(DType::kI8, c.conv.w, Layout::kRowMajor, random), kConstant);
    op.AddAbsentInput();
    op.AddInput(Tensor::From<float>(DType::kF32, {1}, {0.01F}), constant);
    op.AddOutput(c.y, OutputDims(c.conv), Layout::kChannelsLast);
    QuantizedConvAttributes attributes;
    attributes.conv = c.conv.attributes;
    CHECK(op.Check(attributes).code() == StatusCode::kUnsupported);
  }
}

}  // namespace tenon::cpu::testing
