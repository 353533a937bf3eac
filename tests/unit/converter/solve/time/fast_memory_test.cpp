#include "converter/solve/time/fast_memory.hpp"

#include <doctest/doctest.h>

namespace tenon::converter {
namespace {

using Side = FastMemory::Side;

TEST_CASE("each side's holds lie at its end of memory") {
  FastMemory memory;
  memory.Reset(100);
  CHECK(memory.Take(30, 0, Side::kLow, 0).begin == 0);
  CHECK(memory.Take(30, 0, Side::kHigh, 1).begin == 70);
  CHECK(memory.HasPlace(40));
  CHECK_FALSE(memory.HasPlace(41));
}

TEST_CASE("a place across pieces is free when the last of them is") {
  FastMemory memory;
  memory.Reset(100);
  memory.Take(50, 0, Side::kLow, 0);
  memory.Take(50, 0, Side::kLow, 1);
  memory.Release(0, 10);
  memory.Release(50, 20);
  CHECK(memory.TimeFor(50) == 10);
  CHECK(memory.TimeFor(51) == 20);
  CHECK(memory.Take(60, 0, Side::kLow, 2).free_from == 20);
}

TEST_CASE("what is free in time is taken before what is free later") {
  FastMemory memory;
  memory.Reset(100);
  memory.Take(50, 0, Side::kLow, 0);
  memory.Release(0, 30);
  CHECK(memory.Take(50, 10, Side::kLow, 1).begin == 50);
}

TEST_CASE("gaps do not add up") {
  FastMemory memory;
  memory.Reset(100);
  memory.Take(40, 0, Side::kLow, 0);
  memory.Take(20, 0, Side::kLow, 1);
  memory.Release(0, 5);
  CHECK(memory.HasPlace(40));
  CHECK_FALSE(memory.HasPlace(41));
}

TEST_CASE("simplifying joins what is free by then, and nothing else") {
  FastMemory memory;
  memory.Reset(90);
  for (int32_t i = 0; i < 3; ++i) memory.Take(30, 0, Side::kLow, i);
  memory.Release(0, 10);
  memory.Release(30, 20);
  memory.Release(60, 30);
  memory.Simplify(20);
  REQUIRE(memory.pieces().size() == 2);
  CHECK(memory.pieces()[0].end == 60);
  CHECK(memory.pieces()[0].free_from == 20);
  CHECK(memory.TimeFor(90) == 30);
}

}  // namespace
}  // namespace tenon::converter
