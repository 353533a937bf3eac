#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "tests/unit/backends/cpu/kernels/cortex_m/cortex_m_fixture.hpp"
#include "tests/unit/backends/cpu/kernels/quantized_naive.hpp"

namespace tenon::cpu::testing {
namespace {

struct Case {
  int32_t images = 1;
  int32_t channels = 16;
  int32_t group = 1;
  std::array<int32_t, 2> extent = {19, 5};
  std::array<int32_t, 2> kernel = {3, 3};
  std::array<int32_t, 2> dilations = {1, 1};
  std::array<int32_t, 4> pads = {1, 1, 1, 1};
  bool any_byte = false;  ///< no bounds of outputs but a byte's
};

std::vector<Case> Cases(bool depthwise) {
  std::vector<Case> cases(1);
  cases.push_back({2, 5, 1, {33, 3}, {3, 3}, {1, 1}, {1, 1, 1, 1}});
  cases.push_back({1, 16, 1, {7, 9}, {1, 1}, {1, 1}, {0, 0, 0, 0}});
  cases.push_back({2, 24, 1, {40, 4}, {1, 1}, {1, 1}, {0, 0, 0, 0}});
  for (int32_t i = 1; i < 7; ++i) {  // few pixels, of which passes are small
    cases.push_back({1, 16 * i, 1, {2, 4 + i}, {1, 1}, {1, 1}, {0, 0, 0, 0}, true});
  }
  cases.push_back({1, 8, 1, {20, 6}, {3, 3}, {2, 1}, {3, 1, 1, 1}});
  cases.push_back({1, 8, 1, {6, 6}, {5, 3}, {1, 1}, {4, 0, 0, 2}});
  cases.push_back({1, 8, 1, {6, 6}, {5, 3}, {1, 1}, {0, 2, 4, 0}});
  cases.push_back({1, 8, 1, {2, 3}, {7, 1}, {1, 1}, {3, 0, 3, 0}});
  for (const int32_t rows : {1, 2, 5, 6}) {
    cases.push_back({2, 8, 1, {rows, 5}, {3, 3}, {1, 1}, {1, 1, 1, 1}});
    cases.push_back({1, 4, 1, {rows, 3}, {3, 3}, {1, 1}, {2, 0, 0, 2}});
    cases.push_back({1, 4, 1, {rows, 4}, {3, 3}, {1, 1}, {0, 2, 2, 0}});
  }
  cases.push_back({1, 8, 1, {9, 70}, {3, 3}, {1, 1}, {1, 1, 1, 1}});  // wider than any pass
  cases.push_back({1, 32, 1, {20, 6}, {2, 3}, {1, 1}, {1, 1, 0, 1}});
  cases.push_back({1, 32, 1, {20, 6}, {2, 3}, {1, 1}, {0, 1, 1, 1}});
  cases.push_back({2, 7, 1, {18, 6}, {5, 5}, {1, 1}, {2, 2, 2, 2}});
  cases.push_back({1, 6, 1, {17, 1}, {9, 1}, {2, 1}, {12, 0, 4, 0}});
  for (Case& c : cases) c.group = depthwise ? c.channels : 1;
  return cases;
}

constexpr size_t kAbsent = 6;  // the input that none of these has

/// One case's operands; made twice from one seed they are equal.
struct Operands {
  Operands(const Case& c, WeightsOrder order, uint32_t seed) {
    Generator random(seed);
    attributes.conv.group = c.group;
    for (size_t i = 0; i < 2; ++i) attributes.conv.dilations[i] = c.dilations[i];
    for (size_t i = 0; i < 4; ++i) attributes.conv.pads[i] = c.pads[i];
    attributes.output = RandomOutput(DType::kI8, Rounding::kFixedPoint, random);
    if (c.any_byte) {
      attributes.output.min = -128;
      attributes.output.max = 127;
    }
    const int32_t depth = c.channels / c.group;
    tensors.push_back(RandomBytesAndEnds(DType::kI8,
                                         {c.images, c.channels, c.extent[0], c.extent[1]},
                                         Layout::kChannelsLast, random));
    const Layout w_layout = order == WeightsOrder::kOutputsLast  ? Layout::kOutputsLast
                            : order == WeightsOrder::kInputsLast ? Layout::kChannelsLast
                                                                 : Layout::kRowMajor;
    tensors.push_back(RandomBytesAndEnds(DType::kI8, {c.channels, depth, c.kernel[0], c.kernel[1]},
                                         w_layout, random));
    std::vector<int32_t> bias;
    std::vector<int32_t> multipliers;
    std::vector<int8_t> shifts;
    for (int32_t i = 0; i < c.channels; ++i) {
      bias.push_back(Pick(random, -9000, 9000));
      const QuantizedScale scale = RandomScale(128.0 * 128.0 * depth, random);
      multipliers.push_back(scale.multiplier);
      shifts.push_back(static_cast<int8_t>(scale.shift));
    }
    tensors.push_back(Tensor::From(DType::kI32, {c.channels}, bias));
    tensors.push_back(Tensor::From(DType::kI32, {c.channels}, multipliers));
    tensors.push_back(Tensor::From(DType::kI8, {c.channels}, shifts));
    const std::vector<int8_t> zero = {static_cast<int8_t>(Pick(random, -128, 127))};
    tensors.push_back(Tensor::From(DType::kI8, {1}, zero));
    if (seed % 2 == 0) AddFoldedBias(bias, zero[0]);
  }

  /// Behind the absent input 6.
  void AddFoldedBias(std::vector<int32_t> bias, int32_t zero_point) {
    const std::vector<int8_t> w = tensors[1].Values<int8_t>();
    const size_t depth = w.size() / bias.size();
    for (size_t i = 0; i < w.size(); ++i) bias[i / depth] -= zero_point * w[i];
    tensors.push_back(Tensor::From(DType::kI32, {static_cast<int32_t>(bias.size())}, bias));
  }

  void AddTo(OpFixture& op, const Tensor& output) const {
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (i == kAbsent) op.AddAbsentInput();
      op.AddInput(tensors[i], i > 0);
    }
    op.AddOutput(output);
  }

  QuantizedConvAttributes attributes;
  std::vector<Tensor> tensors;
};

/// What the kernel's row of capabilities wants for the case, and what it can do with.
struct Workspace {
  size_t wanted;
  size_t least;
};

Workspace WorkspaceOf(const KernelEntry& kernel, const Case& c, const Operands& operands) {
  std::vector<TensorView> views;
  std::vector<int32_t> ids;
  for (const Tensor& tensor : operands.tensors) {
    if (ids.size() == kAbsent) ids.push_back(-1);
    ids.push_back(static_cast<int32_t>(views.size()));
    views.push_back(tensor.View(!views.empty()));
  }
  const Tensor y(DType::kI8, {c.images, c.channels, c.extent[0], c.extent[1]},
                 Layout::kChannelsLast);
  views.push_back(y.View(false));
  const auto output = static_cast<int32_t>(views.size()) - 1;
  OpCall call;
  call.tensors = views.data();
  call.input_ids = {ids.data(), ids.size()};
  call.output_ids = {&output, 1};
  call.attributes = &operands.attributes;
  const KernelCaps& caps = CapsOfKernel(kernel);
  REQUIRE_FALSE(static_cast<bool>(caps.supports(call)));
  const size_t wanted = caps.workspace_bytes(call, 1);
  if (caps.least_workspace_bytes == nullptr) return {wanted, wanted};
  return {wanted, caps.least_workspace_bytes(call)};
}

void RunCases(const char* suffix, bool depthwise) {
  ForEachSet("quantized_conv", suffix, [&](const KernelEntry& kernel) {
    CHECK(kernel.in_place_inputs == 1U);
    CHECK(CapsOfKernel(kernel).in_place_inputs == 1U);
    uint32_t seed = 1;
    for (const Case& c : Cases(depthwise)) {
      ++seed;  // not inside CAPTURE, which looks only where something fails
      CAPTURE(seed);
      const WeightsOrder order = CapsOfKernel(kernel).weights;
      const Operands apart(c, order, seed);
      const Tensor expected(DType::kI8, {c.images, c.channels, c.extent[0], c.extent[1]},
                            Layout::kChannelsLast);
      OpFixture reference(Portable("cpu.quantized_conv.portable"));
      apart.AddTo(reference, expected);
      REQUIRE(reference.Run(apart.attributes).ok());

      const Workspace workspace = WorkspaceOf(kernel, c, apart);
      CHECK(workspace.least <= workspace.wanted);
      for (size_t bytes = workspace.least;; bytes += (workspace.wanted - bytes + 2) / 3) {
        CAPTURE(bytes);
        const Operands over(c, order, seed);
        OpFixture op(kernel);
        over.AddTo(op, over.tensors[0]);
        op.set_workspace_bytes(bytes);
        const Status status = op.Run(over.attributes);
        REQUIRE_MESSAGE(status.ok(), Words(status));
        CHECK(over.tensors[0].Values<uint8_t>() == expected.Values<uint8_t>());
        if (bytes == workspace.wanted) break;
      }

      OpFixture op(kernel);
      apart.AddTo(op, apart.tensors[0]);
      op.set_workspace_bytes(workspace.least - 1);
      CHECK(op.Check(apart.attributes).code() == StatusCode::kCorruptPlan);
    }
  });
}

TEST_CASE("Cortex-M in place: a convolution over its input gives the portable kernel's bytes") {
  RunCases("_in_place", /*depthwise=*/false);
}

TEST_CASE("Cortex-M in place: a depthwise convolution does too") {
  RunCases("_depthwise_in_place", /*depthwise=*/true);
}

}  // namespace
}  // namespace tenon::cpu::testing
