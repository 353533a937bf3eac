// Weights stored as f16 or i8: they are f32 from packing on, so the portable kernel, which reads
// the same stored weights, must be met as closely as with f32.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/unit/backends/opencl/conv_cases.hpp"

namespace tenon::opencl::testing {
namespace {

/// Any bits that are finite: zeros, subnormals and the largest among them.
Tensor Halves(const std::vector<int32_t>& dims, Layout layout, Generator& random) {
  Tensor tensor(DType::kF16, dims, layout);
  std::vector<uint16_t> values(tensor.count());
  for (uint16_t& value : values) {
    // Up to 2: an exponent of 16 is 2, all below are smaller.
    value = static_cast<uint16_t>(Pick(random, 0, 0x3FFF) | Pick(random, 0, 1) << 15);
  }
  tensor.Set(values);
  return tensor;
}

Tensor Int8s(const std::vector<int32_t>& dims, Layout layout, Generator& random) {
  Tensor tensor(DType::kI8, dims, layout);
  std::vector<int8_t> values(tensor.count());
  for (int8_t& value : values) value = static_cast<int8_t>(Pick(random, -128, 127));
  tensor.Set(values);
  return tensor;
}

double StoredConvExcess(const std::string& kernel, const ConvCase& c, DType stored,
                        Generator& random) {
  PairedOp op(kernel);
  op.AddInput(Random(c.x, c.x_layout, random));
  op.AddInput(
      stored == DType::kF16 ? Halves(c.w, c.w_layout, random) : Int8s(c.w, c.w_layout, random),
      kConstant);
  op.AddInput(Random({c.w[0]}, Layout::kRowMajor, random), kConstant);
  op.AddAbsentInput();
  if (stored == DType::kI8) {
    op.AddInput(Random({c.w[0]}, Layout::kRowMajor, random, 0.001F, 0.01F), kConstant);
  }
  op.AddOutput(OutputDims(c), c.y_layout);
  return op.Excess(c.attributes);
}

}  // namespace

TEST_CASE("OpenCL stored weights: every convolution that packs weights takes f16 and i8") {
  struct Run {
    const char* kernel;
    ConvCase c;
  };
  const Run runs[] = {
      {"opencl.conv.tile", {{1, 20, 7, 6}, {24, 20, 3, 3}, Conv(1, 1, 1)}},
      {"opencl.conv.tile", {{1, 12, 5, 5}, {18, 4, 1, 3}, Conv(3, 1, 1)}},
      {"opencl.conv.first", {{1, 3, 11, 9}, {16, 3, 3, 3}, Conv(1, 2, 1)}},
      {"opencl.conv.depthwise", {{1, 21, 9, 9}, {21, 1, 3, 3}, Conv(21, 1, 1)}},
      {"opencl.conv.winograd", {{1, 32, 24, 24}, {32, 32, 3, 3}, Conv(1, 1, 1)}},
  };
  Generator random(71);
  for (const Run& run : runs) {
    for (const DType stored : {DType::kF16, DType::kI8}) {
      for (const Layout layout : {Layout::kRowMajor, Layout::kOutputsLast}) {
        ConvCase c = run.c;
        c.w_layout = layout;
        CAPTURE(std::string(run.kernel));
        CAPTURE(static_cast<int>(stored));
        CHECK(StoredConvExcess(run.kernel, c, stored, random) <= 1.0);
      }
    }
  }
}

TEST_CASE("OpenCL stored weights: products take f16 and i8, transposed and not") {
  Generator random(72);
  for (const bool transposed : {false, true}) {
    for (const DType stored : {DType::kF16, DType::kI8}) {
      const std::vector<int32_t> b =
          transposed ? std::vector<int32_t>{37, 21} : std::vector<int32_t>{21, 37};
      PairedOp op("opencl.matmul.tile");
      op.AddInput(Random({9, 21}, Layout::kRowMajor, random));
      op.AddInput(stored == DType::kF16 ? Halves(b, Layout::kRowMajor, random)
                                        : Int8s(b, Layout::kRowMajor, random),
                  kConstant);
      op.AddInput(Random({37}, Layout::kRowMajor, random), kConstant);
      if (stored == DType::kI8) {
        op.AddInput(Random({37}, Layout::kRowMajor, random, 0.001F, 0.01F), kConstant);
      }
      op.AddOutput({9, 37}, Layout::kRowMajor);
      MatMulAttributes attributes;
      attributes.transpose_b = transposed ? 1 : 0;
      CAPTURE(transposed);
      CAPTURE(static_cast<int>(stored));
      CHECK(op.Excess(attributes, 1) <= 1.0);
    }
  }
}

TEST_CASE("OpenCL stored weights: kernels that read weights where they lie refuse them") {
  DeviceOp conv("opencl.conv.reference");
  conv.AddInput(Tensor(DType::kF32, {1, 4, 4, 4}));
  conv.AddInput(Tensor(DType::kF16, {4, 4, 1, 1}), kConstant);
  conv.AddOutput(Tensor(DType::kF32, {1, 4, 4, 4}));
  const std::string refusal = Text(conv.Check(ConvAttributes{}));
  CHECK(refusal.find("the OpenCL convolutions run f32 only") != std::string::npos);
  DeviceOp bytes("opencl.conv.first");
  bytes.AddInput(Tensor(DType::kU8, {1, 3, 4, 4}));
  bytes.AddInput(Tensor(DType::kF32, {4, 3, 3, 3}), kConstant);
  for (int absent = 0; absent < 3; ++absent) bytes.AddAbsentInput();
  bytes.AddInput(Tensor(DType::kF32, {3}), kConstant);
  bytes.AddOutput(Tensor(DType::kF32, {1, 4, 2, 2}));
  const std::string of_bytes = Text(bytes.Check(ConvAttributes{}));
  CHECK(of_bytes.find("the OpenCL convolutions run f32 only") != std::string::npos);
  DeviceOp product("opencl.matmul.tile");
  product.AddInput(Tensor(DType::kF32, {2, 4}));
  product.AddInput(Tensor(DType::kF16, {4, 4}));  // a variable factor
  product.AddOutput(Tensor(DType::kF32, {2, 4}));
  const std::string variable = Text(product.Check(MatMulAttributes{}));
  CHECK(variable.find("the OpenCL products run f32 only") != std::string::npos);
}

}  // namespace tenon::opencl::testing
