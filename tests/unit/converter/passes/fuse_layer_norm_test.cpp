#include "converter/passes/passes.hpp"
#include "tests/unit/converter/passes/pass_testing.hpp"

namespace tenon::converter {
namespace {

const Pass kFuseLayerNorm = {"fuse-layer-norm", FuseLayerNorm};
const Pass kFuseChannelNorm = {"fuse-channel-norm", FuseChannelNorm};

const std::string kConstants =
    "input %x: f32[2,3]\n"
    "const %two: f32[] = [2]\n"
    "const %epsilon: f32[] = [0.001]\n"
    "const %gamma: f32[3] = [1, 2, 3]\n"
    "const %beta: f32[1,3] = [4, 5, 6]\n";
const std::string kCentred =
    "%mean = reduce(%x) {function=mean, axes_mask=2}\n"
    "%d = binary(%x, %mean) {function=sub}\n";
const std::string kDeviation =
    "%q = binary(%d, %d) {function=mul}\n"
    "%v = reduce(%q) {function=mean, axes_mask=2}\n"
    "%e = binary(%v, %epsilon)\n"
    "%s = unary(%e) {function=sqrt}\n";

/// The ops that are left, without the constants.
std::string OpsAfter(const std::string& ops) {
  const std::string text = RunOn(kFuseLayerNorm, kConstants + ops + "output %y\n").text;
  std::string left;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    const std::string line = text.substr(begin, end - begin);
    if (line.starts_with("%")) left += line + "\n";
    begin = end + 1;
  }
  return left;
}

TEST_CASE("FuseLayerNorm: statistics, a quotient, a scale and a bias become one op") {
  CHECK(OpsAfter(kCentred + kDeviation +
                 "%n = binary(%d, %s) {function=div}\n"
                 "%g = binary(%gamma, %n) {function=mul}\n"
                 "%y = binary(%g, %beta)\n") ==
        "%y: f32[2,3] = layer_norm(%x, %gamma, %beta.row) {epsilon=0.001}\n");
}

TEST_CASE("FuseLayerNorm: the square as a power, and the quotient as a product") {
  CHECK(OpsAfter(kCentred + "%q = binary(%d, %two) {function=pow}\n"
                            "%v = reduce(%q) {function=mean, axes_mask=2}\n"
                            "%e = binary(%v, %epsilon)\n"
                            "%s = unary(%e) {function=sqrt}\n"
                            "%r = unary(%s) {function=reciprocal}\n"
                            "%n = binary(%d, %r) {function=mul}\n"
                            "%y = binary(%n, %gamma) {function=mul}\n") ==
        "%y: f32[2,3] = layer_norm(%x, %gamma) {epsilon=0.001}\n");
}

TEST_CASE("FuseLayerNorm: the form with the scale in the factor") {
  CHECK(OpsAfter(kCentred + kDeviation +
                 "%r = unary(%s) {function=reciprocal}\n"
                 "%g = binary(%r, %gamma) {function=mul}\n"
                 "%a = binary(%x, %g) {function=mul}\n"
                 "%b = binary(%mean, %g) {function=mul}\n"
                 "%c = binary(%beta, %b) {function=sub}\n"
                 "%y = binary(%a, %c)\n") ==
        "%y: f32[2,3] = layer_norm(%x, %gamma, %beta.row) {epsilon=0.001}\n");
}

/// As LiteRT Torch writes it: what there is one of for each row has no axis of one element until it
/// meets the rows.
const std::string kColumns =
    "%m = reduce(%x) {function=mean, axes_mask=2, keep_dims=0}\n"
    "%mc = reshape(%m) {rank=2, dims=[2,1]}\n"
    "%d = binary(%x, %mc) {function=sub}\n"
    "%q = binary(%d, %d) {function=mul}\n"
    "%v = reduce(%q) {function=mean, axes_mask=2, keep_dims=0}\n"
    "%e = binary(%v, %epsilon)\n"
    "%s = unary(%e) {function=sqrt}\n"
    "%r = unary(%s) {function=reciprocal}\n"
    "%rc = reshape(%r) {rank=2, dims=[2,1]}\n"
    "%a = binary(%x, %rc) {function=mul}\n"
    "%rm = binary(%r, %m) {function=mul}\n";

TEST_CASE("FuseLayerNorm: statistics that lack the last axis, without a scale and with one") {
  const std::string zero = "const %zero: f32[] = [0]\n" + kColumns +
                           "%c = binary(%zero, %rm) {function=sub}\n"
                           "%cc = reshape(%c) {rank=2, dims=[2,1]}\n";
  CHECK(OpsAfter(zero + "%y = binary(%a, %cc)\n") ==
        "%y: f32[2,3] = layer_norm(%x, %y.ones) {epsilon=0.001}\n");
  CHECK(OpsAfter(zero + "%n = binary(%a, %cc)\n"
                        "%g = binary(%n, %gamma) {function=mul}\n"
                        "%y = binary(%g, %beta)\n") ==
        "%y: f32[2,3] = layer_norm(%x, %gamma, %beta.row) {epsilon=0.001}\n");
}

TEST_CASE("FuseLayerNorm: axes of one element may be reduced too, others not") {
  const auto is_fused = [](const std::string& shape) {
    const std::string text =
        "graph g\n"
        "input %x: f32" +
        shape +
        "\n"
        "const %epsilon: f32[] = [0.001]\n"
        "%q = binary(%x, %x) {function=mul}\n"
        "%v = reduce(%q) {function=mean, axes_mask=5}\n"
        "%e = binary(%v, %epsilon)\n"
        "%s = unary(%e) {function=sqrt}\n"
        "%y = binary(%x, %s) {function=div}\n"
        "output %y\n";
    return RunOn(kFuseLayerNorm, text).text.find("layer_norm") != std::string::npos;
  };
  CHECK(is_fused("[1,2,3]"));
  CHECK_FALSE(is_fused("[2,2,3]"));
}

TEST_CASE("FuseLayerNorm: a shift by a number that is not 0, and by other rows' means, is left") {
  const auto is_left = [](const std::string& ops) {
    return OpsAfter(kColumns + ops + "%y = binary(%a, %cc)\n").find("layer_norm") ==
           std::string::npos;
  };
  CHECK(
      is_left("const %one: f32[] = [1]\n"
              "%c = binary(%one, %rm) {function=sub}\n"
              "%cc = reshape(%c) {rank=2, dims=[2,1]}\n"));
  CHECK(
      is_left("const %zero: f32[] = [0]\n"
              "input %z: f32[2,3]\n"
              "%o = reduce(%z) {function=mean, axes_mask=2, keep_dims=0}\n"
              "%om = binary(%r, %o) {function=mul}\n"
              "%c = binary(%zero, %om) {function=sub}\n"
              "%cc = reshape(%c) {rank=2, dims=[2,1]}\n"));
}

TEST_CASE("FuseLayerNorm: statistics of rows that meet the columns are left") {
  const std::string square =
      "graph g\n"
      "input %x: f32[3,3]\n"
      "const %epsilon: f32[] = [0.001]\n"
      "%q = binary(%x, %x) {function=mul}\n"
      "%v = reduce(%q) {function=mean, axes_mask=2, keep_dims=0}\n"
      "%e = binary(%v, %epsilon)\n"
      "%s = unary(%e) {function=sqrt}\n"
      "%r = unary(%s) {function=reciprocal}\n"
      "%rc = reshape(%r) {rank=2, dims=[3,1]}\n";
  const auto fused = [&](const std::string& last) {
    const std::string text = RunOn(kFuseLayerNorm, square + last + "output %y\n").text;
    return text.find("layer_norm") != std::string::npos;
  };
  CHECK(fused("%y = binary(%x, %rc) {function=mul}\n"));
  CHECK_FALSE(fused("%y = binary(%x, %r) {function=mul}\n"));
  CHECK_FALSE(fused("%y = binary(%x, %s) {function=div}\n"));
}

TEST_CASE("FuseLayerNorm: the form with the scale in the factor and the mean negated") {
  const std::string factors = kCentred + kDeviation +
                              "%r = unary(%s) {function=reciprocal}\n"
                              "%g = binary(%r, %gamma) {function=mul}\n"
                              "%a = binary(%x, %g) {function=mul}\n"
                              "%n = unary(%mean) {function=neg}\n"
                              "%b = binary(%n, %g) {function=mul}\n"
                              "%c = binary(%b, %beta)\n";
  CHECK(OpsAfter(factors + "%y = binary(%a, %c)\n") ==
        "%y: f32[2,3] = layer_norm(%x, %gamma, %beta.row) {epsilon=0.001}\n");
  // A difference is another function.
  CHECK(OpsAfter(factors + "%y = binary(%a, %c) {function=sub}\n").find("layer_norm") ==
        std::string::npos);
}

TEST_CASE("FuseLayerNorm: without a mean it is the root of the mean square") {
  CHECK(OpsAfter("%q = binary(%x, %x) {function=mul}\n"
                 "%v = reduce(%q) {function=mean, axes_mask=2}\n"
                 "%e = binary(%v, %epsilon)\n"
                 "%s = unary(%e) {function=sqrt}\n"
                 "%n = binary(%x, %s) {function=div}\n"
                 "%y = binary(%n, %gamma) {function=mul}\n") ==
        "%y: f32[2,3] = layer_norm(%x, %gamma) {epsilon=0.001, rms=1}\n");
}

TEST_CASE("FuseLayerNorm: no scale means ones") {
  CHECK(OpsAfter(kCentred + kDeviation + "%y = binary(%d, %s) {function=div}\n") ==
        "%y: f32[2,3] = layer_norm(%x, %y.ones) {epsilon=0.001}\n");
}

TEST_CASE("FuseLayerNorm: means along another axis, and another tensor's deviation, are left") {
  const std::string other_axis = OpsAfter(
      "%mean = reduce(%x) {function=mean, axes_mask=1}\n"
      "%d = binary(%x, %mean) {function=sub}\n" +
      kDeviation + "%y = binary(%d, %s) {function=div}\n");
  CHECK(other_axis.find("layer_norm(%x") == std::string::npos);
  const std::string other =
      OpsAfter(kCentred + kDeviation + "%y = binary(%x, %s) {function=div}\n");
  CHECK(other.find("layer_norm") == std::string::npos);
}

TEST_CASE("FuseLayerNorm: an epsilon that is no finite number, or negative, is left") {
  for (const std::string epsilon : {"inf", "nan", "-0.5"}) {
    const std::string text =
        RunOn(kFuseLayerNorm, "input %x: f32[2,3]\nconst %epsilon: f32[] = [" + epsilon + "]\n" +
                                  kCentred + kDeviation +
                                  "%y = binary(%d, %s) {function=div}\noutput %y\n")
            .text;
    INFO(epsilon);
    CHECK(text.find("unary(%e) {function=sqrt}") != std::string::npos);
    CHECK(text.find("layer_norm") == std::string::npos);
  }
}

TEST_CASE("FuseLayerNorm: an inner result that is an output is still computed") {
  const std::string text = RunOn(kFuseLayerNorm, kConstants + kCentred + kDeviation +
                                                     "%y = binary(%d, %s) {function=div}\n"
                                                     "output %y\noutput %s\n")
                               .text;
  CHECK(text.find("layer_norm(%x") != std::string::npos);
  CHECK(text.find("unary(%e) {function=sqrt}") != std::string::npos);
}

TEST_CASE("FuseChannelNorm: along the channels of an image, between transposes") {
  const std::string image =
      "input %x: f32[1,3,2,2]\n"
      "const %epsilon: f32[] = [0.001]\n"
      "const %gamma: f32[3,1,1] = [1, 2, 3]\n"
      "const %beta: f32[1,3,1,1] = [4, 5, 6]\n"
      "%mean = reduce(%x) {function=mean, axes_mask=2}\n"
      "%d = binary(%x, %mean) {function=sub}\n"
      "%q = binary(%d, %d) {function=mul}\n";
  const std::string rest =
      "%e = binary(%v, %epsilon)\n"
      "%s = unary(%e) {function=sqrt}\n"
      "%n = binary(%d, %s) {function=div}\n"
      "%g = binary(%n, %gamma) {function=mul}\n"
      "%y = binary(%g, %beta)\n"
      "output %y\n";
  const std::string of_channels = image + "%v = reduce(%q) {function=mean, axes_mask=2}\n" + rest;
  const std::string channels = RunOn(kFuseChannelNorm, of_channels).text;
  INFO(channels);
  CHECK(channels.find("layer_norm(%y.channels_last, %gamma.row, %beta.row) {epsilon=0.001}") !=
        std::string::npos);
  CHECK(channels.find("%y: f32[1,3,2,2] = transpose(") != std::string::npos);
  CHECK(channels.find("binary") == std::string::npos);
  CHECK(RunOn(kFuseLayerNorm, of_channels).text.find("layer_norm") == std::string::npos);
  // A mean along the columns is none of the channels.
  const std::string rows =
      RunOn(kFuseChannelNorm, image + "%v = reduce(%q) {function=mean, axes_mask=4}\n" + rest).text;
  CHECK(rows.find("layer_norm") == std::string::npos);
}

}  // namespace
}  // namespace tenon::converter
