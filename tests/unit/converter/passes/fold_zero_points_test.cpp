#include "converter/passes/passes.hpp"
#include "tests/unit/converter/passes/pass_testing.hpp"

namespace tenon::converter {
namespace {

Status FoldAll(Graph& graph, PassContext& context) {
  context.wants_folded_bias = [](const Graph&, const Op&) { return true; };
  return FoldZeroPoints(graph, context);
}
Status FoldNone(Graph& graph, PassContext& context) {
  context.wants_folded_bias = [](const Graph&, const Op&) { return false; };
  return FoldZeroPoints(graph, context);
}
const Pass kFold = {"fold-zero-points", FoldAll};

/// Weights whose outputs' sums are 6 and 15; `op`: the rest of the convolution's text.
std::string Conv(const std::string& op) {
  return "input %x: i8[1,3,2,2]\n"
         "const %w: i8[2,3,1,1] = [1, 2, 3, 4, 5, 6]\n"
         "const %b: i32[2] = [100, 200]\n"
         "const %m: f32[1] = [0.5]\n"
         "const %z: i8[1] = [-3]\n"
         "const %z3: i8[3] = [-3, 0, 1]\n"
         "%y = quantized_conv(" +
         op + "\noutput %y\n";
}

TEST_CASE("FoldZeroPoints: without padding the bias takes in the zero point, which goes") {
  const PassResult result = RunOn(kFold, Conv("%x, %w, %b, %m, _, %z)"));
  CHECK(result.report.changed == 1);
  CHECK(Contains(result.text, "const %y.folded_bias: i32[2] = [118, 245]\n"));
  CHECK(Contains(result.text, "quantized_conv(%x, %w, %y.folded_bias, %m)\n"));
  CHECK_FALSE(Contains(result.text, "const %b:"));
  CHECK_FALSE(Contains(result.text, "const %z:"));
}

TEST_CASE("FoldZeroPoints: padding reads as the zero point, which stays beside a folded bias") {
  const PassResult result = RunOn(kFold, Conv("%x, %w, %b, %m, _, %z) {pads=[1,0,0,0]}"));
  CHECK(result.report.changed == 1);
  CHECK(Contains(result.text, "const %y.folded_bias: i32[2] = [118, 245]\n"));
  CHECK(Contains(result.text, "quantized_conv(%x, %w, %b, %m, _, %z, _, %y.folded_bias)"));
}

TEST_CASE("FoldZeroPoints: a zero point of 0 goes, padded or not") {
  const std::string text =
      "input %x: i8[1,1,2,2]\n"
      "const %w: i8[1,1,1,1] = [5]\n"
      "const %m: f32[1] = [0.5]\n"
      "const %z: i8[1] = [0]\n"
      "%y = quantized_conv(%x, %w, _, %m, _, %z) {pads=[1,1,1,1]}\n"
      "output %y\n";
  const PassResult result = RunOn(kFold, text);
  CHECK(Contains(result.text, "const %y.folded_bias: i32[1] = [0]\n"));
  CHECK(Contains(result.text, "quantized_conv(%x, %w, %y.folded_bias, %m) {pads=[1,1,1,1]}"));
}

TEST_CASE("FoldZeroPoints: matrices have their outputs along either axis") {
  const auto product = [](const char* shape, const char* attributes) {
    return fmt::format(
        "input %x: u8[1,2]\n"
        "const %w: i8[{}] = [1, 2, 3, 4]\n"
        "const %m: f32[1] = [0.5]\n"
        "const %z: u8[1] = [10]\n"
        "%y = quantized_matmul(%x, %w, _, %m, _, %z) {}\n"
        "output %y\n",
        shape, attributes);
  };
  const PassResult rows = RunOn(kFold, product("2,2", "{transpose_b=1}"));
  CHECK(Contains(rows.text, "const %y.folded_bias: i32[2] = [-30, -70]\n"));
  const PassResult columns = RunOn(kFold, product("2,2", ""));
  CHECK(Contains(columns.text, "const %y.folded_bias: i32[2] = [-40, -60]\n"));
}

TEST_CASE("FoldZeroPoints: sums past 32 bits wrap") {
  const PassResult result = RunOn(kFold,
                                  "input %x: i8[1,1,1,1]\n"
                                  "const %w: i8[1,1,1,1] = [127]\n"
                                  "const %b: i32[1] = [2147483647]\n"
                                  "const %m: f32[1] = [0.5]\n"
                                  "const %z: i8[1] = [-1]\n"
                                  "%y = quantized_conv(%x, %w, %b, %m, _, %z)\n"
                                  "output %y\n");
  CHECK(Contains(result.text, "const %y.folded_bias: i32[1] = [-2147483522]\n"));
}

TEST_CASE("FoldZeroPoints: zero points that are not one number of x's stay, and it says so") {
  CheckDeclined(kFold, Conv("%x, %w, %b, %m, _, %z3)"), "y", "each input channel has a zero point");
  CheckDeclined(kFold, Conv("%x, %w, %b, %m, _, %z, %z)"), "y", "its weights have zero points");
}

TEST_CASE("FoldZeroPoints: ops whose kernels do not want it stay") {
  const std::string text = Conv("%x, %w, %b, %m, _, %z)");
  const PassResult result = RunOn({"fold-zero-points", FoldNone}, text);
  CHECK(result.report.changed == 0);
  CHECK(result.report.declined.empty());
  CHECK(Contains(result.text, "quantized_conv(%x, %w, %b, %m, _, %z)"));
}

}  // namespace
}  // namespace tenon::converter
