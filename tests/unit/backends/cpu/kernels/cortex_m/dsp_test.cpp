// What only the DSP kernels take of bytes, against the portable kernels: equal bits.
#include <utility>

#include "tests/unit/backends/cpu/kernels/cortex_m/conv_cases.hpp"

namespace tenon::cpu::testing {
namespace {

const KernelEntry* DspKernel(const char* id) {
  for (const KernelEntry& kernel : DspKernels()) {
    if (std::strcmp(kernel.id, id) == 0) return &kernel;
  }
  return nullptr;  // on a processor with a better set
}

/// The check of a kernel, with workspace for some windows, of 2x2 windows over one pixel: their
/// taps lie `dilations` apart, in padding all but the last.
Status CheckOfFarTaps(const KernelEntry& kernel, bool depthwise, const int32_t (&dilations)[2]) {
  constexpr int32_t kChannels = 32;
  Generator random(9);
  KernelPair pair(kernel, "cpu.quantized_conv.portable");
  const std::vector<int32_t> x = {1, kChannels, 1, 1};
  const std::vector<int32_t> w = {kChannels, depthwise ? 1 : kChannels, 2, 2};
  pair.AddInput(RandomBytes(DType::kI8, x, StridesFor(x, Layout::kChannelsLast), random));
  const Layout order = depthwise ? Layout::kOutputsLast : Layout::kChannelsLast;
  pair.AddInput(RandomBytes(DType::kI8, w, StridesFor(w, order), random), kConstant);
  const GemmOptions options;
  pair.AddParameters(kChannels, 4, options, random);
  pair.AddOutput(DType::kI8, x, StridesFor(x, Layout::kChannelsLast));
  pair.set_workspace_bytes(size_t{8} << 10);
  QuantizedConvAttributes attributes;
  attributes.conv.group = depthwise ? kChannels : 1;
  for (size_t i = 0; i < 2; ++i) {
    attributes.conv.dilations[i] = attributes.conv.pads[i] = dilations[i];
  }
  attributes.output = MakeOutput(options, random);
  return pair.Check(attributes);
}

DType PickByte(Generator& random) { return Pick(random, 0, 1) == 0 ? DType::kI8 : DType::kU8; }

/// Weights of u8 or i8 with zero points of their own, on inputs of u8 or i8.
void CheckConv(const char* id, bool depthwise, Generator& random) {
  const KernelEntry* kernel = DspKernel(id);
  if (kernel == nullptr) return;
  const int32_t channels = Pick(random, 1, 20);
  const int32_t outputs = depthwise ? channels : Pick(random, 1, 9);
  const int32_t side = depthwise ? 3 : Pick(random, 1, 4);
  const DType x_dtype = PickByte(random);
  const DType w_dtype = PickByte(random);
  GemmOptions options = RandomOptions(random);
  options.x = x_dtype;
  KernelPair pair(*kernel, "cpu.quantized_conv.portable");
  // Outputs as wide as the first layers of a small network, and their last ones.
  const int32_t width = Pick(random, 0, 1) == 0 ? 8 : Pick(random, 1, 33);
  const std::vector<int32_t> x = {1, channels, side + 5, side + width - 1};
  const std::vector<int32_t> w = {outputs, depthwise ? 1 : channels, side, side};
  pair.AddInput(RandomBytes(x_dtype, x, StridesFor(x, Layout::kChannelsLast), random));
  const Layout order = depthwise ? Layout::kOutputsLast : Layout::kChannelsLast;
  pair.AddInput(RandomBytes(w_dtype, w, StridesFor(w, order), random), kConstant);
  pair.AddParameters(outputs, w[1] * side * side, options, random);
  pair.AddInput(RandomBytes(w_dtype, {Pick(random, 0, 1) == 0 ? 1 : outputs}, {1}, random),
                kConstant);
  const std::vector<int32_t> y = {1, outputs, 6, width};
  const std::vector<int32_t> y_strides = StridesFor(y, Layout::kChannelsLast);
  pair.AddOutput(options.to, y, y_strides);
  QuantizedConvAttributes attributes;
  attributes.conv.group = depthwise ? channels : 1;
  attributes.output = MakeOutput(options, random);
  pair.UseSomeWorkspace(CapsOfKernel(*kernel), attributes, Tensor(options.to, y, y_strides),
                        random);
  pair.CheckEqual(attributes);
}

/// A pointwise convolution of few pixels, whose four outputs at a time go over all of them where
/// the workspace is little: with no more than the kernel says that it needs, or with all that it
/// wants. `over_input`: as many outputs as channels, and strides of 1.
void CheckFewPixels(const KernelEntry& kernel, bool over_input, int i, Generator& random) {
  const int32_t channels = 4 * Pick(random, 1, 20);
  const int32_t outputs = over_input ? channels : 4 * Pick(random, 1, 9) + (i % 8 == 0 ? 1 : 0);
  const int32_t stride = over_input ? 1 : Pick(random, 1, 2);
  ConvCase c = SquareCase(channels, outputs, Pick(random, 1, 5), Pick(random, 1, 7), 1, stride, 0);
  c.x[0] = Pick(random, 1, 2);
  CAPTURE(channels);
  CAPTURE(outputs);
  GemmOptions options;
  options.bias = i % 5 != 0;
  options.zero_point = i % 7 != 0;
  options.per_channel = i % 3 != 0;
  if (Pick(random, 0, 2) == 0) options.rounding = Rounding::kHalfEven;
  const auto layout = [&] {
    return Pick(random, 0, 1) == 0 ? Layout::kChannelsLast : Layout::kChannelsLastGaps;
  };
  const std::vector<int32_t> y = OutputDims(c);
  const std::vector<int32_t> y_strides = StridesFor(y, layout());
  KernelPair pair(kernel, "cpu.quantized_conv.portable");
  const std::vector<int32_t> x_strides = over_input ? y_strides : StridesFor(c.x, layout());
  pair.AddInput(RandomBytes(DType::kI8, c.x, x_strides, random));
  pair.AddInput(RandomBytes(DType::kI8, c.w, StridesFor(c.w, Layout::kChannelsLast), random),
                kConstant);
  pair.AddParameters(outputs, channels, options, random);
  pair.AddOutput(DType::kI8, y, y_strides);
  QuantizedConvAttributes attributes;
  attributes.conv = c.conv;
  attributes.output = MakeOutput(options, random);
  attributes.output.min = -128;
  attributes.output.max = 127;
  if (i % 2 == 0) attributes.output.zero_point = -128;  // a rectifier
  pair.UseSomeWorkspace(CapsOfKernel(kernel), attributes, Tensor(DType::kI8, y, y_strides), random);
  pair.CheckEqual(attributes);
}

/// Adds the operands of a convolution of i8 to i8, of all of whose range; returns its attributes
/// and the output. `rectifies`: by the zero point.
std::pair<QuantizedConvAttributes, Tensor> AddSignedConv(KernelPair& pair, const ConvCase& c,
                                                         const GemmOptions& options, Layout x,
                                                         Layout y, bool rectifies,
                                                         Generator& random) {
  pair.AddInput(RandomBytes(DType::kI8, c.x, StridesFor(c.x, x), random));
  pair.AddInput(RandomBytes(DType::kI8, c.w, StridesFor(c.w, Layout::kChannelsLast), random),
                kConstant);
  pair.AddParameters(c.w[0], c.w[1] * c.w[2] * c.w[3], options, random);
  const std::vector<int32_t> dims = OutputDims(c);
  const std::vector<int32_t> strides = StridesFor(dims, y);
  pair.AddOutput(DType::kI8, dims, strides);
  QuantizedConvAttributes attributes;
  attributes.conv = c.conv;
  attributes.output = MakeOutput(options, random);
  attributes.output.min = -128;
  attributes.output.max = 127;
  if (rectifies) attributes.output.zero_point = -128;
  return {attributes, Tensor(DType::kI8, dims, strides)};
}

/// Windows of three rows over two rows of outputs and more, at borders and inside. `over_input`: an
/// output of the size of x, of an even number of rows.
void CheckWinograd(const KernelEntry& kernel, bool over_input, int i, Generator& random) {
  const int32_t channels = 8 * Pick(random, 1, 9);
  const int32_t outputs = over_input ? channels : 2 * Pick(random, 1, 9);
  const int32_t rows = over_input ? 2 * Pick(random, 1, 9) : Pick(random, 2, 12);
  ConvCase c = SquareCase(channels, outputs, rows, Pick(random, 3, 40), 3, 1,
                          over_input ? 1 : Pick(random, 1, 2));
  c.w[3] = i % 4 == 0 && !over_input && c.x[3] > 3 ? Pick(random, 3, 5) : 3;
  c.x[0] = Pick(random, 1, 2);
  CAPTURE(c.x[1]);
  CAPTURE(c.x[2]);
  CAPTURE(c.x[3]);
  CAPTURE(c.w[3]);
  CAPTURE(outputs);
  GemmOptions options = RandomOptions(random);
  options.to = DType::kI8;
  options.hostile = i % 8 == 0;
  const auto layout = [&] {
    return Pick(random, 0, 1) == 0 ? Layout::kChannelsLast : Layout::kChannelsLastGaps;
  };
  KernelPair pair(kernel, "cpu.quantized_conv.portable");
  const Layout of_x = layout();
  const auto [attributes, output] =
      AddSignedConv(pair, c, options, of_x, over_input ? of_x : layout(), i % 3 == 0, random);
  REQUIRE(!pair.IsRefused(CapsOfKernel(kernel), attributes, output));
  pair.UseSomeWorkspace(CapsOfKernel(kernel), attributes, output, random);
  pair.CheckEqual(attributes);
}

/// Windows of few channels over few pixels, at borders and inside.
void CheckFirst(const KernelEntry& kernel, int i, Generator& random) {
  const int32_t channels = Pick(random, 1, 3);
  const int32_t outputs = 4 * Pick(random, 1, 4);
  ConvCase c = SquareCase(channels, outputs, 0, 0, 3, Pick(random, 1, 2), Pick(random, 0, 2));
  c.w[2] = Pick(random, 1, 10);
  c.w[3] = Pick(random, (3 + channels) / channels, 10);
  c.x = {Pick(random, 1, 2), channels, c.w[2] + Pick(random, 0, 6), c.w[3] + Pick(random, 0, 3)};
  CAPTURE(channels);
  CAPTURE(c.w[2]);
  CAPTURE(c.w[3]);
  GemmOptions options = RandomOptions(random);
  options.to = DType::kI8;
  options.hostile = i % 8 == 0;
  KernelPair pair(kernel, "cpu.quantized_conv.portable");
  const Layout layout = i % 5 == 0 ? Layout::kChannelsLastGaps : Layout::kChannelsLast;
  const auto [attributes, output] =
      AddSignedConv(pair, c, options, layout, layout, i % 3 == 0, random);
  const std::vector<int32_t> y = OutputDims(c);
  const bool is_few = y[0] * y[2] * y[3] <= 48;
  REQUIRE(pair.IsRefused(CapsOfKernel(kernel), attributes, output) == !is_few);
  if (!is_few) return;
  pair.UseSomeWorkspace(CapsOfKernel(kernel), attributes, output, random);
  pair.CheckEqual(attributes);
}

/// Checks `count` random convolutions, and as many that write over their input.
void CheckWinograds(int count, unsigned seed) {
  for (const bool over_input : {false, true}) {
    CAPTURE(over_input);
    const KernelEntry* kernel = DspKernel(over_input ? "cpu.quantized_conv.dsp_winograd_in_place"
                                                     : "cpu.quantized_conv.dsp_winograd");
    if (kernel == nullptr) return;
    Generator random(seed);
    for (int i = 0; i < count; ++i) CheckWinograd(*kernel, over_input, i, random);
  }
}

}  // namespace

TEST_CASE("DSP conv: windows of few channels over few pixels, where they lie") {
  const KernelEntry* kernel = DspKernel("cpu.quantized_conv.dsp_first");
  if (kernel == nullptr) return;
  Generator random(13);
  for (int i = 0; i < 250; ++i) CheckFirst(*kernel, i, random);
}

TEST_CASE("DSP conv: 1x1 of few pixels and four outputs at a time, in any workspace") {
  for (const char* id : {"cpu.quantized_conv.dsp", "cpu.quantized_conv.dsp_in_place"}) {
    CAPTURE(id);
    const KernelEntry* kernel = DspKernel(id);
    if (kernel == nullptr) return;
    Generator random(11);
    const bool over_input = std::strcmp(id, "cpu.quantized_conv.dsp") != 0;
    for (int i = 0; i < 200; ++i) CheckFewPixels(*kernel, over_input, i, random);
  }
}

TEST_CASE("DSP conv: three rows of taps by Winograd's products, in any workspace") {
  CheckWinograds(/*count=*/30, /*seed=*/12);
}

TEST_CASE("DSP conv: three rows of taps by Winograd's products, hundreds of them") {
  CheckWinograds(/*count=*/200, /*seed=*/14);
}

TEST_CASE("DSP conv: inputs and weights of u8, and weights with zero points, in any workspace") {
  Generator random(1);
  for (int i = 0; i < 120; ++i) CheckConv("cpu.quantized_conv.dsp", false, random);
}

TEST_CASE(
    "DSP depthwise: inputs and weights of u8, and weights with zero points, in any workspace") {
  Generator random(2);
  for (int i = 0; i < 120; ++i) CheckConv("cpu.quantized_conv.dsp_depthwise", true, random);
}

TEST_CASE("DSP conv: windows that reach over more bytes than 32 bits count are refused") {
  for (const char* suffix : {"", "_depthwise_windows", "_in_place", "_depthwise_in_place"}) {
    const std::string id = std::string("cpu.quantized_conv.dsp") + suffix;
    CAPTURE(id);
    const KernelEntry* kernel = DspKernel(id.c_str());
    if (kernel == nullptr) return;
    const bool depthwise = id.find("depthwise") != std::string::npos;
    CHECK(CheckOfFarTaps(*kernel, depthwise, {1, 1}).ok());
    // What 2^32 and 2^33 bytes are modulo 2^32 is little; and some that are far beyond.
    CHECK(!CheckOfFarTaps(*kernel, depthwise, {(1 << 13) - 1, (1 << 13) - 1}).ok());
    CHECK(!CheckOfFarTaps(*kernel, depthwise, {(1 << 15) - 1, (1 << 15) - 3}).ok());
    CHECK(!CheckOfFarTaps(*kernel, depthwise, {1 << 27, 1 << 27}).ok());
  }
}

TEST_CASE("DSP sum: rounded half to even, of operands of i8 and u8") {
  const KernelEntry* kernel = DspKernel("cpu.quantized_binary.dsp");
  if (kernel == nullptr) return;
  Generator random(3);
  for (int i = 0; i < 60; ++i) {
    KernelPair pair(*kernel, "cpu.quantized_binary.portable");
    const int32_t count = Pick(random, 0, 400);
    QuantizedBinaryAttributes attributes;
    int32_t* const zero_points[] = {&attributes.x_zero_point, &attributes.y_zero_point};
    for (int32_t* zero_point : zero_points) {
      const DType dtype = PickByte(random);
      pair.AddInput(RandomBytes(dtype, {count}, {1}, random));
      *zero_point = Pick(random, 0, 255) - (dtype == DType::kI8 ? 128 : 0);
    }
    GemmOptions options;
    options.to = PickByte(random);
    options.rounding = Rounding::kHalfEven;
    attributes.function = Pick(random, 0, 1) == 0 ? BinaryFunction::kAdd : BinaryFunction::kSub;
    for (QuantizedScale* scale :
         {&attributes.x_scale, &attributes.y_scale, &attributes.output_scale}) {
      scale->scale = static_cast<float>(Pick(random, 1, 4000)) * 0.001F;
    }
    if (i % 8 == 0) attributes.output_scale.scale = 1e-38F;  // infinite results
    attributes.output = MakeOutput(options, random);
    pair.AddOutput(options.to, {count}, {1});
    pair.set_workspace_bytes(i % 3 == 0 ? 0 : size_t{2} << 10);
    pair.CheckEqual(attributes);
  }
}

}  // namespace tenon::cpu::testing
