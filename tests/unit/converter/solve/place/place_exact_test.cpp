// The exact search against brute force, hidden packings and itself.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "converter/solve/place/place.hpp"
#include "tests/support/progress_log.hpp"

namespace tenon::converter {
namespace {

int64_t Uniform(std::mt19937_64& random, int64_t low, int64_t high) {
  return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
}

/// The smallest peak: every order of the movable buffers, each to the lowest place that is free.
/// Some order yields an optimal placement: by rising offsets of one that is pushed down.
int64_t BruteForcePeak(const std::vector<Buffer>& buffers) {
  std::vector<size_t> order;
  std::vector<size_t> fixed;
  for (size_t i = 0; i < buffers.size(); ++i) (buffers[i].offset ? fixed : order).push_back(i);
  int64_t best = std::numeric_limits<int64_t>::max();
  std::vector<int64_t> offsets(buffers.size(), 0);
  do {
    std::vector<size_t> placed = fixed;
    int64_t peak = 0;
    for (const size_t i : fixed) {
      offsets[i] = *buffers[i].offset;
      peak = std::max(peak, offsets[i] + buffers[i].size);
    }
    for (const size_t i : order) {
      int64_t offset = 0;
      const auto is_free = [&] {
        return std::none_of(placed.begin(), placed.end(), [&](size_t other) {
          return buffers[i].lower < buffers[other].upper &&
                 buffers[other].lower < buffers[i].upper &&
                 offset < offsets[other] + buffers[other].size &&
                 offsets[other] < offset + buffers[i].size;
        });
      };
      while (!is_free()) offset += buffers[i].alignment;
      offsets[i] = offset;
      placed.push_back(i);
      peak = std::max(peak, offset + buffers[i].size);
    }
    best = std::min(best, peak);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

std::vector<Buffer> RandomBuffers(std::mt19937_64& random, bool aligned, bool fixed) {
  std::vector<Buffer> buffers;
  for (int i = 0; i < 7; ++i) {
    Buffer buffer;
    buffer.lower = Uniform(random, 0, 6);
    buffer.upper = buffer.lower + Uniform(random, 1, 5);
    buffer.size = Uniform(random, 1, 9);
    if (aligned) buffer.alignment = int64_t{1} << Uniform(random, 0, 2);
    buffers.push_back(buffer);
  }
  if (fixed) buffers[0].offset = buffers[0].alignment * Uniform(random, 0, 5);
  return buffers;
}

/// Cuts the rectangle of `steps` x `units` into buffers without a gap; a placement within `units`
/// therefore exists, and none that wastes a byte anywhere.
std::vector<Buffer> HiddenPacking(std::mt19937_64& random, size_t count, int64_t steps,
                                  int64_t units) {
  struct Rectangle {
    int64_t left, right, bottom, top;
  };
  std::vector<Rectangle> rectangles = {{0, steps, 0, units}};
  while (rectangles.size() < count) {
    const auto largest = std::max_element(
        rectangles.begin(), rectangles.end(), [](const Rectangle& a, const Rectangle& b) {
          return (a.right - a.left) * (a.top - a.bottom) < (b.right - b.left) * (b.top - b.bottom);
        });
    const Rectangle r = *largest;
    rectangles.erase(largest);
    const bool wide = r.right - r.left >= 3;
    const bool high = r.top - r.bottom >= 3;
    if (wide && high && random() % 2 == 0) {  // a pinwheel, which no straight cut divides
      const int64_t x1 = Uniform(random, r.left + 1, r.right - 2);
      const int64_t x2 = Uniform(random, x1 + 1, r.right - 1);
      const int64_t y1 = Uniform(random, r.bottom + 1, r.top - 2);
      const int64_t y2 = Uniform(random, y1 + 1, r.top - 1);
      rectangles.push_back({r.left, x2, r.bottom, y1});
      rectangles.push_back({x2, r.right, r.bottom, y2});
      rectangles.push_back({x1, r.right, y2, r.top});
      rectangles.push_back({r.left, x1, y1, r.top});
      rectangles.push_back({x1, x2, y1, y2});
    } else if (wide && (!high || random() % 2 == 0)) {
      const int64_t x = Uniform(random, r.left + 1, r.right - 1);
      rectangles.push_back({r.left, x, r.bottom, r.top});
      rectangles.push_back({x, r.right, r.bottom, r.top});
    } else {
      const int64_t y = Uniform(random, r.bottom + 1, r.top - 1);
      rectangles.push_back({r.left, r.right, r.bottom, y});
      rectangles.push_back({r.left, r.right, y, r.top});
    }
  }
  std::vector<Buffer> buffers;
  for (const Rectangle& r : rectangles) {
    buffers.push_back({r.left, r.right, (r.top - r.bottom) * 1024});
  }
  std::shuffle(buffers.begin(), buffers.end(), random);
  return buffers;
}

void CheckAgainstBruteForce(bool aligned, bool fixed, uint64_t seed) {
  std::mt19937_64 random(seed);
  for (int i = 0; i < 60; ++i) {
    CAPTURE(i);
    const std::vector<Buffer> buffers = RandomBuffers(random, aligned, fixed);
    const int64_t best = BruteForcePeak(buffers);
    const Placement placement = PlaceBuffers(buffers, {});
    CHECK(IsValidPlacement(buffers, placement.offsets));
    CHECK(placement.peak == best);
    CHECK(placement.proven_optimal);
    CHECK(placement.lower_bound <= best);
  }
}

TEST_CASE("Place: small problems are solved to the peak that brute force finds") {
  CheckAgainstBruteForce(false, false, 1);
}

TEST_CASE("Place: small problems with mixed alignments match brute force") {
  CheckAgainstBruteForce(true, false, 2);
}

TEST_CASE("Place: small problems around a fixed buffer match brute force") {
  CheckAgainstBruteForce(false, true, 3);
  CheckAgainstBruteForce(true, true, 4);
}

// Found by enumeration: 19 bytes are live at most, and no placement ends below 20.
const std::vector<Buffer> kProblemWithGap = {{0, 3, 8}, {0, 4, 2}, {4, 7, 9}, {3, 4, 3},
                                             {0, 1, 9}, {1, 5, 3}, {3, 5, 6}, {1, 4, 4}};

TEST_CASE("Place: an optimum above the lower bound is proved by exhausting the search") {
  const Placement placement = PlaceBuffers(kProblemWithGap, {});
  CHECK(IsValidPlacement(kProblemWithGap, placement.offsets));
  CHECK(placement.lower_bound == 19);
  CHECK(BruteForcePeak(kProblemWithGap) == 20);
  CHECK(placement.peak == 20);
  CHECK(placement.proven_optimal);
}

TEST_CASE("Place: problems like one with a gap above the lower bound match brute force") {
  std::mt19937_64 random(5);
  int above = 0;
  for (int i = 0; i < 40; ++i) {
    CAPTURE(i);
    std::vector<Buffer> buffers = kProblemWithGap;
    for (Buffer& buffer : buffers) buffer.size = buffer.size * 5 + Uniform(random, -1, 1);
    std::shuffle(buffers.begin(), buffers.end(), random);
    const Placement placement = PlaceBuffers(buffers, {});
    CHECK(IsValidPlacement(buffers, placement.offsets));
    CHECK(placement.peak == BruteForcePeak(buffers));
    CHECK(placement.proven_optimal);
    above += placement.peak > placement.lower_bound ? 1 : 0;
  }
  CHECK(above > 10);
}

TEST_CASE("Place: hidden packings without a spare byte are found") {
  std::mt19937_64 random(11);
  for (int i = 0; i < 8; ++i) {
    CAPTURE(i);
    const std::vector<Buffer> buffers = HiddenPacking(random, 60, 40, 1024);
    PlaceOptions options;
    options.limit = 1 << 20;
    options.work_budget = 20'000'000;
    const Placement placement = PlaceBuffers(buffers, options);
    CHECK(IsValidPlacement(buffers, placement.offsets));
    CHECK(placement.lower_bound == 1 << 20);
    CHECK(placement.peak == 1 << 20);
  }
}

TEST_CASE("Place: the same problem and seed give the same placement and work") {
  std::mt19937_64 random(12);
  const std::vector<Buffer> buffers = HiddenPacking(random, 80, 40, 1024);
  PlaceOptions options;
  options.work_budget = 300'000;
  const Placement first = PlaceBuffers(buffers, options);
  const Placement second = PlaceBuffers(buffers, options);
  CHECK(first.work > 0);
  CHECK(first.offsets == second.offsets);
  CHECK(first.work == second.work);
}

TEST_CASE("Place: the budget bounds the work") {
  std::mt19937_64 random(13);
  const std::vector<Buffer> buffers = HiddenPacking(random, 300, 200, 1024);
  PlaceOptions options;
  options.work_budget = 50'000;
  const Placement placement = PlaceBuffers(buffers, options);
  CHECK(IsValidPlacement(buffers, placement.offsets));
  // One placement and all that follows from it may exceed the budget.
  CHECK(placement.work < 60'000);
}

TEST_CASE("Place: progress of the search goes up to its budget, and is silent without a search") {
  std::mt19937_64 random(13);
  test::ProgressLog log;
  PlaceOptions options;
  options.work_budget = 50'000;
  options.progress = log.Listener();
  const Placement placement = PlaceBuffers(HiddenPacking(random, 300, 200, 1024), options);
  REQUIRE_FALSE(placement.proven_optimal);
  CHECK(log.IsOrderly());
  CHECK(log.shares().size() > 10);
  CHECK(log.shares().back() > 0.9);

  test::ProgressLog silent;
  options.progress = silent.Listener();
  (void)PlaceBuffers({{0, 2, 8}, {1, 3, 8}}, options);
  CHECK(silent.shares().empty());
}

TEST_CASE("Place: the clock stops the search") {
  std::mt19937_64 random(14);
  const std::vector<Buffer> buffers = HiddenPacking(random, 400, 150, 16384);
  PlaceOptions options;
  options.work_budget = std::numeric_limits<int64_t>::max() / 2;
  options.time_limit_seconds = 0.05;
  const Placement placement = PlaceBuffers(buffers, options);
  CHECK(placement.stopped_by_clock);
  CHECK_FALSE(placement.proven_optimal);
  CHECK(IsValidPlacement(buffers, placement.offsets));
}

TEST_CASE("Place: thousands of buffers are placed without deep recursion") {
  std::vector<Buffer> chain;
  for (int64_t i = 0; i < 4000; ++i) chain.push_back({i, i + 2 + i % 3, 64 * (1 + i * 7919 % 97)});
  const Placement placement = PlaceBuffers(chain, {});
  CHECK(IsValidPlacement(chain, placement.offsets));
  CHECK(placement.proven_optimal);

  // All alive together, and alike: one stack.
  const std::vector<Buffer> stack(3000, Buffer{0, 1, 64, 64, {}});
  CHECK(PlaceBuffers(stack, {}).peak == 3000 * 64);
}

}  // namespace
}  // namespace tenon::converter
