#include "converter/passes/remove_constant_channels.hpp"

#include <random>

#include "tests/support/evaluate_graph.hpp"
#include "tests/unit/converter/passes/pass_testing.hpp"

namespace tenon::converter {
namespace {

const Pass kRemove = {"remove-constant-channels", RemoveConstantChannels};

/// Outputs 0, 2, 4 and 5 of the first convolution see their input; the others are 7, whatever it
/// is.
std::string Maker() {
  return "input %x: i8[1,1,3,3]\n"
         "const %w: i8[8,1,1,1] = [1, 0, 2, 0, 3, 4, 0, 0]\n"
         "const %b: i32[8] = [1, 14, 3, 14, 5, 6, 14, 14]\n"
         "const %m: f32[1] = [0.5]\n"
         "%t = quantized_conv(%x, %w, %b, %m)\n";
}

std::string Reader(const std::string& x, const std::string& attributes = "") {
  return "const %v: i8[1,8,1,1] = [1, 2, 3, 4, 5, 6, 7, 8]\n"
         "const %c: i32[1] = [1000]\n"
         "const %z: i8[1] = [7]\n"
         "const %z0: i8[1] = [2]\n" +
         fmt::format("%y = quantized_conv({}) {}\noutput %y\n", x, attributes);
}

TEST_CASE("Constant channels: what they added is in the reader's bias, and they are gone") {
  const PassResult result = RunOn(kRemove, Maker() + Reader("%t, %v, %c, %m, _, %z0"));
  CHECK(result.report.changed == 1);
  CHECK(Contains(result.text, "i8[4,1,1,1] = [1, 2, 3, 4]\n"));
  CHECK(Contains(result.text, "i32[4] = [1, 3, 5, 6]\n"));
  CHECK(Contains(result.text, "i8[1,4,1,1] = [1, 3, 5, 6]\n"));
  // (7 - 2) * (2 + 4 + 7 + 8)
  CHECK(Contains(result.text, "i32[1] = [1105]\n"));
  CHECK(Contains(result.text, "output %y\n"));
}

TEST_CASE("Constant channels: padding of another value than theirs keeps them") {
  const std::string padded = Maker() + Reader("%t, %v, %c, %m, _, %z0", "{pads=[1,1,1,1]}");
  CHECK(RunOn(kRemove, padded).report.changed == 0);
  const std::string same = Maker() + Reader("%t, %v, %c, %m, _, %z", "{pads=[1,1,1,1]}");
  CHECK(RunOn(kRemove, same).report.changed == 1);
}

TEST_CASE("Constant channels: they stay where their tensor is an output, or is read twice") {
  const std::string text = Maker() + Reader("%t, %v, %c, %m, _, %z0");
  CHECK(RunOn(kRemove, text + "output %t\n").report.changed == 0);
  CHECK(RunOn(kRemove, text + "%u = quantized_conv(%t, %v, %c, %m)\noutput %u\n").report.changed ==
        0);
}

TEST_CASE("Constant channels: they go through depthwise convolutions and pools") {
  const std::string between =
      "const %d: i8[8,1,3,3] = random(3)\n"
      "const %e: i32[8] = [1, 2, 3, 4, 5, 6, 7, 8]\n"
      "const %z7: i8[1] = [7]\n"
      "const %m1: f32[1] = [0.01]\n"
      "%s = quantized_conv(%t, %d, %e, %m1, _, %z7) {group=8, pads=[1,1,1,1]}\n"
      "%r = max_pool(%s) {kernel=[3,3]}\n";
  const PassResult result = RunOn(kRemove, Maker() + between + Reader("%r, %v, %c, %m"));
  CHECK(result.report.changed == 1);
  CHECK(Contains(result.text, "{group=4, "));
  CHECK(Contains(result.text, "i8[4,1,3,3]"));
}

TEST_CASE("Constant channels: their number stays a multiple of four") {
  const std::string maker =
      "input %x: i8[1,1,3,3]\n"
      "const %w: i8[8,1,1,1] = [1, 0, 0, 0, 0, 0, 0, 0]\n"
      "const %m: f32[1] = [0.5]\n"
      "%t = quantized_conv(%x, %w, _, %m)\n";
  const PassResult result = RunOn(kRemove, maker + Reader("%t, %v, %c, %m, _, %z0"));
  CHECK(Contains(result.text, "i8[4,1,1,1] = [1, 0, 0, 0]\n"));
}

TEST_CASE("Constant channels: those that stay get factors in the usual range") {
  const PassResult result =
      RunOn(kRemove,
            "input %x: i8[1,1,3,3]\n"
            "const %w: i8[2,1,1,1] = [1, 9]\n"
            "const %b: i32[2] = [1, 1073741824]\n"
            "const %m: i32[2] = [1500000000, 1342177280]\n"
            "const %s: i8[2] = [-7, -26]\n"
            "%y = quantized_conv(%x, %w, %b, %m, %s) {to=i8, rounding=fixed_point, zero_point=-3}\n"
            "output %y\n");
  CHECK(result.report.changed == 1);
  // 2^30 * 1.25 * 2^30 / 2^31 / 2^26 = 10
  CHECK(Contains(result.text, "i8[2,1,1,1] = [1, 0]\n"));
  CHECK(Contains(result.text, "i32[2] = [1, 40]\n"));
  CHECK(Contains(result.text, "i32[2] = [1500000000, 1073741824]\n"));
  CHECK(Contains(result.text, "i8[2] = [-7, -1]\n"));
}

TEST_CASE("Constant channels: random networks keep every bit") {
  std::mt19937 random(7);
  const auto among = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  const auto list = [&](int count, const auto& value) {
    std::string text;
    for (int i = 0; i < count; ++i) text += fmt::format("{}{}", i == 0 ? "" : ", ", value(i));
    return text;
  };
  int changed = 0;
  for (int round = 0; round < 60; ++round) {
    const int channels = among(5, 14);
    std::vector<bool> dead;
    for (int i = 0; i < channels; ++i) dead.push_back(among(0, 2) > 0);
    const bool depthwise = among(0, 1) == 1;
    const int zero_point = among(-5, 5);
    const int pad = among(0, 1);
    const auto at = [&](int i) { return dead[static_cast<size_t>(i)]; };
    std::string text = "input %x: i8[1,3,5,5]\n";
    text += fmt::format("const %w: i8[{},3,1,1] = [{}]\n", channels, list(3 * channels, [&](int i) {
                          return at(i / 3) ? among(-1, 1) : among(-128, 127);
                        }));
    text += fmt::format("const %b: i32[{}] = [{}]\n", channels, list(channels, [&](int i) {
                          return at(i) ? among(0, 1) * 1073741824 / 2 : among(-9999, 9999);
                        }));
    text += fmt::format("const %m: i32[{}] = [{}]\n", channels,
                        list(channels, [&](int) { return among(1 << 30, 2147483647); }));
    text +=
        fmt::format("const %s: i8[{}] = [{}]\n", channels,
                    list(channels, [&](int i) { return at(i) ? among(-30, -24) : among(-9, -6); }));
    text += fmt::format("const %z: i8[1] = [{}]\n", zero_point);
    const std::string fixed = fmt::format("to=i8, rounding=fixed_point, zero_point={}", zero_point);
    text += fmt::format("%t = quantized_conv(%x, %w, %b, %m, %s, %z) {{{}}}\n", fixed);
    std::string x = "%t";
    if (depthwise) {
      text += fmt::format("const %d: i8[{},1,3,3] = random({})\n", channels, round);
      text += fmt::format(
          "%u = quantized_conv(%t, %d, %b, %m, %s, %z) {{group={}, pads=[{},{},{},{}], {}}}\n",
          channels, pad, pad, pad, pad, fixed);
      x = "%u";
    }
    text += fmt::format("const %v: i8[2,{},3,3] = random({})\n", channels, round + 100);
    text += "const %n: f32[1] = [0.01]\n";
    text += fmt::format(
        "%y = quantized_conv({}, %v, _, %n, _, %z) {{pads=[0,{},0,0]}}\noutput %y\n", x, pad);
    const Graph before = Parsed(text);
    Graph after = before;
    PassContext context;
    REQUIRE(RemoveConstantChannels(after, context).ok());
    if (const Status status = Verify(after); !status.ok()) FAIL(status.error().message);
    changed += context.report.changed;
    for (uint64_t seed = 0; seed < 3; ++seed) {
      std::vector<std::byte> input;
      for (int i = 0; i < 75; ++i) input.push_back(static_cast<std::byte>(among(0, 255)));
      const auto expected = test::EvaluateGraph(before, {input});
      const auto found = test::EvaluateGraph(after, {input});
      REQUIRE(expected.error.empty());
      REQUIRE(found.error.empty());
      CHECK_MESSAGE(expected.values.at(before.outputs()[0].tensor) ==
                        found.values.at(after.outputs()[0].tensor),
                    text);
    }
  }
  CHECK(changed > 30);
}

}  // namespace
}  // namespace tenon::converter
