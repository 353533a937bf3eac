#include <doctest/doctest.h>

#include <limits>
#include <vector>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/backends/cpu/kernels/f32/f32_fixture.hpp"
#include "tests/unit/backends/cpu/kernels/pool_cases.hpp"

namespace tenon::cpu::testing {
namespace {

constexpr const char* kMax = "cpu.max_pool.vector";
constexpr const char* kAverage = "cpu.average_pool.vector";

PoolCase Case(const std::vector<int32_t>& x, int32_t kernel, int32_t stride, int32_t pad) {
  PoolCase c;
  c.x = x;
  for (int i = 0; i < 2; ++i) {
    c.attributes.kernel[i] = kernel;
    c.attributes.strides[i] = stride;
    c.attributes.pads[i] = c.attributes.pads[2 + i] = pad;
  }
  REQUIRE(InferOutput(c));
  return c;
}

void CheckAgreement(const char* kernel, const char* portable, const PoolCase& c,
                    Generator& random) {
  CAPTURE(c.x[0]);
  CAPTURE(c.x[1]);
  CAPTURE(c.x[2]);
  CAPTURE(c.x[3]);
  PairedOp op(kernel, portable);
  op.AddInput(Random(c.x, PickChannelsLast(random), random, -3.0F, -1.0F));
  op.AddOutput(c.y, PickChannelsLast(random));
  CHECK(op.Difference(c.attributes, Pick(random, 1, 3)) == 0.0);
}

}  // namespace

TEST_CASE("Vector max pool: equals the portable kernel on random windows of negative values") {
  ForEachInstructionSet([] {
    Generator random(1);
    for (int i = 0; i < 150; ++i) {
      CheckAgreement(kMax, "cpu.max_pool.portable", RandomPoolCase(random, 150, 14), random);
    }
  });
}

TEST_CASE("Vector average pool: equals the portable kernel on random windows") {
  ForEachInstructionSet([] {
    Generator random(2);
    for (int i = 0; i < 150; ++i) {
      CheckAgreement(kAverage, "cpu.average_pool.portable", RandomPoolCase(random, 150, 14),
                     random);
    }
  });
}

TEST_CASE("Vector pool: images of so few channels that rows are the lanes") {
  ForEachInstructionSet([] {
    Generator random(7);
    for (int i = 0; i < 150; ++i) {
      PoolCase c = RandomPoolCase(random, 3, 20);
      c.x[3] = i % 5 == 0 ? Pick(random, 400, 1300) : Pick(random, 6, 40);
      if (i % 3 == 0) {
        c.attributes.kernel[1] = c.attributes.strides[1] = c.attributes.dilations[1] = 1;
        c.attributes.pads[1] = c.attributes.pads[3] = 0;
      }
      if (!InferOutput(c)) continue;
      CheckAgreement(kMax, "cpu.max_pool.portable", c, random);
      CheckAgreement(kAverage, "cpu.average_pool.portable", c, random);
    }
  });
}

TEST_CASE("Vector pool: any number of channels, as one window over everything") {
  ForEachInstructionSet([] {
    Generator random(3);
    for (int32_t channels = 1; channels <= 200; channels += channels < 70 ? 1 : 13) {
      const PoolCase c = Case({1, channels, 7, 7}, 7, 1, 0);
      CheckAgreement(kMax, "cpu.max_pool.portable", c, random);
      CheckAgreement(kAverage, "cpu.average_pool.portable", c, random);
    }
  });
}

TEST_CASE("Vector pool: the same bits whatever the number of threads") {
  ForEachInstructionSet([] {
    Generator random(4);
    const PoolCase cases[] = {Case({1, 70, 40, 41}, 3, 2, 1), Case({1, 1500, 7, 7}, 7, 1, 0)};
    for (const PoolCase& c : cases) {
      const Tensor x = Random(c.x, Layout::kChannelsLast, random);
      for (const char* kernel : {kMax, kAverage}) {
        const auto run = [&](int threads) {
          return RunUnary(kernel, x, c.y, Layout::kChannelsLast, c.attributes, threads);
        };
        const std::vector<float> first = run(1);
        CHECK(run(2) == first);
        CHECK(run(3) == first);
      }
    }
  });
}

TEST_CASE("Vector max pool: NaN wins wherever it stands in the window") {
  ForEachInstructionSet([] {
    const PoolCase c = Case({1, 37, 3, 3}, 3, 1, 0);
    for (size_t position = 0; position < 9; ++position) {
      Generator random(5);
      Tensor x = Random(c.x, Layout::kChannelsLast, random);
      std::vector<float> values = x.Values<float>();
      for (size_t channel = 0; channel < 37; channel += 2) {
        values[channel * 9 + position] = std::numeric_limits<float>::quiet_NaN();
      }
      x.Set(values);
      const std::vector<float> y = RunUnary(kMax, x, c.y, Layout::kChannelsLast, c.attributes, 1);
      for (size_t channel = 0; channel < 37; ++channel) {
        CHECK((y[channel] != y[channel]) == (channel % 2 == 0));
      }
    }
  });
}

TEST_CASE("Vector max pool: NaN wins among the lanes of a row too") {
  ForEachInstructionSet([] {
    for (const int32_t stride : {1, 2}) {
      const PoolCase c = Case({1, 1, 5, 21}, 3, stride, 1);
      for (size_t position = 0; position < 5 * 21; ++position) {
        Generator random(8);
        Tensor x = Random(c.x, Layout::kChannelsLast, random);
        std::vector<float> values = x.Values<float>();
        values[position] = std::numeric_limits<float>::quiet_NaN();
        x.Set(values);
        const std::vector<float> y = RunUnary(kMax, x, c.y, Layout::kChannelsLast, c.attributes, 1);
        for (size_t i = 0; i < y.size(); ++i) {
          const auto width = static_cast<size_t>(c.y[3]);
          const auto reads = [&](size_t output, size_t input) {
            const size_t first = output * static_cast<size_t>(stride);  // one more than it is
            return input + 1 >= first && input + 1 < first + 3;
          };
          CHECK((y[i] != y[i]) ==
                (reads(i / width, position / 21) && reads(i % width, position % 21)));
        }
      }
    }
  });
}

TEST_CASE("Vector pool: refuses channels that are no neighbours") {
  Generator random(6);
  for (const Layout layout : {Layout::kRowMajor, Layout::kChannelsLastSpaced}) {
    const PoolCase c = Case({1, 16, 8, 8}, 2, 2, 0);
    PairedOp op(kMax, "cpu.max_pool.portable");
    op.AddInput(Random(c.x, layout, random));
    op.AddOutput(c.y, Layout::kChannelsLast);
    CHECK(op.Check(c.attributes).code() == StatusCode::kUnsupported);
  }
}

}  // namespace tenon::cpu::testing
