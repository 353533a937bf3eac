#include "converter/passes/passes.hpp"
#include "tests/unit/converter/passes/pass_testing.hpp"

namespace tenon::converter {
namespace {

const Pass kSimplify = {"simplify", Simplify};

// The statement between %a and %b does nothing: %b's reader reads %a.
void CheckRemoved(std::string_view statement) {
  CAPTURE(statement);
  const std::string before = fmt::format(
      "input %x: f32[2,3,4]\n"
      "%a = unary(%x) {{function=relu}}\n"
      "{}\n"
      "%y = unary(%b) {{function=tanh}}\n"
      "output %y\n",
      statement);
  const PassResult result = RunOn(kSimplify, before);
  CHECK(result.text ==
        "input %x: f32[2,3,4]\n"
        "%a: f32[2,3,4] = unary(%x) {function=relu}\n"
        "%y: f32[2,3,4] = unary(%a) {function=tanh}\n"
        "output %y\n");
  CHECK(result.report.changed == 1);
  CHECK(result.report.declined.empty());
}

void CheckUnchanged(std::string_view text) {
  const PassResult result = RunOn(kSimplify, text);
  CHECK(result.text == text);
  CHECK(result.report.changed == 0);
}

TEST_CASE("Simplify: ops that do nothing are removed") {
  CheckRemoved("%b = unary(%a)");
  CheckRemoved("%b = copy(%a)");
  CheckRemoved("%b = cast(%a) {to=f32}");
  CheckRemoved("%b = reshape(%a) {dims=[2,3,4]}");
  CheckRemoved("%b = expand(%a) {dims=[2,3,4]}");
  CheckRemoved("%b = transpose(%a) {permutation=[0,1,2]}");
  CheckRemoved("%b = slice(%a) {begins=[0,0,0], sizes=[2,3,4], steps=[1,1,1]}");
  CheckRemoved("%b = pad(%a) {begins=[0,0,0], ends=[0,0,0]}");
  CheckRemoved("%b = concat(%a) {axis=1}");
}

// The statement between %a and %b does something.
void CheckKept(std::string_view statement) {
  CAPTURE(statement);
  const std::string text = fmt::format(
      "input %x: f32[2,2,1]\n"
      "%a: f32[2,2,1] = unary(%x) {{function=relu}}\n"
      "{}\n"
      "output %b\n",
      statement);
  const PassResult result = RunOn(kSimplify, text);
  CHECK(result.text == text);
  CHECK(result.report.changed == 0);
}

TEST_CASE("Simplify: ops that only look as if they did nothing stay") {
  CheckKept("%b: f32[2,2,1] = unary(%a) {function=abs}");
  CheckKept("%b: f32[2,2,1] = transpose(%a) {permutation=[1,0,2]}");
  CheckKept("%b: f32[2,2,1] = slice(%a) {begins=[1,0,0], sizes=[2,2,1], steps=[-1,1,1]}");
  CheckKept("%b: f32[2,2,1] = pad(%a) {begins=[1,0,0], ends=[-1,0,0]}");
  CheckKept("%b: f32[2,2,1] channels_last = copy(%a)");
  CheckKept("%b: f32[2,2,1] = copy(%a) @cpu/cpu.copy");
  CheckKept("%b: f16[2,2,1] = cast(%a) {to=f16}");
}

TEST_CASE("Simplify: a chain of reshapes becomes one") {
  const PassResult result = RunOn(kSimplify,
                                  "input %x: f32[2,3,4]\n"
                                  "%a = reshape(%x) {dims=[6,4]}\n"
                                  "%b = reshape(%a) {dims=[24]}\n"
                                  "%y = reshape(%b) {dims=[4,6]}\n"
                                  "output %y\n");
  CHECK(result.text ==
        "input %x: f32[2,3,4]\n"
        "%y: f32[4,6] = reshape(%x) {dims=[4,6]}\n"
        "output %y\n");
}

TEST_CASE("Simplify: reshapes that lead back to the start disappear") {
  const PassResult result = RunOn(kSimplify,
                                  "input %x: f32[2,3]\n"
                                  "%a = reshape(%x) {dims=[6]}\n"
                                  "%b = reshape(%a) {dims=[2,3]}\n"
                                  "%y = unary(%b) {function=relu}\n"
                                  "output %y\n");
  CHECK(result.text ==
        "input %x: f32[2,3]\n"
        "%y: f32[2,3] = unary(%x) {function=relu}\n"
        "output %y\n");
}

TEST_CASE("Simplify: consecutive transposes are composed") {
  // y[k] has dimension second[k] of a, that is dimension first[second[k]] of x: 2, 0, 1.
  const PassResult result = RunOn(kSimplify,
                                  "input %x: f32[2,3,4]\n"
                                  "%a = transpose(%x) {permutation=[1,2,0]}\n"
                                  "%y = transpose(%a) {permutation=[1,2,0]}\n"
                                  "output %y\n");
  CHECK(result.text ==
        "input %x: f32[2,3,4]\n"
        "%y: f32[4,2,3] = transpose(%x) {permutation=[2,0,1]}\n"
        "output %y\n");
}

TEST_CASE("Simplify: transposes that undo each other disappear, others that read them stay") {
  const PassResult result = RunOn(kSimplify,
                                  "input %x: f32[2,3,4]\n"
                                  "%a = transpose(%x) {permutation=[1,2,0]}\n"
                                  "%b = transpose(%a) {permutation=[2,0,1]}\n"
                                  "%y = unary(%b) {function=relu}\n"
                                  "output %y\n"
                                  "output %a\n");
  CHECK(result.text ==
        "input %x: f32[2,3,4]\n"
        "%a: f32[3,4,2] = transpose(%x) {permutation=[1,2,0]}\n"
        "%y: f32[2,3,4] = unary(%x) {function=relu}\n"
        "output %y\n"
        "output %a\n");
}

TEST_CASE("Simplify: a transpose that moves only dimensions of size 1 is a reshape") {
  const PassResult result = RunOn(kSimplify,
                                  "input %x: f32[1,3,1,4]\n"
                                  "%y = transpose(%x) {permutation=[1,0,3,2]}\n"
                                  "output %y\n");
  CHECK(result.text ==
        "input %x: f32[1,3,1,4]\n"
        "%y: f32[3,1,4,1] = reshape(%x) {dims=[3,1,4,1]}\n"
        "output %y\n");
}

TEST_CASE("Simplify: constant pads of one value are added up") {
  const PassResult result = RunOn(kSimplify,
                                  "input %x: f32[2,3]\n"
                                  "%a = pad(%x) {value=2, begins=[1,0], ends=[0,2]}\n"
                                  "%y = pad(%a) {value=2, begins=[1,1], ends=[3,0]}\n"
                                  "output %y\n");
  CHECK(result.text ==
        "input %x: f32[2,3]\n"
        "%y: f32[7,6] = pad(%x) {value=2, begins=[2,1], ends=[3,2]}\n"
        "output %y\n");
}

TEST_CASE("Simplify: pads of different values stay apart") {
  CheckDeclined(kSimplify,
                "input %x: f32[2]\n"
                "%a = pad(%x) {begins=[1], ends=[0]}\n"
                "%y = pad(%a) {value=2, begins=[1], ends=[0]}\n"
                "output %y\n",
                "y", "the pads have different values");
}

TEST_CASE("Simplify: a pad that follows a crop stays, for the crop's elements are gone") {
  CheckDeclined(kSimplify,
                "input %x: f32[3]\n"
                "%a = pad(%x) {begins=[-1], ends=[0]}\n"
                "%y = pad(%a) {begins=[1], ends=[0]}\n"
                "output %y\n",
                "y", "a pad removes elements");
}

TEST_CASE("Simplify: pads that reflect stay apart") {
  CheckDeclined(kSimplify,
                "input %x: f32[3]\n"
                "%a = pad(%x) {mode=reflect, begins=[1], ends=[0]}\n"
                "%y = pad(%a) {mode=reflect, begins=[1], ends=[0]}\n"
                "output %y\n",
                "y", "only constant pads are joined");
}

TEST_CASE("Simplify: an output that is an input or a constant by name keeps its copy") {
  CheckDeclined(kSimplify, "input %x: f32[2]\n%y = copy(%x)\noutput %y\n", "y",
                "a graph output would be a graph input");
  CheckDeclined(kSimplify, "const %k: f32[2] = [1, 2]\n%y = copy(%k)\noutput %y\n", "y",
                "a graph output would be a constant");
}

TEST_CASE("Simplify: two outputs of one value keep storage of their own") {
  CheckDeclined(kSimplify,
                "input %x: f32[2]\n"
                "%a = unary(%x) {function=relu}\n"
                "%b = copy(%a)\n"
                "output %a\n"
                "output %b\n",
                "b", "two graph outputs would be one tensor");
}

TEST_CASE("Simplify: an output keeps its port name when its identity goes") {
  const PassResult result = RunOn(kSimplify,
                                  "input %x: f32[2]\n"
                                  "%a = unary(%x) {function=relu}\n"
                                  "%b = unary(%a)\n"
                                  "output %b\n");
  CHECK(result.text ==
        "input %x: f32[2]\n"
        "%a: f32[2] = unary(%x) {function=relu}\n"
        "output %a as \"b\"\n");
}

TEST_CASE("Simplify: tokens that come from an image and go back meet its own transposes") {
  // As models write it whose images are channels last, or not, and whose tokens are rows.
  const std::string text = RunOn(kSimplify,
                                 "input %x: f32[2,5,6,8]\n"
                                 "%n = transpose(%x) {permutation=[0,3,1,2]}\n"
                                 "%f = reshape(%n) {dims=[2,8,30]}\n"
                                 "%t = transpose(%f) {permutation=[0,2,1]}\n"
                                 "%g = softmax(%t) {axis=1}\n"
                                 "%u = transpose(%g) {permutation=[0,2,1]}\n"
                                 "%i = reshape(%u) {dims=[2,8,5,6]}\n"
                                 "%y = transpose(%i) {permutation=[0,2,3,1]}\n"
                                 "output %y\n")
                               .text;
  CHECK(text ==
        "input %x: f32[2,5,6,8]\n"
        "%t: f32[2,30,8] = reshape(%x) {dims=[2,30,8]} \"f\"\n"
        "%g: f32[2,30,8] = softmax(%t) {axis=1}\n"
        "%u.moved: f32[2,5,6,8] = reshape(%g) {dims=[2,5,6,8]} \"i\"\n"
        "output %u.moved as \"y\"\n");
}

TEST_CASE("Simplify: reshapes around a unary op, or before it, go behind it") {
  CHECK(RunOn(kSimplify,
              "input %x: f32[1,3,1,8]\n"
              "%a = softmax(%x) {axis=1}\n"
              "%r = reshape(%a) {dims=[1,3,8]}\n"
              "%u = unary(%r) {function=tanh}\n"
              "%b = reshape(%u) {dims=[1,3,1,8]}\n"
              "%y = softmax(%b) {axis=1}\n"
              "output %y\n")
            .text ==
        "input %x: f32[1,3,1,8]\n"
        "%a: f32[1,3,1,8] = softmax(%x) {axis=1}\n"
        "%r.moved: f32[1,3,1,8] = unary(%a) {function=tanh} \"u\"\n"
        "%y: f32[1,3,1,8] = softmax(%r.moved) {axis=1}\n"
        "output %y\n");
  CheckUnchanged(
      "input %x: f32[6]\n"
      "%r: f32[2,3] = reshape(%x) {dims=[2,3]}\n"
      "%u: f32[2,3] = unary(%r) {function=tanh}\n"
      "output %r\n"
      "output %u\n");
}

TEST_CASE("Simplify: a transpose moves what dimensions are cut into, in any order") {
  const std::string text = RunOn(kSimplify,
                                 "input %x: f32[4,6,10]\n"
                                 "%t = transpose(%x) {permutation=[2,0,1]}\n"
                                 "%y = reshape(%t) {dims=[2,5,4,1,3,2]}\n"
                                 "output %y\n")
                               .text;
  CHECK(text.find("= reshape(%x) {dims=[4,1,3,2,2,5]}") != std::string::npos);
  CHECK(text.find("{permutation=[4,5,0,1,2,3]}") != std::string::npos);
  const std::string joined = RunOn(kSimplify,
                                   "input %x: f32[2,5,4,3,2]\n"
                                   "%r = reshape(%x) {dims=[10,4,6]}\n"
                                   "%y = transpose(%r) {permutation=[2,0,1]}\n"
                                   "output %y\n")
                                 .text;
  CHECK(joined.find("= transpose(%x) {permutation=[3,4,0,1,2]}") != std::string::npos);
  CHECK(joined.find("%y: f32[6,10,4] = reshape(") != std::string::npos);
}

TEST_CASE("Simplify: reshapes that cut across dimensions, or that others read, stay") {
  CheckUnchanged(
      "input %x: f32[4,6]\n"
      "%t: f32[6,4] = transpose(%x) {permutation=[1,0]}\n"
      "%y: f32[3,4,2] = reshape(%t) {dims=[3,4,2]}\n"
      "output %y\n");
  CheckUnchanged(
      "input %x: f32[4,6]\n"
      "%t: f32[6,4] = transpose(%x) {permutation=[1,0]}\n"
      "%y: f32[6,2,2] = reshape(%t) {dims=[6,2,2]}\n"
      "output %t\n"
      "output %y\n");
}

TEST_CASE("Simplify: a resize to the same size does nothing, unless it shows other places") {
  CheckRemoved("%b = resize(%a) {sizes=[2,3,4], scales=[1,1,1]}");
  CheckUnchanged(
      "input %x: f32[2,3]\n"
      "%y: f32[2,3] = resize(%x) {sizes=[2,3], scales=[1,1.5]}\n"
      "output %y\n");
}

TEST_CASE("Simplify: a transpose goes before the pad that it alone reads, and meets others") {
  const std::string head =
      "graph g\n"
      "input %x: f32[1,3,8,8]\n"
      "%t = transpose(%x) {permutation=[0,2,3,1]}\n"
      "%p = pad(%t) {begins=[0,1,2,0], ends=[0,3,4,5], value=7}\n"
      "%y = transpose(%p) {permutation=[0,3,1,2]}\n"
      "output %y\n";
  const std::string text = RunOn(kSimplify, head).text;
  CHECK(text.find("= pad(%x) {value=7, begins=[0,0,1,2], ends=[0,5,3,4]}") != std::string::npos);
  CHECK(text.find("transpose(") == std::string::npos);
  CHECK(RunOn(kSimplify, head + "output %p\n").text.find("transpose(%p)") != std::string::npos);
}

TEST_CASE("Simplify: a binary op reads what an expand repeats, where it repeats it itself") {
  CHECK(RunOn(kSimplify,
              "input %x: f32[2,3,4]\ninput %n: f32[3,1]\n"
              "%e: f32[2,3,4] = expand(%n) {dims=[2,3,4]}\n"
              "%y: f32[2,3,4] = binary(%x, %e) {function=div}\noutput %y\n")
            .text ==
        "input %x: f32[2,3,4]\ninput %n: f32[3,1]\n"
        "%y: f32[2,3,4] = binary(%x, %n) {function=div}\noutput %y\n");
  // Others still need what it repeats: its readers, and the result's shape.
  CheckUnchanged(
      "input %x: f32[3,1]\ninput %n: f32[3,1]\n"
      "%e: f32[2,3,4] = expand(%n) {dims=[2,3,4]}\n"
      "%y: f32[2,3,4] = binary(%e, %x) {function=div}\noutput %y\n");
  CHECK(Contains(RunOn(kSimplify,
                       "input %x: f32[2,3,4]\ninput %n: f32[3,1]\n"
                       "%e: f32[2,3,4] = expand(%n) {dims=[2,3,4]}\n"
                       "%y: f32[2,3,4] = binary(%e, %x)\noutput %y\noutput %e\n")
                     .text,
                 "= binary(%n, %x)"));
}

TEST_CASE("Simplify: a transpose goes before the expand that it alone reads") {
  const std::string head =
      "input %x: f32[2,4,3]\ninput %n: f32[3,1,2]\n"
      "%e = expand(%n) {dims=[3,4,2]}\n%t = transpose(%e) {permutation=[2,1,0]}\n";
  CheckHas(RunOn(kSimplify, head + "output %t\n").text,
           {": f32[2,1,3] = transpose(%n) {permutation=[2,1,0]}",
            "%t: f32[2,4,3] = expand(%e.moved) {dims=[2,4,3]}"});
  CheckHas(RunOn(kSimplify, head + "%y = binary(%x, %t)\noutput %y\n").text,
           {": f32[2,1,3] = transpose(%n)", "%y: f32[2,4,3] = binary(%x, %e.moved)\n"});
  CHECK(Contains(RunOn(kSimplify, head + "output %t\noutput %e\n").text, "transpose(%e)"));
}

}  // namespace
}  // namespace tenon::converter
