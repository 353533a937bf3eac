#include "converter/passes/passes.hpp"
#include "tests/unit/converter/passes/pass_testing.hpp"

namespace tenon::converter {
namespace {

const Pass kLiftRows = {"lift-rows", LiftRows};

TEST_CASE("LiftRows: a sum and a function behind a 1-D convolution are computed on its image") {
  const PassResult result = RunOn(kLiftRows,
                                  "input %x: f32[1,2,1,5]\n"
                                  "input %r: f32[1,2,5]\n"
                                  "const %w: f32[2,2,1,1] = [1, 2, 3, 4]\n"
                                  "const %c: f32[2,1] = [5, 6]\n"
                                  "%i = conv(%x, %w)\n"
                                  "%a = reshape(%i) {dims=[1,2,5]}\n"
                                  "%b = binary(%a, %c)\n"
                                  "%d = binary(%r, %b)\n"
                                  "%y = unary(%d) {function=relu}\n"
                                  "output %y\n");
  CHECK(result.report.changed == 3);
  CHECK(result.text ==
        "input %x: f32[1,2,1,5]\n"
        "input %r: f32[1,2,5]\n"
        "const %w: f32[2,2,1,1] = [1, 2, 3, 4]\n"
        "const %c.image: f32[2,1,1] = [5, 6]\n"
        "%i: f32[1,2,1,5] = conv(%x, %w)\n"
        "%b.image: f32[1,2,1,5] = binary(%i, %c.image) \"b\"\n"
        "%r.image: f32[1,2,1,5] = reshape(%r) {dims=[1,2,1,5]}\n"
        "%d.image: f32[1,2,1,5] = binary(%r.image, %b.image) \"d\"\n"
        "%y.image: f32[1,2,1,5] = unary(%d.image) {function=relu} \"y\"\n"
        "%y: f32[1,2,5] = reshape(%y.image) {dims=[1,2,5]} \"y.rows\"\n"
        "output %y\n");
}

TEST_CASE("LiftRows: moves and reductions take the axis among theirs") {
  const PassResult result = RunOn(kLiftRows,
                                  "input %x: f32[1,2,1,6]\n"
                                  "%i = max_pool(%x) {kernel=[1,2]}\n"
                                  "%a = reshape(%i) {dims=[1,2,5]}\n"
                                  "%b = slice(%a) {begins=[0,0,1], sizes=[1,2,4], steps=[1,1,1]}\n"
                                  "%c = pad(%b) {value=3, begins=[0,1,0], ends=[0,0,2]}\n"
                                  "%d = concat(%c, %c) {axis=2}\n"
                                  "%y = reduce(%d) {axes_mask=6}\n"
                                  "output %y\n");
  CHECK(result.report.changed == 4);
  CHECK(result.text.find("%b.image: f32[1,2,1,4] = slice(%i) {begins=[0,0,0,1], "
                         "sizes=[1,2,1,4], steps=[1,1,1,1]} \"b\"\n") != std::string::npos);
  CHECK(result.text.find("{value=3, begins=[0,1,0,0], ends=[0,0,0,2]} \"c\"\n") !=
        std::string::npos);
  CHECK(result.text.find("%d.image: f32[1,3,1,12] = concat(%c.image, %c.image) {axis=3} \"d\"\n") !=
        std::string::npos);
  CHECK(result.text.find("%y.image: f32[1,1,1,1] = ") != std::string::npos);
}

TEST_CASE("LiftRows: rows with channels last take their axis before them") {
  const PassResult result = RunOn(kLiftRows,
                                  "input %x: f32[1,3,1,5]\n"
                                  "const %w: f32[3,3,1,1] = splat(1)\n"
                                  "const %c: f32[3] = [1, 2, 3]\n"
                                  "%i = conv(%x, %w)\n"
                                  "%t = transpose(%i) {permutation=[0,2,3,1]}\n"
                                  "%a = reshape(%t) {dims=[1,5,3]}\n"
                                  "%y = binary(%a, %c)\n"
                                  "output %y\n");
  CHECK(result.report.changed == 1);
  CHECK(result.text.find("%y.image: f32[1,1,5,3] = binary(%t, %c) \"y\"\n") != std::string::npos);
}

TEST_CASE("LiftRows: a pad that only 1-D convolutions read is one of images") {
  const PassResult result = RunOn(kLiftRows,
                                  "input %x: f32[1,2,5]\n"
                                  "const %w: f32[2,2,1,2] = splat(1)\n"
                                  "%p = pad(%x) {begins=[0,0,1], ends=[0,0,0]}\n"
                                  "%a = reshape(%p) {dims=[1,2,1,6]}\n"
                                  "%b = reshape(%p) {dims=[1,2,1,6]}\n"
                                  "%y = conv(%a, %w)\n"
                                  "%z = conv(%b, %w)\n"
                                  "output %y\n"
                                  "output %z\n");
  CHECK(result.report.changed == 1);
  CHECK(result.text.find("%p.image: f32[1,2,1,6] = pad(%x.image) {begins=[0,0,0,1], "
                         "ends=[0,0,0,0]} \"p\"\n") != std::string::npos);
}

TEST_CASE("LiftRows: what has no image, or a scale for each channel, is left") {
  for (const char* ops :
       {// no windowed op made this
        "%a = reshape(%x) {dims=[1,2,5]}\n%y = unary(%a) {function=relu}\n",
        // the dimensions are others, not one fewer
        "%i = max_pool(%x)\n%a = reshape(%i) {dims=[2,1,5]}\n%y = unary(%a) {function=relu}\n",
        "%i = max_pool(%x)\n%a = reshape(%i) {dims=[1,2,5]}\n"
        "%y = quantize(%a, %s) {axis=1}\n",
        "%i = max_pool(%x)\n%a = reshape(%i) {dims=[1,2,5]}\n"
        "%y = reduce(%a) {function=max, axes_mask=4, keep_dims=0}\n",
        "%i = max_pool(%x)\n%a = reshape(%i) {dims=[1,2,5]}\n"
        "%y = softmax(%a) {axis=2}\n"}) {
    CAPTURE(ops);
    const std::string text =
        "input %x: f32[1,2,1,5]\nconst %s: f32[2] = [1, 2]\n" + std::string(ops) + "output %y\n";
    CHECK(RunOn(kLiftRows, text).report.changed == 0);
  }
}

}  // namespace
}  // namespace tenon::converter
