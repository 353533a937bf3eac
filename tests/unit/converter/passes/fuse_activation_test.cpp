#include "converter/passes/passes.hpp"
#include "tests/unit/converter/passes/pass_testing.hpp"

namespace tenon::converter {
namespace {

const Pass kFuseActivation = {"fuse-activation", FuseActivation};

TEST_CASE("FuseActivation: a unary op becomes the activation of conv, matmul and binary op") {
  const PassResult result = RunOn(kFuseActivation,
                                  "input %x: f32[1,1,2,2]\n"
                                  "const %w: f32[1,1,1,1] = [2]\n"
                                  "%c = conv(%x, %w)\n"
                                  "%cr = unary(%c) {function=leaky_relu, a=0.5}\n"
                                  "%m = matmul(%cr, %cr)\n"
                                  "%mr = unary(%m) {function=tanh}\n"
                                  "%b = binary(%mr, %x)\n"
                                  "%y = unary(%b) {function=clip, a=1, b=6}\n"
                                  "output %y\n");
  CHECK(
      result.text ==
      "input %x: f32[1,1,2,2]\n"
      "const %w: f32[1,1,1,1] = [2]\n"
      "%cr: f32[1,1,2,2] = conv(%x, %w) {activation=leaky_relu, activation_a=0.5} \"c\"\n"
      "%mr: f32[1,1,2,2] = matmul(%cr, %cr) {activation=tanh} \"m\"\n"
      "%y: f32[1,1,2,2] = binary(%mr, %x) {activation=clip, activation_a=1, activation_b=6} \"b\"\n"
      "output %y\n");
  CHECK(result.report.changed == 3);
}

TEST_CASE("FuseActivation: refuses a second activation, other readers, integers and f64") {
  CheckDeclined(kFuseActivation,
                "input %x: f32[2]\n"
                "%a = binary(%x, %x) {activation=relu}\n"
                "%y = unary(%a) {function=tanh}\n"
                "output %y\n",
                "y", "the op before it has an activation already");
  CheckDeclined(kFuseActivation,
                "input %x: f32[2]\n"
                "%a = binary(%x, %x)\n"
                "%y = unary(%a) {function=tanh}\n"
                "output %y\n"
                "output %a\n",
                "y", "the result before it has other readers");
  CheckDeclined(kFuseActivation,
                "input %x: i32[2]\n"
                "%a = binary(%x, %x)\n"
                "%y = unary(%a) {function=abs}\n"
                "output %y\n",
                "y", "only f32 results have activations");
  CheckDeclined(kFuseActivation,
                "input %x: f64[2]\n"
                "%a = binary(%x, %x)\n"
                "%y = unary(%a) {function=tanh}\n"
                "output %y\n",
                "y", "only f32 results have activations");
}

// What the ops that compute %y from %x become.
std::string Recognised(std::string_view ops) {
  const PassResult result =
      RunOn(kFuseActivation, fmt::format("input %x: f32[2]\n"
                                         "const %zero: f32[] = [0]\n"
                                         "const %one: f32[1] = [1]\n"
                                         "const %three: f32[] = [3]\n"
                                         "const %six: f32[] = [6]\n"
                                         "const %half: f32[] = [0.5]\n"
                                         "const %root: f32[] = [1.4142135]\n"
                                         "const %inv: f32[] = [0.70710677]\n"
                                         "const %cubic: f32[] = [0.044715]\n"
                                         "const %slope: f32[] = [0.7978846]\n"
                                         "const %sixth: f32[] = [0.16666667]\n"
                                         "{}\n"
                                         "output %y\n",
                                         ops));
  // Leave out the constants, some of which the ops never read.
  std::string text;
  for (size_t at = 0; at < result.text.size();) {
    const size_t end = result.text.find('\n', at);
    const std::string line = result.text.substr(at, end - at);
    const bool statement = line.find("const") != 0 && line.find("input") != 0;
    if (statement && line.find("output") != 0) text += (text.empty() ? "" : "; ") + line;
    at = end + 1;
  }
  return text;
}

TEST_CASE("FuseActivation: min and max with numbers are clip") {
  CHECK(Recognised("%y = binary(%x, %zero) {function=max}") ==
        "%y: f32[2] = unary(%x) {function=relu}");
  CHECK(Recognised("%y = binary(%six, %x) {function=min}") ==
        "%y: f32[2] = unary(%x) {function=clip, a=-inf, b=6}");
  CHECK(Recognised("%a = binary(%x, %one) {function=max}\n"
                   "%y = binary(%a, %six) {function=min}") ==
        "%y: f32[2] = unary(%x) {function=clip, a=1, b=6}");
  CHECK(Recognised("%a = binary(%x, %six) {function=min}\n"
                   "%y = binary(%a, %zero) {function=max}") ==
        "%y: f32[2] = unary(%x) {function=clip, b=6}");
}

TEST_CASE("FuseActivation: bounds that cross keep their meaning") {
  // max(min(x, 1), 6) is 6 everywhere; clip(x, 6, 1) would be 1.
  CHECK(Recognised("%a = binary(%x, %one) {function=min}\n"
                   "%y = binary(%a, %six) {function=max}") ==
        "%a: f32[2] = unary(%x) {function=clip, a=-inf, b=1}; "
        "%y: f32[2] = unary(%a) {function=clip, a=6, b=inf}");
  // min(max(x, 6), 1) is 1 everywhere, and so is clip(x, 6, 1).
  CHECK(Recognised("%a = binary(%x, %six) {function=max}\n"
                   "%y = binary(%a, %one) {function=min}") ==
        "%y: f32[2] = unary(%x) {function=clip, a=6, b=1}");
}

TEST_CASE("FuseActivation: x sigmoid(x) is silu, either way round") {
  CHECK(Recognised("%s = unary(%x) {function=sigmoid}\n%y = binary(%x, %s) {function=mul}") ==
        "%y: f32[2] = unary(%x) {function=silu}");
  CHECK(Recognised("%s = unary(%x) {function=sigmoid}\n%y = binary(%s, %x) {function=mul}") ==
        "%y: f32[2] = unary(%x) {function=silu}");
}

TEST_CASE("FuseActivation: hard swish in both spellings") {
  CHECK(Recognised("%s = unary(%x) {function=hard_sigmoid, a=0.16666667, b=0.5}\n"
                   "%y = binary(%x, %s) {function=mul}") ==
        "%y: f32[2] = unary(%x) {function=hard_swish}");
  const std::string clipped = "%p = binary(%x, %three)\n%q = unary(%p) {function=clip, a=0, b=6}\n";
  CHECK(Recognised(clipped + "%r = binary(%x, %q) {function=mul}\n"
                             "%y = binary(%r, %six) {function=div}") ==
        "%y: f32[2] = unary(%x) {function=hard_swish}");
  CHECK(Recognised(clipped + "%r = binary(%q, %sixth) {function=mul}\n"
                             "%y = binary(%x, %r) {function=mul}") ==
        "%y: f32[2] = unary(%x) {function=hard_swish}");
}

TEST_CASE("FuseActivation: gelu in three spellings") {
  const std::string factor =
      "%p = binary(%x, %root) {function=div}\n"
      "%q = unary(%p) {function=erf}\n"
      "%r = binary(%q, %one)\n";
  const std::string gelu = "%y: f32[2] = unary(%x) {function=gelu}";
  CHECK(Recognised(factor + "%s = binary(%x, %r) {function=mul}\n"
                            "%y = binary(%s, %half) {function=mul}") == gelu);
  CHECK(Recognised(factor + "%s = binary(%x, %half) {function=mul}\n"
                            "%y = binary(%s, %r) {function=mul}") == gelu);
  CHECK(Recognised("%p = binary(%inv, %x) {function=mul}\n"
                   "%q = unary(%p) {function=erf}\n"
                   "%r = binary(%one, %q)\n"
                   "%s = binary(%r, %half) {function=mul}\n"
                   "%y = binary(%s, %x) {function=mul}") == gelu);
}

TEST_CASE("FuseActivation: the gelu of tanh, with the cube as a power or as products") {
  const std::string rest =
      "%k = binary(%c, %cubic) {function=mul}\n"
      "%l = binary(%x, %k)\n"
      "%m = binary(%l, %slope) {function=mul}\n"
      "%t = unary(%m) {function=tanh}\n"
      "%r = binary(%t, %one)\n"
      "%s = binary(%r, %half) {function=mul}\n"
      "%y = binary(%x, %s) {function=mul}";
  const std::string gelu = "%y: f32[2] = unary(%x) {function=gelu_tanh}";
  CHECK(Recognised("%c = binary(%x, %three) {function=pow}\n" + rest) == gelu);
  CHECK(Recognised("%d = binary(%x, %x) {function=mul}\n"
                   "%c = binary(%d, %x) {function=mul}\n" +
                   rest) == gelu);
  CHECK(Recognised("%c = binary(%x, %one) {function=pow}\n" + rest) != gelu);
}

TEST_CASE("FuseActivation: patterns with wrong numbers are left") {
  const std::string hard =
      "%s: f32[2] = unary(%x) {function=hard_sigmoid, a=0.2, b=0.5}; "
      "%y: f32[2] = binary(%x, %s) {function=mul}";
  CHECK(Recognised("%s = unary(%x) {function=hard_sigmoid, a=0.2, b=0.5}\n"
                   "%y = binary(%x, %s) {function=mul}") == hard);
  CHECK(Recognised("%s = unary(%x) {function=sigmoid}\n"
                   "%t = binary(%x, %s) {function=mul}\n"
                   "%y = binary(%t, %half) {function=mul}")
            .find("silu") != std::string::npos);  // the inner product is silu, the half stays
}

TEST_CASE("FuseActivation: a sigmoid that somebody else reads is not computed twice") {
  const std::string text =
      "input %x: f32[2]\n"
      "%s: f32[2] = unary(%x) {function=sigmoid}\n"
      "%y: f32[2] = binary(%x, %s) {function=mul}\n"
      "output %y\n"
      "output %s\n";
  CHECK(RunOn(kFuseActivation, text).text == text);
}

TEST_CASE("FuseActivation: a spelt-out silu after a conv whose result only it reads is fused") {
  const PassResult result = RunOn(kFuseActivation,
                                  "input %x: f32[1,1,2,2]\n"
                                  "const %w: f32[1,1,1,1] = [2]\n"
                                  "%c = conv(%x, %w)\n"
                                  "%s = unary(%c) {function=sigmoid}\n"
                                  "%y = binary(%c, %s) {function=mul}\n"
                                  "output %y\n");
  CHECK(result.text ==
        "input %x: f32[1,1,2,2]\n"
        "const %w: f32[1,1,1,1] = [2]\n"
        "%y: f32[1,1,2,2] = conv(%x, %w) {activation=silu} \"c\"\n"
        "output %y\n");
}

TEST_CASE("FuseActivation: a scalar that broadcasts to more dimensions is no activation") {
  const std::string text =
      "input %x: f32[2]\n"
      "const %k: f32[1,1] = [0]\n"
      "%y: f32[1,2] = binary(%x, %k) {function=max}\n"
      "output %y\n";
  CHECK(RunOn(kFuseActivation, text).text == text);
}

}  // namespace
}  // namespace tenon::converter
