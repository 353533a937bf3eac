#include "runtime/base/crc32c.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

using tenon::Crc32c;

TEST_CASE("Crc32c: the vectors of RFC 3720, appendix B.4") {
  std::vector<uint8_t> bytes(32, 0);
  CHECK(Crc32c(bytes.data(), bytes.size()) == 0x8A9136AAU);
  std::memset(bytes.data(), 0xFF, bytes.size());
  CHECK(Crc32c(bytes.data(), bytes.size()) == 0x62A8AB43U);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i);
  CHECK(Crc32c(bytes.data(), bytes.size()) == 0x46DD794EU);
}

TEST_CASE("Crc32c: a message in two pieces has the sum of the whole") {
  const char* text = "123456789";
  CHECK(Crc32c(text, 9) == 0xE3069283U);
  CHECK(Crc32c(text + 4, 5, Crc32c(text, 4)) == 0xE3069283U);
}

TEST_CASE("Crc32c: a long message has the sum of its pieces, wherever it is cut") {
  std::vector<uint8_t> bytes(40000);
  uint32_t state = 1;
  for (uint8_t& byte : bytes) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<uint8_t>(state >> 24);
  }
  uint32_t by_bytes = 0;
  for (const uint8_t& byte : bytes) by_bytes = Crc32c(&byte, 1, by_bytes);
  CHECK(Crc32c(bytes.data(), bytes.size()) == by_bytes);
  for (const size_t cut : {1UL, 6143UL, 6144UL, 6145UL, 12288UL, 33333UL}) {
    CAPTURE(cut);
    const uint32_t first = Crc32c(bytes.data(), cut);
    CHECK(Crc32c(bytes.data() + cut, bytes.size() - cut, first) == by_bytes);
  }
}
