// Winograd's quantized convolution against the portable one, on every instruction set: equal bits.
#include "backends/cpu/caps/q8_winograd_caps.hpp"
#include "tests/unit/backends/cpu/kernels/q8/conv_fixture.hpp"

namespace tenon::cpu::testing {
namespace {

constexpr const char* kVectorWinograd = "cpu.quantized_conv.vector_winograd";

/// Enough outputs for the transforms to pay, whatever the channels.
ConvShapes Case(int32_t inputs, int32_t outputs, int32_t height, int32_t width, Generator& random) {
  ConvShapes c;
  c.w = {outputs, inputs, 3, 3};
  c.x = {1, inputs, height, width};
  for (int32_t& pad : c.conv.pads) pad = Pick(random, 0, 2);
  return c;
}

GemmOptions OptionsOfBytes(Generator& random) {
  GemmOptions options = RandomGemmOptions(random);
  if (options.to == DType::kI32 || options.to == DType::kF32) options.to = DType::kI8;
  return options;
}

void CheckEqual(const ConvShapes& c, const Tensor& w, const GemmOptions& options,
                Generator& random) {
  CheckConvEqual(kVectorWinograd, c, w, options, random);
}

void CheckRandom(const ConvShapes& c, const GemmOptions& options, Generator& random) {
  CheckEqual(c, RandomBytes(options.w_dtype, c.w, Layout::kRowMajor, random), options, random);
}

}  // namespace

TEST_CASE("Quantized Winograd: the portable kernel's bits on random shapes and roundings") {
  ForEachQuantizedSet([] {
    Generator random(1);
    for (int i = 0; i < 60; ++i) {
      ConvShapes c = Case(Pick(random, 16, 50), Pick(random, 8, 90), Pick(random, 14, 25),
                          Pick(random, 14, 25), random);
      c.x[0] = Pick(random, 1, 2);
      CheckRandom(c, OptionsOfBytes(random), random);
    }
  });
}

TEST_CASE("Quantized Winograd: any number of channels") {
  ForEachQuantizedSet([] {
    Generator random(2);
    for (int32_t channels = 8; channels <= 67; ++channels) {
      for (const bool of_input : {false, true}) {
        const int32_t other = Pick(random, 8, 40);
        ConvShapes c =
            Case(of_input ? channels : other, of_input ? other : channels, 24, 24, random);
        for (int32_t& pad : c.conv.pads) pad = 1;
        CheckRandom(c, OptionsOfBytes(random), random);
      }
    }
  });
}

TEST_CASE("Quantized Winograd: factors, shifts and bias of any bits") {
  ForEachQuantizedSet([] {
    Generator random(3);
    for (int i = 0; i < 30; ++i) {
      GemmOptions options = OptionsOfBytes(random);
      options.bias = true;
      options.hostile = i % 2 == 0;
      options.huge_bias = i % 2 != 0;
      CheckRandom(Case(Pick(random, 16, 24), Pick(random, 8, 40), 14, 14, random), options, random);
    }
  });
}

TEST_CASE("Quantized Winograd: sums larger than one transform brings back") {
  ForEachQuantizedSet([] {
    Generator random(4);
    // All weights are extreme, of one sign or of both, and so are inputs of either end.
    for (const int32_t channels : {113, 114, 115, 229, 300, 517}) {
      for (const int byte : {0x7F, 0x80}) {
        GemmOptions options;
        options.rounding = channels % 2 == 0 ? Rounding::kHalfEven : Rounding::kFixedPoint;
        const ConvShapes c = Case(channels, 9, 12, 12, random);
        Tensor w(DType::kI8, c.w, Layout::kRowMajor);
        std::vector<uint8_t> values(w.count(), static_cast<uint8_t>(byte));
        w.Set(values);
        CheckEqual(c, w, options, random);
      }
    }
    GemmOptions options;
    options.w_dtype = DType::kU8;
    options.w_zero_point = true;
    for (const int32_t channels : {57, 58, 130}) {
      CheckRandom(Case(channels, 20, 12, 12, random), options, random);
    }
  });
}

/// A tensor of one byte.
Tensor Filled(DType dtype, const std::vector<int32_t>& dims, Layout layout, int byte) {
  Tensor tensor(dtype, dims, layout);
  tensor.Set(std::vector<uint8_t>(tensor.count(), static_cast<uint8_t>(byte)));
  return tensor;
}

TEST_CASE(
    "Quantized Winograd: the sums of every output are small enough, wherever its weights are") {
  ForEachQuantizedSet([] {
    Generator random(7);
    const ConvShapes c = Case(600, 9, 12, 12, random);
    // Two outputs have large weights where three parts of the channels would have others' ends.
    std::vector<uint8_t> values(static_cast<size_t>(9) * 600 * 9, 0);
    const auto fill = [&](size_t output, size_t begin, size_t end) {
      for (size_t k = begin * 9; k < end * 9; ++k) values[output * 600 * 9 + k] = 0x7F;
    };
    fill(0, 200, 400);
    fill(1, 100, 300);
    Tensor w(DType::kI8, c.w, Layout::kRowMajor);
    w.Set(values);
    for (const int byte : {0x7F, 0x80}) {
      for (int i = 0; i < 8; ++i) {
        GemmOptions options;
        options.x_zero_point = i % 2 != 0;
        options.rounding = i % 4 < 2 ? Rounding::kHalfEven : Rounding::kFixedPoint;
        const Tensor x = Filled(DType::kI8, c.x, Layout::kChannelsLast, byte);
        CheckConvEqual(kVectorWinograd, c, x, w, options, random);
      }
    }
  });
}

TEST_CASE("Quantized Winograd: sums as large as a part may have") {
  ForEachQuantizedSet([] {
    Generator random(8);
    // 115 channels of nine weights of 127 are 131,445 together; 131,586 may be.
    for (const int32_t channels : {114, 115, 116, 130, 149}) {
      for (const int weight : {0x7F, 0x80}) {
        GemmOptions options;
        options.x_dtype = DType::kU8;
        const ConvShapes c = Case(channels, 9, 12, 12, random);
        const Tensor w = Filled(DType::kI8, c.w, Layout::kRowMajor, weight);
        CheckConvEqual(kVectorWinograd, c, Filled(DType::kU8, c.x, Layout::kChannelsLast, 255), w,
                       options, random);
      }
    }
  });
}

TEST_CASE("Quantized Winograd: more threads than the workspace has room for") {
  ForEachQuantizedSet([] {
    Generator random(9);
    for (const int room : {1, 2}) {
      GemmOptions options;
      options.threads = 3;
      options.workspace_threads = room;
      CheckRandom(Case(64, 70, 30, 33, random), options, random);
    }
  });
}

TEST_CASE("Quantized Winograd: more work than one thread takes gives the same bits on several") {
  ForEachQuantizedSet([] {
    Generator random(5);
    for (const int threads : {1, 2, 3}) {
      GemmOptions options;
      options.threads = threads;
      CheckRandom(Case(64, 70, 30, 33, random), options, random);
    }
  });
}

TEST_CASE("Quantized Winograd: refuses other windows, other outputs, and what would not pay") {
  Generator random(6);
  const auto check = [&](const ConvShapes& c, DType to) {
    GemmOptions options;
    options.to = to;
    GemmPair pair(kVectorWinograd, kPortableConv);
    pair.AddInputs(RandomBytes(options.x_dtype, c.x, Layout::kChannelsLast, random),
                   RandomBytes(options.w_dtype, c.w, Layout::kRowMajor, random), c.w[0], c.x[1],
                   c.w[1] * 9, options, random);
    pair.AddOutput(to, OutputDims(c), Layout::kChannelsLast);
    QuantizedConvAttributes attributes;
    attributes.conv = c.conv;
    attributes.output = MakeOutput(options, random);
    return pair.Check(attributes);
  };
  const ConvShapes fit = Case(16, 16, 12, 12, random);
  CHECK(check(fit, DType::kI8).ok());
  CHECK_FALSE(check(fit, DType::kI32).ok());
  ConvShapes other = fit;
  other.conv.strides[1] = 2;
  CHECK_FALSE(check(other, DType::kI8).ok());
  other = fit;
  other.w[3] = 5;
  CHECK_FALSE(check(other, DType::kI8).ok());
  CHECK_FALSE(check(Case(4, 16, 12, 12, random), DType::kI8).ok());
  other = Case(512, 512, 3, 3, random);
  for (int32_t& pad : other.conv.pads) pad = 1;
  CHECK_FALSE(check(other, DType::kI8).ok());
}

}  // namespace tenon::cpu::testing
