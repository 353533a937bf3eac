// Graphs as problems of branches, and as ops of the wide device.
#include "converter/fuse/branches_of_graph.hpp"

#include <doctest/doctest.h>

#include "converter/fuse/wide_ops.hpp"
#include "tests/support/parsed_graph.hpp"

namespace tenon::converter {
namespace {

// GoogLeNet's inception 3a: three 1x1 convolutions of one input.
constexpr char kThreeConvolutions[] =
    "input %x: f32[1,192,28,28]\n"
    "const %a: f32[64,192,1,1] = random(1)\n"
    "const %b: f32[96,192,1,1] = random(2)\n"
    "const %c: f32[16,192,1,1] = random(3)\n"
    "const %d: f32[32,192,3,3] = random(4)\n"
    "%p = conv(%x, %a)\n"
    "%q = conv(%x, %b)\n"
    "%r = conv(%x, %c)\n"
    "%s = conv(%x, %d) {pads=[1,1,1,1]}\n"
    "output %p\noutput %q\noutput %r\noutput %s\n";

}  // namespace

TEST_CASE("paths lead through ops that are not executed") {
  const Graph graph = Parsed(
      "input %x: f32[1,8,4,4]\n"
      "%a = unary(%x) {function=relu}\n"
      "%b = unary(%x) {function=exp}\n"
      "%c = concat(%a, %b) {axis=1}\n"
      "%d = unary(%c) {function=relu}\n"
      "output %d\n");
  const BranchesOfGraph branches =
      FindBranchesOfGraph(graph, [](const Op& op) { return !IsViewByKind(op); });
  REQUIRE(branches.graph.size() == 3);
  CHECK(branches.graph.predecessors[0].empty());
  CHECK(branches.graph.predecessors[1].empty());
  CHECK(branches.graph.predecessors[2] == std::vector<int32_t>{0, 1});
  CHECK(graph.op(branches.op_of_node[2]).outputs[0] == graph.FindTensor("d"));
}

TEST_CASE("convolutions of a graph have the figures that were computed by hand") {
  const Graph graph = Parsed(kThreeConvolutions);
  const std::vector<WideOp> ops = WideOpsOf(graph, graph.OpOrder());
  CHECK(ops[0].elements == 64 * 28 * 28);
  CHECK(ops[0].flops == 19.267584e6);
  CHECK(ops[0].bytes == 851968);
  CHECK(ops[1].bytes == 976896);
  CHECK(ops[2].bytes == 664576);
  CHECK(WideTime(WideDevice{}, {ops[0], ops[1], ops[2]}) * 1e6 == doctest::Approx(13.493943));
  CHECK(MergeWideOps({ops[0], ops[1], ops[2]}).bytes == 1289216);
}

TEST_CASE("ops can be merged that apply the same window to the same input") {
  const Graph graph = Parsed(kThreeConvolutions);
  const std::vector<WideOp> ops = WideOpsOf(graph, graph.OpOrder());
  CHECK(ops[0].merge_class >= 0);
  CHECK(ops[1].merge_class == ops[0].merge_class);
  CHECK(ops[2].merge_class == ops[0].merge_class);
  CHECK(ops[3].merge_class != ops[0].merge_class);
}

}  // namespace tenon::converter
