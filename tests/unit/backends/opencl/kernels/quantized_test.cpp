// Kernels on quantized integers: the bits of the portable ones.
#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

#include "tests/unit/backends/cpu/kernels/quantized_naive.hpp"
#include "tests/unit/backends/opencl/opencl_fixture.hpp"

namespace tenon::opencl::testing {
namespace {

using cpu::testing::LeastOf;
using cpu::testing::MostOf;
using cpu::testing::RandomBytesAndEnds;
using cpu::testing::RandomOutput;
using cpu::testing::RandomScale;

DType AnyByte(Generator& random) { return Pick(random, 0, 1) == 0 ? DType::kI8 : DType::kU8; }

Layout AnyLayout(Generator& random) {
  const std::vector<Layout> layouts = TestedLayouts();
  return layouts[static_cast<size_t>(Pick(random, 0, static_cast<int32_t>(layouts.size()) - 1))];
}

/// Under oclgrind, which is slow, a few of the cases.
int Cases(int count) { return IsUnderOclgrind() ? count / 20 + 1 : count; }

/// Whether both kernels give the same bits.
template <typename Attributes>
bool Equal(PairedOp& op, DType output, const Attributes& attributes) {
  if (DTypeBytes(output) == 1) return op.Equal<uint8_t>(attributes);
  if (DTypeBytes(output) == 2) return op.Equal<uint16_t>(attributes);
  return op.Equal<uint32_t>(attributes);
}

/// Operands 2 to 6 of a quantized convolution or matrix product, and what its output says.
struct GemmCase {
  DType x = DType::kI8;
  DType w = DType::kI8;
  DType y = DType::kI8;
  Rounding rounding = Rounding::kFixedPoint;
  int32_t outputs = 1;
  int32_t terms = 1;          ///< of a sum
  int32_t x_zero_points = 1;  ///< 0: none
  bool each = true;           ///< a factor for each output
  bool weights_zero = false;
  bool hostile = false;  ///< any bits
};

GemmCase AnyGemm(int32_t outputs, int32_t terms, bool once, Generator& random) {
  GemmCase c;
  constexpr DType kOutputs[] = {DType::kI8, DType::kU8, DType::kI8, DType::kI32, DType::kF32};
  c.x = AnyByte(random);
  c.w = AnyByte(random);
  c.y = kOutputs[Pick(random, 0, 4)];
  const bool is_byte = DTypeBytes(c.y) == 1;
  if (!is_byte || Pick(random, 0, 1) == 0) c.rounding = Rounding::kHalfEven;
  if (is_byte && once && Pick(random, 0, 2) == 0) c.rounding = Rounding::kFixedPointOnce;
  c.outputs = outputs;
  c.terms = terms;
  c.x_zero_points = Pick(random, 0, 1);
  c.each = Pick(random, 0, 1) == 0;
  c.weights_zero = Pick(random, 0, 1) == 0;
  c.hostile = Pick(random, 0, 3) == 0;
  return c;
}

QuantizedOutput OutputOf(const GemmCase& c, Generator& random) {
  if (DTypeBytes(c.y) == 1) return RandomOutput(c.y, c.rounding, random);
  QuantizedOutput output;
  output.to = static_cast<int32_t>(c.y);
  output.rounding = Rounding::kHalfEven;
  return output;
}

void AddVectors(PairedOp& op, const GemmCase& c, bool constant, Generator& random) {
  std::vector<int32_t> bias;
  std::vector<float> scales;
  std::vector<int32_t> multipliers;
  std::vector<int8_t> shifts;
  for (int32_t i = 0; i < c.outputs; ++i) {
    bias.push_back(c.hostile ? static_cast<int32_t>(random()) : Pick(random, -90000, 90000));
  }
  for (int32_t i = 0; i < (c.each ? c.outputs : 1); ++i) {
    const QuantizedScale scale = RandomScale(4096.0 * c.terms, random);
    scales.push_back(scale.scale);
    multipliers.push_back(c.hostile ? static_cast<int32_t>(random()) : scale.multiplier);
    shifts.push_back(static_cast<int8_t>(c.hostile ? Pick(random, -128, 127) : scale.shift));
  }
  const auto factors = static_cast<int32_t>(scales.size());
  op.AddInput(Tensor::From(DType::kI32, {c.outputs}, bias), constant);
  if (c.y == DType::kI32) {
    op.AddAbsentInput();
    op.AddAbsentInput();
  } else if (c.rounding == Rounding::kHalfEven) {
    op.AddInput(Tensor::From(DType::kF32, {factors}, scales), constant);
    op.AddAbsentInput();
  } else {
    op.AddInput(Tensor::From(DType::kI32, {factors}, multipliers), constant);
    op.AddInput(Tensor::From(DType::kI8, {factors}, shifts), constant);
  }
  const auto zero_points = [&](DType dtype, int32_t count) {
    if (count == 0) return op.AddAbsentInput();
    op.AddInput(RandomBytesAndEnds(dtype, {count}, Layout::kRowMajor, random), constant);
  };
  zero_points(c.x, c.x_zero_points);
  zero_points(c.w, c.weights_zero ? (c.each ? c.outputs : 1) : 0);
}

struct QuantizedConvCase {
  int32_t channels, outputs, group;
  std::array<int32_t, 2> extent, kernel, strides, dilations;
  std::array<int32_t, 4> pads;
};

void CheckConv(const std::string& kernel, const QuantizedConvCase& shape, Layout layout,
               bool constant, Generator& random) {
  const int32_t depth = shape.channels / shape.group;
  GemmCase c = AnyGemm(shape.outputs, depth * shape.kernel[0] * shape.kernel[1], false, random);
  if (kernel == "opencl.quantized_conv.reference" && Pick(random, 0, 2) == 0) {
    c.x_zero_points = shape.channels;
  }
  QuantizedConvAttributes attributes;
  attributes.conv.group = shape.group;
  std::array<int32_t, 2> out = {};
  for (size_t i = 0; i < 2; ++i) {
    attributes.conv.strides[i] = shape.strides[i];
    attributes.conv.dilations[i] = shape.dilations[i];
    attributes.conv.pads[i] = shape.pads[i];
    attributes.conv.pads[i + 2] = shape.pads[i + 2];
    const int32_t window = (shape.kernel[i] - 1) * shape.dilations[i] + 1;
    out[i] = (shape.extent[i] + shape.pads[i] + shape.pads[i + 2] - window) / shape.strides[i] + 1;
  }
  attributes.output = OutputOf(c, random);
  CAPTURE(shape.channels);
  CAPTURE(shape.outputs);
  CAPTURE(shape.extent);
  CAPTURE(shape.kernel);
  PairedOp op(kernel);
  op.AddInput(RandomBytesAndEnds(c.x, {2, shape.channels, shape.extent[0], shape.extent[1]}, layout,
                                 random));
  op.AddInput(RandomBytesAndEnds(c.w, {shape.outputs, depth, shape.kernel[0], shape.kernel[1]},
                                 AnyLayout(random), random),
              constant);
  AddVectors(op, c, constant, random);
  op.AddOutput({2, shape.outputs, out[0], out[1]}, layout, c.y);
  CHECK(Equal(op, c.y, attributes));
}

QuantizedConvCase AnyConv(bool depthwise, int32_t most_channels, Generator& random) {
  QuantizedConvCase c = {};
  c.channels = Pick(random, 1, most_channels);
  c.outputs = depthwise ? c.channels : Pick(random, 1, 40);
  c.group = depthwise ? c.channels : 1;
  for (size_t i = 0; i < 2; ++i) {
    c.kernel[i] = Pick(random, 1, 3);
    c.strides[i] = Pick(random, 1, 2);
    c.dilations[i] = Pick(random, 1, 2);
    c.extent[i] = Pick(random, 5, 11);
    c.pads[i] = Pick(random, 0, 2);
    c.pads[i + 2] = Pick(random, 0, 2);
  }
  return c;
}

}  // namespace

TEST_CASE("OpenCL quantized conv: tiles give the portable kernel's bits") {
  Generator random(1);
  for (int i = 0; i < Cases(60); ++i) {
    const Layout layout =
        Pick(random, 0, 1) == 0 ? Layout::kChannelsLast : Layout::kChannelsLastGaps;
    CheckConv("opencl.quantized_conv.tile", AnyConv(false, 40, random), layout, true, random);
  }
}

TEST_CASE("OpenCL quantized conv: single pixels of an image make one line") {
  Generator random(2);
  const QuantizedConvCase shape = {24, 17, 1, {5, 7}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}};
  for (int i = 0; i < Cases(10); ++i) {
    CheckConv("opencl.quantized_conv.tile", shape, Layout::kChannelsLast, true, random);
    CheckConv("opencl.quantized_conv.tile", shape, Layout::kChannelsLastGaps, true, random);
  }
}

TEST_CASE("OpenCL quantized conv: sums beyond what floats hold are exact") {
  // All products are the largest there are: 255 * 255, of 2304 terms.
  const int32_t channels = 256;
  PairedOp op("opencl.quantized_conv.tile");
  const auto full = [](const std::vector<int32_t>& dims) {
    size_t count = 1;
    for (const int32_t dim : dims) count *= static_cast<size_t>(dim);
    return Tensor::From(DType::kU8, dims, std::vector<uint8_t>(count, 255), Layout::kChannelsLast);
  };
  op.AddInput(full({1, channels, 3, 3}));
  op.AddInput(full({2, channels, 3, 3}), true);
  op.AddInput(Tensor::From(DType::kI32, {2}, std::vector<int32_t>{1, 2}), true);
  op.AddOutput({1, 2, 1, 1}, Layout::kChannelsLast, DType::kI32);
  QuantizedConvAttributes attributes;
  attributes.output.to = static_cast<int32_t>(DType::kI32);
  CHECK(op.Equal<int32_t>(attributes));
  CHECK(op.device().output().Values<int32_t>() == std::vector<int32_t>{149817601, 149817602});
}

TEST_CASE("OpenCL quantized conv: depthwise gives the portable kernel's bits") {
  Generator random(3);
  for (int i = 0; i < Cases(60); ++i) {
    const Layout layout =
        Pick(random, 0, 1) == 0 ? Layout::kChannelsLast : Layout::kChannelsLastGaps;
    CheckConv("opencl.quantized_conv.depthwise", AnyConv(true, 50, random), layout, true, random);
  }
}

TEST_CASE(
    "OpenCL quantized conv: by definition in any layout, groups and zero points of channels") {
  Generator random(4);
  for (int i = 0; i < Cases(60); ++i) {
    QuantizedConvCase shape = AnyConv(false, 12, random);
    shape.group = Pick(random, 1, 3);
    shape.channels *= shape.group;
    shape.outputs *= shape.group;
    CheckConv("opencl.quantized_conv.reference", shape, AnyLayout(random), Pick(random, 0, 1) == 0,
              random);
  }
}

TEST_CASE("OpenCL quantized matmul: tiles, and by definition with batches and transposed factors") {
  Generator random(5);
  for (int i = 0; i < Cases(100); ++i) {
    const bool tile = i % 2 == 0;
    const int32_t rows = Pick(random, 1, 9);
    const int32_t depth = Pick(random, 1, 70);
    const int32_t columns = Pick(random, 1, 40);
    const GemmCase c = AnyGemm(columns, depth, true, random);
    QuantizedMatMulAttributes attributes;
    attributes.matmul.transpose_b = Pick(random, 0, 1);
    attributes.matmul.transpose_a = tile ? 0 : Pick(random, 0, 1);
    attributes.output = OutputOf(c, random);
    PairedOp op(tile ? "opencl.quantized_matmul.tile" : "opencl.quantized_matmul.reference");
    const Layout layout = tile ? Layout::kRowMajor : AnyLayout(random);
    std::vector<int32_t> a = {2, rows, depth};
    if (attributes.matmul.transpose_a != 0) a = {2, depth, rows};
    std::vector<int32_t> b = {depth, columns};
    if (attributes.matmul.transpose_b != 0) b = {columns, depth};
    if (!tile && Pick(random, 0, 1) == 0) b.insert(b.begin(), 2);
    op.AddInput(RandomBytesAndEnds(c.x, a, layout, random));
    op.AddInput(RandomBytesAndEnds(c.w, b, layout, random), tile);
    AddVectors(op, c, tile, random);
    op.AddOutput({2, rows, columns}, layout, c.y);
    CHECK(Equal(op, c.y, attributes));
  }
}

TEST_CASE("OpenCL quantized kernels: weights of run time and constant inputs are left to others") {
  Generator random(6);
  const auto reason = [&](bool constant_x, bool constant_w) {
    DeviceOp op("opencl.quantized_conv.tile");
    op.AddInput(RandomBytesAndEnds(DType::kI8, {1, 4, 3, 3}, Layout::kChannelsLast, random),
                constant_x);
    op.AddInput(RandomBytesAndEnds(DType::kI8, {4, 4, 1, 1}, Layout::kRowMajor, random),
                constant_w);
    op.AddOutput(Tensor(DType::kI32, {1, 4, 3, 3}, Layout::kChannelsLast));
    QuantizedConvAttributes attributes;
    attributes.output.to = static_cast<int32_t>(DType::kI32);
    return op.Check(attributes).ok();
  };
  CHECK(reason(false, true));
  CHECK_FALSE(reason(true, true));
  CHECK_FALSE(reason(false, false));
}

TEST_CASE("OpenCL quantize and dequantize: every dtype, scales of an axis, any layout") {
  Generator random(7);
  const std::vector<int32_t> dims = {2, 5, 3, 7};
  for (const DType dtype : {DType::kI8, DType::kU8, DType::kI16, DType::kU16, DType::kI32}) {
    for (int i = 0; i < Cases(12); ++i) {
      const bool each = Pick(random, 0, 1) == 0;
      const int32_t count = each ? dims[1] : 1;
      const bool shifted = Pick(random, 0, 1) == 0;
      Tensor zero(dtype, {count}, Layout::kRowMajor);
      std::vector<uint8_t> bytes(static_cast<size_t>(count * DTypeBytes(dtype)));
      for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(Pick(random, 0, 255));
      std::memcpy(zero.View().data, bytes.data(), bytes.size());
      const auto add_scale = [&](PairedOp& op) {
        op.AddInput(Random({count}, Layout::kRowMajor, random, 0.001F, 0.1F), i % 2 == 0);
        if (shifted) {
          op.AddInput(zero, i % 2 == 0);
        } else {
          op.AddAbsentInput();
        }
      };
      if (dtype != DType::kI32) {
        QuantizeAttributes quantize;
        quantize.to = static_cast<int32_t>(dtype);
        quantize.axis = 1;
        quantize.rounding = Pick(random, 0, 1) == 0 ? Rounding::kHalfEven : Rounding::kHalfAway;
        PairedOp op("opencl.quantize.rows");
        op.AddInput(Random(dims, AnyLayout(random), random, -300.0F, 300.0F));
        add_scale(op);
        op.AddOutput(dims, AnyLayout(random), dtype);
        CHECK(Equal(op, dtype, quantize));
      }
      DequantizeAttributes dequantize;
      dequantize.axis = 1;
      Tensor x(dtype, dims, AnyLayout(random));
      std::vector<int32_t> values(x.count());
      for (int32_t& value : values) value = static_cast<int32_t>(random());
      if (DTypeBytes(dtype) == 1) x.Set(std::vector<uint8_t>(values.begin(), values.end()));
      if (DTypeBytes(dtype) == 2) x.Set(std::vector<uint16_t>(values.begin(), values.end()));
      if (DTypeBytes(dtype) == 4) x.Set(values);
      PairedOp op("opencl.dequantize.rows");
      op.AddInput(x);
      add_scale(op);
      op.AddOutput(dims, AnyLayout(random));
      CHECK(op.Equal<uint32_t>(dequantize));
    }
  }
}

TEST_CASE("OpenCL quantize: ties, infinities and no number, as the portable kernel has them") {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> x = {0.5F,  1.5F,     2.5F,      -0.5F,
                                -1.5F, infinity, -infinity, std::numeric_limits<float>::quiet_NaN(),
                                1e30F, -1e30F};
  for (const Rounding rounding : {Rounding::kHalfEven, Rounding::kHalfAway}) {
    PairedOp op("opencl.quantize.rows");
    op.AddInput(Tensor::From(DType::kF32, {static_cast<int32_t>(x.size())}, x));
    op.AddInput(Tensor::From(DType::kF32, {1}, std::vector<float>{1.0F}), true);
    op.AddOutput({static_cast<int32_t>(x.size())}, Layout::kRowMajor, DType::kI8);
    QuantizeAttributes attributes;
    attributes.rounding = rounding;
    CHECK(op.Equal<int8_t>(attributes));
  }
}

TEST_CASE("OpenCL lookup: tables of bytes and of floats in any layout") {
  Generator random(8);
  for (int i = 0; i < Cases(40); ++i) {
    const std::vector<int32_t> dims = {2, 9, 3, 5};
    const bool floats = i % 2 == 0;
    PairedOp op("opencl.lookup.rows");
    op.AddInput(RandomBytesAndEnds(AnyByte(random), dims, AnyLayout(random), random));
    op.AddInput(floats ? Random({256}, Layout::kRowMajor, random)
                       : RandomBytesAndEnds(DType::kU8, {256}, Layout::kRowMajor, random),
                i % 3 != 0);
    op.AddOutput(dims, AnyLayout(random), floats ? DType::kF32 : DType::kU8);
    const struct {
    } none;
    CHECK(Equal(op, floats ? DType::kF32 : DType::kU8, none));
  }
}

TEST_CASE("OpenCL quantized binary: every function and rounding, broadcast, any layout") {
  Generator random(9);
  for (const BinaryFunction function :
       {BinaryFunction::kAdd, BinaryFunction::kSub, BinaryFunction::kMul, BinaryFunction::kDiv,
        BinaryFunction::kMax, BinaryFunction::kMin}) {
    for (int i = 0; i < Cases(20); ++i) {
      const bool fixed = function <= BinaryFunction::kMul && i % 2 == 0;
      const DType x = AnyByte(random);
      const DType y = AnyByte(random);
      const DType z = AnyByte(random);
      QuantizedBinaryAttributes a;
      a.function = function;
      a.x_zero_point = Pick(random, LeastOf(x), MostOf(x));
      a.y_zero_point = Pick(random, LeastOf(y), MostOf(y));
      a.x_scale = RandomScale(400.0, random);
      a.y_scale = RandomScale(400.0, random);
      a.output_scale = RandomScale(
          fixed && function != BinaryFunction::kMul ? 400.0 * (1 << 20) : 400.0, random);
      a.left_shift = 20;
      a.output = RandomOutput(z, fixed ? Rounding::kFixedPoint : Rounding::kHalfEven, random);
      const bool broadcast = Pick(random, 0, 1) == 0;
      PairedOp op("opencl.quantized_binary.rows");
      op.AddInput(RandomBytesAndEnds(x, {2, 9, 3, 5}, AnyLayout(random), random));
      op.AddInput(RandomBytesAndEnds(
          y, broadcast ? std::vector<int32_t>{9, 1, 1} : std::vector<int32_t>{2, 9, 3, 5},
          AnyLayout(random), random));
      op.AddOutput({2, 9, 3, 5}, AnyLayout(random), z);
      CAPTURE(kBinaryFunctionNames[static_cast<int>(function)]);
      CHECK(Equal(op, z, a));
    }
  }
}

TEST_CASE("OpenCL quantized average pool: windows of all kinds, both roundings, any layout") {
  Generator random(10);
  for (int i = 0; i < Cases(80); ++i) {
    const std::vector<int32_t> dims = {2, 19, 9, 8};
    const DType x = AnyByte(random);
    const DType y = AnyByte(random);
    QuantizedAveragePoolAttributes a;
    std::vector<int32_t> out = dims;
    for (size_t k = 0; k < 2; ++k) {
      a.pool.kernel[k] = Pick(random, 1, 3);
      a.pool.strides[k] = Pick(random, 1, 2);
      a.pool.pads[k] = Pick(random, 0, a.pool.kernel[k] - 1);
      a.pool.pads[k + 2] = Pick(random, 0, a.pool.kernel[k] - 1);
      out[k + 2] = (dims[k + 2] + a.pool.pads[k] + a.pool.pads[k + 2] - a.pool.kernel[k]) /
                       a.pool.strides[k] +
                   1;
    }
    a.pool.count_include_pad = Pick(random, 0, 1);
    a.x_zero_point = Pick(random, LeastOf(x), MostOf(x));
    a.scale = RandomScale(150.0, random);
    a.output = RandomOutput(y, i % 2 == 0 ? Rounding::kHalfAway : Rounding::kHalfEven, random);
    PairedOp op("opencl.quantized_average_pool.any");
    op.AddInput(RandomBytesAndEnds(x, dims, AnyLayout(random), random));
    op.AddOutput(out, AnyLayout(random), y);
    CHECK(Equal(op, y, a));
  }
}

TEST_CASE("OpenCL quantized reduce: every set of axes, both roundings, any layout") {
  Generator random(11);
  for (int32_t mask = 0; mask < 16; ++mask) {
    for (const Rounding rounding : {Rounding::kHalfEven, Rounding::kFixedPoint}) {
      const std::vector<int32_t> dims = {2, 19, 3, 5};
      std::vector<int32_t> out = dims;
      double count = 1.0;
      for (size_t k = 0; k < dims.size(); ++k) {
        if ((mask >> k & 1) == 0) continue;
        count *= dims[k];
        out[k] = 1;
      }
      const DType x = AnyByte(random);
      const DType y = AnyByte(random);
      QuantizedReduceAttributes a;
      a.reduce.axes_mask = mask;
      a.x_zero_point = Pick(random, LeastOf(x), MostOf(x));
      a.scale = RandomScale(64.0 * count, random);
      a.output = RandomOutput(y, rounding, random);
      PairedOp op("opencl.quantized_reduce.any");
      op.AddInput(RandomBytesAndEnds(x, dims, AnyLayout(random), random));
      op.AddOutput(out, AnyLayout(random), y);
      CHECK(Equal(op, y, a));
    }
  }
}

TEST_CASE("OpenCL quantized softmax: TFLite's and that in floats, along every axis") {
  Generator random(12);
  for (int32_t i = 0; i < Cases(60); ++i) {
    const DType x = AnyByte(random);
    const DType y = AnyByte(random);
    QuantizedSoftmaxAttributes a;
    a.softmax.axis = i % 4;
    const bool fixed = Pick(random, 0, 1) == 0;
    a.output = RandomOutput(y, fixed ? Rounding::kFixedPoint : Rounding::kHalfEven, random);
    a.scale.scale = static_cast<float>(Pick(random, 1, 200)) * 1e-3F;
    if (fixed) {
      a.scale.multiplier = Pick(random, 1 << 30, INT32_MAX);
      a.scale.shift = Pick(random, 18, 25);
      a.least_difference = Pick(random, -255, 0);
    }
    PairedOp op("opencl.quantized_softmax.any");
    op.AddInput(RandomBytesAndEnds(x, {3, 19, 4, 5}, AnyLayout(random), random));
    op.AddOutput({3, 19, 4, 5}, AnyLayout(random), y);
    CHECK(Equal(op, y, a));
  }
}

TEST_CASE("OpenCL max pool and nearest resize: bytes too") {
  Generator random(13);
  for (const DType dtype : {DType::kI8, DType::kU8}) {
    for (const Layout layout : TestedLayouts()) {
      PoolAttributes pool;
      pool.kernel[0] = pool.kernel[1] = 3;
      pool.strides[0] = pool.strides[1] = 2;
      pool.pads[0] = pool.pads[1] = 1;
      PairedOp max_pool("opencl.max_pool.any");
      max_pool.AddInput(RandomBytesAndEnds(dtype, {2, 21, 7, 7}, layout, random));
      max_pool.AddOutput({2, 21, 3, 3}, layout, dtype);
      CHECK(Equal(max_pool, dtype, pool));
      const ResizeAttributes twice = {ResizeMode::kNearest,    {}, {}, -0.75F, 0, 4, {2, 5, 8, 6},
                                      {1.0F, 1.0F, 2.0F, 2.0F}};
      PairedOp resize("opencl.resize.any");
      resize.AddInput(RandomBytesAndEnds(dtype, {2, 5, 4, 3}, layout, random));
      resize.AddOutput({2, 5, 8, 6}, layout, dtype);
      CHECK(Equal(resize, dtype, twice));
    }
  }
}

}  // namespace tenon::opencl::testing
