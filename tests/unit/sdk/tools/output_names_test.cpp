#include "sdk/tools/output_names.hpp"

#include <doctest/doctest.h>

#include "sdk/tools/tool.hpp"

namespace tenon::tool {
namespace {

std::string RefusalOf(const std::vector<std::string>& words) {
  try {
    CheckOutputNames(words);
  } catch (const Failure& failure) {
    CHECK(failure.exit == kUsage);
    return failure.message;
  }
  return "";
}

}  // namespace

TEST_CASE("Output names: an output that is read is refused, however it is written") {
  for (const std::vector<std::string>& words : {
           std::vector<std::string>{"convert", "a", "-o", "p", "--report", "a"},
           {"convert", "a", "-o", "p", "--json=./a"},
           {"convert", "a", "-oa"},
           {"convert", "m", "-o", "a", "--board", "a"},
           {"convert", "m", "-o", "a", "--board=a"},
           {"convert", "m", "-o", "a", "--freeze", "x=a"},
           {"run", "p", "--input=x=a", "--trace", "sub/../a"},
       }) {
    CAPTURE(words.back());
    CHECK(RefusalOf(words).find("would replace what the command reads") != std::string::npos);
  }
}

TEST_CASE("Output names: two outputs of one name are refused") {
  CHECK(RefusalOf({"convert", "m", "-o", "p", "--json=r", "--report", "./r"}) ==
        "--json and --report name the same file: r");
}

TEST_CASE("Output names: what is named once is fine, and so are devices and flags") {
  CHECK(RefusalOf({"convert", "m", "-o", "p", "--json", "j", "--report", "r"}).empty());
  CHECK(RefusalOf({"convert", "m", "-o", "/dev/null", "--json", "/dev/null"}).empty());
  CHECK(RefusalOf({"inspect", "--json", "p"}).empty());
  CHECK(RefusalOf({"diff", "p", "p", "--json", "j"}).empty());
  CHECK(RefusalOf({"convert", "-o"}).empty());
  CHECK(RefusalOf({}).empty());
}

}  // namespace tenon::tool
