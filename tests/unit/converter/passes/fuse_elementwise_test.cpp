#include <string>

#include "converter/passes/passes.hpp"
#include "tests/unit/converter/passes/pass_testing.hpp"

namespace tenon::converter {
namespace {

/// As where a fast kernel runs steps on images of up to 64 channels.
Status FuseElementwiseWithKernel(Graph& graph, PassContext& context) {
  context.has_fast_kernel = [](const Graph& asked, const Op& op) {
    return op.kind == OpKind::kElementwise && asked.tensor(op.inputs[0]).shape[1] <= 64;
  };
  return FuseElementwise(graph, context);
}

const Pass kFuseElementwise = {"fuse-elementwise", FuseElementwiseWithKernel};

const std::string kElementwiseInputs =
    "graph g\n"
    "input %x: f32[1,8,32,32]\n"
    "input %z: f32[1,8,32,32]\n"
    "input %v: f32[1,8,32,32]\n"
    "const %s: f32[8,1,1] = random(1)\n"
    "const %t: f32[8,1,1] = random(2)\n"
    "const %n: f32[] = [2]\n";

std::string FusedElementwise(const std::string& ops) {
  return RunOn(kFuseElementwise, kElementwiseInputs + ops).text;
}

bool IsElementwise(const std::string& ops) {
  return Contains(FusedElementwise(ops), "= elementwise(");
}

TEST_CASE("FuseElementwise: what has a fast kernel alone is no activation of a binary function") {
  const Pass pass = {
      "fuse-elementwise", [](Graph& graph, PassContext& context) {
        context.has_fast_kernel = [](const Graph&, const Op& op) {
          return op.kind == OpKind::kElementwise ||
                 (op.kind == OpKind::kUnary &&
                  op.attributes.As<UnaryAttributes>().function == UnaryFunction::kTanh);
        };
        return FuseElementwise(graph, context);
      }};
  const auto fused = [&](const std::string& ops) {
    return RunOn(pass, kElementwiseInputs + ops).text;
  };
  const std::string one = fused(
      "%y = binary(%x, %z) {activation=tanh}\n"
      "output %y\n");
  CHECK(Contains(
      one,
      "elementwise(%x, %z) {operands=[1,0], functions=[add,add], activations=[identity,tanh]"));
  const std::string none = fused(
      "%y = binary(%x, %z) {activation=sigmoid}\n"
      "output %y\n");
  CHECK(Contains(none, "binary(%x, %z) {activation=sigmoid}"));
  std::string full = "%v0 = binary(%x, %n)\n";
  for (int k = 1; k < kMostElementwiseSteps; ++k) {
    full += fmt::format("%v{} = binary(%v{}, %n) {{activation=tanh}}\n", k, k - 1);
  }
  full += fmt::format("output %v{}\n", kMostElementwiseSteps - 1);
  // No room for further steps: these stay activations.
  CHECK(Contains(fused(full), "operands=[1,1,1,1,1,1,1,1,1,1,1,1]"));
}

TEST_CASE("FuseElementwise: a binary op by itself whose operand is a row along one axis") {
  CHECK(Contains(FusedElementwise("%y = binary(%s, %x) {function=sub}\noutput %y\n"),
                 "elementwise(%x, %s) {operands=[-1], functions=[sub]"));
  CHECK(IsElementwise("const %k: f32[32] = splat(1)\n%y = binary(%x, %k)\noutput %y\n"));
  // Many of them, and those of a small tensor, are as well off by themselves.
  CHECK_FALSE(IsElementwise(
      "input %u: f32[32,257]\nconst %k: f32[257] = splat(1)\n%y = binary(%u, %k)\noutput %y\n"));
  CHECK_FALSE(IsElementwise("input %u: f32[1,8,4,1]\n%y = binary(%u, %s)\noutput %y\n"));
}

TEST_CASE("FuseElementwise: constants that something computed scales begin a chain") {
  const std::string text = FusedElementwise(
      "const %w: f32[1,8,32,32] = random(3)\n"
      "input %g: f32[1,8,1,1]\n"
      "%a = binary(%w, %g) {function=mul}\n"
      "%y = binary(%a, %n) {function=div}\n"
      "output %y\n");
  CHECK(Contains(text,
                 "%y: f32[1,8,32,32] = elementwise(%w, %g, %n) {operands=[1,2], "
                 "functions=[mul,div]"));
  // What is computed and has the shape of the result is the value.
  CHECK(Contains(FusedElementwise("const %w: f32[1,8,32,32] = random(3)\n"
                                  "%a = binary(%w, %x) {function=sub}\n"
                                  "%y = binary(%a, %n) {function=div}\n"
                                  "output %y\n"),
                 "elementwise(%x, %w, %n) {operands=[-1,2], functions=[sub,div]"));
}

TEST_CASE("FuseElementwise: a scale, a shift and a function become one op") {
  const std::string text = FusedElementwise(
      "%a = binary(%x, %s) {function=mul}\n"
      "%b = binary(%t, %a) {activation=clip, activation_b=6}\n"
      "%y = unary(%b) {function=tanh}\n"
      "output %y\n");
  CHECK(
      Contains(text,
               "%y: f32[1,8,32,32] = elementwise(%x, %s, %t) {operands=[1,-2,0], "
               "functions=[mul,add,add], activations=[identity,clip,tanh], a=[0,0,0], b=[0,6,0]}"));
  CHECK_FALSE(Contains(text, "binary("));
  CHECK_FALSE(Contains(text, "unary("));
}

TEST_CASE(
    "FuseElementwise: x itself may be an operand, and an operand is one input however often") {
  CHECK(Contains(FusedElementwise("%a = binary(%x, %x) {function=mul}\n"
                                  "%b = binary(%a, %s)\n"
                                  "%y = binary(%b, %s) {function=sub}\n"
                                  "output %y\n"),
                 "elementwise(%x, %x, %s) {operands=[1,2,2],"));
  CHECK(Contains(FusedElementwise("%a = binary(%x, %n)\n"
                                  "%y = binary(%x, %a) {function=mul}\n"
                                  "output %y\n"),
                 "elementwise(%x, %n, %x) {operands=[1,-2],"));
}

TEST_CASE("FuseElementwise: no more steps than the op has, and then another op") {
  std::string ops = "%a0 = unary(%x) {function=tanh}\n";
  for (int i = 1; i < 15; ++i) {
    ops += "%a" + std::to_string(i) + " = unary(%a" + std::to_string(i - 1) + ") {function=tanh}\n";
  }
  const std::string text = FusedElementwise(ops + "output %a14\n");
  CHECK(Contains(text, "%a2: f32[1,8,32,32] = elementwise(%x) {operands=[0,0,0],"));
  CHECK(Contains(text,
                 "%a14: f32[1,8,32,32] = elementwise(%a2) {operands=[0,0,0,0,0,0,0,0,0,0,0,0],"));
  CHECK_FALSE(Contains(text, "unary("));
}

TEST_CASE("FuseElementwise: results that others read, or that are an output, end a chain") {
  const std::string chain =
      "%a = binary(%x, %n) {function=mul}\n"
      "%y = binary(%a, %n)\n"
      "output %y\n";
  CHECK(IsElementwise(chain));
  CHECK_FALSE(IsElementwise(chain + "output %a\n"));
  CHECK_FALSE(IsElementwise(chain + "%r = reduce(%a) {axes_mask=12}\noutput %r\n"));
}

TEST_CASE("FuseElementwise: ops by themselves, other types, comparisons and growing results stay") {
  CHECK_FALSE(IsElementwise("%y = binary(%x, %x)\noutput %y\n"));
  CHECK_FALSE(IsElementwise("const %c: f32[] = [3]\n%y = binary(%x, %c)\noutput %y\n"));
  CHECK_FALSE(
      IsElementwise("%a = binary(%x, %s) {function=less}\n"
                    "%y = unary(%a) {function=not}\noutput %y\n"));
  CHECK_FALSE(
      IsElementwise("input %i: i32[8,1]\nconst %j: i32[] = [3]\n"
                    "%a = binary(%i, %j)\n%y = unary(%a) {function=neg}\noutput %y\n"));
  // A step keeps its value's shape: the chain begins behind the one that makes it larger.
  CHECK_FALSE(
      IsElementwise("input %u: f32[1,1,4,1]\n"
                    "%a = unary(%u) {function=tanh}\n%y = binary(%a, %s)\noutput %y\n"));
  CHECK(Contains(FusedElementwise("input %u: f32[1,1,4,1]\n"
                                  "%a = unary(%u) {function=tanh}\n%b = binary(%a, %s)\n"
                                  "%y = binary(%b, %t) {function=mul}\noutput %y\n"),
                 "%y: f32[1,8,4,1] = binary(%b, %t)"));
}

TEST_CASE(
    "FuseElementwise: one large operand, since two would wait for each other in memory; small ones "
    "may") {
  CHECK(IsElementwise("%a = binary(%x, %z)\n%y = binary(%a, %s) {function=mul}\noutput %y\n"));
  CHECK(IsElementwise("%a = binary(%x, %s)\n%y = binary(%z, %a) {function=mul}\noutput %y\n"));
  CHECK_FALSE(
      IsElementwise("%a = binary(%x, %z)\n%y = binary(%a, %v) {function=mul}\noutput %y\n"));
  CHECK(
      IsElementwise("input %p: f32[1,8,4,4]\ninput %q: f32[1,8,4,4]\ninput %r: f32[1,8,4,4]\n"
                    "%a = binary(%p, %q)\n%y = binary(%a, %r) {function=mul}\noutput %y\n"));
  // x is there anyway, and what several steps read waits once.
  CHECK(Contains(
      FusedElementwise("%a = binary(%x, %x) {function=mul}\n%b = binary(%a, %z)\n"
                       "%c = binary(%x, %b)\n%y = binary(%c, %z) {function=mul}\noutput %y\n"),
      "elementwise(%x, %x, %z) {operands=[1,2,-1,2],"));
  // The last steps are one op where all of them cannot be.
  CHECK(Contains(FusedElementwise("%a = binary(%x, %v) {function=mul}\n%b = binary(%a, %z)\n"
                                  "%y = unary(%b) {function=tanh}\noutput %y\n"),
                 "elementwise(%a, %z) {operands=[1,0],"));
}

TEST_CASE("FuseElementwise: without a fast kernel the pieces stay, and the report says so") {
  const std::string reason = "no fast kernel computes its chain of elementwise ops as one op";
  CheckDeclined(kFuseElementwise,
                "graph g\n"
                "input %x: f32[1,65]\n"
                "%a = unary(%x) {function=tanh}\n"
                "%b = unary(%a) {function=exp}\n"
                "%y = unary(%b) {function=log}\n"
                "output %y\n",
                "y", reason);
}

TEST_CASE("FuseElementwise: a piece whose own kernel is better keeps all apart") {
  const Pass pass = {"fuse-elementwise", [](Graph& graph, PassContext& context) {
                       context.why_worse_kernel = [](const Graph&, const Op& before, const Op&) {
                         return before.kind == OpKind::kUnary ? "elsewhere" : "";
                       };
                       return FuseElementwiseWithKernel(graph, context);
                     }};
  const std::string ops =
      "%a = unary(%x) {function=tanh}\n"
      "%y = binary(%a, %s)\n"
      "output %y\n";
  CheckDeclined(pass, kElementwiseInputs + ops, "y", "elsewhere");
}

}  // namespace
}  // namespace tenon::converter
