#include "converter/passes/passes.hpp"
#include "tests/unit/converter/passes/pass_testing.hpp"

namespace tenon::converter {
namespace {

const Pass kComputeInF32 = {"compute-in-f32", ComputeInF32};

TEST_CASE("ComputeInF32: ports keep f16, everything between them is f32") {
  CHECK(RunOn(kComputeInF32, R"(input %x: f16[1,2,3,3]
const %w: f16[2,2,1,1] = [0.5, 1, 2, -1]
%a = conv(%x, %w)
%y = unary(%a) {function=relu}
output %y as "prob"
)")
            .text == R"(input %x: f16[1,2,3,3]
const %w: f32[2,2,1,1] = [0.5, 1, 2, -1]
%x.f32: f32[1,2,3,3] = cast(%x)
%a: f32[1,2,3,3] = conv(%x.f32, %w)
%y: f32[1,2,3,3] = unary(%a) {function=relu}
%y.f16: f16[1,2,3,3] = cast(%y) {to=f16}
output %y.f16 as "prob"
)");
}

TEST_CASE("ComputeInF32: casts of the model's own keep f32, and other dtypes stay") {
  CHECK(RunOn(kComputeInF32, R"(input %x: f32[2]
input %i: i32[2]
%h = cast(%x) {to=f16}
%n = unary(%h) {function=neg}
%y = cast(%n)
%j = binary(%i, %i) {function=add}
output %y
output %j
)")
            .text == R"(input %x: f32[2]
input %i: i32[2]
%h: f32[2] = cast(%x)
%n: f32[2] = unary(%h) {function=neg}
%y: f32[2] = cast(%n)
%j: i32[2] = binary(%i, %i)
output %y
output %j
)");
}

TEST_CASE("ComputeInF32: casts that only round to f16 stay") {
  const char* text = R"(input %x: f32[4]
%h: f16[4] = cast(%x) {to=f16}
%m: f16[2,2] = reshape(%h) {dims=[2,2]}
%y: f32[2,2] = cast(%m)
output %y
)";
  const PassResult result = RunOn(kComputeInF32, text);
  CHECK(result.text == text);
  CHECK(result.report.changed == 0);
}

TEST_CASE("ComputeInF32: the graph remembers that weights were f16") {
  const auto weights_of = [](const char* text) {
    Graph graph = Parsed(text);
    PassContext context;
    REQUIRE(ComputeInF32(graph, context).ok());
    return graph.weights;
  };
  CHECK(weights_of("input %x: f16[1,2]\nconst %b: f16[2,1] = [1, 2]\n%y = matmul(%x, %b)\n"
                   "output %y\n") == DType::kF16);
  CHECK(weights_of("input %x: f16[1,2]\n%y = unary(%x) {function=neg}\noutput %y\n") ==
        DType::kF32);
  CHECK(weights_of("input %x: f32[1,2]\nconst %b: f32[2,1] = [1, 2]\n%y = matmul(%x, %b)\n"
                   "output %y\n") == DType::kF32);
}

}  // namespace
}  // namespace tenon::converter
