#include "converter/ir/text.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "converter/ir/elements.hpp"
#include "runtime/ops/attributes.hpp"
#include "tests/support/parsed_graph.hpp"

namespace tenon::converter {
namespace {

std::string ErrorOf(std::string_view text) {
  const auto graph = ParseGraph(text);
  return graph.ok() ? "ok" : graph.error().message;
}

TEST_CASE("Text: a printed graph parses to the same text") {
  const std::string text =
      "graph demo\n"
      "input %x as \"data\": f32[1,2,4,4] channels_last\n"
      "input %\"a b\\\"\\\\c\": i64[]\n"
      "const %w: f32[3,2,1,1] = [0.5, 1, -2, 0.003, 1e+20, -0]\n"
      "const %b: f32[3] = [inf, -inf, 0.1]\n"
      "const %i: u64[2] = [0, 18446744073709551615]\n"
      "const %h: f16[2] = [0.5, 65504]\n"
      "const %t: bool[2] = [0, 1]\n"
      "%y: f32[1,3,4,4] channels_last = conv(%x, %w, %b) {activation=clip, activation_b=6} "
      "\"conv 1\" @cpu/cpu.conv.onednn\n"
      "%p: f32[1,3,6,5] = pad(%y) {begins=[0,0,1,0], ends=[0,0,1,1]}\n"
      "%q: f32[1,2,4,4] = conv(%x, %w2, _, %x)\n"
      "%c: f16[1,3,6,5] = cast(%p) {to=f16} @cpu\n"
      "%s: f32[1,3,2,5] = slice(%p) {begins=[0,0,0,0], sizes=[1,3,2,5], steps=[1,1,2,1]}\n"
      "output %y as \"prob\"\n"
      "output %c\n";
  std::string whole = text;
  whole.insert(whole.find("%y: f32"), "const %w2: f32[2,2,1,1] = [1, 2, 3, 4]\n");
  CHECK(PrintGraph(Parsed(whole)) == whole);
}

TEST_CASE("Text: comments, empty lines and left-out types are allowed") {
  const Graph graph = Parsed(
      "# a comment\n"
      "\n"
      "  input %x: f32[2,3]   # with spaces around\n"
      "%y = unary(%x) {function=relu}\n"
      "output %y");
  CHECK(graph.tensor(graph.FindTensor("y")).shape == Shape({2, 3}));
}

TEST_CASE("Text: attributes that are left out have the op's defaults") {
  const Graph graph = Parsed(
      "input %x: f32[1,1,4,4]\n"
      "const %w: f32[1,1,3,3] = splat(2)\n"
      "%y = conv(%x, %w) {pads=[1,1,1,1]}\n");
  const auto attributes = graph.op(graph.OpOrder()[0]).attributes.As<ConvAttributes>();
  CHECK(attributes.group == 1);
  CHECK(attributes.strides[0] == 1);
  CHECK(attributes.pads[3] == 1);
}

TEST_CASE("Text: lists of an op with a rank give it the rank") {
  const Graph graph = Parsed("input %x: f32[2,3]\n%y = reshape(%x) {dims=[3,1,2]}\n");
  const auto attributes = graph.op(graph.OpOrder()[0]).attributes.As<ReshapeAttributes>();
  CHECK(attributes.rank == 3);
  CHECK(attributes.dims[0] == 3);
  CHECK(ErrorOf("input %x: f32[2,3]\n%y = pad(%x) {begins=[0,1], ends=[0]}\n") ==
        "line 2: lists of different lengths");
}

TEST_CASE("Text: lists of an op with steps give it their number, and are printed as long") {
  const Graph graph = Parsed(
      "input %x: f32[2]\n%y = elementwise(%x, %x) {operands=[1,0], activations=[relu,tanh]}\n");
  CHECK(graph.op(graph.OpOrder()[0]).attributes.As<ElementwiseAttributes>().steps == 2);
  const std::string text = PrintGraph(graph);
  CHECK(text.find("{operands=[1,0], functions=[add,add], activations=[relu,tanh], a=[0,0], "
                  "b=[0,0]}") != std::string::npos);
}

TEST_CASE("Text: long constants are printed as a checksum, which is refused as input") {
  const Graph graph = Parsed("const %w: f32[17] = splat(0)\n");
  const std::string text = PrintGraph(graph);
  CHECK(text.find("const %w: f32[17] = bytes(68, crc32c=") != std::string::npos);
  CHECK(ErrorOf(text).find("line 2: bytes(...)") == 0);
  const Graph other = Parsed("const %w: f32[17] = random(1)\n");
  CHECK(PrintGraph(other) != text);
}

TEST_CASE("Text: random constants are RandomElements, splat repeats") {
  const Graph graph = Parsed("const %r: f32[20] = random(7)\nconst %s: i8[3] = splat(-5)\n");
  CHECK(*graph.tensor(graph.FindTensor("r")).constant == RandomElements(DType::kF32, 20, 7));
  CHECK(ReadElements(graph.tensor(graph.FindTensor("s"))) == std::vector<double>{-5, -5, -5});
}

TEST_CASE("Text: errors name the line and what is wrong") {
  const std::string x = "input %x: f32[2,3]\n";
  CHECK(ErrorOf("\n\nfoo\n") == "line 3: '%' expected before 'foo'");
  CHECK(ErrorOf(x + "%y = frobnicate(%x)\n") == "line 2: unknown op 'frobnicate'");
  CHECK(ErrorOf(x + "%y = unary(%z)\n") == "line 2: %z is not defined");
  CHECK(ErrorOf(x + "%x = unary(%x)\n") == "line 2: %x is defined twice");
  CHECK(ErrorOf(x + "%y = unary(%x) {function=wavelet}\n") ==
        "line 2: function cannot be 'wavelet'");
  CHECK(ErrorOf(x + "%y = unary(%x) {colour=1}\n") ==
        "line 2: unary has no attribute 'colour' (it has: function, a, b)");
  CHECK(ErrorOf(x + "%y: f32[3,2] = unary(%x)\n") ==
        "line 2: %y is f32[2,3] by the rule of its op");
  CHECK(ErrorOf("input %x: f33[2]\n") == "line 1: unknown dtype 'f33'");
  CHECK(ErrorOf("input %x: f32[70000,70000]\n") == "line 1: dimensions are negative or too large");
  CHECK(ErrorOf("input %x: f32[1,1,1,1,1,1,1,1,1]\n") == "line 1: more than 8 dimensions");
  CHECK(ErrorOf("const %x: f32[2] = [1]\n") == "line 1: ',' expected before ']'");
  CHECK(ErrorOf("const %x: f32[1] = [1, 2]\n") ==
        "line 1: 1 values and then ']' expected before ', 2]'");
  CHECK(ErrorOf("const %x: u8[1] = [256]\n") == "line 1: 256 is no u8");
  CHECK(ErrorOf("const %x: f32[1] = [x]\n") == "line 1: a number expected before 'x]'");
  CHECK(ErrorOf("const %x: f32[1] = [1] 2\n") == "line 1: nothing more expected before '2'");
  CHECK(ErrorOf("input %x as \"a: f32[1]\n") == "line 1: a string without its closing quote");
  CHECK(ErrorOf("const %x: f64[20000,10000] = splat(0)\n") ==
        "line 1: constants in text may have 1073741824 bytes");
}

TEST_CASE("Text: no prefix of a good text makes the parser crash or loop") {
  const std::string text =
      "graph g\ninput %x as \"d\": f32[1,1,4,4]\nconst %w: f32[1,1,1,1] = [2]\n"
      "%y: f32[1,1,4,4] = conv(%x, %w, _, %x) {pads=[0,0,0,0], activation=relu} \"n\\x41\" @cpu/k\n"
      "output %y as \"p\"\n";
  REQUIRE(ErrorOf(text) == "ok");
  int refused = 0;
  for (size_t size = 0; size < text.size(); ++size)
    refused += !ParseGraph(text.substr(0, size)).ok();
  CHECK(refused > 100);
}

}  // namespace
}  // namespace tenon::converter
