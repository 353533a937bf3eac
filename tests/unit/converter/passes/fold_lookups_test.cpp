#include <fmt/ranges.h>

#include <algorithm>

#include "converter/fold/fold_tensors.hpp"
#include "converter/ir/elements.hpp"
#include "converter/passes/passes.hpp"
#include "tests/unit/converter/passes/pass_testing.hpp"

namespace tenon::converter {
namespace {

const Pass kFoldLookups = {"fold-lookups", FoldLookups};

/// A constant table: entry i is `f(i)`.
template <typename F>
std::string Table(const char* name, const char* dtype, F f) {
  std::vector<int> entries;
  for (int i = 0; i < 256; ++i) entries.push_back(f(i));
  return fmt::format("const %{}: {}[256] = [{}]\n", name, dtype, fmt::join(entries, ", "));
}

std::string FromU8() {
  return Table("from_u8", "i8", [](int i) { return i - 128; });
}
std::string ToU8() {
  return Table("to_u8", "u8", [](int i) { return i; });
}

TEST_CASE("FoldLookups: bytes that come as u8 are read as u8, with another zero point") {
  const PassResult result = RunOn(kFoldLookups,
                                  "input %x: u8[1,4,2,2]\n"
                                  "const %w: i8[3,4,1,1] = splat(2)\n"
                                  "const %m: f32[1] = [0.5]\n"
                                  "const %z: i8[1] = [-1]\n" +
                                      FromU8() +
                                      "%q = lookup(%x, %from_u8)\n"
                                      "%y = quantized_conv(%q, %w, _, %m, _, %z)\n"
                                      "%s = quantized_binary(%q, %q) {x_zero_point=3}\n"
                                      "output %y\n"
                                      "output %s\n");
  CHECK(result.report.changed == 1);
  CHECK(result.text.find("lookup") == std::string::npos);
  CHECK(result.text.find("const %y.zero_point: u8[1] = [127]") != std::string::npos);
  CHECK(result.text.find("quantized_conv(%x, %w, _, %m, _, ") != std::string::npos);
  CHECK(result.text.find("quantized_binary(%x, %x) {x_zero_point=131, y_zero_point=128}") !=
        std::string::npos);
}

TEST_CASE("FoldLookups: what becomes u8 at the end is made as u8") {
  const PassResult result = RunOn(kFoldLookups,
                                  "input %a: i8[1,4]\n"
                                  "input %b: i8[1,4]\n" +
                                      ToU8() +
                                      "%s: i8[1,4] = quantized_binary(%a, %b) "
                                      "{zero_point=-5, min=-5, max=100}\n"
                                      "%y = lookup(%s, %to_u8)\n"
                                      "output %y\n");
  CHECK(result.text ==
        "input %a: i8[1,4]\n"
        "input %b: i8[1,4]\n"
        "%y: u8[1,4] = quantized_binary(%a, %b) {to=u8, zero_point=123, min=123, max=228} \"s\"\n"
        "output %y\n");
}

TEST_CASE("FoldLookups: values are quantized to the dtype that is wanted") {
  const PassResult result = RunOn(kFoldLookups,
                                  "input %x: f32[4]\n"
                                  "const %s: f32[1] = [0.5]\n"
                                  "const %z: u8[1] = [100]\n" +
                                      FromU8() +
                                      "%q = quantize(%x, %s, %z) {to=u8}\n"
                                      "%y = lookup(%q, %from_u8)\n"
                                      "output %y\n");
  CHECK(result.text ==
        "input %x: f32[4]\n"
        "const %s: f32[1] = [0.5]\n"
        "const %q.zero_point: i8[1] = [-28]\n"
        "%y: i8[4] = quantize(%x, %s, %q.zero_point) \"q\"\n"
        "output %y\n");
}

TEST_CASE("FoldLookups: two tables become one") {
  Graph graph = Parsed("input %x: i8[4]\n" + Table("half", "u8", [](int i) { return i / 2; }) +
                       Table("from_end", "i8", [](int i) { return 127 - i; }) +
                       "%a = lookup(%x, %half)\n"
                       "%y = lookup(%a, %from_end)\n"
                       "output %y\n");
  PassContext context;
  REQUIRE(FoldLookups(graph, context).ok());
  CHECK(context.report.changed == 1);
  REQUIRE(Verify(graph).ok());
  REQUIRE(graph.OpOrder().size() == 1);
  const Op& op = graph.op(graph.OpOrder()[0]);
  CHECK(op.inputs[0] == graph.inputs()[0].tensor);
  const std::vector<double> joined = ReadElements(graph.tensor(op.inputs[1]));
  for (size_t i = 0; i < 256; ++i) CHECK(joined[i] == 127.0 - static_cast<double>(i / 2));
  CHECK(graph.FindTensor("half") == kNone);
}

/// Runs the pass with kernels for constants.
Graph Folded(const std::string& text, int changed) {
  Graph graph = Parsed(text);
  PassContext context;
  context.fold = FoldTensors;
  REQUIRE(FoldLookups(graph, context).ok());
  CHECK(context.report.changed == changed);
  REQUIRE(Verify(graph).ok());
  return graph;
}

/// The product is divided by 128 in two steps, rounding each time.
constexpr const char* kFixedPointProduct =
    "{function=mul, output_multiplier=1073741824, output_shift=-6, "
    "rounding=fixed_point}";

TEST_CASE("FoldLookups: a byte times a function of it is one table") {
  const std::string half = Table("half", "i8", [](int i) { return (i - 128) / 2; });
  const Graph graph = Folded("input %a: i8[2,3]\ninput %b: i8[2,3]\n" + half +
                                 "%x = quantized_binary(%a, %b)\n"
                                 "%h = lookup(%x, %half)\n"
                                 "%y = quantized_binary(%x, %h) " +
                                 kFixedPointProduct + "\noutput %y\n",
                             1);
  const std::vector<OpId> ops = graph.OpOrder();
  REQUIRE(ops.size() == 2);
  const Op& op = graph.op(ops[1]);
  REQUIRE(op.kind == OpKind::kLookup);
  CHECK(op.inputs[0] == graph.op(ops[0]).outputs[0]);
  CHECK(graph.tensor(op.outputs[0]).name == "y");
  const std::vector<double> table = ReadElements(graph.tensor(op.inputs[1]));
  for (int i = 0; i < 256; ++i) {
    const int product = (i - 128) * ((i - 128) / 2);  // not negative
    CHECK(table[static_cast<size_t>(i)] == std::min(((product + 1) / 2 + 32) / 64, 127));
  }
}

TEST_CASE("FoldLookups: constants of one value are no operands of their own") {
  const Graph graph =
      Folded(std::string("input %x: u8[5]\nconst %three: u8[1] = [3]\n"
                         "%s: u8[5] = quantized_binary(%x, %three) {to=u8, min=0, max=255}\n"
                         "%y: u8[5] = quantized_binary(%s, %x) {to=u8, min=0, max=255}\n"
                         "output %y\n"),
             1);
  REQUIRE(graph.OpOrder().size() == 1);
  const Op& op = graph.op(graph.OpOrder()[0]);
  const std::vector<double> table = ReadElements(graph.tensor(op.inputs[1]));
  for (int i = 0; i < 256; ++i) {
    CHECK(table[static_cast<size_t>(i)] == std::min(std::min(i + 3, 255) + i, 255));
  }
}

TEST_CASE("FoldLookups: a table stands for the ops that are gone, not for those that others read") {
  const std::string half = Table("half", "i8", [](int i) { return (i - 128) / 2; });
  const Graph graph = Folded("input %x: i8[4]\nconst %five: i8[1] = [5]\n" + half +
                                 "%h = lookup(%x, %half) \"h\"\n"
                                 "%m = quantized_binary(%x, %five) \"m\"\n"
                                 "%z = quantized_binary(%m, %h) \"z\"\noutput %z\noutput %h\n",
                             1);
  std::string sources = "none";
  for (const OpId id : graph.OpOrder()) {
    if (graph.tensor(graph.op(id).outputs[0]).name == "z") sources = graph.op(id).source_ops;
  }
  CHECK(sources == "m");
}

TEST_CASE("FoldLookups: a result of more dimensions than its source stays") {
  const std::string half = Table("half", "i8", [](int i) { return (i - 128) / 2; });
  Folded("input %x: i8[4]\nconst %one: i8[1,1] = [1]\n" + half +
             "%h = lookup(%x, %half)\n%y = quantized_binary(%h, %one)\noutput %y\n",
         0);
}

TEST_CASE("FoldLookups: functions of two tensors, of several values, and single ops stay") {
  const std::string half = Table("half", "i8", [](int i) { return (i - 128) / 2; });
  for (const char* operands : {"%x, %h2", "%x, %each", "%x, %one"}) {
    Folded("input %x: i8[4]\ninput %z: i8[4]\n" + half +
               "const %each: i8[4] = [1, 2, 3, 4]\nconst %one: i8[1] = [1]\n"
               "%h2 = lookup(%z, %half)\n"
               "%y = quantized_binary(" +
               operands + ")\noutput %y\noutput %h2\n",
           0);
  }
}

TEST_CASE("FoldLookups: what a table makes of a constant is a second operand, of any length") {
  const std::string half = Table("half", "i8", [](int i) { return (i - 128) / 2; });
  for (const int length : {255, 256, 257}) {  // a table has 256 entries, too
    Folded(fmt::format("input %x: i8[{0}]\nconst %k: i8[{0}] = random(3)\n", length) + half +
               "%h = lookup(%k, %half)\n%y = quantized_binary(%x, %h)\noutput %y\n",
           0);
  }
}

TEST_CASE("FoldLookups: a table that does more than move values stays") {
  const std::string text = "input %x: u8[4]\nconst %w: i8[4,4] = splat(1)\n" +
                           Table("t", "i8", [](int i) { return i == 7 ? 0 : i - 128; }) +
                           "%q = lookup(%x, %t)\n"
                           "output %q\n";
  const PassResult result = RunOn(kFoldLookups, text);
  CHECK(result.report.changed == 0);
  CHECK(result.report.declined.empty());
}

TEST_CASE("FoldLookups: bytes that something else reads, too, stay as they are") {
  CheckDeclined(kFoldLookups,
                "input %x: u8[4]\n" + FromU8() +
                    "%y = lookup(%x, %from_u8)\n"
                    "output %y\n",
                "y", "neither the op before it nor those after it can move their zero points");
}

}  // namespace
}  // namespace tenon::converter
