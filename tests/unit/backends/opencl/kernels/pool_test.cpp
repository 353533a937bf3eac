#include <doctest/doctest.h>

#include <limits>
#include <vector>

#include "tests/unit/backends/cpu/kernels/pool_cases.hpp"
#include "tests/unit/backends/opencl/opencl_fixture.hpp"

namespace tenon::opencl::testing {
namespace {

using cpu::testing::InferOutput;
using cpu::testing::PoolCase;
using cpu::testing::RandomPoolCase;

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
    const PoolCase c = RandomPoolCase(random, 50, 12);
    const Layout layout = i % 2 == 0 ? Layout::kChannelsLast : Layout::kChannelsLastGaps;
    CheckAgreement("opencl.max_pool.vector", c, layout, Layout::kChannelsLast, random);
    CheckAgreement("opencl.average_pool.vector", c, layout, Layout::kChannelsLast, random);
  }
}

TEST_CASE("OpenCL pool: random windows in any layout") {
  Generator random(2);
  for (int i = 0; i < 60; ++i) {
    const PoolCase c = RandomPoolCase(random, 50, 12);
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
