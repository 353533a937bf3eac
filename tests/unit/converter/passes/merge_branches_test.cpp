#include <fmt/format.h>

#include "converter/passes/passes.hpp"
#include "tests/unit/converter/passes/pass_testing.hpp"

namespace tenon::converter {
namespace {

const Pass kMergeBranches = {"merge-branches", MergeBranches};

TEST_CASE("MergeBranches: a 1x1 convolution is the middle tap of a 3x3 one beside it") {
  const PassResult result = RunOn(kMergeBranches,
                                  "input %x: f32[1,1,4,4]\n"
                                  "const %w: f32[1,1,3,3] = [1, 2, 3, 4, 5, 6, 7, 8, 9]\n"
                                  "const %v: f32[1,1,1,1] = [100]\n"
                                  "const %b: f32[1] = [10]\n"
                                  "const %c: f32[1] = [20]\n"
                                  "%p = conv(%x, %v, %c)\n"
                                  "%q = conv(%x, %w, %b) {pads=[1,1,1,1]}\n"
                                  "%y = binary(%p, %q) {function=add, activation=relu}\n"
                                  "output %y\n");
  CHECK(result.text ==
        "input %x: f32[1,1,4,4]\n"
        "const %w: f32[1,1,3,3] = [1, 2, 3, 4, 105, 6, 7, 8, 9]\n"
        "const %b: f32[1] = [30]\n"
        "%y: f32[1,1,4,4] = conv(%x, %w, %b) {pads=[1,1,1,1], activation=relu} \"q\"\n"
        "output %y\n");
  CHECK(result.report.changed == 1);
}

TEST_CASE("MergeBranches: a batch norm of x beside a depthwise convolution, and three branches") {
  const PassResult result = RunOn(kMergeBranches,
                                  "input %x: f32[1,2,1,5]\n"
                                  "const %w: f32[2,1,1,3] = [1, 2, 3, 4, 5, 6]\n"
                                  "const %v: f32[2,1,1,1] = [1000, 2000]\n"
                                  "const %g: f32[2,1,1] = [10, 20]\n"
                                  "const %h: f32[1,2,1,1] = [0.5, 0.25]\n"
                                  "%p = conv(%x, %w) {group=2, pads=[0,1,0,1]}\n"
                                  "%s = binary(%x, %g) {function=mul}\n"
                                  "%n = binary(%s, %h) {function=add}\n"
                                  "%m = binary(%n, %p) {function=add}\n"
                                  "%q = conv(%x, %v) {group=2}\n"
                                  "%y = binary(%m, %q) {function=add}\n"
                                  "output %y\n");
  CHECK(result.text.find("const %w: f32[2,1,1,3] = [1, 1012, 3, 4, 2025, 6]\n") !=
        std::string::npos);
  CHECK(result.text.find("= [0.5, 0.25]\n%y: f32[1,2,1,5] = conv(") != std::string::npos);
  CHECK(result.report.changed == 2);
}

TEST_CASE("MergeBranches: narrower groups and wider steps of taps find their places") {
  const PassResult result = RunOn(kMergeBranches,
                                  "input %x: f32[1,4,1,5]\n"
                                  "const %w: f32[2,2,1,3] = [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]\n"
                                  "const %v: f32[2,2,1,2] = [10, 20, 30, 40, 50, 60, 70, 80]\n"
                                  "%p = conv(%x, %w) {group=2, pads=[0,1,0,1]}\n"
                                  "%q = conv(%x, %v) {group=2, dilations=[1,2], pads=[0,1,0,1]}\n"
                                  "%y = binary(%p, %q) {function=add}\n"
                                  "output %y\n");
  CHECK(
      result.text.find("const %w: f32[2,2,1,3] = [11, 1, 21, 32, 2, 42, 53, 3, 63, 74, 4, 84]\n") !=
      std::string::npos);
  CHECK(result.report.changed == 1);
}

TEST_CASE("MergeBranches: a grouped convolution is part of a dense one") {
  const PassResult result = RunOn(kMergeBranches,
                                  "input %x: f32[1,2,1,3]\n"
                                  "const %w: f32[2,2,1,1] = [1, 2, 3, 4]\n"
                                  "const %v: f32[2,1,1,1] = [10, 20]\n"
                                  "%p = conv(%x, %v) {group=2}\n"
                                  "%q = conv(%x, %w)\n"
                                  "%y = binary(%p, %q) {function=add}\n"
                                  "output %y\n");
  CHECK(result.text.find("const %w: f32[2,2,1,1] = [11, 2, 3, 24]\n") != std::string::npos);
  CHECK(result.report.changed == 1);
}

TEST_CASE("MergeBranches: what has another input or reader, or would cost products, stays") {
  const auto declined = [](std::string_view ops, std::string_view reason) {
    CheckDeclined(kMergeBranches,
                  fmt::format("input %x: f32[1,2,5,5]\n"
                              "const %w: f32[2,1,3,3] = splat(1)\n"
                              "const %v: f32[2,2,1,1] = splat(1)\n"
                              "const %u: f32[2,2,3,3] = splat(1)\n"
                              "{}"
                              "output %y\n",
                              ops),
                  "y", reason);
  };
  declined(
      "%p = conv(%x, %w) {group=2, pads=[1,1,1,1]}\n"
      "%q = conv(%x, %v)\n"
      "%y = binary(%p, %q) {function=add}\n",
      "neither branch's weights have a place for all of the other's");
  declined(
      "%p = conv(%x, %u) {dilations=[2,2], pads=[2,2,2,2]}\n"
      "%q = conv(%x, %u) {pads=[1,1,1,1]}\n"
      "%y = binary(%p, %q) {function=add}\n",
      "neither branch's weights have a place for all of the other's");
  declined(
      "%p = conv(%x, %v) {activation=relu}\n"
      "%q = conv(%x, %v)\n"
      "%y = binary(%p, %q) {function=add}\n",
      "a conv's activation comes before the addition");
}

TEST_CASE("MergeBranches: what comes before a factor is taken times it") {
  const PassResult result = RunOn(kMergeBranches,
                                  "input %x: f32[1,2,1,2]\n"
                                  "const %w: f32[2,1,1,1] = [1, 2]\n"
                                  "const %g: f32[2,1,1] = [10, 20]\n"
                                  "const %h: f32[2,1,1] = [3, 4]\n"
                                  "%p = conv(%x, %w) {group=2}\n"
                                  "%s = binary(%x, %h) {function=add}\n"
                                  "%n = binary(%s, %g) {function=mul}\n"
                                  "%y = binary(%p, %n) {function=add}\n"
                                  "output %y\n");
  CHECK(result.text.find("const %w: f32[2,1,1,1] = [11, 22]\n") != std::string::npos);
  CHECK(result.text.find("= [30, 80]\n") != std::string::npos);
}

TEST_CASE("MergeBranches: results of one shape whose steps differ are not of one convolution") {
  CheckDeclined(kMergeBranches,
                "input %x: f32[1,1,1,5]\n"
                "const %w: f32[1,1,1,3] = [1, 2, 3]\n"
                "const %v: f32[1,1,1,1] = [10]\n"
                "%p = conv(%x, %w)\n"
                "%q = conv(%x, %v) {strides=[1,2]}\n"
                "%y = binary(%p, %q) {function=add}\n"
                "output %y\n",
                "y", "neither branch's weights have a place for all of the other's");
  CheckDeclined(kMergeBranches,
                "input %x: f32[1,1,1,5]\n"
                "const %w: f32[1,1,1,5] = [1, 2, 3, 4, 5]\n"
                "const %g: f32[1,1,1] = [2]\n"
                "%p = conv(%x, %w) {strides=[1,2], pads=[0,4,0,4]}\n"
                "%q = binary(%x, %g) {function=mul}\n"
                "%y = binary(%p, %q) {function=add}\n"
                "output %y\n",
                "y", "neither branch's weights have a place for all of the other's");
}

TEST_CASE("MergeBranches: no batch norm joins weights that will be stored in 8 bits") {
  Graph graph = Parsed(
      "input %x: f32[1,1,2,2]\n"
      "const %w: f32[1,1,1,1] = [1]\n"
      "const %g: f32[1,1,1] = [2]\n"
      "%p = conv(%x, %w)\n"
      "%s = binary(%x, %g) {function=mul}\n"
      "%y = binary(%p, %s) {function=add}\n"
      "output %y\n");
  PassContext context;
  context.weights_form = WeightsForm::kInt8;
  std::vector<PassReport> reports;
  REQUIRE(RunPass(kMergeBranches, graph, context, reports).ok());
  CHECK(reports.front().changed == 0);
  REQUIRE(reports.front().declined.size() == 1);
  CHECK(reports.front().declined[0].reason ==
        "a weight far above the others would take their precision in 8 bits");
}

}  // namespace
}  // namespace tenon::converter
