#include "converter/passes/passes.hpp"
#include "tests/unit/converter/passes/pass_testing.hpp"

namespace tenon::converter {
namespace {

const Pass kShuffleChannels{"shuffle-channels", ShuffleChannels};

std::string Shuffled(const std::string& text) { return RunOn(kShuffleChannels, text).text; }

std::string Net(const std::string& dtype, const std::string& permutation) {
  return "input %x: " + dtype +
         "[1,6,4,5]\n"
         "%a = reshape(%x) {dims=[1,2,3,4,5]}\n"
         "%b = transpose(%a) {permutation=[" +
         permutation +
         "]}\n"
         "%y = reshape(%b) {dims=[1,6,4,5]}\n"
         "%z = lookup(%y, %t)\n"
         "output %z\n";
}
const std::string kTable = "const %t: i8[256] = random(1)\n";

TEST_CASE("ShuffleChannels: groups are swapped behind the pixels") {
  const std::string text = Shuffled(kTable + Net("i8", "0,2,1,3,4"));
  for (const char* line :
       {"%y.shuffle1: i8[1,4,5,6] = transpose(%x) {permutation=[0,2,3,1]}",
        "%y.shuffle2: i8[1,4,5,2,3] = reshape(%y.shuffle1) {dims=[1,4,5,2,3]}",
        "%y.shuffle3: i8[1,4,5,3,2] = transpose(%y.shuffle2) {permutation=[0,1,2,4,3]}",
        "%y.shuffle4: i8[1,4,5,6] = reshape(%y.shuffle3) {dims=[1,4,5,6]}",
        "%y.shuffle5: i8[1,6,4,5] = transpose(%y.shuffle4) {permutation=[0,3,1,2]}",
        "= lookup(%y.shuffle5, %t)"}) {
    CAPTURE(line);
    CAPTURE(text);
    CHECK(text.find(line) != std::string::npos);
  }
}

TEST_CASE(
    "ShuffleChannels: other transposes are left alone, and so are shuffles with other readers") {
  for (const std::string& text : {Net("i8", "0,2,1,4,3"), Net("i8", "0,2,1,3,4") + "output %b\n"}) {
    CAPTURE(text);
    CHECK(Shuffled(kTable + text).find("shuffle") == std::string::npos);
  }
}

TEST_CASE("ShuffleChannels: floats are left alone") {
  const std::string text =
      "input %x: f32[1,6,4,5]\n"
      "%a = reshape(%x) {dims=[1,2,3,4,5]}\n"
      "%b = transpose(%a) {permutation=[0,2,1,3,4]}\n"
      "%y = reshape(%b) {dims=[1,6,4,5]}\n"
      "output %y\n";
  CHECK(Shuffled(text).find("shuffle") == std::string::npos);
}

}  // namespace
}  // namespace tenon::converter
