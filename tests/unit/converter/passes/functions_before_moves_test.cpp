#include "converter/passes/passes.hpp"
#include "tests/unit/converter/passes/pass_testing.hpp"

namespace tenon::converter {
namespace {

const Pass kFunctionsBeforeMoves{"functions-before-moves", FunctionsBeforeMoves};

std::string Net(const std::string& tail) {
  return "input %x: f32[1,1,4,5]\nconst %w: f32[8,1,1,1] = random(1)\n"
         "const %k: f32[1,2,1,1] = [3, 4]\n%c = conv(%x, %w)\n"
         "%d = reshape(%c) {dims=[1,2,2,2,4,5]}\n%e = transpose(%d) {permutation=[0,1,4,2,5,3]}\n"
         "%f = reshape(%e) {dims=[1,2,8,10]}\n"
         "%g = slice(%f) {begins=[0,0,1,1], sizes=[1,2,6,8], steps=[1,1,1,1]}\n" +
         tail;
}

int Changed(const std::string& tail) {
  return RunOn(kFunctionsBeforeMoves, Net(tail)).report.changed;
}

TEST_CASE("FunctionsBeforeMoves: an activation behind moves comes to the convolution") {
  const std::string text =
      RunOn(kFunctionsBeforeMoves, Net("%y = unary(%g) {function=tanh}\noutput %y\n")).text;
  CAPTURE(text);
  CHECK(text.find("%y.unmoved: f32[1,8,4,5] = unary(%c) {function=tanh} \"y\"\n"
                  "%d: f32[1,2,2,2,4,5] = reshape(%y.unmoved)") != std::string::npos);
  CHECK(text.find("%y: f32[1,2,6,8] = slice(%f)") != std::string::npos);
}

TEST_CASE("FunctionsBeforeMoves: constants of channels become those of their phases") {
  const std::string text =
      RunOn(kFunctionsBeforeMoves, Net("%p = binary(%k, %g) {function=sub}\n"
                                       "%y = unary(%p) {function=relu}\noutput %y\n"))
          .text;
  CAPTURE(text);
  CHECK(text.find("const %k.unmoved: f32[1,8,1,1] = [3, 3, 3, 3, 4, 4, 4, 4]\n") !=
        std::string::npos);
  CHECK(text.find("%p.unmoved: f32[1,8,4,5] = binary(%k.unmoved, %c) {function=sub}") !=
        std::string::npos);
  CHECK(text.find("= unary(%p.unmoved) {function=relu}") != std::string::npos);
}

TEST_CASE("FunctionsBeforeMoves: other readers, constants across channels and powers stay") {
  CHECK(Changed("%y = unary(%g) {function=relu}\noutput %y\noutput %f\n") == 0);
  CHECK(
      Changed("const %r: f32[6,1] = random(2)\n%y = binary(%g, %r) {function=mul}\noutput %y\n") ==
      0);
  CHECK(Changed("%y = binary(%g, %k) {function=pow}\noutput %y\n") == 0);
  CHECK(Changed("%y = binary(%g, %g) {function=mul}\noutput %y\n") == 0);
}

TEST_CASE("FunctionsBeforeMoves: constants stay behind channels in the reverse order") {
  const std::string reversed =
      "%r = slice(%g) {begins=[0,1,0,0], sizes=[1,2,6,8], steps=[1,-1,1,1]}\n";
  CHECK(Changed(reversed + "%y = binary(%r, %k) {function=mul}\noutput %y\n") == 0);
  CHECK(Changed(reversed + "%y = unary(%r) {function=relu}\noutput %y\n") == 1);
}

TEST_CASE("FunctionsBeforeMoves: what does not come from a convolution stays") {
  const std::string text =
      "input %x: f32[1,2,4,5]\n%d = reshape(%x) {dims=[1,2,20]}\n"
      "%y = unary(%d) {function=relu}\noutput %y\n";
  CHECK(RunOn(kFunctionsBeforeMoves, text).report.changed == 0);
}

TEST_CASE("FunctionsBeforeMoves: an activation comes to a sum of convolutions") {
  const auto changed = [](const char* function) {
    return RunOn(kFunctionsBeforeMoves,
                 fmt::format("input %x: f32[2,1,4,5]\nconst %w: f32[6,1,1,1] = random(1)\n"
                             "%c = conv(%x, %w)\n%e = conv(%x, %w)\n"
                             "%s = binary(%c, %e) {{function={}}}\n"
                             "%d = reshape(%s) {{dims=[1,2,6,4,5]}}\n"
                             "%y = unary(%d) {{function=relu}}\noutput %y\n",
                             function))
        .report.changed;
  };
  CHECK(changed("add") == 1);
  CHECK(changed("mul") == 0);
}

TEST_CASE("FunctionsBeforeMoves: functions beyond bounds need channels that fill vectors") {
  const auto changed = [](const char* function) {
    return RunOn(kFunctionsBeforeMoves,
                 fmt::format("input %x: f32[1,1,4,5]\nconst %w: f32[6,1,1,1] = random(1)\n"
                             "%c = conv(%x, %w)\n%d = reshape(%c) {{dims=[1,6,20]}}\n"
                             "%y = unary(%d) {{function={}}}\noutput %y\n",
                             function))
        .report.changed;
  };
  CHECK(changed("relu") == 1);
  CHECK(changed("tanh") == 0);
}

}  // namespace
}  // namespace tenon::converter
