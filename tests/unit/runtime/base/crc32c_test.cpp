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
