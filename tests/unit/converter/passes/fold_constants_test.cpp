#include <doctest/doctest.h>

#include "converter/fold/fold_tensors.hpp"
#include "converter/ir/elements.hpp"
#include "converter/passes/passes.hpp"
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

PassContext Folding() {
  PassContext context;
  context.fold = FoldTensors;
  return context;
}

TEST_CASE("FoldConstants: stores only what something else reads") {
  Graph graph = Parsed(R"(graph g
input %x: f32[2]
const %c: f32[2] = [1, -2]
%a = unary(%c) {function=abs}
%b = unary(%a) {function=neg}
%y = binary(%x, %b)
output %y
)");
  PassContext context = Folding();
  REQUIRE(FoldConstants(graph, context).ok());
  CHECK(context.report.changed == 1);
  CHECK(ValuesOf(graph, "b") == Values{-1, -2});
  CHECK_FALSE(graph.tensor(graph.FindTensor("a")).IsConstant());
  PassContext again = Folding();
  REQUIRE(FoldConstants(graph, again).ok());
  CHECK(again.report.changed == 0);
}

TEST_CASE("FoldConstants: an output that depends on constants only becomes one") {
  Graph graph = Parsed(
      "graph g\nconst %c: f32[2] = [1, -2]\n%y = unary(%c) {function=abs}\n"
      "output %y\n");
  PassContext context = Folding();
  REQUIRE(FoldConstants(graph, context).ok());
  CHECK(ValuesOf(graph, "y") == Values{1, 2});
  CHECK(Verify(graph).ok());
}

TEST_CASE("FoldConstants: leaves a result that would be large where it is cheap to make") {
  Graph graph = Parsed(R"(graph g
input %x: f32[1]
const %c: f32[1] = [1]
%big = expand(%c) {dims=[300000]}
%y = binary(%x, %big)
output %y
)");
  PassContext context = Folding();
  REQUIRE(FoldConstants(graph, context).ok());
  CHECK(context.report.changed == 0);
  REQUIRE(context.report.declined.size() == 1);
  CHECK(context.report.declined[0].reason == "its constant result would be large");
}

TEST_CASE("FoldConstants: a product of constants is not cheap to make") {
  Graph graph = Parsed(R"(graph g
input %x: f32[1]
const %a: f32[600,1] = random(1)
const %b: f32[1,600] = random(2)
%p = matmul(%a, %b)
%s = reduce(%p) {function=sum, axes_mask=3, keep_dims=0}
%y = binary(%x, %s)
output %y
)");
  PassContext context = Folding();
  REQUIRE(FoldConstants(graph, context).ok());
  CHECK(context.report.declined.empty());
  CHECK(graph.tensor(graph.FindTensor("s")).IsConstant());
}

TEST_CASE("FoldConstants: casts between dtypes and moves elements") {
  Graph graph = Parsed(R"(graph g
input %x: f32[2,3]
const %i: i32[2,3] = [1, 2, 3, -4, 5, 6]
const %h: f16[2,3] = [0.5, 1, 2, 4, 8, 16]
%d = cast(%i) {to=f64}
%e = cast(%h) {to=f32}
%f = transpose(%i) {permutation=[1,0]}
%y = binary(%x, %e)
output %y
output %d
output %f
)");
  PassContext context = Folding();
  REQUIRE(FoldConstants(graph, context).ok());
  CHECK(ValuesOf(graph, "d") == Values{1, 2, 3, -4, 5, 6});
  CHECK(ValuesOf(graph, "e") == Values{0.5, 1, 2, 4, 8, 16});
  CHECK(ValuesOf(graph, "f") == Values{1, -4, 2, 5, 3, 6});
}

}  // namespace
}  // namespace tenon::converter
