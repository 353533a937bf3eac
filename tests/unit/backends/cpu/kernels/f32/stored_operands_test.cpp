// Weights stored as f16 or i8, and inputs of bytes: every kernel that takes them gives exactly what
// it gives for the same values in f32.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "backends/cpu/kernels/portable/half.hpp"
#include "runtime/ops/attributes.hpp"
#include "tests/unit/backends/cpu/kernels/f32/f32_fixture.hpp"
#include "tests/unit/backends/cpu/kernels/paired_conv.hpp"

namespace tenon::cpu::testing {
namespace {

enum class Form { kF32, kF16, kI8 };

/// Weights in a form, and the f32 values that they stand for.
struct Weights {
  Tensor stored;
  Tensor plain;
  Tensor scale;  ///< of i8
};

/// `outputs_axis` is where each index has a scale of its own.
Weights MakeWeights(Form form, const std::vector<int32_t>& dims, size_t outputs_axis, Layout layout,
                    Generator& random) {
  const auto outputs = static_cast<size_t>(dims[outputs_axis]);
  size_t inner = 1;
  for (size_t i = outputs_axis + 1; i < dims.size(); ++i) inner *= static_cast<size_t>(dims[i]);
  const std::vector<float> scales = RandomValues(outputs, random, 0.001F, 0.01F);
  Weights weights = {Tensor(DType::kF32, dims, layout), Tensor(DType::kF32, dims, layout),
                     Tensor::From(DType::kF32, {dims[outputs_axis]}, scales)};
  std::vector<float> values = RandomValues(weights.plain.count(), random);
  if (form == Form::kF16) {
    std::vector<uint16_t> halves;
    for (float& value : values) {
      halves.push_back(portable::FloatToHalf(value));
      value = portable::HalfToFloat(halves.back());
    }
    weights.stored = Tensor::From(DType::kF16, dims, halves, layout);
  } else if (form == Form::kI8) {
    std::vector<int8_t> bytes;
    for (size_t i = 0; i < values.size(); ++i) {
      bytes.push_back(static_cast<int8_t>(Pick(random, -128, 127)));
      values[i] = static_cast<float>(bytes.back()) * scales[i / inner % outputs];
    }
    weights.stored = Tensor::From(DType::kI8, dims, bytes, layout);
  }
  weights.plain.Set(values);
  if (form == Form::kF32) weights.stored.Set(values);
  return weights;
}

/// An image of bytes, and the f32 values that it stands for.
struct StoredImage {
  Tensor bytes;
  Tensor plain;
  Tensor mean;
};

StoredImage MakeImage(const std::vector<int32_t>& dims, Layout layout, Generator& random) {
  const auto channels = static_cast<size_t>(dims[1]);
  const auto pixels = static_cast<size_t>(dims[2] * dims[3]);
  const std::vector<float> means = RandomValues(channels, random, 0.0F, 255.0F);
  StoredImage image = {Tensor(DType::kU8, dims, layout), Tensor(DType::kF32, dims, layout),
                       Tensor::From(DType::kF32, {dims[1]}, means)};
  std::vector<uint8_t> bytes;
  std::vector<float> values;
  for (size_t i = 0; i < image.bytes.count(); ++i) {
    bytes.push_back(static_cast<uint8_t>(Pick(random, 0, 255)));
    values.push_back(static_cast<float>(bytes.back()) - means[i / pixels % channels]);
  }
  image.bytes.Set(bytes);
  image.plain.Set(values);
  return image;
}

struct ConvRun {
  const char* kernel;
  ConvCase c;
  Form form = Form::kF32;
  bool bytes = false;
  Layout x = Layout::kChannelsLast;
  Layout w = Layout::kRowMajor;
};

std::vector<float> RunConv(const ConvRun& run, const Tensor& x, const Tensor* mean, const Tensor& w,
                           const Tensor* scale, const Tensor& bias) {
  OpFixture op(FindKernel(run.kernel));
  op.AddInput(x);
  op.AddInput(w, kConstant);
  op.AddInput(bias, kConstant);
  op.AddAbsentInput();
  if (scale != nullptr) op.AddInput(*scale, kConstant);
  if (scale == nullptr && mean != nullptr) op.AddAbsentInput();
  if (mean != nullptr) op.AddInput(*mean, kConstant);
  const Tensor y = op.AddOutput(Tensor(DType::kF32, OutputDims(run.c), Layout::kChannelsLast));
  op.set_workspace_bytes(1 << 22);
  const Status status = op.Run(run.c.attributes, 2);
  INFO(Words(status));
  REQUIRE(status.ok());
  return y.Values<float>();
}

/// Largest difference between stored operands and the same values in f32, relative to the largest
/// value.
double Difference(const ConvRun& run, Generator& random) {
  const StoredImage image = MakeImage(run.c.x, run.x, random);
  const Weights weights = MakeWeights(run.form, run.c.w, 0, run.w, random);
  const Tensor bias = Random({run.c.w[0]}, Layout::kRowMajor, random);
  const bool scaled = run.form == Form::kI8;
  const std::vector<float> expected =
      RunConv(run, image.plain, nullptr, weights.plain, nullptr, bias);
  const std::vector<float> actual =
      RunConv(run, run.bytes ? image.bytes : image.plain, run.bytes ? &image.mean : nullptr,
              weights.stored, scaled ? &weights.scale : nullptr, bias);
  return LargestRelativeError(actual, std::vector<double>(expected.begin(), expected.end()));
}

const ConvCase kPlainConv = {{2, 24, 9, 7}, {37, 24, 3, 3}, Conv(1, 2, 1), "3x3"};
const ConvCase kPointwiseConv = {{1, 64, 5, 5}, {32, 64, 1, 1}, Conv(1, 1, 0), "1x1"};
const ConvCase kGroupedConv = {{1, 32, 6, 6}, {48, 16, 3, 3}, Conv(2, 1, 1), "2 groups"};
const ConvCase kDepthwiseConv = {{1, 20, 9, 9}, {20, 1, 3, 3}, Conv(20, 1, 1), "depthwise"};
const ConvCase kWinogradConv = {{1, 16, 13, 12}, {24, 16, 3, 3}, Conv(1, 1, 1), "Winograd"};
const ConvCase kFirstConv = {{2, 3, 21, 19}, {16, 3, 5, 3}, Conv(1, 2, 2), "first"};
const ConvCase kNarrowConv = {{1, 24, 9, 7}, {3, 24, 3, 3}, Conv(1, 1, 1), "narrow"};
const ConvCase kPixelConv = {{1, 8, 30, 30}, {8, 4, 5, 5}, Conv(2, 1, 2), "pixels"};
const ConvCase kGreyConv = {{1, 1, 40, 33}, {8, 1, 3, 3}, Conv(1, 1, 1, 2), "grey"};

const ConvRun kWeightRuns[] = {
    {"cpu.conv.portable", kPlainConv},
    {"cpu.conv.portable", kPointwiseConv},
    {"cpu.conv.portable", kGroupedConv},
    {"cpu.conv.portable", kDepthwiseConv},
    {"cpu.conv.vector", kPlainConv},
    {"cpu.conv.vector", kPointwiseConv},
    {"cpu.conv.vector", kGroupedConv},
    {"cpu.conv.vector_depthwise", kDepthwiseConv},
    {"cpu.conv.vector_winograd", kWinogradConv},
    {"cpu.conv.vector_first", kFirstConv},
    {"cpu.conv.vector_narrow", kNarrowConv},
    {"cpu.conv.vector_pixels", kPixelConv},
};

TEST_CASE("Stored weights: convolutions give what they give for the same weights in f32") {
  Generator random(31);
  ForEachInstructionSet([&] {
    for (ConvRun run : kWeightRuns) {
      for (const Form form : {Form::kF16, Form::kI8}) {
        for (const Layout layout : {Layout::kRowMajor, Layout::kOutputsLast}) {
          run.form = form;
          run.w = layout;
          CAPTURE(run.kernel);
          CAPTURE(run.c.name);
          CAPTURE(static_cast<int>(form));
          CHECK(Difference(run, random) == 0.0);
        }
      }
    }
  });
}

TEST_CASE("Inputs of bytes: first convolutions give what they give for the same values in f32") {
  Generator random(32);
  ForEachInstructionSet([&] {
    for (const char* kernel : {"cpu.conv.portable", "cpu.conv.vector_first"}) {
      for (const ConvCase& c : {kFirstConv, kGreyConv}) {
        for (const Layout layout : kAllLayouts) {
          for (const Form form : {Form::kF32, Form::kF16, Form::kI8}) {
            const ConvRun run = {kernel, c, form, /*bytes=*/true, layout};
            CAPTURE(kernel);
            CAPTURE(c.name);
            CAPTURE(static_cast<int>(layout));
            CHECK(Difference(run, random) == 0.0);
          }
        }
      }
    }
  });
}

TEST_CASE("Inputs of bytes: portable convolutions of groups, depthwise ones and 1x1 take them") {
  Generator random(33);
  for (const ConvCase& c : {kPlainConv, kPointwiseConv, kGroupedConv, kDepthwiseConv}) {
    for (const Layout layout : kAllLayouts) {
      const ConvRun run = {"cpu.conv.portable", c, Form::kF32, /*bytes=*/true, layout};
      CAPTURE(c.name);
      CHECK(Difference(run, random) == 0.0);
    }
  }
}

TEST_CASE("Inputs of bytes: padding counts as zero, not as the mean") {
  // One pixel of 100 less a mean of 20, weights of 1: every window holds it once.
  OpFixture op(FindKernel("cpu.conv.vector_first"));
  op.AddInput(Tensor::From<uint8_t>(DType::kU8, {1, 1, 1, 1}, {100}));
  op.AddInput(Tensor::From(DType::kF32, {1, 1, 3, 3}, std::vector<float>(9, 1.0F)), kConstant);
  op.AddAbsentInput();
  op.AddAbsentInput();
  op.AddAbsentInput();
  op.AddInput(Tensor::From<float>(DType::kF32, {1}, {20.0F}), kConstant);
  const Tensor y = op.AddOutput(Tensor(DType::kF32, {1, 1, 1, 1}));
  REQUIRE(op.Run(Conv(1, 1, 1)).ok());
  CHECK(y.Values<float>() == std::vector<float>{80.0F});
}

struct GemmRun {
  const char* kernel;
  std::vector<int32_t> a;
  std::vector<int32_t> b;
  Form form = Form::kF16;
  int32_t transpose_b = 0;
};

double Difference(const GemmRun& run, Generator& random) {
  const size_t columns = run.transpose_b != 0 ? 0 : run.b.size() - 1;
  const Tensor a = Random(run.a, Layout::kRowMajor, random);
  const Weights b = MakeWeights(run.form, run.b, columns, Layout::kRowMajor, random);
  const int32_t outputs = run.b[columns];
  const Tensor bias = Random({outputs}, Layout::kRowMajor, random);
  MatMulAttributes attributes;
  attributes.transpose_b = run.transpose_b;
  std::vector<int32_t> y_dims = run.a;
  y_dims.back() = outputs;
  const auto run_with = [&](const Tensor& weights, const Tensor* scale) {
    OpFixture op(FindKernel(run.kernel));
    op.AddInput(a);
    op.AddInput(weights, kConstant);
    op.AddInput(bias, kConstant);
    if (scale != nullptr) op.AddInput(*scale, kConstant);
    const Tensor y = op.AddOutput(Tensor(DType::kF32, y_dims));
    REQUIRE(op.Run(attributes).ok());
    return y.Values<float>();
  };
  const std::vector<float> expected = run_with(b.plain, nullptr);
  return LargestRelativeError(run_with(b.stored, run.form == Form::kI8 ? &b.scale : nullptr),
                              std::vector<double>(expected.begin(), expected.end()));
}

TEST_CASE("Stored weights: matrix products give what they give for the same weights in f32") {
  Generator random(34);
  ForEachInstructionSet([&] {
    for (const char* kernel : {"cpu.matmul.portable", "cpu.matmul.vector"}) {
      for (const Form form : {Form::kF16, Form::kI8}) {
        CAPTURE(kernel);
        CAPTURE(static_cast<int>(form));
        CHECK(Difference(GemmRun{kernel, {5, 70}, {70, 40}, form, 0}, random) == 0.0);
        CHECK(Difference(GemmRun{kernel, {1, 70}, {33, 70}, form, 1}, random) == 0.0);
        CHECK(Difference(GemmRun{kernel, {2, 3, 16}, {16, 64}, form, 0}, random) == 0.0);
      }
    }
  });
  CHECK(Difference(GemmRun{"cpu.matmul.portable", {2, 3, 16}, {2, 16, 9}, Form::kF16}, random) ==
        0.0);
}

TEST_CASE("Stored weights: a scale that is not constant is refused by kernels that pack it") {
  OpFixture op(FindKernel("cpu.conv.vector"));
  op.AddInput(Tensor(DType::kF32, {1, 16, 4, 4}, Layout::kChannelsLast));
  op.AddInput(Tensor(DType::kI8, {16, 16, 1, 1}), kConstant);
  op.AddAbsentInput();
  op.AddAbsentInput();
  op.AddInput(Tensor(DType::kF32, {16}));
  op.AddOutput(Tensor(DType::kF32, {1, 16, 4, 4}, Layout::kChannelsLast));
  const Status status = op.Check(ConvAttributes{});
  CHECK(status.code() == StatusCode::kUnsupported);
  CHECK(std::string(Words(status)) ==
        "vector kernels pack weights and bias when the plan is loaded: they must be constant");
}

/// The kernels of the CPU that run a 3x3 convolution of 3 channels of stored operands: "id id".
std::string KernelsFor(DType x, DType w) {
  std::string ids;
  for (const KernelCaps& caps : Kernels()) {
    if (caps.kind != OpKind::kConv) continue;
    OpFixture op(FindKernel(caps.id));
    op.AddInput(Tensor(x, {1, 3, 8, 8}, Layout::kChannelsLast));
    op.AddInput(Tensor(w, {16, 3, 3, 3}), kConstant);
    op.AddAbsentInput();
    op.AddAbsentInput();
    if (w == DType::kI8) {
      op.AddInput(Tensor(DType::kF32, {16}), kConstant);
    } else {
      op.AddAbsentInput();
    }
    if (x == DType::kU8) op.AddInput(Tensor(DType::kF32, {3}), kConstant);
    op.AddOutput(Tensor(DType::kF32, {1, 16, 6, 6}, Layout::kChannelsLast));
    op.set_workspace_bytes(1 << 20);
    if (op.Check(ConvAttributes{}).ok()) ids += std::string(ids.empty() ? "" : " ") + caps.id;
  }
  return ids;
}

TEST_CASE("Stored operands: kernels that do not read them refuse them") {
  const std::string stored_weights = "cpu.conv.vector_first cpu.conv.vector cpu.conv.portable";
  CHECK(KernelsFor(DType::kF32, DType::kF16) == stored_weights);
  CHECK(KernelsFor(DType::kF32, DType::kI8) == stored_weights);
  CHECK(KernelsFor(DType::kU8, DType::kF32) == "cpu.conv.vector_first cpu.conv.portable");
  CHECK(KernelsFor(DType::kU8, DType::kI8) == "cpu.conv.vector_first cpu.conv.portable");
}

}  // namespace
}  // namespace tenon::cpu::testing
