#include "converter/solve/place/place_csv.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

namespace tenon::converter {
namespace {

std::string MessageOf(std::string_view text) {
  const Result<BufferTable> table = ParseBufferCsv(text);
  REQUIRE_FALSE(table.ok());
  CHECK(table.error().kind == ErrorKind::kInput);
  return table.error().message;
}

TEST_CASE("Place CSV: columns are found by their names, in any order") {
  const Result<BufferTable> table =
      ParseBufferCsv("size,note,upper,id,lower\r\n4,x,3,b1,0\r\n\r\n8,,21,\"b,2\",-9\r\n");
  REQUIRE(table.ok());
  CHECK(table->ids == std::vector<std::string>{"b1", "b,2"});
  REQUIRE(table->buffers.size() == 2);
  CHECK(table->buffers[0].lower == 0);
  CHECK(table->buffers[0].upper == 3);
  CHECK(table->buffers[0].size == 4);
  CHECK(table->buffers[1].lower == -9);
  CHECK(table->buffers[1].upper == 21);
  CHECK(table->buffers[1].alignment == 1);
  CHECK_FALSE(table->buffers[1].offset.has_value());
}

TEST_CASE("Place CSV: alignment and offset are optional, and empty where not given") {
  const Result<BufferTable> table =
      ParseBufferCsv("id,lower,upper,size,alignment,offset\na,0,1,4,64,128\nb,0,1,4,,\n");
  REQUIRE(table.ok());
  CHECK(table->buffers[0].alignment == 64);
  CHECK(table->buffers[0].offset == 128);
  CHECK(table->buffers[1].alignment == 1);
  CHECK_FALSE(table->buffers[1].offset.has_value());
}

TEST_CASE("Place CSV: a header alone is an empty table, nothing at all is an error") {
  REQUIRE(ParseBufferCsv("id,lower,upper,size").ok());
  CHECK(ParseBufferCsv("id,lower,upper,size")->buffers.empty());
  CHECK(MessageOf("").find("no header") != std::string::npos);
  CHECK(MessageOf("\n\n").find("no header") != std::string::npos);
}

TEST_CASE("Place CSV: errors name the line and what is wrong there") {
  const std::string head = "id,lower,upper,size\na,0,1,4\n";
  CHECK(MessageOf("id,lower,size\n") ==
        "line 1: the header has no column 'upper'; it needs id, lower, upper and size");
  CHECK(MessageOf("id,lower,upper,size,size\n") == "line 1: column 'size' appears twice");
  CHECK(MessageOf(head + "b,0,1\n") == "line 3: 3 fields where the header has 4");
  CHECK(MessageOf(head + "b,0,x,4\n") == "line 3: upper 'x' is not a whole number");
  CHECK(MessageOf(head + "b,0,1,4.5\n") == "line 3: size '4.5' is not a whole number");
  CHECK(MessageOf(head + "b,,1,4\n") == "line 3: lower '' is not a whole number");
  CHECK(MessageOf(head + "b,0,1,9223372036854775808\n") ==
        "line 3: size '9223372036854775808' does not fit into 64 bits");
  CHECK(MessageOf(head + "b,0,1,-4\n") == "line 3: size -4 is negative");
  CHECK(MessageOf(head + "b,2,1,4\n") == "line 3: upper 1 is below lower 2");
  CHECK(MessageOf(head + "\na,0,1,4\n") == "line 4: id 'a' was already given in line 2");
  CHECK(MessageOf(head + "\"b,0,1,4\n") == "line 3: a quoted field is not closed");
  CHECK(MessageOf(head + "\"b\"c,0,1,4\n") == "line 3: a comma must follow a quoted field");
  CHECK(MessageOf("id,lower,upper,size,alignment\na,0,1,4,0\n") ==
        "line 2: alignment 0 is below 1");
  CHECK(MessageOf("id,lower,upper,size,offset\na,0,1,4,-1\n") == "line 2: offset -1 is negative");
  CHECK(MessageOf("id,lower,upper,size,alignment,offset\na,0,1,4,8,4\n") ==
        "line 2: offset 4 is not a multiple of alignment 8");
}

TEST_CASE("Place CSV: what is written can be read again") {
  const Result<BufferTable> table =
      ParseBufferCsv("id,lower,upper,size\n\"a \"\"b\"\", c\",0,3,4\nd,1,2,5\n");
  REQUIRE(table.ok());
  const std::string text = FormatPlacementCsv(*table, {5, 0});
  CHECK(text == "id,lower,upper,size,offset\n\"a \"\"b\"\", c\",0,3,4,5\nd,1,2,5,0\n");
  const Result<BufferTable> again = ParseBufferCsv(text);
  REQUIRE(again.ok());
  CHECK(again->ids == table->ids);
  CHECK(again->buffers[0].offset == 5);
}

TEST_CASE("Place CSV: alignments are written where there are any") {
  const Result<BufferTable> table = ParseBufferCsv("id,lower,upper,size,alignment\na,0,3,4,64\n");
  REQUIRE(table.ok());
  CHECK(FormatPlacementCsv(*table, {64}) ==
        "id,lower,upper,size,alignment,offset\na,0,3,4,64,64\n");
}

}  // namespace
}  // namespace tenon::converter
