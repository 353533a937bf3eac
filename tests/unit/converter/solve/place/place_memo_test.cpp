#include "converter/solve/place/place_memo.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <vector>

namespace tenon::converter {
namespace {

/// Returns buffers for which the greedy orders do not find the smallest peak.
std::vector<Buffer> Tangle(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Buffer> buffers;
  for (int i = 0; i < 60; ++i) {
    const auto lower = static_cast<int64_t>(random() % 40);
    const auto steps = static_cast<int64_t>(1 + random() % 12);
    const auto size = static_cast<int64_t>(64 * (1 + random() % 30));
    buffers.push_back({lower, lower + steps, size, 64});
  }
  return buffers;
}

PlaceOptions Short() {
  PlaceOptions options;
  options.work_budget = 200'000;
  return options;
}

TEST_CASE("Place memo: gives what PlaceBuffers gives, the first time and later") {
  PlacementMemo memo;
  for (const uint64_t seed : {1, 2, 1, 2}) {
    const std::vector<Buffer> buffers = Tangle(seed);
    const Placement expected = PlaceBuffers(buffers, Short());
    const Placement placement = memo.Place(buffers, Short());
    CHECK(placement.offsets == expected.offsets);
    CHECK(placement.peak == expected.peak);
    CHECK(placement.lower_bound == expected.lower_bound);
    CHECK(placement.proven_optimal == expected.proven_optimal);
    CHECK(placement.work == expected.work);
  }
  CHECK(memo.size() == 2);
}

TEST_CASE("Place memo: each difference of buffers or options counts") {
  PlacementMemo memo;
  const std::vector<Buffer> buffers = {{0, 2, 128, 64}, {1, 3, 128, 64}};
  std::vector<std::vector<Buffer>> others(5, buffers);
  others[0][0].lower = 1;
  others[1][0].upper = 1;
  others[2][0].size = 64;
  others[3][0].alignment = 256;
  others[4][0].offset = 0;
  std::vector<PlaceOptions> options(5, Short());
  options[1].limit = 0;
  options[2].only_below = 0;
  options[3].work_budget = 1;
  options[4].seed = 7;
  for (const PlaceOptions& option : options) (void)memo.Place(buffers, option);
  CHECK(memo.size() == options.size());
  for (const std::vector<Buffer>& other : others) (void)memo.Place(other, Short());
  CHECK(memo.size() == options.size() + others.size());
}

TEST_CASE("Place memo: what a clock may stop is not remembered") {
  PlacementMemo memo;
  PlaceOptions options = Short();
  options.time_limit_seconds = 10;
  CHECK(memo.Place(Tangle(1), options).peak > 0);
  CHECK(memo.size() == 0);
}

TEST_CASE("Place: nothing is searched where the bound leaves no useful peak") {
  bool is_searched = false;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    const std::vector<Buffer> buffers = Tangle(seed);
    const Placement whole = PlaceBuffers(buffers, Short());
    PlaceOptions options = Short();
    options.only_below = whole.lower_bound;
    const Placement useless = PlaceBuffers(buffers, options);
    CHECK(useless.work == 0);
    CHECK(useless.peak >= whole.lower_bound);
    CHECK(IsValidPlacement(buffers, useless.offsets));
    // Where there is a useful one, the search is the same.
    options.only_below = whole.peak + 1;
    const Placement useful = PlaceBuffers(buffers, options);
    CHECK(useful.offsets == whole.offsets);
    CHECK(useful.work == whole.work);
    is_searched = is_searched || whole.work > 0;
  }
  CHECK(is_searched);
}

}  // namespace
}  // namespace tenon::converter
