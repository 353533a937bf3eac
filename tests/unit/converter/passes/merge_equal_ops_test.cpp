#include <string>

#include "converter/passes/passes.hpp"
#include "tests/unit/converter/passes/pass_testing.hpp"

namespace tenon::converter {
namespace {

const Pass kMerge = {"merge-equal-ops", MergeEqualOps};

std::string Merged(const std::string& ops) {
  return RunOn(kMerge, "graph g\ninput %x: f32[2,3]\n" + ops).text;
}

bool StaysUnmerged(const std::string& ops) {
  const std::string text = "graph g\ninput %x: f32[2,3]\n" + ops;
  return RunOn(kMerge, text).report.changed == 0;
}

TEST_CASE("MergeEqualOps: what reads the second of two equal ops reads the first") {
  CHECK(Merged("const %c: f32[1] = [3]\n"
               "const %d: f32[1] = [3]\n"
               "%a = binary(%x, %c) {function=mul}\n"
               "%b = binary(%x, %d) {function=mul}\n"
               "%y = binary(%a, %b)\n"
               "output %y\n") ==
        "input %x: f32[2,3]\n"
        "const %c: f32[1] = [3]\n"
        "%a: f32[2,3] = binary(%x, %c) {function=mul}\n"
        "%y: f32[2,3] = binary(%a, %a)\n"
        "output %y\n");
}

TEST_CASE("MergeEqualOps: chains of equal ops merge as a whole") {
  CHECK(Merged("%a = unary(%x) {function=exp}\n"
               "%b = unary(%x) {function=exp}\n"
               "%c = unary(%a) {function=abs}\n"
               "%d = unary(%b) {function=abs}\n"
               "%y = binary(%c, %d)\n"
               "output %y\n") ==
        "input %x: f32[2,3]\n"
        "%a: f32[2,3] = unary(%x) {function=exp}\n"
        "%c: f32[2,3] = unary(%a) {function=abs}\n"
        "%y: f32[2,3] = binary(%c, %c)\n"
        "output %y\n");
}

TEST_CASE("MergeEqualOps: other operands, attributes, constants and types stay") {
  const std::string exp = "%a = unary(%x) {function=exp}\n";
  const std::string sum = "%y = binary(%a, %b)\noutput %y\n";
  CHECK_FALSE(StaysUnmerged(exp + "%b = unary(%x) {function=exp}\n" + sum));
  CHECK(StaysUnmerged(exp + "%b = unary(%x) {function=abs}\n" + sum));
  CHECK(StaysUnmerged(exp + "%b = unary(%a) {function=exp}\n" + sum));
  CHECK(
      StaysUnmerged("const %c: f32[1] = [3]\nconst %d: f32[1] = [4]\n"
                    "%a = binary(%x, %c)\n%b = binary(%x, %d)\n" +
                    sum));
  CHECK(
      StaysUnmerged("const %c: f32[1] = [3]\nconst %d: f32[1,1] = [3]\n"
                    "%a = binary(%x, %c)\n%b = binary(%x, %d)\n" +
                    sum));
}

TEST_CASE("MergeEqualOps: one tensor in two shapes, or as two types, stays two") {
  CHECK(
      StaysUnmerged("%a = reshape(%x) {dims=[3,2]}\n%b = reshape(%x) {dims=[6,1]}\n"
                    "%c = reshape(%a) {dims=[6]}\n%d = reshape(%b) {dims=[6]}\n"
                    "%y = binary(%c, %d)\noutput %y\n"));
  CHECK(
      StaysUnmerged("%a = cast(%x) {to=f16}\n%b = cast(%x) {to=i32}\n"
                    "%c = cast(%a) {to=f32}\n%d = cast(%b) {to=f32}\n"
                    "%y = binary(%c, %d)\noutput %y\n"));
}

TEST_CASE("MergeEqualOps: two outputs stay tensors of their own") {
  CHECK(
      StaysUnmerged("%a = unary(%x) {function=exp}\n%b = unary(%x) {function=exp}\n"
                    "output %a\noutput %b\n"));
}

}  // namespace
}  // namespace tenon::converter
