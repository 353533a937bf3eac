#include "converter/passes/passes.hpp"
#include "tests/unit/converter/passes/pass_testing.hpp"

namespace tenon::converter {
namespace {

const Pass kFoldPad = {"fold-pad", FoldPad};

TEST_CASE("FoldPad: a zero pad goes into the conv's own") {
  const PassResult result = RunOn(kFoldPad,
                                  "input %x: f32[1,1,5,5]\n"
                                  "const %w: f32[1,1,3,3] = splat(1)\n"
                                  "%p = pad(%x) {begins=[0,0,1,2], ends=[0,0,3,4]}\n"
                                  "%y: f32[1,1,9,11] = conv(%p, %w) {pads=[1,1,1,1]}\n"
                                  "output %y\n");
  CHECK(result.text ==
        "input %x: f32[1,1,5,5]\n"
        "const %w: f32[1,1,3,3] = [1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
        "%y: f32[1,1,9,11] = conv(%x, %w) {pads=[2,3,4,5]}\n"
        "output %y\n");
  CHECK(result.report.changed == 1);
}

TEST_CASE("FoldPad: zeros folded into an average count in the mean") {
  const PassResult result = RunOn(kFoldPad,
                                  "input %x: f32[1,1,4,4]\n"
                                  "%p = pad(%x) {begins=[0,0,1,1], ends=[0,0,1,1]}\n"
                                  "%y = average_pool(%p) {kernel=[2,2], strides=[2,2]}\n"
                                  "output %y\n");
  CHECK(result.text ==
        "input %x: f32[1,1,4,4]\n"
        "%y: f32[1,1,3,3] = average_pool(%x) {kernel=[2,2], strides=[2,2], pads=[1,1,1,1], "
        "count_include_pad=1}\n"
        "output %y\n");
}

TEST_CASE("FoldPad: an average whose own padding does not count keeps the pad") {
  CheckDeclined(kFoldPad,
                "input %x: f32[1,1,4,4]\n"
                "%p = pad(%x) {begins=[0,0,1,1], ends=[0,0,1,1]}\n"
                "%y = average_pool(%p) {kernel=[3,3], pads=[1,1,1,1]}\n"
                "output %y\n",
                "p", "zeros count in the mean, the pool's own padding does not");
}

TEST_CASE("FoldPad: a pad of minus infinity is the maximum's own") {
  const PassResult result = RunOn(kFoldPad,
                                  "input %x: f32[1,1,4,4]\n"
                                  "%p = pad(%x) {value=-inf, begins=[0,0,1,1], ends=[0,0,0,0]}\n"
                                  "%y = max_pool(%p) {kernel=[3,3], strides=[2,2]}\n"
                                  "output %y\n");
  CHECK(result.text ==
        "input %x: f32[1,1,4,4]\n"
        "%y: f32[1,1,2,2] = max_pool(%x) {kernel=[3,3], strides=[2,2], pads=[1,1,0,0]}\n"
        "output %y\n");
}

TEST_CASE("FoldPad: a zero pad before a maximum stays") {
  CheckDeclined(kFoldPad,
                "input %x: f32[1,1,4,4]\n"
                "%p = pad(%x) {begins=[0,0,1,1], ends=[0,0,0,0]}\n"
                "%y = max_pool(%p) {kernel=[3,3]}\n"
                "output %y\n",
                "p", "zeros count in a maximum");
}

TEST_CASE("FoldPad: a pool whose windows would see padding only keeps the pad") {
  CheckDeclined(kFoldPad,
                "input %x: f32[1,1,4,4]\n"
                "%p = pad(%x) {begins=[0,0,2,2], ends=[0,0,0,0]}\n"
                "%y = average_pool(%p) {kernel=[2,2]}\n"
                "output %y\n",
                "p", "its reader cannot pad that much");
}

TEST_CASE("FoldPad: a pad goes into all of its readers or into none") {
  const std::string convs =
      "input %x: f32[1,1,5,5]\n"
      "const %w: f32[1,1,1,1] = [1]\n"
      "%p = pad(%x) {begins=[0,0,1,1], ends=[0,0,1,1]}\n"
      "%y = conv(%p, %w)\n";
  const PassResult all = RunOn(kFoldPad, convs + "%z = conv(%p, %w)\noutput %y\noutput %z\n");
  CHECK(all.text ==
        "input %x: f32[1,1,5,5]\n"
        "const %w: f32[1,1,1,1] = [1]\n"
        "%y: f32[1,1,7,7] = conv(%x, %w) {pads=[1,1,1,1]}\n"
        "%z: f32[1,1,7,7] = conv(%x, %w) {pads=[1,1,1,1]}\n"
        "output %y\n"
        "output %z\n");
  CheckDeclined(kFoldPad, convs + "%z = unary(%p) {function=relu}\noutput %y\noutput %z\n", "p",
                "a reader has no windows");
  CheckDeclined(kFoldPad, convs + "output %y\noutput %p\n", "p",
                "the padded tensor is a graph output");
}

TEST_CASE("FoldPad: pads that a conv cannot do stay") {
  const auto with = [](std::string_view pad) {
    return fmt::format(
        "input %x: f32[1,1,5,5]\n"
        "const %w: f32[1,2,3,3] = splat(1)\n"
        "const %v: f32[1,1,3,3] = splat(1)\n"
        "%p = pad(%x) {}\n"
        "output %y\n",
        pad);
  };
  CheckDeclined(kFoldPad, with("{value=1, begins=[0,0,1,1], ends=[0,0,1,1]}\n%y = conv(%p, %v)"),
                "p", "the pad value is not 0");
  CheckDeclined(kFoldPad, with("{mode=edge, begins=[0,0,1,1], ends=[0,0,1,1]}\n%y = conv(%p, %v)"),
                "p", "only constant pads fold into windows");
  CheckDeclined(kFoldPad, with("{begins=[0,1,1,1], ends=[0,0,1,1]}\n%y = conv(%p, %w)"), "p",
                "it pads batch or channels");
  CheckDeclined(kFoldPad, with("{begins=[0,0,-1,1], ends=[0,0,1,1]}\n%y = conv(%p, %v)"), "p",
                "it removes elements");
}

TEST_CASE("FoldPad: a conv that takes the padded tensor as residual, too, keeps the pad") {
  CheckDeclined(kFoldPad,
                "input %x: f32[1,1,5,5]\n"
                "const %w: f32[1,1,1,1] = [1]\n"
                "%p = pad(%x) {begins=[0,0,1,1], ends=[0,0,1,1]}\n"
                "%y = conv(%p, %w, _, %p)\n"
                "output %y\n",
                "p", "a reader takes it as something else than its input");
}

TEST_CASE("FoldPad: a quantized conv pads with its input's zero point") {
  const std::string head =
      "input %x: i8[1,1,4,4]\n"
      "const %w: i8[1,1,3,3] = [1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
      "const %m: f32[1] = [1]\n"
      "const %z: i8[1] = [-3]\n";
  const auto with = [&](const std::string& value) {
    return head + "%p = pad(%x) {value=" + value +
           ", begins=[0,0,1,1], ends=[0,0,1,1]}\n"
           "%y = quantized_conv(%p, %w, _, %m, _, %z)\n"
           "output %y\n";
  };
  CHECK(RunOn(kFoldPad, with("-3")).text ==
        head +
            "%y: i8[1,1,4,4] = quantized_conv(%x, %w, _, %m, _, %z) {pads=[1,1,1,1]}\n"
            "output %y\n");
  CheckDeclined(kFoldPad, with("0"), "p", "the pad value is not the zero point");
}

TEST_CASE("FoldPad: quantized averages count the zero point, maxima the least value never") {
  const auto folded = [](const std::string& ops) {
    return RunOn(kFoldPad, "input %x: i8[1,1,4,4]\n" + ops + "output %y\n").text;
  };
  CHECK(folded("%p = pad(%x) {value=5, begins=[0,0,1,1], ends=[0,0,1,1]}\n"
               "%y = quantized_average_pool(%p) {kernel=[2,2], x_zero_point=5}\n") ==
        "input %x: i8[1,1,4,4]\n"
        "%y: i8[1,1,5,5] = quantized_average_pool(%x) {kernel=[2,2], pads=[1,1,1,1], "
        "count_include_pad=1, x_zero_point=5}\n"
        "output %y\n");
  CHECK(folded("%p = pad(%x) {value=-128, begins=[0,0,1,1], ends=[0,0,1,1]}\n"
               "%y = max_pool(%p) {kernel=[2,2]}\n") ==
        "input %x: i8[1,1,4,4]\n"
        "%y: i8[1,1,5,5] = max_pool(%x) {kernel=[2,2], pads=[1,1,1,1]}\n"
        "output %y\n");
  CheckDeclined(kFoldPad,
                "input %x: i8[1,1,4,4]\n"
                "%p = pad(%x) {begins=[0,0,1,1], ends=[0,0,1,1]}\n"
                "%y = max_pool(%p) {kernel=[2,2]}\n"
                "output %y\n",
                "p", "zeros count in a maximum");
}

}  // namespace
}  // namespace tenon::converter
