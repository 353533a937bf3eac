#include "converter/passes/passes.hpp"
#include "tests/unit/converter/passes/pass_testing.hpp"

namespace tenon::converter {
namespace {

const Pass kSplitPhases = OnFastKernels("split-phases", SplitPhases);

/// A transposed convolution with a stride of 2 in rows, as importers write it: `taps` of each of
/// two phases of 8 channels, of which rows [begin, begin + 2 * rows - begin) are kept.
std::string Net(const std::string& weights, int begin, int size, const char* tail = "") {
  return fmt::format(
      "input %x: f32[1,16,40,40]\n{}const %b: f32[16] = random(2)\n"
      "%c = conv(%x, %w, %b) {{pads=[1,0,1,0], activation=relu}}\n"
      "%d = reshape(%c) {{dims=[1,2,1,8,41,40]}}\n"
      "%e = transpose(%d) {{permutation=[0,3,4,1,5,2]}}\n%f = reshape(%e) {{dims=[1,8,82,40]}}\n"
      "%y = slice(%f) {{begins=[0,0,{},0], sizes=[1,8,{},40], steps=[1,1,1,1]}}\noutput %y\n{}",
      weights, begin, size, tail);
}

/// 16 outputs of 16 inputs and two taps, of which the first of this phase is zero.
std::string HalfZero(int phase) {
  std::string values;
  for (int i = 0; i < 16 * 16 * 2; ++i) values += i % 2 == 0 && i / 256 == phase ? "0, " : "1, ";
  values.resize(values.size() - 2);
  return "const %w: f32[16,16,2,1] = [" + values + "]\n";
}
const std::string kFull = "const %w: f32[16,16,2,1] = random(1)\n";

TEST_CASE("SplitPhases: each phase has the taps that are not zero, and the outputs that are kept") {
  const std::string text = RunOn(kSplitPhases, Net(HalfZero(0), 0, 80)).text;
  CheckHas(text, {"const %w.phase0: f32[8,16,1,1]", "const %w.phase1: f32[8,16,2,1]",
                  "%c.phase0: f32[1,8,40,40] = conv(%x, %w.phase0, %b.phase0) {activation=relu}",
                  "%c.phase1: f32[1,8,40,40] = conv(%x, %w.phase1, %b.phase1) {pads=[1,0,0,0], "
                  "activation=relu}",
                  "%c.phases: f32[1,16,40,40] = concat(%c.phase0, %c.phase1) {axis=1}",
                  "%y: f32[1,8,80,40] = reshape("});
  CHECK(text.find("slice") == std::string::npos);
}

TEST_CASE("SplitPhases: where the first row is cut off, the phases change places") {
  const std::string text = RunOn(kSplitPhases, Net(HalfZero(1), 1, 79)).text;
  CheckHas(text, {"const %w.phase0: f32[8,16,1,1]", "const %w.phase1: f32[8,16,2,1]",
                  "%c.phase1: f32[1,8,40,40] = conv(%x, %w.phase1, %b.phase1) {pads=[0,0,1,0]",
                  "%c.phases: f32[1,16,40,40]", "= slice("});
}

TEST_CASE("SplitPhases: of a depthwise convolution each phase has one output a channel") {
  const std::string text = RunOn(kSplitPhases,
                                 "input %x: f32[1,16,40,40]\nconst %w: f32[32,1,1,3] = random(1)\n"
                                 "%c = conv(%x, %w) {group=16, pads=[0,1,0,1]}\n"
                                 "%d = reshape(%c) {dims=[1,16,2,40,40]}\n"
                                 "%e = transpose(%d) {permutation=[0,1,3,4,2]}\n"
                                 "%y = reshape(%e) {dims=[1,16,40,80]}\noutput %y\n")
                               .text;
  CheckHas(text, {"const %w.phase1: f32[16,1,1,3]",
                  "%c.phase1: f32[1,16,40,40] = conv(%x, %w.phase1) {group=16, pads=[0,1,0,1]}",
                  "%c.phases: f32[1,32,40,40] = concat(%c.phase0, %c.phase1) {axis=1}"});
}

TEST_CASE("SplitPhases: what saves too little, or has other readers, is left") {
  for (const std::string& text :
       {Net(kFull, 0, 82), Net(kFull, 1, 80), Net(HalfZero(0), 0, 80, "output %c\n")}) {
    CAPTURE(text);
    CHECK(RunOn(kSplitPhases, text).report.changed == 0);
  }
}

TEST_CASE("SplitPhases: channels that become images of their own are no outputs of a phase") {
  // By part of the images, output and phase: the first phase of rows has no first tap.
  std::string values;
  for (int i = 0; i < 2 * 8 * 2 * 16 * 3; ++i)
    values += i % 3 == 0 && i / 48 % 2 == 0 ? "0, " : "1, ";
  values.resize(values.size() - 2);
  const auto changed = [&](const char* order) {
    return RunOn(kSplitPhases,
                 fmt::format("input %x: f32[2,16,40,40]\nconst %w: f32[32,16,3,1] = [{}]\n"
                             "%c = conv(%x, %w) {{pads=[1,0,1,0]}}\n"
                             "%d = reshape(%c) {{dims=[2,2,8,2,40,40]}}\n"
                             "%e = transpose(%d) {{permutation=[{}]}}\n"
                             "%y = reshape(%e) {{dims=[2,16,80,40]}}\noutput %y\n",
                             values, order))
        .report.changed;
  };
  CHECK(changed("0,1,2,4,3,5") == 1);
  CHECK(changed("1,0,2,4,3,5") == 0);
}

}  // namespace
}  // namespace tenon::converter
