#include "backends/fpga/codegen/residual_tables.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "backends/fpga/codegen/op_layers.hpp"
#include "runtime/ops/requantize.hpp"

using namespace tenon;        // NOLINT
using namespace tenon::fpga;  // NOLINT

namespace {

QuantizedBinaryAttributes HalfEvenSum(float x, float y, float z) {
  QuantizedBinaryAttributes attributes;
  attributes.x_scale.scale = x;
  attributes.y_scale.scale = y;
  attributes.output_scale.scale = z;
  return attributes;
}

/// How many of all pairs the tables give as the definition does.
int RightPairs(const QuantizedBinaryAttributes& attributes, const AddTables& tables) {
  int right = 0;
  for (int x = 0; x < 256; ++x) {
    for (int y = 0; y < 256; ++y) {
      const double sum = tables.x[static_cast<size_t>(x)] + tables.y[static_cast<size_t>(y)];
      const auto rounded =
          static_cast<int32_t>(std::nearbyint(std::ldexp(sum, -tables.fraction_bits)));
      right += Saturate(attributes.output, rounded) == ReferenceSum(attributes, x - 128, y - 128);
    }
  }
  return right;
}

}  // namespace

TEST_CASE("MakeAddTables: of random scales nearly all have tables, which are right for all pairs") {
  std::mt19937 random(5);
  std::uniform_real_distribution<float> scale(0.001F, 0.1F);
  int made = 0;
  for (int i = 0; i < 100; ++i) {
    QuantizedBinaryAttributes attributes = HalfEvenSum(scale(random), scale(random), scale(random));
    attributes.x_zero_point = static_cast<int32_t>(random() % 256) - 128;
    attributes.output.zero_point = static_cast<int32_t>(random() % 256) - 128;
    const auto tables = MakeAddTables(attributes, {});
    if (!tables) continue;
    ++made;
    CHECK(RightPairs(attributes, *tables) == 65536);
  }
  CHECK(made >= 98);
  MESSAGE(made << " of 100 triples of scales have tables");
}

TEST_CASE("MakeAddTables: there are none where every other sum is a tie that float errors decide") {
  CHECK_FALSE(MakeAddTables(HalfEvenSum(0.1F, 0.1F, 0.2F), {}).has_value());
  // The same ties without errors: all is exact.
  const QuantizedBinaryAttributes exact = HalfEvenSum(0.125F, 0.125F, 0.25F);
  const auto tables = MakeAddTables(exact, {});
  REQUIRE(tables.has_value());
  CHECK(RightPairs(exact, *tables) == 65536);
}

TEST_CASE("AverageFactor: one float divides every sum of a window, halves away from zero") {
  for (const int count : {1, 2, 3, 4, 9, 16, 25, 49, 64, 100, 225}) {
    CAPTURE(count);
    CHECK(AverageFactor(count).has_value());
  }
}
