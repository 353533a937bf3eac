#include "converter/passes/passes.hpp"
#include "tests/unit/converter/passes/pass_testing.hpp"

namespace tenon::converter {
namespace {

const Pass kFuseResidual = {"fuse-residual", FuseResidual};

const std::string kResidualHead =
    "input %x: f32[1,1,2,2]\n"
    "const %w: f32[1,1,1,1] = [2]\n";

TEST_CASE("FuseResidual: an addition with its activation goes into the conv") {
  const PassResult result = RunOn(kFuseResidual, kResidualHead +
                                                     "%c = conv(%x, %w)\n"
                                                     "%y = binary(%c, %x) {activation=relu}\n"
                                                     "output %y\n");
  CHECK(result.text == kResidualHead +
                           "%y: f32[1,1,2,2] = conv(%x, %w, _, %x) {activation=relu} \"c\"\n"
                           "output %y\n");
  CHECK(result.report.changed == 1);
}

TEST_CASE("FuseResidual: of two convs the later one takes the other") {
  const PassResult result = RunOn(kFuseResidual, kResidualHead +
                                                     "%c = conv(%x, %w)\n"
                                                     "%d = conv(%x, %w)\n"
                                                     "%y = binary(%d, %c)\n"
                                                     "output %y\n");
  CHECK(result.text == kResidualHead +
                           "%c: f32[1,1,2,2] = conv(%x, %w)\n"
                           "%y: f32[1,1,2,2] = conv(%x, %w, _, %c) \"d\"\n"
                           "output %y\n");
}

TEST_CASE("FuseResidual: the earlier conv takes the later one if that cannot take it") {
  const PassResult result = RunOn(kFuseResidual, kResidualHead +
                                                     "%c = conv(%x, %w)\n"
                                                     "%d = conv(%x, %w) {activation=relu}\n"
                                                     "%y = binary(%c, %d)\n"
                                                     "output %y\n");
  CHECK(result.text == kResidualHead +
                           "%d: f32[1,1,2,2] = conv(%x, %w) {activation=relu}\n"
                           "%y: f32[1,1,2,2] = conv(%x, %w, _, %d) \"c\"\n"
                           "output %y\n");
}

TEST_CASE("FuseResidual: a conv before the other operand moves behind it, not past its readers") {
  const PassResult result = RunOn(kFuseResidual, kResidualHead +
                                                     "%c = conv(%x, %w)\n"
                                                     "%r = unary(%x) {function=exp}\n"
                                                     "%y = binary(%r, %c)\n"
                                                     "%z = unary(%y) {function=tanh}\n"
                                                     "output %z\n");
  CHECK(result.text == kResidualHead +
                           "%r: f32[1,1,2,2] = unary(%x) {function=exp}\n"
                           "%y: f32[1,1,2,2] = conv(%x, %w, _, %r) \"c\"\n"
                           "%z: f32[1,1,2,2] = unary(%y) {function=tanh}\n"
                           "output %z\n");
}

TEST_CASE("FuseResidual: a chain of blocks fuses as a whole") {
  const PassResult result = RunOn(kFuseResidual, kResidualHead +
                                                     "%c = conv(%x, %w)\n"
                                                     "%a = binary(%c, %x)\n"
                                                     "%d = conv(%a, %w)\n"
                                                     "%b = binary(%a, %d)\n"
                                                     "output %b\n");
  CHECK(result.text == kResidualHead +
                           "%a: f32[1,1,2,2] = conv(%x, %w, _, %x) \"c\"\n"
                           "%b: f32[1,1,2,2] = conv(%a, %w, _, %a) \"d\"\n"
                           "output %b\n");
}

TEST_CASE("FuseResidual: refuses what would change values") {
  const auto refused = [](const std::string& ops, std::string_view reason) {
    CAPTURE(reason);
    CheckDeclined(kFuseResidual, kResidualHead + ops + "output %y\n", "y", reason);
  };
  refused("%c = conv(%x, %w)\n%y = binary(%c, %c)\n", "it adds the conv's result to itself");
  refused("%c = conv(%x, %w)\n%y = binary(%c, %x)\noutput %c\n",
          "the conv's result has other readers");
  refused("%c = conv(%x, %w) {activation=relu}\n%y = binary(%c, %x)\n",
          "the conv's activation comes before the addition");
  refused("%c = conv(%x, %w, _, %x)\n%y = binary(%c, %x)\n", "the conv adds a residual already");
  refused("const %k: f32[2] = [1, 2]\n%c = conv(%x, %w)\n%y = binary(%c, %k)\n",
          "the addition broadcasts");
}

TEST_CASE("FuseResidual: only additions are residuals") {
  const std::string text = kResidualHead +
                           "%c: f32[1,1,2,2] = conv(%x, %w)\n"
                           "%y: f32[1,1,2,2] = binary(%c, %x) {function=mul}\n"
                           "output %y\n";
  CHECK(RunOn(kFuseResidual, text).text == text);
}

}  // namespace
}  // namespace tenon::converter
