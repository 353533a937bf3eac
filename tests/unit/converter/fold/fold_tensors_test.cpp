#include "converter/fold/fold_tensors.hpp"

#include <doctest/doctest.h>

#include "converter/ir/elements.hpp"
#include "tests/support/parsed_graph.hpp"

namespace tenon::converter {
namespace {

std::vector<double> ValuesOf(const Graph& graph, std::string_view name) {
  const TensorId id = graph.FindTensor(name);
  REQUIRE(id != kNone);
  REQUIRE(graph.tensor(id).IsConstant());
  return ReadElements(graph.tensor(id));
}

using Values = std::vector<double>;

TEST_CASE("FoldTensors: computes a shape's arithmetic in integers") {
  Graph graph = Parsed(R"(graph g
input %x: f32[2,12]
const %shape: i64[4] = [2, 3, 4, 5]
const %ends: i64[2] = [1, -2]
%picked = gather(%shape, %ends)
%half = slice(%shape) {begins=[0], sizes=[2], steps=[1]}
%product = binary(%picked, %half) {function=mul}
%all = concat(%product, %half)
%y = unary(%x) {function=relu}
output %y
)");
  REQUIRE(FoldTensors(graph, {graph.FindTensor("all")}).ok());
  CHECK(ValuesOf(graph, "all") == Values{6, 12, 2, 3});
  CHECK(Verify(graph).ok());
}

TEST_CASE("FoldTensors: several tensors at once, also one that another depends on, also twice") {
  Graph graph = Parsed(R"(graph g
input %x: f32[2]
const %c: f32[2] = [1, -2]
%a = unary(%c) {function=abs}
%b = binary(%a, %c)
%y = binary(%x, %b)
output %y
)");
  const TensorId a = graph.FindTensor("a");
  const TensorId b = graph.FindTensor("b");
  REQUIRE(FoldTensors(graph, {b, a, b, graph.FindTensor("c")}).ok());
  CHECK(ValuesOf(graph, "a") == Values{1, 2});
  CHECK(ValuesOf(graph, "b") == Values{2, 0});
  CHECK(Verify(graph).ok());
}

TEST_CASE("FoldTensors: what depends on an input is refused by name") {
  Graph graph = Parsed(R"(graph g
input %x: i64[2]
const %c: i64[2] = [1, 2]
%a = binary(%x, %c) "sum"
%y = binary(%a, %c)
output %y
)");
  const Status through = FoldTensors(graph, {graph.FindTensor("y")});
  REQUIRE_FALSE(through.ok());
  CHECK(through.error().kind == ErrorKind::kInput);
  CHECK(through.error().message == "sum: depends on the graph input 'x'");
  const Status itself = FoldTensors(graph, {graph.FindTensor("x")});
  REQUIRE_FALSE(itself.ok());
  CHECK(itself.error().message == "'x' is a graph input: its value is not known");
}

TEST_CASE("FoldTensors: an index out of range is the model's fault, and said so") {
  Graph graph = Parsed(R"(graph g
input %x: f32[1]
const %c: f32[3] = [1, 2, 3]
const %i: i64[1] = [3]
%a = gather(%c, %i) "pick"
%y = binary(%x, %a)
output %y
)");
  const Status status = FoldTensors(graph, {graph.FindTensor("a")});
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().kind == ErrorKind::kInput);
  CHECK(status.error().message.find("pick") != std::string::npos);
}

TEST_CASE("FoldTensors: an op that no portable kernel runs is an error, not a crash") {
  Graph graph = Parsed(R"(graph g
input %x: f16[1,1,2,2]
const %c: f16[1,1,2,2] = splat(1)
%a = average_pool(%c) {kernel=[1,1]}
const %z: bool[1] = [1]
%y = select(%z, %x, %a)
output %y
)");
  CHECK_FALSE(FoldTensors(graph, {graph.FindTensor("a")}).ok());
}

TEST_CASE("FoldTensors: an empty result is folded too") {
  Graph graph = Parsed(R"(graph g
input %x: f32[2]
const %c: f32[2] = [1, 2]
%a = slice(%c) {begins=[0], sizes=[0], steps=[1]}
%b = unary(%a) {function=relu}
%y = concat(%x, %b)
output %y
)");
  REQUIRE(FoldTensors(graph, {graph.FindTensor("b")}).ok());
  CHECK(ValuesOf(graph, "b").empty());
}

}  // namespace
}  // namespace tenon::converter
