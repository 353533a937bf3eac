// The Cortex-M convolution against the portable one: equal bits.
#include "tests/unit/backends/cpu/kernels/cortex_m/conv_cases.hpp"

namespace tenon::cpu::testing {
TEST_CASE("Cortex-M conv: the portable kernel's bits on random shapes and roundings") {
  CheckRandomConvs(
      "",
      [](int, Generator& random) {
        return RandomShapes(Pick(random, 1, 40), Pick(random, 1, 20), 1, 4, random);
      },
      150, 1);
}

TEST_CASE("Cortex-M conv: 1x1 of any number of channels and pixels") {
  CheckRandomConvs(
      "",
      [](int i, Generator& random) {
        return SquareCase(i + 1, Pick(random, 1, 10), 1, 1 + i % 29, 1, 1, 0);
      },
      70, 2);
}

TEST_CASE("Cortex-M conv: 1x1 with a stride or padding") {
  CheckRandomConvs(
      "",
      [](int, Generator& random) {
        return SquareCase(Pick(random, 1, 40), Pick(random, 1, 10), Pick(random, 1, 9),
                          Pick(random, 1, 9), 1, Pick(random, 1, 3), Pick(random, 0, 1));
      },
      40, 3);
}

TEST_CASE("Cortex-M conv: 3x3 of whole vectors, at the borders and inside") {
  CheckRandomConvs(
      "",
      [](int, Generator& random) {
        return SquareCase(16 * Pick(random, 1, 3), Pick(random, 1, 16), Pick(random, 3, 9),
                          Pick(random, 3, 30), 3, Pick(random, 1, 2), Pick(random, 0, 2));
      },
      40, 4);
}

TEST_CASE("Cortex-M conv: no images") {
  CheckRandomConvs(
      "",
      [](int, Generator&) {
        ConvCase c = SquareCase(3, 4, 5, 5, 3, 1, 1);
        c.x[0] = 0;
        return c;
      },
      1, 5);
}

}  // namespace tenon::cpu::testing
