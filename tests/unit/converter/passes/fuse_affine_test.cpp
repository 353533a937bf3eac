#include "converter/passes/passes.hpp"
#include "tests/unit/converter/passes/pass_testing.hpp"

namespace tenon::converter {
namespace {

const Pass kFuseAffine = {"fuse-affine", FuseAffine};

TEST_CASE("FuseAffine: a batch norm lowered to mul and add disappears in the conv") {
  const PassResult result = RunOn(kFuseAffine,
                                  "input %x: f32[1,1,2,2]\n"
                                  "const %w: f32[2,1,1,2] = [1, 2, 3, 4]\n"
                                  "const %b: f32[2] = [10, 20]\n"
                                  "const %g: f32[2,1,1] = [2, -1]\n"
                                  "const %h: f32[1,2,1,1] = [100, 200]\n"
                                  "%c = conv(%x, %w, %b)\n"
                                  "%s = binary(%c, %g) {function=mul}\n"
                                  "%y = binary(%h, %s) {function=add, activation=relu}\n"
                                  "output %y\n");
  CHECK(result.text ==
        "input %x: f32[1,1,2,2]\n"
        "const %w: f32[2,1,1,2] = [2, 4, -3, -4]\n"
        "const %b: f32[2] = [120, 180]\n"
        "%y: f32[1,2,2,1] = conv(%x, %w, %b) {activation=relu} \"c\"\n"
        "output %y\n");
  CHECK(result.report.changed == 2);
}

TEST_CASE("FuseAffine: subtraction and division, either way round") {
  const auto after = [](std::string_view binary) {
    return RunOn(kFuseAffine, fmt::format("input %x: f32[1,1,2,2]\n"
                                          "const %w: f32[2,1,1,1] = [8, 16]\n"
                                          "const %k: f32[2,1,1] = [2, 4]\n"
                                          "%c = conv(%x, %w)\n"
                                          "%y = binary({}\n"
                                          "output %y\n",
                                          binary))
        .text;
  };
  CHECK(after("%c, %k) {function=sub}")
            .find("const %w: f32[2,1,1,1] = [8, 16]\nconst %c_bias: f32[2] = [-2, -4]\n") !=
        std::string::npos);
  CHECK(after("%k, %c) {function=sub}")
            .find("const %w: f32[2,1,1,1] = [-8, -16]\nconst %c_bias: f32[2] = [2, 4]\n") !=
        std::string::npos);
  CHECK(after("%c, %k) {function=div}")
            .find("const %w: f32[2,1,1,1] = [4, 4]\n%y: f32[1,2,2,2] = conv(%x, %w) \"c\"\n") !=
        std::string::npos);
}

TEST_CASE("FuseAffine: one number scales every channel") {
  const PassResult result = RunOn(kFuseAffine,
                                  "input %x: f32[1,1,2,2]\n"
                                  "const %w: f32[2,1,1,1] = [1, 2]\n"
                                  "const %k: f32[] = [3]\n"
                                  "%c = conv(%x, %w)\n"
                                  "%y = binary(%c, %k) {function=mul}\n"
                                  "output %y\n");
  CHECK(result.text ==
        "input %x: f32[1,1,2,2]\n"
        "const %w: f32[2,1,1,1] = [3, 6]\n"
        "%y: f32[1,2,2,2] = conv(%x, %w) \"c\"\n"
        "output %y\n");
}

TEST_CASE("FuseAffine: channels of a matrix product are its last dimension") {
  const PassResult result = RunOn(kFuseAffine,
                                  "input %x: f32[4,3]\n"
                                  "const %w: f32[3,2] = [1, 2, 3, 4, 5, 6]\n"
                                  "const %t: f32[2,2] = [1, 2, 3, 4]\n"
                                  "const %g: f32[2] = [10, 100]\n"
                                  "%m = matmul(%x, %w)\n"
                                  "%a = binary(%m, %g) {function=mul}\n"
                                  "%n = matmul(%a, %t) {transpose_b=1}\n"
                                  "%y = binary(%n, %g) {function=mul}\n"
                                  "output %y\n");
  CHECK(result.text ==
        "input %x: f32[4,3]\n"
        "const %w: f32[3,2] = [10, 200, 30, 400, 50, 600]\n"
        "const %t: f32[2,2] = [10, 20, 300, 400]\n"
        "%a: f32[4,2] = matmul(%x, %w) \"m\"\n"
        "%y: f32[4,2] = matmul(%a, %t) {transpose_b=1} \"n\"\n"
        "output %y\n");
}

TEST_CASE("FuseAffine: a bias added on its own becomes the op's, whatever the weights") {
  const PassResult result = RunOn(kFuseAffine,
                                  "input %x: f32[4,3]\n"
                                  "input %w: f32[3,2]\n"
                                  "const %b: f32[2] = [1, 2]\n"
                                  "%m = matmul(%x, %w)\n"
                                  "%y = binary(%m, %b)\n"
                                  "output %y\n");
  CHECK(result.text ==
        "input %x: f32[4,3]\n"
        "input %w: f32[3,2]\n"
        "const %m_bias: f32[2] = [1, 2]\n"
        "%y: f32[4,2] = matmul(%x, %w, %m_bias) \"m\"\n"
        "output %y\n");
}

TEST_CASE("FuseAffine: weights that another op reads, too, are not changed for it") {
  const PassResult result = RunOn(kFuseAffine,
                                  "input %x: f32[1,1,2,2]\n"
                                  "const %w: f32[1,1,1,1] = [2]\n"
                                  "const %k: f32[1] = [3]\n"
                                  "%c = conv(%x, %w)\n"
                                  "%d = conv(%x, %w)\n"
                                  "%y = binary(%c, %k) {function=mul}\n"
                                  "output %y\n"
                                  "output %d\n");
  CHECK(result.text ==
        "input %x: f32[1,1,2,2]\n"
        "const %w: f32[1,1,1,1] = [2]\n"
        "const %w_1: f32[1,1,1,1] = [6]\n"
        "%y: f32[1,1,2,2] = conv(%x, %w_1) \"c\"\n"
        "%d: f32[1,1,2,2] = conv(%x, %w)\n"
        "output %y\n"
        "output %d\n");
}

TEST_CASE("FuseAffine: the product is rounded once, from f64") {
  // 1/3 in f32 times 3 in f64 is 1.0000000298; rounded to f32 it is 1.
  const PassResult result = RunOn(kFuseAffine,
                                  "input %x: f32[1,1,2,2]\n"
                                  "const %w: f32[1,1,1,1] = [1]\n"
                                  "const %k: f32[1] = [3]\n"
                                  "const %l: f32[1] = [0.33333334]\n"
                                  "%c = conv(%x, %w)\n"
                                  "%d = binary(%c, %l) {function=mul}\n"
                                  "%y = binary(%d, %k) {function=mul}\n"
                                  "output %y\n");
  CHECK(result.text.find("const %w: f32[1,1,1,1] = [1]\n") != std::string::npos);
}

// Refusals: `ops` compute %y from conv %c (2 channels of 2 x 2).
void CheckRefused(std::string_view conv, std::string_view ops, std::string_view reason) {
  CAPTURE(reason);
  const std::string text = fmt::format(
      "input %x: f32[1,1,2,2]\n"
      "input %wx: f32[2,1,1,1]\n"
      "input %x2: f32[1,2,2,2]\n"
      "const %w: f32[2,1,1,1] = [1, 2]\n"
      "const %k: f32[2,1,1] = [1, 0]\n"
      "const %column: f32[2] = [1, 2]\n"
      "const %big: f32[2,2,1,1] = splat(2)\n"
      "%c = conv({}\n"
      "{}\n"
      "output %y\n",
      conv, ops);
  CheckDeclined(kFuseAffine, text, "y", reason);
}

TEST_CASE("FuseAffine: refuses what would change values") {
  CheckRefused("%x, %w)", "%y = binary(%c, %k) {function=mul}\noutput %c",
               "the result before it has other readers");
  CheckRefused("%x, %w) {activation=relu}", "%y = binary(%c, %k) {function=mul}",
               "the op before it has an activation");
  CheckRefused("%x, %w, _, %x2)", "%y = binary(%c, %k) {function=mul}",
               "the conv before it adds a residual");
  CheckRefused("%x, %wx)", "%y = binary(%c, %k) {function=mul}", "the weights are no f32 constant");
  CheckRefused("%x, %w)", "%y = binary(%c, %column) {function=mul}",
               "the constant is not one value per channel");
  CheckRefused("%x, %w)", "%y = binary(%c, %big) {function=mul}",
               "the constant broadcasts the result");
  CheckRefused("%x, %w)", "%y = binary(%k, %c) {function=div}", "the result is the divisor");
  CheckRefused("%x, %w)", "%y = binary(%c, %k) {function=div}", "a factor is not finite");
}

}  // namespace
}  // namespace tenon::converter
