#include <doctest/doctest.h>

#include <string>

#include "tenon/tenon.hpp"

namespace {

TEST_CASE("Version: the library's is that of its headers, in words and as a number") {
  const std::string expected = std::to_string(TENON_VERSION_MAJOR) + "." +
                               std::to_string(TENON_VERSION_MINOR) + "." +
                               std::to_string(TENON_VERSION_PATCH);
  CHECK(tenon_version() == expected);
  CHECK(tenon::Version() == expected);
  CHECK(tenon_version_number() == TENON_VERSION_NUMBER);
}

TEST_CASE("Version: numbers are ordered as versions are") {
  CHECK(TENON_MAKE_VERSION(0, 1, 999) < TENON_MAKE_VERSION(0, 2, 0));
  CHECK(TENON_MAKE_VERSION(0, 999, 999) < TENON_MAKE_VERSION(1, 0, 0));
}

}  // namespace
