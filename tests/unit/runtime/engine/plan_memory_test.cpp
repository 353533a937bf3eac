// Windows move on: bytes are copied right where the copy overlaps what is copied.
#include "runtime/engine/plan_memory.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenon::test {
namespace {

constexpr size_t kMost = 70;  // four blocks and a rest

std::vector<uint8_t> Counted() {
  std::vector<uint8_t> bytes(3 * kMost);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i);
  return bytes;
}

TEST_CASE("the end of a window becomes its beginning, however far it moves") {
  for (size_t distance = 0; distance <= kMost; ++distance) {
    for (size_t bytes = 0; bytes <= kMost; ++bytes) {
      CAPTURE(distance);
      CAPTURE(bytes);
      constexpr size_t kFirst = 3;  // words and blocks begin at no multiples of their size
      std::vector<uint8_t> memory = Counted();
      std::vector<uint8_t> expected = memory;
      for (size_t i = 0; i < bytes; ++i)
        expected[kFirst + i] = static_cast<uint8_t>(kFirst + distance + i);
      MoveBytes(memory.data() + kFirst, memory.data() + kFirst + distance, bytes);
      REQUIRE(memory == expected);
    }
  }
}

}  // namespace
}  // namespace tenon::test
