// The smallest limit that works, where attempts are anything but monotone.
#include "converter/driver/limit_search.hpp"

#include <doctest/doctest.h>

#include <functional>

namespace tenon::converter {
namespace {

constexpr int64_t kMost = 100'000;

/// A program with an arena of exactly the limit, where `works` says that there is one.
LimitSearch::Attempt AttemptWhere(std::function<bool(int64_t)> works) {
  return [works = std::move(works)](int64_t bytes) -> Result<std::optional<Fitted>> {
    if (bytes < kMost && !works(bytes)) return std::optional<Fitted>();
    Fitted fitted;
    fitted.compiled.arena.bytes = bytes;
    return std::optional(std::move(fitted));
  };
}

int64_t SmallestOf(LimitSearch search) {
  const Result<std::optional<Fitted>> smallest = search.Smallest();
  REQUIRE(smallest.ok());
  REQUIRE(smallest->has_value());
  return (*smallest)->compiled.arena.bytes;
}

TEST_CASE("Limit search: the smallest of monotone attempts is found within a 64th") {
  for (const int64_t least : {64, 100, 777, 5000, 99'000}) {
    CAPTURE(least);
    const auto works = [=](int64_t bytes) { return bytes >= least; };
    const int64_t found = SmallestOf(LimitSearch(AttemptWhere(works), 1, kMost));
    CHECK(found >= least);
    CHECK(found <= least + least / 32 + 64);
  }
}

TEST_CASE("Limit search: where attempts fail here and there the smallest is one that works") {
  const auto works = [](int64_t bytes) { return bytes >= 6000 && bytes % 3 == 0; };
  const int64_t found = SmallestOf(LimitSearch(AttemptWhere(works), 1, kMost));
  CHECK((works(found) || found == kMost));
}

TEST_CASE("Limit search: what is accepted up to a limit is no smaller than the smallest") {
  const auto works = [](int64_t bytes) { return bytes >= 6000 && (bytes / 1000) % 4 != 3; };
  const int64_t smallest = SmallestOf(LimitSearch(AttemptWhere(works), 1, kMost));
  for (int64_t limit = 500; limit < kMost; limit += 733) {
    CAPTURE(limit);
    LimitSearch search(AttemptWhere(works), 1, kMost);
    const auto found = search.AtMost(limit);
    REQUIRE(found.ok());
    if (!found->has_value()) continue;
    CHECK((*found)->compiled.arena.bytes <= limit);
    CHECK(smallest <= limit);
  }
}

TEST_CASE("Limit search: what works below some limits that fail is found") {
  const auto works = [](int64_t bytes) {
    return bytes >= 40'000 || (bytes >= 9'000 && bytes < 25'000);
  };
  CHECK(SmallestOf(LimitSearch(AttemptWhere(works), 1, kMost)) < 25'000);
}

TEST_CASE("Limit search: every limit from the smallest on is accepted, and none below it") {
  const auto works = [](int64_t bytes) { return bytes >= 6000 && (bytes / 1000) % 4 != 3; };
  const int64_t smallest = SmallestOf(LimitSearch(AttemptWhere(works), 1, kMost));
  for (const int64_t limit : {smallest - 1, smallest, smallest + 1, 2 * smallest, kMost}) {
    CAPTURE(limit);
    const auto found = LimitSearch(AttemptWhere(works), 1, kMost).AtMost(limit);
    REQUIRE(found.ok());
    CHECK(found->has_value() == (limit >= smallest));
  }
}

TEST_CASE("Limit search: nothing below the least that any program needs is tried") {
  const auto works = [](int64_t bytes) {
    CHECK(bytes >= 3000);
    return bytes >= 4000;
  };
  CHECK(SmallestOf(LimitSearch(AttemptWhere(works), 3000, kMost)) >= 4000);
}

TEST_CASE("Limit search: where nothing works there is no smallest") {
  LimitSearch search([](int64_t) { return Result<std::optional<Fitted>>(std::nullopt); }, 1, kMost);
  const auto found = search.Smallest();
  REQUIRE(found.ok());
  CHECK_FALSE(found->has_value());
}

}  // namespace
}  // namespace tenon::converter
