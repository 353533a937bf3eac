// The Cortex-M depthwise convolution against the portable one: equal bits.
#include "tests/unit/backends/cpu/cortex_m/conv_cases.hpp"

namespace tenon::cpu::testing {
namespace {

void CheckCases(const std::function<ConvCase(int, Generator&)>& make, int count, uint32_t seed) {
  ForEachSet("quantized_conv", "_depthwise", [&](const KernelEntry& kernel) {
    Generator random(seed);
    for (int i = 0; i < count; ++i) {
      const ConvCase c = make(i, random);
      CheckConv(kernel, "_depthwise", c, RandomOptions(random), random);
    }
  });
}

}  // namespace

TEST_CASE("Cortex-M depthwise: the portable kernel's bits on random shapes and roundings") {
  CheckCases(
      [](int, Generator& random) {
        const int32_t channels = Pick(random, 1, 50);
        return RandomShapes(channels, channels, channels, 5, random);
      },
      150, 1);
}

TEST_CASE("Cortex-M depthwise: 3x3 of any number of channels") {
  CheckCases(
      [](int i, Generator& random) {
        return SquareCase(i + 1, i + 1, Pick(random, 1, 6), Pick(random, 1, 30), 3,
                          Pick(random, 1, 2), 1, i + 1);
      },
      70, 2);
}

}  // namespace tenon::cpu::testing
