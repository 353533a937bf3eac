// The fast quantized convolution against the portable one, on every instruction set: equal bits.
#include "backends/cpu/caps/q8_gemm_caps.hpp"
#include "tests/unit/backends/cpu/kernels/q8/conv_fixture.hpp"

namespace tenon::cpu::testing {
namespace {

constexpr const char* kVectorConv = "cpu.quantized_conv.vector";

ConvShapes Pointwise(int32_t inputs, int32_t outputs, int32_t height, int32_t width,
                     int32_t stride = 1) {
  ConvShapes c;
  c.x = {1, inputs, height, width};
  c.w = {outputs, inputs, 1, 1};
  for (int32_t& step : c.conv.strides) step = stride;
  return c;
}

void CheckEqual(const ConvShapes& c, const GemmOptions& options, Generator& random) {
  const Tensor w = RandomBytes(options.w_dtype, c.w, Layout::kRowMajor, random);
  CheckConvEqual(kVectorConv, c, w, options, random);
}

}  // namespace

TEST_CASE("Fast quantized conv: the portable kernel's bits on random shapes and roundings") {
  ForEachQuantizedSet([] {
    Generator random(1);
    for (int i = 0; i < 200; ++i) {
      CheckEqual(RandomShapes(Pick(random, 1, 40), Pick(random, 1, 150), 1, 4, random),
                 RandomGemmOptions(random), random);
    }
  });
}

TEST_CASE("Fast quantized conv: 1x1 of any number of pixels and channels") {
  ForEachQuantizedSet([] {
    Generator random(2);
    for (int32_t width = 1; width <= 60; ++width) {
      CheckEqual(Pointwise(Pick(random, 4, 70), Pick(random, 1, 200), 1, width),
                 RandomGemmOptions(random), random);
    }
  });
}

TEST_CASE("Fast quantized conv: 1x1 with a stride, and rows that lie apart") {
  ForEachQuantizedSet([] {
    Generator random(3);
    for (int i = 0; i < 30; ++i) {
      ConvShapes c = Pointwise(Pick(random, 4, 40), Pick(random, 1, 80), Pick(random, 1, 9),
                               Pick(random, 1, 9), Pick(random, 1, 3));
      c.x[0] = Pick(random, 1, 3);
      CheckEqual(c, RandomGemmOptions(random), random);
    }
  });
}

TEST_CASE("Fast quantized conv: few channels, each with a zero point of its own") {
  ForEachQuantizedSet([] {
    Generator random(4);
    for (int i = 0; i < 60; ++i) {
      GemmOptions options = RandomGemmOptions(random);
      options.x_zero_point = true;
      options.x_zero_point_per_channel = true;
      CheckEqual(RandomShapes(Pick(random, 1, 4), Pick(random, 1, 70), 1, 7, random), options,
                 random);
    }
  });
}

TEST_CASE("Fast quantized conv: long rows of weights with zero points") {
  ForEachQuantizedSet([] {
    Generator random(14);
    for (const int32_t width : {64, 65, 128, 150}) {
      GemmOptions options;
      options.w_dtype = DType::kU8;
      options.w_zero_point = true;
      ConvShapes c = Pointwise(Pick(random, 3, 9), Pick(random, 1, 70), 2, width);
      c.w[2] = c.w[3] = 3;
      for (int32_t& pad : c.conv.pads) pad = 1;
      CheckEqual(c, options, random);
    }
  });
}

TEST_CASE("Fast quantized conv: groups read their own channels") {
  ForEachQuantizedSet([] {
    Generator random(5);
    for (int i = 0; i < 40; ++i) {
      const int32_t group = Pick(random, 2, 4);
      CheckEqual(
          RandomShapes(group * Pick(random, 4, 20), group * Pick(random, 1, 70), group, 3, random),
          RandomGemmOptions(random), random);
    }
  });
}

TEST_CASE("Fast quantized conv: factors, shifts and bias of any bits") {
  ForEachQuantizedSet([] {
    Generator random(6);
    for (int i = 0; i < 80; ++i) {
      GemmOptions options = RandomGemmOptions(random);
      options.hostile = true;
      CheckEqual(RandomShapes(Pick(random, 1, 9), Pick(random, 1, 70), 1, 3, random), options,
                 random);
    }
  });
}

TEST_CASE("Fast quantized conv: channels of a bias so large that sums and products overflow") {
  ForEachQuantizedSet([] {
    Generator random(11);
    for (int i = 0; i < 60; ++i) {
      GemmOptions options = RandomGemmOptions(random);
      options.bias = true;
      options.huge_bias = true;
      CheckEqual(RandomShapes(Pick(random, 1, 9), Pick(random, 1, 150), 1, 3, random), options,
                 random);
    }
  });
}

TEST_CASE("Fast quantized conv: more bytes of a pixel than are widened at once") {
  ForEachQuantizedSet([] {
    Generator random(9);
    // Around one and two parts of 512 bytes, in one tap and in several.
    for (const int32_t depth : {511, 512, 513, 518, 1024, 1027}) {
      CheckEqual(Pointwise(depth, Pick(random, 1, 70), 1, Pick(random, 1, 13)),
                 RandomGemmOptions(random), random);
    }
    for (const int32_t channels : {57, 128, 171, 342}) {
      ConvShapes c;
      c.x = {1, channels, 5, 8};
      c.w = {Pick(random, 1, 40), channels, 3, 3};
      CheckEqual(c, RandomGemmOptions(random), random);
    }
  });
}

TEST_CASE("Fast quantized conv: rows too wide for the stack are cut") {
  ForEachQuantizedSet([] {
    Generator random(7);
    for (const int32_t stride : {1, 2}) {
      ConvShapes c;
      c.x = {1, 600, 4, 41};
      c.w = {20, 600, 3, 3};
      for (int32_t& step : c.conv.strides) step = stride;
      for (int32_t& pad : c.conv.pads) pad = 1;
      GemmOptions options = RandomGemmOptions(random);
      options.threads = stride;
      CheckEqual(c, options, random);
    }
  });
}

TEST_CASE("Fast quantized conv: more work than one thread takes gives the same bits on several") {
  ForEachQuantizedSet([] {
    Generator random(8);
    for (const int threads : {1, 2, 3}) {
      ConvShapes c;
      c.x = {1, 64, 9, 9};
      c.w = {130, 64, 3, 3};
      for (int32_t& pad : c.conv.pads) pad = 1;
      GemmOptions options;
      options.threads = threads;
      CheckEqual(c, options, random);
      CheckEqual(Pointwise(64, 200, 10, 10), options, random);
    }
  });
}

TEST_CASE("Fast quantized conv: the sums that both roundings of fixed point move, one by one") {
  // One input channel of weight 1 makes every small sum; shifts from none to many.
  ForEachQuantizedSet([] {
    for (int8_t shift = 2; shift >= -9; --shift) {
      for (const int32_t multiplier : {1 << 30, (1 << 30) + 1, 1518500250, INT32_MAX}) {
        GemmOptions options;
        options.rounding = Rounding::kFixedPoint;
        OpFixture fast(FindKernel(kVectorConv));
        OpFixture portable(FindKernel(kPortableConv));
        std::vector<int8_t> x;
        std::vector<int32_t> bias;
        for (int value = -128; value < 128; ++value) x.push_back(static_cast<int8_t>(value));
        for (int channel = -32; channel < 32; ++channel) bias.push_back(channel * 256);
        std::vector<Tensor> outputs;
        for (OpFixture* op : {&fast, &portable}) {
          op->AddInput(Tensor::From(DType::kI8, {1, 1, 1, 256}, x, Layout::kChannelsLast));
          op->AddInput(Tensor::From(DType::kI8, {64, 1, 1, 1}, std::vector<int8_t>(64, 1)), true);
          op->AddInput(Tensor::From(DType::kI32, {64}, bias), true);
          op->AddInput(Tensor::From(DType::kI32, {1}, std::vector<int32_t>{multiplier}), true);
          op->AddInput(Tensor::From(DType::kI8, {1}, std::vector<int8_t>{shift}), true);
          outputs.push_back(
              op->AddOutput(Tensor(DType::kI8, {1, 64, 1, 256}, Layout::kChannelsLast)));
          QuantizedConvAttributes attributes;
          attributes.output.rounding = Rounding::kFixedPoint;
          REQUIRE(op->Run(attributes).ok());
        }
        CAPTURE(static_cast<int>(shift));
        CAPTURE(multiplier);
        CHECK(outputs[0].Values<int8_t>() == outputs[1].Values<int8_t>());
      }
    }
  });
}

TEST_CASE("Fast quantized conv: depthwise, and weights that are no constant, are refused") {
  Generator random(9);
  GemmOptions options;
  const auto check = [&](int32_t group, bool constant) {
    OpFixture op(FindKernel(kVectorConv));
    op.AddInput(RandomBytes(DType::kI8, {1, 16, 5, 5}, Layout::kChannelsLast, random));
    op.AddInput(RandomBytes(DType::kI8, {16, 16 / group, 3, 3}, Layout::kRowMajor, random),
                constant);
    op.AddAbsentInput();
    op.AddInput(Tensor::From(DType::kF32, {1}, std::vector<float>{0.01F}), true);
    op.AddOutput(Tensor(DType::kI8, {1, 16, 3, 3}, Layout::kChannelsLast));
    QuantizedConvAttributes attributes;
    attributes.conv.group = group;
    return op.Check(attributes);
  };
  CHECK(check(1, true).ok());
  CHECK(check(16, true).code() == StatusCode::kUnsupported);
  CHECK(check(1, false).code() == StatusCode::kUnsupported);
}

TEST_CASE("Fast quantized conv: a kernel that reads more than the stack holds is refused") {
  Generator random(10);
  OpFixture op(FindKernel(kVectorConv));
  op.AddInput(RandomBytes(DType::kI8, {1, 4096, 4, 4}, Layout::kChannelsLast, random));
  op.AddInput(RandomBytes(DType::kI8, {1, 4096, 4, 4}, Layout::kRowMajor, random), true);
  op.AddAbsentInput();
  op.AddInput(Tensor::From(DType::kF32, {1}, std::vector<float>{0.01F}), true);
  op.AddOutput(Tensor(DType::kI8, {1, 1, 1, 1}, Layout::kChannelsLast));
  CHECK(op.Check(QuantizedConvAttributes{}).code() == StatusCode::kUnsupported);
}

}  // namespace tenon::cpu::testing
