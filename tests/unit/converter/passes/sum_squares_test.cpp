#include <string>

#include "converter/passes/passes.hpp"
#include "tests/unit/converter/passes/pass_testing.hpp"

namespace tenon::converter {
namespace {

const Pass kSumSquares = {"sum-squares", SumSquares};

std::string Summed(const std::string& ops) {
  return RunOn(kSumSquares, "graph g\ninput %x: f32[2,3]\n" + ops).text;
}

bool StaysUnsummed(const std::string& ops) {
  return Summed(ops).find("function=sum_square") == std::string::npos;
}

TEST_CASE("SumSquares: the sum of x times x is one op") {
  CHECK(Summed("%s = binary(%x, %x) {function=mul}\n"
               "%y = reduce(%s) {function=sum, axes_mask=2}\n"
               "output %y\n") ==
        "input %x: f32[2,3]\n"
        "%y: f32[2,1] = reduce(%x) {function=sum_square, axes_mask=2}\n"
        "output %y\n");
}

TEST_CASE("SumSquares: the sum of x to the power of 2 is one op, x may have other readers") {
  CHECK(Summed("const %two: f32[1] = [2]\n"
               "%a = unary(%x) {function=abs}\n"
               "%s = binary(%a, %two) {function=pow}\n"
               "%y = reduce(%s) {function=sum, axes_mask=3}\n"
               "output %y\n"
               "output %a\n") ==
        "input %x: f32[2,3]\n"
        "%a: f32[2,3] = unary(%x) {function=abs}\n"
        "%y: f32[1,1] = reduce(%a) {function=sum_square, axes_mask=3}\n"
        "output %y\n"
        "output %a\n");
}

TEST_CASE("SumSquares: squares that are read twice, other functions and other powers stay") {
  const std::string sum = "%y = reduce(%s) {function=sum, axes_mask=2}\noutput %y\n";
  const std::string square = "%s = binary(%x, %x) {function=mul}\n";
  CHECK_FALSE(StaysUnsummed(square + sum));
  CHECK(StaysUnsummed(square + sum + "output %s\n"));
  CHECK(StaysUnsummed(square + "%y = reduce(%s) {function=mean, axes_mask=2}\noutput %y\n"));
  CHECK(StaysUnsummed("%s = binary(%x, %x) {function=mul, activation=relu}\n" + sum));
  CHECK(StaysUnsummed("%s = binary(%x, %x) {function=add}\n" + sum));
  CHECK(StaysUnsummed("const %c: f32[1] = [3]\n%s = binary(%x, %c) {function=pow}\n" + sum));
  CHECK(StaysUnsummed("const %c: f32[2,1,1] = [2, 2]\n%s = binary(%x, %c) {function=pow}\n" + sum));
}

TEST_CASE("SumSquares: a sum whose squares have a worse kernel stays") {
  const Pass pass = {"sum-squares", [](Graph& graph, PassContext& context) {
                       context.why_worse_kernel = [](const Graph&, const Op&, const Op&) {
                         return std::string("no kernel sums squares");
                       };
                       return SumSquares(graph, context);
                     }};
  CheckDeclined(pass,
                "graph g\ninput %x: f32[2,3]\n%s = binary(%x, %x) {function=mul}\n"
                "%y = reduce(%s) {function=sum, axes_mask=2}\noutput %y\n",
                "y", "no kernel sums squares");
}

}  // namespace
}  // namespace tenon::converter
