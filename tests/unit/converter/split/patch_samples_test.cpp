#include "converter/split/patch_samples.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace tenon::converter {
namespace {

using Indices = std::vector<int32_t>;

TEST_CASE("Patch samples: of few patches all, of many those at both ends and some between") {
  CHECK(SampledParts(1, 1) == Indices{0});
  CHECK(SampledParts(12, 1) == Indices{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  CHECK(SampledParts(112, 1) == Indices{0, 1, 2, 3, 24, 45, 66, 87, 108, 109, 110, 111});
  CHECK(SampledParts(13, 1) == Indices{0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12});
}

TEST_CASE("Patch samples: patches that add one share together are examined together") {
  CHECK(SampledParts(5, 2) == Indices{0, 1, 2, 3, 4});  // the last share has one patch
  for (const int32_t parts : {47, 48, 400}) {
    constexpr int32_t kSteps = 4;
    const Indices sample = SampledParts(parts, kSteps);
    CHECK(std::is_sorted(sample.begin(), sample.end()));
    CHECK(sample.front() == 0);
    CHECK(sample.back() == parts - 1);
    CHECK(sample.size() <= 12 * kSteps);
    for (const int32_t part : sample) {
      const int32_t first = part / kSteps * kSteps;
      for (int32_t other = first; other < std::min(first + kSteps, parts); ++other) {
        CHECK(std::binary_search(sample.begin(), sample.end(), other));
      }
    }
  }
}

TEST_CASE("Patch samples: of tiles both edges and one between, each once") {
  CHECK(SampledTiles(1) == Indices{0});
  CHECK(SampledTiles(2) == Indices{0, 1});
  CHECK(SampledTiles(4) == Indices{0, 1, 2, 3});
  CHECK(SampledTiles(9) == Indices{0, 1, 4, 7, 8});
}

}  // namespace
}  // namespace tenon::converter
