#include "converter/solve/place/place_reach.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace tenon::converter {
namespace {

TEST_CASE("ReachableHeights: subset sums with up to the slack of gaps") {
  ReachableHeights reachable(200, 1);
  reachable.Add(0, 70);
  reachable.Add(0, 64);
  // 0 1, 64 65, 70 71, 134 135
  CHECK(reachable.Next(0) == 0);
  CHECK(reachable.Next(2) == 64);
  CHECK(reachable.Next(66) == 70);
  CHECK(reachable.Next(72) == 134);
  CHECK(reachable.Next(135) == 135);
  CHECK(reachable.Next(136) >= 200);
}

TEST_CASE("ReachableHeights: a buffer counts only above its least offset") {
  ReachableHeights reachable(100, 0);
  reachable.Add(0, 10);
  reachable.Add(5, 3);  // can lie on the first, but not at 0
  CHECK(reachable.Next(1) == 10);
  CHECK(reachable.Next(11) == 13);
}

TEST_CASE("ReachableHeights: agrees with a list of sums for every size and range") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 300; ++i) {
    const auto heights = static_cast<int64_t>(1 + random() % 400);
    const auto slack = static_cast<int64_t>(random() % 150);
    ReachableHeights reachable(heights, slack);
    std::vector<bool> expected(1024, false);
    for (int64_t h = 0; h <= slack; ++h) expected[static_cast<size_t>(h)] = true;
    int64_t lowest = 0;
    for (int k = 0; k < 5; ++k) {
      const auto size = static_cast<int64_t>(1 + random() % 140);
      lowest += static_cast<int64_t>(random() % 40);
      if (lowest >= heights) break;
      for (int64_t h = 1023 - size; h >= lowest; --h) {
        if (expected[static_cast<size_t>(h)]) expected[static_cast<size_t>(h + size)] = true;
      }
      reachable.Add(lowest, size);
    }
    for (int64_t h = 0; h < heights; ++h) {
      const int64_t next = reachable.Next(h);
      CHECK(next >= h);
      if (next < heights) CHECK(expected[static_cast<size_t>(next)]);
      for (int64_t skipped = h; skipped < next && skipped < heights; ++skipped) {
        CHECK_FALSE(expected[static_cast<size_t>(skipped)]);
      }
    }
  }
}

}  // namespace
}  // namespace tenon::converter
