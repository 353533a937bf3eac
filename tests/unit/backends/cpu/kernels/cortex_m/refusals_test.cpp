// What the Cortex-M kernels refuse: they read operands as runs without gaps, which a plan may say
// that they are not.
#include "tests/unit/backends/cpu/kernels/cortex_m/conv_cases.hpp"

namespace tenon::cpu::testing {
namespace {

enum { kBias = 2, kFactor = 3, kShift = 4, kFoldedBias = 7 };

/// Strides of a tensor as it should be, and of one input as it is to be refused.
struct Changed {
  int input = -1;
  std::vector<int32_t> strides;
};

/// The check of a 3x3 convolution of 8 channels, whose operands are as the kernel wants them but
/// for one.
Status CheckConvWith(const KernelEntry& kernel, bool depthwise, const Changed& changed) {
  const KernelCaps& caps = CapsOfKernel(kernel);
  Generator random(1);
  const ConvCase c = SquareCase(8, 8, 6, 6, 3, 1, 1, depthwise ? 8 : 1);
  const Layout order = caps.weights == WeightsOrder::kOutputsLast  ? Layout::kOutputsLast
                       : caps.weights == WeightsOrder::kInputsLast ? Layout::kChannelsLast
                                                                   : Layout::kRowMajor;
  const std::vector<int32_t> vector = {8};
  struct Operand {
    DType dtype;
    const std::vector<int32_t>& dims;
    std::vector<int32_t> strides;
  };
  const Operand operands[] = {{DType::kI8, c.x, StridesFor(c.x, Layout::kChannelsLast)},
                              {DType::kI8, c.w, StridesFor(c.w, order)},
                              {DType::kI32, vector, {1}},
                              {DType::kI32, vector, {1}},
                              {DType::kI8, vector, {1}},
                              {DType::kI8, {1}, {1}},
                              {DType::kI8, {1}, {1}},
                              {DType::kI32, vector, {1}}};
  OpFixture op(kernel);
  for (int i = 0; i <= kFoldedBias; ++i) {
    const Operand& operand = operands[i];
    if (i == 6) {
      op.AddAbsentInput();
    } else {
      op.AddInput(Tensor(operand.dtype, operand.dims,
                         changed.input == i ? changed.strides : operand.strides),
                  i > 0);
    }
  }
  const std::vector<int32_t> y = OutputDims(c);
  op.AddOutput(Tensor(DType::kI8, y,
                      changed.input < 0 && !changed.strides.empty()
                          ? changed.strides
                          : StridesFor(y, Layout::kChannelsLast)));
  op.set_workspace_bytes(size_t{32} << 10);
  QuantizedConvAttributes attributes;
  attributes.conv = c.conv;
  GemmOptions options;
  attributes.output = MakeOutput(options, random);
  return op.Check(attributes);
}

void CheckRefusals(const char* suffix, bool depthwise) {
  ForEachSet("quantized_conv", suffix, [&](const KernelEntry& kernel) {
    REQUIRE(CheckConvWith(kernel, depthwise, {}).ok());
    for (const int input : {kBias, kFactor, kShift, kFoldedBias}) {
      for (const int32_t stride : {0, 2}) {
        CAPTURE(input);
        CAPTURE(stride);
        CHECK(!CheckConvWith(kernel, depthwise, {input, {stride}}).ok());
      }
    }
    const std::vector<int32_t> image = {1, 8, 6, 6};
    const std::vector<int32_t> planes = StridesFor(image, Layout::kRowMajor);
    CHECK(!CheckConvWith(kernel, depthwise, {0, planes}).ok());
    CHECK(!CheckConvWith(kernel, depthwise, {-1, planes}).ok());
  });
}

/// The check of a depthwise convolution with such operands.
Status CheckDepthwise(const KernelEntry& kernel, int32_t channels, int32_t side, DType x_dtype,
                      DType w_dtype, bool has_zero_point) {
  const std::vector<int32_t> image = {1, channels, 6, 6};
  const std::vector<int32_t> window = {channels, 1, side, side};
  OpFixture op(kernel);
  op.AddInput(Tensor(x_dtype, image, StridesFor(image, Layout::kChannelsLast)));
  op.AddInput(Tensor(w_dtype, window, StridesFor(window, Layout::kOutputsLast)), kConstant);
  op.AddAbsentInput();
  op.AddInput(Tensor(DType::kI32, {1}, {1}), kConstant);
  op.AddInput(Tensor(DType::kI8, {1}, {1}), kConstant);
  op.AddAbsentInput();
  if (has_zero_point) op.AddInput(Tensor(w_dtype, {1}, {1}), kConstant);
  op.AddOutput(Tensor(x_dtype, image, StridesFor(image, Layout::kChannelsLast)));
  op.set_workspace_bytes(size_t{32} << 10);
  QuantizedConvAttributes attributes;
  attributes.conv.group = channels;
  for (int32_t& pad : attributes.conv.pads) pad = side / 2;
  GemmOptions options;
  options.to = x_dtype;
  Generator random(1);
  attributes.output = MakeOutput(options, random);
  return op.Check(attributes);
}

/// The check of a kernel of two operands and one output of these strides.
template <typename Attributes>
Status CheckStrides(const KernelEntry& kernel, const std::vector<std::vector<int32_t>>& strides,
                    const Attributes& attributes, DType second = DType::kI8) {
  const std::vector<int32_t> dims = {1, 4, 6, 5};
  OpFixture op(kernel);
  for (size_t i = 0; i < 2; ++i) {
    const bool is_table = i == 1 && second == DType::kU8;
    const DType dtype = DType::kI8;
    op.AddInput(is_table ? Tensor(dtype, {256}, strides[i]) : Tensor(dtype, dims, strides[i]),
                is_table);
  }
  op.AddOutput(Tensor(DType::kI8, dims, strides[2]));
  op.set_workspace_bytes(size_t{4} << 10);
  return op.Check(attributes);
}

const std::vector<int32_t> kRows = StridesFor({1, 4, 6, 5}, Layout::kRowMajor);
const std::vector<int32_t> kPixels = StridesFor({1, 4, 6, 5}, Layout::kChannelsLast);
const std::vector<int32_t> kGaps = StridesFor({1, 4, 6, 5}, Layout::kChannelsLastGaps);
const std::vector<int32_t> kOneElement = {0, 0, 0, 0};

}  // namespace

TEST_CASE("Cortex-M conv: vectors with gaps or of one element, and planes, are refused") {
  CheckRefusals("", /*depthwise=*/false);
}

TEST_CASE("Cortex-M depthwise: so they are") { CheckRefusals("_depthwise", /*depthwise=*/true); }

TEST_CASE("DSP depthwise: windows that are not 3x3 are of i8 without zero points, in whole words") {
  if (DspKernels().size() == 0) return;
  const DType i8 = DType::kI8;
  const DType u8 = DType::kU8;
  const KernelEntry* planes = FindInSet(DspKernels(), "quantized_conv", "_depthwise");
  REQUIRE(planes != nullptr);
  CHECK(CheckDepthwise(*planes, 3, 3, u8, u8, true).ok());
  CHECK(!CheckDepthwise(*planes, 4, 5, i8, i8, false).ok());
  for (const char* suffix : {"_depthwise_windows", "_depthwise_in_place"}) {
    CAPTURE(suffix);
    const KernelEntry* kernel = FindInSet(DspKernels(), "quantized_conv", suffix);
    REQUIRE(kernel != nullptr);
    CHECK(CheckDepthwise(*kernel, 4, 5, i8, i8, false).ok());
    CHECK(!CheckDepthwise(*kernel, 3, 5, i8, i8, false).ok());
    CHECK(!CheckDepthwise(*kernel, 4, 5, u8, i8, false).ok());
    CHECK(!CheckDepthwise(*kernel, 4, 5, i8, u8, false).ok());
    CHECK(!CheckDepthwise(*kernel, 4, 5, i8, i8, true).ok());
    const bool takes_planes = std::strcmp(suffix, "_depthwise_in_place") == 0;
    CHECK(CheckDepthwise(*kernel, 3, 3, u8, u8, true).ok() == takes_planes);
  }
}

TEST_CASE("Cortex-M sum: operands that lie in different ways, or with gaps, are refused") {
  ForEachSetThatHas("quantized_binary", "", [](const KernelEntry& kernel) {
    QuantizedBinaryAttributes attributes;
    GemmOptions options;
    Generator random(1);
    attributes.output = MakeOutput(options, random);
    const auto check = [&](const std::vector<int32_t>& x, const std::vector<int32_t>& y,
                           const std::vector<int32_t>& z) {
      return CheckStrides(kernel, {x, y, z}, attributes).ok();
    };
    CHECK(check(kRows, kRows, kRows));
    CHECK(check(kPixels, kPixels, kPixels));
    CHECK(!check(kRows, kPixels, kPixels));
    CHECK(!check(kPixels, kRows, kPixels));
    CHECK(!check(kPixels, kPixels, kRows));
    CHECK(!check(kPixels, kOneElement, kPixels));
    CHECK(!check(kOneElement, kPixels, kPixels));
    CHECK(!check(kGaps, kGaps, kGaps));
  });
}

TEST_CASE("Cortex-M lookup: tables and tensors that are read as runs must be runs") {
  ForEachSetThatHas("lookup", "", [](const KernelEntry& kernel) {
    const int32_t no_attributes = 0;
    const auto check = [&](const std::vector<int32_t>& x, int32_t table,
                           const std::vector<int32_t>& y) {
      return CheckStrides(kernel, {x, {table}, y}, no_attributes, DType::kU8).ok();
    };
    CHECK(check(kPixels, 1, kPixels));
    CHECK(!check(kPixels, 0, kPixels));
    CHECK(!check(kPixels, 2, kPixels));
    CHECK(!check(kRows, 1, kPixels));
    CHECK(!check(kOneElement, 1, kPixels));
    CHECK(!check(kGaps, 1, kGaps));
  });
}

namespace {

/// Whether a pool of windows of `side` x `side` passes the check, with x and y of these strides.
bool TakesPool(const KernelEntry& kernel, bool is_max, const std::vector<int32_t>& x,
               const std::vector<int32_t>& y, int32_t side = 1) {
  OpFixture op(kernel);
  op.AddInput(Tensor(DType::kI8, {1, 4, 6, 5}, x));
  op.AddOutput(Tensor(DType::kI8, {1, 4, 6, 5}, y));
  PoolAttributes pool;
  for (int i = 0; i < 2; ++i) {
    pool.kernel[i] = side;
    pool.pads[i] = side / 2;  // so that y is as large as x
    pool.pads[2 + i] = side - 1 - side / 2;
  }
  QuantizedAveragePoolAttributes average;
  average.pool = pool;
  average.scale.scale = 1.0F;
  GemmOptions options;
  options.rounding = Rounding::kHalfEven;
  Generator random(1);
  average.output = MakeOutput(options, random);
  return is_max ? op.Check(pool).ok() : op.Check(average).ok();
}

void ForEachPool(const std::function<void(const KernelEntry& kernel, bool is_max)>& visit) {
  for (const char* op_name : {"max_pool", "quantized_average_pool"}) {
    ForEachSetThatHas(op_name, "", [&](const KernelEntry& kernel) {
      visit(kernel, std::strcmp(op_name, "max_pool") == 0);
    });
  }
}

}  // namespace

TEST_CASE("Cortex-M pools: channels that are no neighbours are refused") {
  ForEachPool([](const KernelEntry& kernel, bool is_max) {
    CHECK(TakesPool(kernel, is_max, kPixels, kGaps));
    CHECK(!TakesPool(kernel, is_max, kRows, kPixels));
    CHECK(!TakesPool(kernel, is_max, kPixels, kRows));
    CHECK(!TakesPool(kernel, is_max, kOneElement, kPixels));
  });
}

TEST_CASE("Cortex-M pools: windows of more taps than are counted in 32 bits are refused") {
  ForEachPool([](const KernelEntry& kernel, bool is_max) {
    CHECK(TakesPool(kernel, is_max, kPixels, kPixels, (1 << 15) - 1));
    CHECK(!TakesPool(kernel, is_max, kPixels, kPixels, 1 << 15));
  });
}

}  // namespace tenon::cpu::testing
