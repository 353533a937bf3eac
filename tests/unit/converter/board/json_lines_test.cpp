#include "converter/board/json_lines.hpp"

#include <doctest/doctest.h>

#include "converter/board/board.hpp"

namespace tenon::converter {
namespace {

TEST_CASE("JsonLines: members and elements have the line in which they begin") {
  const JsonLines lines("{\n \"a\": [1,\n {\"b\": \"x\\\"{[\\n\"},\n [\n2]],\n\"c\": {}}");
  CHECK(lines.LineOf("") == 1);
  CHECK(lines.LineOf("a") == 2);
  CHECK(lines.LineOf("a[1]") == 3);
  CHECK(lines.LineOf("a[1].b") == 3);
  CHECK(lines.LineOf("a[2]") == 4);
  CHECK(lines.LineOf("c") == 6);
  CHECK(lines.LineOf("d") == 0);
}

TEST_CASE("JsonLines: a hostile file takes no more memory than it has bytes, or so") {
  const size_t depth = 200'000;
  const std::string nested = std::string(depth, '[') + std::string(depth, ']');
  const JsonLines deep("{\"a\": " + nested + ",\n\"b\": 1}");
  CHECK(deep.LineOf("a[0][0]") == 1);
  CHECK(deep.LineOf("b") == 2);
  const std::string name(depth, 'n');
  std::string members = "\"m\": 1";
  for (int i = 0; i < 20'000; ++i) members += ",\n\"k" + std::to_string(i) + "\": 1";
  const JsonLines wide("{\"" + name + "\": {" + members + "}, \"z\": 1}");
  CHECK(wide.LineOf("z") == 20'001);
  CHECK(wide.LineOf(name) == 0);
}

/// The board's text with `bad` in place of `good`, and what is said about it.
std::string RefusalOf(std::string text, std::string_view good, std::string_view bad) {
  text.replace(text.find(good), good.size(), bad);
  const auto board = ParseBoard(text, "test");
  REQUIRE_FALSE(board.ok());
  return board.error().message;
}

TEST_CASE("ParseBoard: a mistake is told with its line") {
  constexpr const char* kText = R"({
  "name": "small",
  "units": [
    {"name": "core", "backend": "cpu", "kind": "cpu", "threads": 1,
     "elementary_ops_per_second": 1e8,
     "multiply_accumulates_per_second": {"f32": 1e9}}
  ],
  "memory_spaces": [
    {"name": "ram",
     "bytes": 1000, "constants": true, "arena": true}
  ],
  "links": [],
  "priorities": [{"backend": "cpu", "op": "*", "priority": 1}]
})";
  REQUIRE(ParseBoard(kText, "test").ok());
  const auto ends = [](const std::string& text, std::string_view end) {
    return text.ends_with(end) ? std::string() : text;
  };
  CHECK(ends(RefusalOf(kText, "\"bytes\"", "\"byte\""), "lacks the key 'bytes' (line 9)") == "");
  CHECK(ends(RefusalOf(kText, "1000", "\"many\""), "(line 10)") == "");
  CHECK(ends(RefusalOf(kText, "\"kind\"", "\"\\\"kin,d\""), "(line 4)") == "");
  CHECK(ends(RefusalOf(kText, "\"links\"", "\"link\""), "(line 1)") == "");
  CHECK(ends(RefusalOf(kText, "\"priority\": 1", "\"priority\": 1, \"x\": 2"), "'x' (line 13)") ==
        "");
  CHECK(RefusalOf(kText, "1000,", "1000") == "board 'test' is not valid JSON: line 10");
  CHECK(RefusalOf(kText, "\"links\": [],", "\"links\": [,") ==
        "board 'test' is not valid JSON: line 12");
  CHECK(RefusalOf(kText, "1000,", "1e999,") == "board 'test' has a number out of range: line 10");
}

}  // namespace
}  // namespace tenon::converter
