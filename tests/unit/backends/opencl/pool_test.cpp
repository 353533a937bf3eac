#include <doctest/doctest.h>

#include <limits>
#include <vector>

#include "tests/unit/backends/opencl/opencl_fixture.hpp"

namespace tenon::opencl::testing {
namespace {

struct PoolCase {
  std::vector<int32_t> x;
  std::vector<int32_t> y;
  PoolAttributes attributes;
};

/// Fills `y` by the op's own rule; false where it refuses the case.
bool InferOutput(PoolCase& c) {
  TensorView view;
  view.dims = c.x.data();
  view.rank = 4;
  const int32_t input = 0;
  OpCall call;
  call.tensors = &view;
  call.input_ids = {&input, 1};
  call.attributes = &c.attributes;
  OutputType type;
  if (!kMaxPoolRow.infer(call, &type).ok()) return false;
  c.y = {type.shape[0], type.shape[1], type.shape[2], type.shape[3]};
  return true;
}

PoolCase RandomCase(Generator& random) {
  PoolCase c;
  do {
    c.x = {Pick(random, 1, 2), Pick(random, 1, 50), Pick(random, 1, 12), Pick(random, 1, 12)};
    for (int i = 0; i < 2; ++i) {
      c.attributes.kernel[i] = Pick(random, 1, 5);
      c.attributes.strides[i] = Pick(random, 1, 3);
      c.attributes.dilations[i] = Pick(random, 1, 3);
      c.attributes.pads[i] = Pick(random, 0, 3);
      c.attributes.pads[2 + i] = Pick(random, 0, 3);
    }
    c.attributes.ceil_mode = Pick(random, 0, 1);
    c.attributes.count_include_pad = Pick(random, 0, 1);
  } while (!InferOutput(c));
  return c;
}

void CheckAgreement(const char* kernel, const PoolCase& c, Layout x, Layout y, Generator& random) {
  PairedOp op(kernel);
  op.AddInput(Random(c.x, x, random, -3.0F, -1.0F));
  op.AddOutput(c.y, y);
  CHECK(op.Excess(c.attributes) <= 1.0);
}

}  // namespace

TEST_CASE("OpenCL pool: random windows in vectors of channels") {
  Generator random(1);
  for (int i = 0; i < 60; ++i) {
    const PoolCase c = RandomCase(random);
    const Layout layout = i % 2 == 0 ? Layout::kChannelsLast : Layout::kChannelsLastGaps;
    CheckAgreement("opencl.max_pool.vector", c, layout, Layout::kChannelsLast, random);
    CheckAgreement("opencl.average_pool.vector", c, layout, Layout::kChannelsLast, random);
  }
}

TEST_CASE("OpenCL pool: random windows in any layout") {
  Generator random(2);
  for (int i = 0; i < 60; ++i) {
    const PoolCase c = RandomCase(random);
    const Layout x = kAllLayouts[Pick(random, 0, 4)];
    const Layout y = kAllLayouts[Pick(random, 0, 4)];
    CheckAgreement("opencl.max_pool.any", c, x, y, random);
    CheckAgreement("opencl.average_pool.any", c, x, y, random);
  }
}

TEST_CASE("OpenCL max pool: NaN wins wherever it stands in the window") {
  Generator random(3);
  PoolCase c;
  c.x = {1, 37, 3, 3};
  c.attributes.kernel[0] = c.attributes.kernel[1] = 3;
  REQUIRE(InferOutput(c));
  for (size_t position = 0; position < 9; ++position) {
    Tensor x = Random(c.x, Layout::kChannelsLast, random);
    std::vector<float> values = x.Values<float>();
    for (size_t channel = 0; channel < 37; channel += 2) {
      values[channel * 9 + position] = std::numeric_limits<float>::quiet_NaN();
    }
    x.Set(values);
    PairedOp op("opencl.max_pool.vector");
    op.AddInput(x);
    op.AddOutput(c.y, Layout::kChannelsLast);
    CHECK(op.Excess(c.attributes) <= 1.0);
  }
}

TEST_CASE("OpenCL pool: the vector kernel refuses channels that are no neighbours") {
  PoolCase c;
  c.x = {1, 16, 8, 8};
  REQUIRE(InferOutput(c));
  for (const Layout layout : {Layout::kRowMajor, Layout::kChannelsLastSpaced}) {
    PairedOp op("opencl.max_pool.vector");
    op.AddInput(Tensor(DType::kF32, c.x, layout));
    op.AddOutput(c.y, Layout::kChannelsLast);
    CHECK(op.Check(c.attributes).code() == StatusCode::kUnsupported);
  }
}

}  // namespace tenon::opencl::testing
