#include "runtime/backend_api/kept_texts.hpp"

#include <doctest/doctest.h>

#include <string>

namespace tenon {

TEST_CASE("Kept texts: each once, and no more than there is room for") {
  KeptTexts kept(3, "too many");
  const char* const first = kept.Keep("0");
  CHECK(kept.Keep(std::string("0")) == first);
  for (int i = 1; i < 3; ++i) CHECK(kept.Keep(std::to_string(i)) == std::to_string(i));
  for (int i = 3; i < 100; ++i) CHECK(std::string(kept.Keep(std::to_string(i))) == "too many");
  CHECK(kept.Keep("0") == first);
  CHECK(std::string(first) == "0");
  CHECK(std::string(kept.Keep("2")) == "2");
}

}  // namespace tenon
