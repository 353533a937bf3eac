#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "backends/cpu/caps/in_place_caps.hpp"
#include "backends/cpu/kernels/portable/portable_table.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/backends/cpu/kernels/quantized_naive.hpp"

namespace tenon::cpu {
namespace {

using namespace testing;

struct Case {
  int32_t images = 1;
  int32_t channels = 8;
  int32_t group = 1;
  std::array<int32_t, 2> extent = {7, 5};
  std::array<int32_t, 2> kernel = {3, 3};
  std::array<int32_t, 2> dilations = {1, 1};
  std::array<int32_t, 4> pads = {1, 1, 1, 1};
  Layout layout = Layout::kChannelsLast;
  DType dtype = DType::kI8;
  int32_t more_rows = 0;  ///< of workspace than the least
  int threads = 1;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const Layout layout : kAllLayouts) {
    for (const int32_t more_rows : {0, 1, 5, 100}) {
      Case dense;
      dense.layout = layout;
      dense.more_rows = more_rows;
      cases.push_back(dense);
      Case depthwise = dense;
      depthwise.group = depthwise.channels;
      cases.push_back(depthwise);
      Case groups = dense;
      groups.group = 2;
      groups.images = 2;
      groups.threads = 3;
      cases.push_back(groups);
      Case pointwise = dense;
      pointwise.kernel = {1, 1};
      pointwise.pads = {0, 0, 0, 0};
      cases.push_back(pointwise);
      Case dilated = depthwise;
      dilated.dilations = {2, 1};
      dilated.pads = {3, 1, 1, 1};
      dilated.images = 3;
      cases.push_back(dilated);
      Case below = dense;  // all padding on one side
      below.pads = {0, 2, 2, 0};
      cases.push_back(below);
      Case above = dense;
      above.pads = {2, 0, 0, 2};
      cases.push_back(above);
      Case few_rows = dense;  // fewer than the window reaches
      few_rows.extent = {2, 3};
      few_rows.kernel = {7, 1};
      few_rows.pads = {3, 0, 3, 0};
      cases.push_back(few_rows);
    }
  }
  return cases;
}

template <typename Attributes>
void SetWindow(const Case& c, Attributes& conv) {
  conv.group = c.group;
  for (size_t i = 0; i < 2; ++i) conv.dilations[i] = c.dilations[i];
  for (size_t i = 0; i < 4; ++i) conv.pads[i] = c.pads[i];
}

std::vector<int32_t> Dims(const Case& c) {
  return {c.images, c.channels, c.extent[0], c.extent[1]};
}

size_t WorkspaceOf(const Case& c) {
  const int32_t held = std::min(c.pads[0], c.extent[0]);
  return static_cast<size_t>((held + 1 + c.more_rows) * c.channels * c.extent[1]) *
         static_cast<size_t>(DTypeBytes(c.dtype));
}

const KernelEntry& InPlaceKernel(const char* id) {
  for (const KernelEntry& kernel : PortableKernels()) {
    if (std::string(kernel.id) == id) return kernel;
  }
  REQUIRE_MESSAGE(false, id);
  return PortableKernels()[0];
}

/// The quantized convolution of one case, its operands the same whenever it is made.
class QuantizedOp {
 public:
  QuantizedOp(const Case& c, uint32_t seed) {
    Generator random(seed);
    SetWindow(c, attributes.conv);
    attributes.output = RandomOutput(c.dtype, Rounding::kFixedPoint, random);
    const int32_t depth = c.channels / c.group;
    x.push_back(RandomBytesAndEnds(c.dtype, Dims(c), c.layout, random));
    w.push_back(RandomBytesAndEnds(DType::kI8, {c.channels, depth, c.kernel[0], c.kernel[1]},
                                   Layout::kRowMajor, random));
    for (int32_t i = 0; i < c.channels; ++i) {
      bias.push_back(Pick(random, -9000, 9000));
      const QuantizedScale scale = RandomScale(128.0 * 128.0 * depth, random);
      multipliers.push_back(scale.multiplier);
      shifts.push_back(static_cast<int8_t>(scale.shift));
    }
    zero = static_cast<int8_t>(Pick(random, -128, 127));
  }

  void AddInputs(OpFixture& op) const {
    const auto count = static_cast<int32_t>(bias.size());
    op.AddInput(x[0]);
    op.AddInput(w[0], kConstant);
    op.AddInput(Tensor::From(DType::kI32, {count}, bias), kConstant);
    op.AddInput(Tensor::From(DType::kI32, {count}, multipliers), kConstant);
    op.AddInput(Tensor::From(DType::kI8, {count}, shifts), kConstant);
    op.AddInput(Tensor::From(x[0].dtype(), {1}, std::vector<int8_t>{zero}), kConstant);
  }

  QuantizedConvAttributes attributes;
  std::vector<Tensor> x;
  std::vector<Tensor> w;
  std::vector<int32_t> bias;
  std::vector<int32_t> multipliers;
  std::vector<int8_t> shifts;
  int8_t zero = 0;
};

TEST_CASE("In place: a quantized convolution over its input gives the same bytes") {
  uint32_t seed = 1;
  for (Case c : Cases()) {
    for (const DType dtype : {DType::kI8, DType::kU8}) {
      c.dtype = dtype;
      ++seed;
      CAPTURE(seed);
      const QuantizedOp apart(c, seed);
      OpFixture reference(OpKind::kQuantizedConv);
      apart.AddInputs(reference);
      const Tensor expected = reference.AddOutput(Tensor(c.dtype, Dims(c), c.layout));
      REQUIRE(reference.Run(apart.attributes).ok());

      const QuantizedOp over(c, seed);
      OpFixture op(InPlaceKernel("cpu.quantized_conv.portable_in_place"));
      over.AddInputs(op);
      op.AddOutput(over.x[0]);
      op.set_workspace_bytes(WorkspaceOf(c));
      const Status status = op.Run(over.attributes, c.threads);
      REQUIRE_MESSAGE(status.ok(), Words(status));
      CHECK(over.x[0].Values<uint8_t>() == expected.Values<uint8_t>());
      CHECK(over.x[0].GapsIntact());
    }
  }
}

TEST_CASE("In place: a float convolution with a residual gives the same bits") {
  uint32_t seed = 1;
  for (Case c : Cases()) {
    c.dtype = DType::kF32;
    for (const bool residual_is_x : {false, true}) {
      ++seed;
      CAPTURE(seed);
      Generator random(seed);
      ConvAttributes attributes;
      SetWindow(c, attributes);
      const std::vector<int32_t> w_dims = {c.channels, c.channels / c.group, c.kernel[0],
                                           c.kernel[1]};
      const Tensor x = Random(Dims(c), c.layout, random);
      const Tensor w = Random(w_dims, Layout::kRowMajor, random);
      const Tensor bias = Random({c.channels}, Layout::kRowMajor, random);
      const Tensor other = Random(Dims(c), c.layout, random);
      const auto run = [&](OpFixture& op, const Tensor& output) {
        op.AddInput(x);
        op.AddInput(w, kConstant);
        op.AddInput(bias, kConstant);
        op.AddInput(residual_is_x ? x : other);
        op.AddOutput(output);
        return op.Run(attributes, c.threads);
      };
      const Tensor expected(c.dtype, Dims(c), c.layout);
      OpFixture reference(OpKind::kConv);
      REQUIRE(run(reference, expected).ok());
      OpFixture op(InPlaceKernel("cpu.conv.portable_in_place"));
      op.set_workspace_bytes(WorkspaceOf(c));
      const Status status = run(op, x);
      REQUIRE_MESSAGE(status.ok(), Words(status));
      CHECK(x.Values<uint32_t>() == expected.Values<uint32_t>());
      CHECK(x.GapsIntact());
    }
  }
}

TEST_CASE("In place: a byte less than the rows held back and one new one is refused") {
  for (const Case& c : Cases()) {
    const QuantizedOp operands(c, 1);
    OpFixture op(InPlaceKernel("cpu.quantized_conv.portable_in_place"));
    operands.AddInputs(op);
    op.AddOutput(operands.x[0]);
    Case least = c;
    least.more_rows = 0;
    op.set_workspace_bytes(WorkspaceOf(least));
    CHECK(op.Check(operands.attributes).ok());
    op.set_workspace_bytes(WorkspaceOf(least) - 1);
    CHECK_FALSE(op.Check(operands.attributes).ok());
  }
}

TEST_CASE("In place: steps, another size and another dtype are refused") {
  const auto check = [](int32_t stride, int32_t pad, DType y) {
    Case c;
    const QuantizedOp operands(c, 1);
    QuantizedConvAttributes attributes = operands.attributes;
    attributes.conv.strides[0] = stride;
    attributes.conv.pads[0] = pad;
    attributes.output.to = static_cast<int32_t>(y);
    attributes.output.zero_point = 0;
    attributes.output.min = 0;
    attributes.output.max = 100;
    const int32_t rows = (c.extent[0] + pad + 1 - 3) / stride + 1;
    OpFixture op(InPlaceKernel("cpu.quantized_conv.portable_in_place"));
    operands.AddInputs(op);
    op.AddOutput(Tensor(y, {1, c.channels, rows, c.extent[1]}, c.layout));
    op.set_workspace_bytes(100000);
    return op.Check(attributes);
  };
  CHECK(check(1, 1, DType::kI8).ok());
  CHECK(check(2, 1, DType::kI8).code() == StatusCode::kUnsupported);
  CHECK(check(1, 0, DType::kI8).code() == StatusCode::kUnsupported);
  CHECK(check(1, 1, DType::kU8).code() == StatusCode::kUnsupported);
}

}  // namespace
}  // namespace tenon::cpu
