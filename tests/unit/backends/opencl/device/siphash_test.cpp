#include "backends/opencl/device/siphash.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <string>
#include <vector>

namespace tenon::opencl {
namespace {

/// Of the bytes 0, 1, ..., `count` - 1 under the key 0, 1, ..., 15, added in parts of `part`.
std::string DigestOf(size_t count, size_t part) {
  SipKey key;
  for (size_t i = 0; i < sizeof key.bytes; ++i) key.bytes[i] = static_cast<uint8_t>(i);
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i < count; ++i) bytes.push_back(static_cast<uint8_t>(i));
  SipHash hash(key);
  for (size_t at = 0; at < count; at += part) {
    hash.Add(bytes.data() + at, count - at < part ? count - at : part);
  }
  uint8_t digest[kSipBytes];
  hash.Finish(digest);
  std::string text;
  for (const uint8_t byte : digest) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02X", static_cast<unsigned>(byte));
    text += digits;
  }
  return text;
}

}  // namespace

TEST_CASE("SipHash: gives the digests of the reference implementation, however its input is cut") {
  // openssl mac -macopt hexkey:000102...0f -macopt size:16 -in BYTES SIPHASH
  for (const size_t part : {size_t{1}, size_t{3}, size_t{8}, size_t{100}}) {
    CHECK(DigestOf(0, part) == "A3817F04BA25A8E66DF67214C7550293");
    CHECK(DigestOf(1, part) == "DA87C1D86B99AF44347659119B22FC45");
    CHECK(DigestOf(7, part) == "A1F1EBBED8DBC153C0B84AA61FF08239");
    CHECK(DigestOf(8, part) == "3B62A9BA6258F5610F83E264F31497B4");
    CHECK(DigestOf(15, part) == "5493E99933B0A8117E08EC0F97CFC3D9");
    CHECK(DigestOf(63, part) == "5150D1772F50834A503E069A973FBD7C");
  }
}

}  // namespace tenon::opencl
