#include "converter/passes/passes.hpp"
#include "tests/unit/converter/passes/pass_testing.hpp"

namespace tenon::converter {
namespace {

const Pass kMoveChannelsLast = OnFastKernels("move-channels-last", MoveChannelsLast);

std::string Moved(const std::string& text) { return RunOn(kMoveChannelsLast, text).text; }

std::string Net(const std::string& parts, const std::string& permutation,
                const std::string& shape) {
  return "input %i: f32[1,6,4,5]\nconst %w: f32[6,1,1,1] = random(1)\n"
         "%x = conv(%i, %w) {group=6}\n"
         "%a = reshape(%x) {dims=[" +
         parts + "]}\n%b = transpose(%a) {permutation=[" + permutation +
         "]}\n%y = reshape(%b) {dims=[" + shape + "]}\n%z = unary(%y) {function=relu}\noutput %z\n";
}
const std::string kShuffle = Net("1,2,3,4,5", "0,2,1,3,4", "1,6,4,5");

TEST_CASE("MoveChannelsLast: groups of channels are swapped behind the pixels") {
  CheckHas(Moved(kShuffle),
           {"%y.moved1: f32[1,4,5,6] = transpose(%x) {permutation=[0,2,3,1]}",
            "%y.moved2: f32[1,4,5,2,3] = reshape(%y.moved1) {dims=[1,4,5,2,3]}",
            "%y.moved3: f32[1,4,5,3,2] = transpose(%y.moved2) {permutation=[0,1,2,4,3]}",
            "%y.moved4: f32[1,4,5,6] = reshape(%y.moved3) {dims=[1,4,5,6]}",
            "%y: f32[1,6,4,5] = transpose(%y.moved4) {permutation=[0,3,1,2]}",
            "= unary(%y) {function=relu}"});
}

TEST_CASE("MoveChannelsLast: channels become rows and columns") {
  CheckHas(Moved(Net("1,3,2,1,4,5", "0,1,4,2,5,3", "1,3,8,5")),
           {"%y.moved2: f32[1,4,5,3,2,1] = reshape(%y.moved1) {dims=[1,4,5,3,2,1]}",
            "%y.moved3: f32[1,4,2,5,1,3] = transpose(%y.moved2) {permutation=[0,1,4,2,5,3]}",
            "%y.moved4: f32[1,8,5,3] = reshape(%y.moved3) {dims=[1,8,5,3]}"});
}

TEST_CASE("MoveChannelsLast: a second move is of what the first one moved") {
  const std::string text = Moved(
      "input %i: i8[1,6,4,5]\nconst %t: i8[256] = random(1)\n"
      "%x = max_pool(%i) {kernel=[1,1]}\n"
      "%a = reshape(%x) {dims=[1,2,3,4,5]}\n%b = transpose(%a) {permutation=[0,2,1,3,4]}\n"
      "%c = reshape(%b) {dims=[1,6,4,5]}\n%d = lookup(%c, %t)\n"
      "%e = reshape(%d) {dims=[1,2,3,4,5]}\n%f = transpose(%e) {permutation=[0,2,1,3,4]}\n"
      "%y = reshape(%f) {dims=[1,6,4,5]}\noutput %y\n");
  CheckHas(text, {"%c.moved3: i8[1,4,5,3,2]", "%y.moved3: i8[1,4,5,3,2]"});
}

TEST_CASE("MoveChannelsLast: what is no image behind, and moves with other readers, are left") {
  for (const std::string& text :
       {Net("1,2,3,4,5", "0,2,1,3,4", "1,6,20"), kShuffle + "output %b\n"}) {
    CAPTURE(text);
    CHECK(Moved(text).find("moved") == std::string::npos);
  }
}

TEST_CASE("MoveChannelsLast: floats of portable kernels are left alone") {
  const Pass portable{"move-channels-last", MoveChannelsLast};
  CHECK(RunOn(portable, kShuffle).report.changed == 0);
}

TEST_CASE("MoveChannelsLast: images that lie row by row are left alone") {
  const std::string text =
      "input %x: f32[1,6,4,5]\n"
      "%a = reshape(%x) {dims=[1,2,3,4,5]}\n"
      "%b = transpose(%a) {permutation=[0,2,1,3,4]}\n"
      "%y = reshape(%b) {dims=[1,6,4,5]}\n"
      "output %y\n";
  CHECK(Moved(text).find("moved") == std::string::npos);
}

}  // namespace
}  // namespace tenon::converter
