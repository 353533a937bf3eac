// Layers give the bytes of the CPU's kernels, layer by layer.
#include <doctest/doctest.h>

#include "tests/unit/backends/fpga/codegen/compare_layers.hpp"
#include "tests/unit/backends/fpga/codegen/random_segment.hpp"

using namespace tenon;  // NOLINT

TEST_CASE("LowerSegment: random convolutions become layers that give the CPU's bytes") {
  test::SeenLayers seen;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    CHECK(test::CompareLayers(test::RandomConv(seed), seed, seen) == "");
  }
  CHECK(seen.layers == 300);
}

TEST_CASE("LowerSegment: random segments become layers that give the CPU's bytes") {
  test::SeenLayers seen;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    CHECK(test::CompareLayers(test::RandomSegment(seed), seed, seen) == "");
  }
  MESSAGE(seen.layers << " layers, " << seen.residuals << " with sums, " << seen.tables
                      << " with tables; " << seen.refused << " segments refused, " << seen.elsewhere
                      << " ops on the CPU");
  CHECK(seen.residuals > 30);
  CHECK(seen.tables > 30);
  CHECK(seen.refused < 15);
}
