#include "converter/passes/passes.hpp"
#include "tests/unit/converter/passes/pass_testing.hpp"

namespace tenon::converter {
namespace {

const Pass kOrderChannels = OnFastKernels("order-channels", OrderChannels);

std::string Net(const std::string& attributes, const std::string& parts,
                const std::string& permutation, const std::string& shape) {
  return "input %x: f32[1,2,4,5]\n"
         "const %w: f32[4,1,1,1] = [1, 2, 3, 4]\nconst %b: f32[4] = [5, 6, 7, 8]\n"
         "%c = conv(%x, %w, %b) {group=2" +
         attributes + "}\n%d = reshape(%c) {dims=[" + parts +
         "]}\n%e = transpose(%d) {permutation=[" + permutation + "]}\n%y = reshape(%e) {dims=[" +
         shape + "]}\noutput %y\n";
}

TEST_CASE("OrderChannels: a convolution's channels come in the order of the moved image") {
  const std::string text =
      "input %x: f32[1,1,4,5]\n"
      "const %w: f32[4,1,1,1] = [1, 2, 3, 4]\nconst %b: f32[4] = [5, 6, 7, 8]\n"
      "%c = conv(%x, %w, %b) {activation=relu}\n%d = reshape(%c) {dims=[1,2,2,1,4,5]}\n"
      "%e = transpose(%d) {permutation=[0,1,4,2,5,3]}\n%y = reshape(%e) {dims=[1,2,8,5]}\n"
      "output %y\n";
  const PassResult result = RunOn(kOrderChannels, text);
  CHECK(result.text ==
        "input %x: f32[1,1,4,5]\n"
        "const %w: f32[4,1,1,1] = [1, 3, 2, 4]\nconst %b: f32[4] = [5, 7, 6, 8]\n"
        "%c: f32[1,4,4,5] = conv(%x, %w, %b) {activation=relu}\n"
        "%d.ordered: f32[1,2,1,2,4,5] = reshape(%c) {dims=[1,2,1,2,4,5]}\n"
        "%e: f32[1,2,4,2,5,1] = transpose(%d.ordered) {permutation=[0,3,4,1,5,2]}\n"
        "%y: f32[1,2,8,5] = reshape(%e) {dims=[1,2,8,5]}\noutput %y\n");
}

TEST_CASE("OrderChannels: channels stay in their groups") {
  const auto changed = [](const std::string& text) {
    return RunOn(kOrderChannels, text).report.changed;
  };
  CHECK(changed(Net("", "1,2,2,1,4,5", "0,1,4,2,5,3", "1,2,8,5")) == 0);
  CHECK(changed(Net("", "1,2,2,4,5", "0,2,1,3,4", "1,4,4,5")) == 0);
}

TEST_CASE("OrderChannels: of what others read, or the order is right, nothing changes") {
  const std::string right = Net("", "1,2,1,2,4,5", "0,3,4,1,5,2", "1,2,8,5");
  CHECK(RunOn(kOrderChannels, right).report.changed == 0);
  const std::string read =
      "input %x: f32[1,1,4,5]\nconst %w: f32[4,1,1,1] = [1, 2, 3, 4]\n%c = conv(%x, %w)\n"
      "%d = reshape(%c) {dims=[1,2,2,1,4,5]}\n%e = transpose(%d) {permutation=[0,1,4,2,5,3]}\n"
      "%y = reshape(%e) {dims=[1,2,8,5]}\noutput %y\noutput %c\n";
  CHECK(RunOn(kOrderChannels, read).report.changed == 0);
}

TEST_CASE("OrderChannels: what becomes no image again is left") {
  for (const char* shape : {"320", "20,16", "4,5,16", "2,2,5,2,8"}) {
    CAPTURE(shape);
    const std::string text =
        "input %x: f32[1,1,4,5]\nconst %w: f32[16,1,1,1] = random(1)\n%c = conv(%x, %w)\n"
        "%d = reshape(%c) {dims=[1,2,8,2,2,5]}\n%e = transpose(%d) {permutation=[0,3,4,5,2,1]}\n"
        "%y = reshape(%e) {dims=[" +
        std::string(shape) + "]}\noutput %y\n";
    CHECK(RunOn(kOrderChannels, text).report.changed == 0);
  }
}

}  // namespace
}  // namespace tenon::converter
