#include "converter/passes/passes.hpp"
#include "tests/unit/converter/passes/pass_testing.hpp"

namespace tenon::converter {
namespace {

const Pass kTrimKernels = {"trim-kernels", TrimKernels};

TEST_CASE("TrimKernels: of a kernel dilated beyond its image the middle stays") {
  const PassResult result = RunOn(kTrimKernels,
                                  "input %x: f32[1,1,5,5]\n"
                                  "const %w: f32[1,1,3,3] = [1, 2, 3, 4, 5, 6, 7, 8, 9]\n"
                                  "%y = conv(%x, %w) {dilations=[6,6], pads=[6,6,6,6]}\n"
                                  "output %y\n");
  CHECK(result.text ==
        "input %x: f32[1,1,5,5]\n"
        "const %w.trimmed: f32[1,1,1,1] = [5]\n"
        "%y: f32[1,1,5,5] = conv(%x, %w.trimmed)\n"
        "output %y\n");
  CHECK(result.report.changed == 1);
}

TEST_CASE("TrimKernels: one axis, one side, and convolutions that share the weights") {
  const PassResult result = RunOn(kTrimKernels,
                                  "input %x: f32[1,1,1,2]\n"
                                  "input %z: f32[1,1,1,2]\n"
                                  "const %w: f32[1,1,3,3] = [1, 2, 3, 4, 5, 6, 7, 8, 9]\n"
                                  "%y = conv(%x, %w) {strides=[2,2], pads=[1,0,1,1]}\n"
                                  "%u = conv(%z, %w) {strides=[2,2], pads=[1,0,1,1]}\n"
                                  "output %y\n"
                                  "output %u\n");
  CHECK(result.text ==
        "input %x: f32[1,1,1,2]\n"
        "input %z: f32[1,1,1,2]\n"
        "const %w.trimmed: f32[1,1,1,2] = [4, 5]\n"
        "%y: f32[1,1,1,1] = conv(%x, %w.trimmed) {strides=[2,2]}\n"
        "%u: f32[1,1,1,1] = conv(%z, %w.trimmed) {strides=[2,2]}\n"
        "output %y\n"
        "output %u\n");
}

TEST_CASE("TrimKernels: weights of which another convolution keeps other taps stay, in one copy") {
  const PassResult result = RunOn(kTrimKernels,
                                  "input %x: f32[1,1,1,1]\n"
                                  "input %z: f32[1,1,9,9]\n"
                                  "const %w: f32[1,1,3,3] = splat(1)\n"
                                  "%y = conv(%x, %w) {pads=[1,1,1,1]}\n"
                                  "%u = conv(%z, %w)\n"
                                  "output %y\n"
                                  "output %u\n");
  CHECK(result.report.changed == 0);
}

TEST_CASE("TrimKernels: taps that steps and dilations lead past the image") {
  // Outputs read at -7, -4, -1 and 2 and five places further on: at -2, 1, 4 and 7; then at 3 and
  // on.
  const PassResult result = RunOn(kTrimKernels,
                                  "input %x: f32[1,1,1,2]\n"
                                  "const %w: f32[1,1,1,3] = [1, 2, 3]\n"
                                  "%y = conv(%x, %w) {strides=[1,3], dilations=[1,5], "
                                  "pads=[0,7,0,10]}\noutput %y\n");
  CHECK(result.report.changed == 1);
  CHECK(result.text.find("f32[1,1,1,1] = [2]") != std::string::npos);
}

TEST_CASE("TrimKernels: bytes are trimmed as floats are, whatever pads them") {
  const PassResult result = RunOn(kTrimKernels,
                                  "input %x: i8[1,1,1,1]\n"
                                  "const %w: i8[1,1,3,3] = [1, 2, 3, 4, 5, 6, 7, 8, 9]\n"
                                  "const %m: f32[1] = [0.5]\n"
                                  "const %q: i8[1] = [3]\n"
                                  "%y = quantized_conv(%x, %w, _, %m, _, %q) {pads=[1,1,1,1]}\n"
                                  "output %y\n");
  CHECK(result.report.changed == 1);
  CHECK(result.text.find("i8[1,1,1,1] = [5]") != std::string::npos);
}

TEST_CASE("TrimKernels: kernels whose every tap reads the image stay") {
  const PassResult result = RunOn(kTrimKernels,
                                  "input %x: f32[1,1,2,2]\n"
                                  "const %w: f32[1,1,3,3] = splat(1)\n"
                                  "%y = conv(%x, %w) {pads=[1,1,1,1]}\n"
                                  "output %y\n");
  CHECK(result.report.changed == 0);
}

}  // namespace
}  // namespace tenon::converter
