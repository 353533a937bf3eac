#include "converter/solve/place/place.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace tenon::converter {
namespace {

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();

Buffer Fixed(int64_t lower, int64_t upper, int64_t size, int64_t offset) {
  return {lower, upper, size, 1, offset};
}

TEST_CASE("Place: no buffers need no memory") {
  const Placement placement = PlaceBuffers({}, {});
  CHECK(placement.offsets.empty());
  CHECK(placement.peak == 0);
  CHECK(placement.lower_bound == 0);
  CHECK(placement.proven_optimal);
}

TEST_CASE("Place: buffers of one step are stacked") {
  const std::vector<Buffer> buffers = {{0, 1, 10}, {0, 1, 20}, {0, 1, 30}};
  const Placement placement = PlaceBuffers(buffers, {});
  CHECK(IsValidPlacement(buffers, placement.offsets));
  CHECK(placement.peak == 60);
  CHECK(placement.proven_optimal);
}

TEST_CASE("Place: memory of dead buffers is used again, for the upper step is exclusive") {
  //  step     0   1   2       a and b live at step 0, b and c at step 1
  const std::vector<Buffer> buffers = {{0, 1, 64}, {0, 2, 128}, {1, 3, 64}};
  const Placement placement = PlaceBuffers(buffers, {});
  CHECK(IsValidPlacement(buffers, placement.offsets));
  CHECK(placement.peak == 192);
}

TEST_CASE("Place: a buffer without bytes or lifetime lies at 0 and moves no other") {
  const std::vector<Buffer> buffers = {{0, 4, 0}, {0, 4, 8}, {2, 2, 8}, {3, 1, 8}};
  const Placement placement = PlaceBuffers(buffers, {});
  CHECK(placement.offsets == std::vector<int64_t>{0, 0, 0, 0});
  CHECK(placement.peak == 8);
  CHECK(IsValidPlacement(buffers, placement.offsets));
}

TEST_CASE("Place: offsets are multiples of each buffer's own alignment") {
  const std::vector<Buffer> buffers = {{0, 2, 10, 64}, {0, 2, 10, 64}, {0, 2, 6, 2}, {1, 3, 3, 16}};
  const Placement placement = PlaceBuffers(buffers, {});
  CHECK(IsValidPlacement(buffers, placement.offsets));
  CHECK(placement.peak == 74);  // the small ones fit between the two at 0 and 64
  CHECK(placement.proven_optimal);
}

TEST_CASE("Place: the padding behind the topmost buffer does not count") {
  const std::vector<Buffer> buffers = {{0, 1, 100, 64}, {0, 1, 10, 64}};
  const Placement placement = PlaceBuffers(buffers, {});
  CHECK(placement.peak == 138);  // 100 is padded to 128 if below; 10 to 64 gives 164
  CHECK(placement.lower_bound <= 138);
  CHECK(placement.proven_optimal);
}

TEST_CASE("Place: fixed offsets are kept and the others lie around them") {
  const std::vector<Buffer> buffers = {
      Fixed(0, 4, 10, 20), {0, 2, 20}, {2, 4, 15}, {1, 3, 5}, {0, 4, 10}};
  const Placement placement = PlaceBuffers(buffers, {});
  REQUIRE(IsValidPlacement(buffers, placement.offsets));
  CHECK(placement.offsets[0] == 20);
  CHECK(placement.peak == 45);  // at step 2: 10 + 15 + 5 + 10 live, and 5 at the fixed one's foot
  CHECK(placement.proven_optimal);
}

TEST_CASE("Place: colliding fixed offsets are returned but never called optimal") {
  const std::vector<Buffer> buffers = {Fixed(0, 2, 10, 0), Fixed(1, 3, 10, 5), {0, 3, 4}};
  const Placement placement = PlaceBuffers(buffers, {});
  CHECK(placement.offsets.size() == 3);
  CHECK_FALSE(IsValidPlacement(buffers, placement.offsets));
  CHECK_FALSE(placement.proven_optimal);
}

TEST_CASE("Place: sizes near 2^62 do not overflow") {
  const int64_t huge = (int64_t{1} << 62) - 64;
  const std::vector<Buffer> apart = {{0, 1, huge, 64}, {1, 2, huge, 64}, {0, 2, 100, 64}};
  const Placement placement = PlaceBuffers(apart, {});
  CHECK(IsValidPlacement(apart, placement.offsets));
  CHECK(placement.peak == huge + 100);

  const std::vector<Buffer> together = {{0, 1, huge}, {0, 1, huge}, {0, 1, huge}};
  const Placement impossible = PlaceBuffers(together, {});
  CHECK(impossible.peak == kLargest);
  CHECK_FALSE(IsValidPlacement(together, impossible.offsets));
  CHECK_FALSE(impossible.proven_optimal);
}

TEST_CASE("Place: a limit that greedy meets ends the search before it begins") {
  const std::vector<Buffer> buffers = {{0, 2, 3}, {1, 4, 3}, {3, 6, 3}, {2, 3, 2}, {0, 6, 1}};
  PlaceOptions options;
  options.limit = 1000;
  const Placement placement = PlaceBuffers(buffers, options);
  CHECK(placement.work == 0);
  CHECK(placement.peak <= 1000);
}

TEST_CASE("Place: a limit below the lower bound still gives the best placement") {
  const std::vector<Buffer> buffers = {{0, 2, 30}, {1, 3, 30}};
  PlaceOptions options;
  options.limit = 10;
  const Placement placement = PlaceBuffers(buffers, options);
  CHECK(placement.peak == 60);
  CHECK(placement.proven_optimal);
}

TEST_CASE("LowerBound: the largest live sum, a lone large buffer, a fixed end") {
  CHECK(LowerBound({{0, 2, 3}, {1, 3, 4}, {2, 4, 5}}) == 9);
  CHECK(LowerBound({{0, 2, 3}, {5, 5, 40}}) == 40);
  CHECK(LowerBound({{0, 2, 3}, Fixed(0, 1, 2, 100)}) == 102);
  CHECK(LowerBound({{0, 1, 10, 64}, {0, 1, 20, 64}}) == 74);
}

TEST_CASE("IsValidPlacement: refuses overlap, misalignment, a moved fixed offset, bad counts") {
  const std::vector<Buffer> buffers = {{0, 2, 8, 4}, {1, 3, 8, 4}};
  CHECK(IsValidPlacement(buffers, {0, 8}));
  CHECK(IsValidPlacement(buffers, {8, 0}));
  CHECK_FALSE(IsValidPlacement(buffers, {0, 4}));
  CHECK_FALSE(IsValidPlacement(buffers, {4, 0}));
  CHECK_FALSE(IsValidPlacement(buffers, {0, 0}));
  CHECK_FALSE(IsValidPlacement(buffers, {0, 9}));
  CHECK_FALSE(IsValidPlacement(buffers, {-4, 8}));
  CHECK_FALSE(IsValidPlacement(buffers, {0}));
  CHECK_FALSE(IsValidPlacement({Fixed(0, 1, 4, 8)}, {0}));
  CHECK(IsValidPlacement({{0, 1, 8}, {1, 2, 8}}, {0, 0}));
  CHECK_FALSE(IsValidPlacement({{0, 1, kLargest}}, {1}));
  // A small one inside a large one that started long before.
  CHECK_FALSE(IsValidPlacement({{0, 9, 100}, {1, 2, 4}, {5, 6, 4}}, {0, 100, 50}));
}

}  // namespace
}  // namespace tenon::converter
