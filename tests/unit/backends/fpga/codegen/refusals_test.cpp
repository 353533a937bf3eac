// What the accelerator does not take, it refuses in words.
#include <doctest/doctest.h>

#include "converter/ir/text.hpp"
#include "converter/map/kernel_choice.hpp"
#include "tests/support/convert_and_run.hpp"

using namespace tenon;             // NOLINT
using namespace tenon::converter;  // NOLINT

namespace {

/// The last reason against the accelerator for the op that gives %y.
std::string ReasonFor(const std::string& statements) {
  auto graph = ParseGraph("graph g\n" + statements + "output %y\n");
  if (!graph.ok()) FAIL(graph.error().message);
  const ConvertOptions options = test::OptionsFor("kv260");
  KernelChoiceOptions choice;
  choice.board = &options.board;
  const auto mapping = ChooseKernels(*graph, choice);
  if (!mapping.ok()) FAIL(mapping.error().message);
  for (const Candidate& candidate : mapping->back().candidates) {
    if (candidate.backend == "fpga") return candidate.reason;
  }
  return "not asked";
}

bool Says(const std::string& statements, const std::string& words) {
  const std::string reason = ReasonFor(statements);
  if (reason.find(words) != std::string::npos) return true;
  MESSAGE("'" << reason << "' instead of '" << words << "'");
  return false;
}

/// A convolution of %x by a kernel of `rows` and `columns`.
std::string Conv(const std::string& x, const std::string& w, const std::string& attributes,
                 const std::string& factor = "0.01") {
  return "input %x: " + x + "\nconst %w: " + w + " = random(1)\nconst %m: f32[1] = [" + factor +
         "]\n%y = quantized_conv(%x, %w, _, %m) {" + attributes + "}\n";
}

}  // namespace

TEST_CASE("Caps: a convolution that the accelerator takes has nothing against it") {
  CHECK(ReasonFor(Conv("i8[1,8,16,16]", "i8[4,8,15,15]", "to=i8")) == "");
  CHECK(ReasonFor(Conv("i8[5,8,16,16]", "i8[4,8,15,15]", "to=i8")) == "");
  CHECK(ReasonFor(Conv("u8[1,8,16,16]", "i8[8,1,3,3]", "group=8, to=u8, max=255, min=0")) == "");
}

TEST_CASE("Caps: shapes beyond descriptors are refused, with what fits") {
  CHECK(Says(Conv("i8[1,8,20,20]", "i8[4,8,16,3]", "to=i8"), "at most 15 rows and columns"));
  CHECK(Says(Conv("i8[1,8,40,40]", "i8[4,8,3,3]", "strides=[16,1], to=i8"), "strides"));
  CHECK(Says(Conv("i8[1,1,1,5000]", "i8[1,1,1,1]", "to=i8"), "split to at most that"));
  CHECK(Says(Conv("i8[1,8,8,8]", "i8[4,4,3,3]", "group=2, to=i8"), "one group"));
}

TEST_CASE("Caps: factors and sums that the lanes do not have are refused") {
  CHECK(Says(Conv("i8[1,8,8,8]", "i8[4,8,3,3]", "to=i8", "1.5"), "below 1"));
  CHECK(
      Says("input %x: i8[1,8,8,8]\nconst %w: i8[4,8,3,3] = random(1)\n"
           "%y = quantized_conv(%x, %w) {to=i32}\n",
           "i8 and u8 only"));
}

TEST_CASE("Caps: weights less their zero point must fit 8 bits") {
  CHECK(
      Says("input %x: i8[1,1,4,4]\nconst %w: u8[1,1,1,1] = [255]\nconst %m: f32[1] = [0.01]\n"
           "const %z: u8[1] = [3]\n%y = quantized_conv(%x, %w, _, %m, _, _, %z) {to=i8}\n",
           "does not fit 8 bits"));
}

TEST_CASE("Caps: floats are not for the accelerator") {
  CHECK(Says("input %x: f32[1,8,8,8]\n%y = max_pool(%x) {kernel=[2,2], strides=[2,2]}\n",
             "i8 and u8 only"));
  CHECK(Says("input %x: f32[1,8,8,8]\nconst %w: f32[4,8,3,3] = random(1)\n%y = conv(%x, %w)\n",
             "no unit of 'fpga' runs conv"));
}

TEST_CASE("Caps: averages divide by one count, and sums add maps of one shape") {
  CHECK(
      Says("input %x: i8[1,8,8,8]\n%y = quantized_average_pool(%x) {kernel=[3,3], strides=[1,1], "
           "pads=[1,1,1,1], to=i8}\n",
           "the same count everywhere"));
  CHECK(
      Says("input %x: i8[1,8,8,8]\ninput %z: i8[1,8,1,1]\n%y = quantized_binary(%x, %z) {to=i8}\n",
           "one shape"));
  CHECK(
      Says("input %x: i8[1,8,8,8]\ninput %z: i8[1,8,8,8]\n%y = quantized_binary(%x, %z) "
           "{function=mul, to=i8}\n",
           "adds and subtracts"));
}
