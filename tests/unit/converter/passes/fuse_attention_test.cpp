#include <string>

#include "converter/ir/elements.hpp"
#include "converter/ir/rewrite.hpp"
#include "converter/passes/passes.hpp"
#include "tests/unit/converter/passes/same_numbers.hpp"

namespace tenon::converter {
namespace {

/// As where a fast kernel runs attention on queries of up to 8 elements.
Status FuseAttentionWithKernel(Graph& graph, PassContext& context) {
  context.has_fast_kernel = [](const Graph& asked, const Op& op) {
    return op.kind == OpKind::kAttention && asked.tensor(op.inputs[0]).shape[2] <= 8;
  };
  return FuseAttention(graph, context);
}

const Pass kFuseAttention = {"fuse-attention", FuseAttentionWithKernel};

const std::string kAttentionInputs =
    "graph g\n"
    "input %q: f32[2,40,4]\n"
    "input %k: f32[2,4,7]\n"
    "input %v: f32[2,7,3]\n"
    "input %m: f32[40,7]\n"
    "const %root: f32[] = [2]\n"
    "const %half: f32[1] = [0.5]\n";
const std::string kEnd =
    "%p = softmax(%l) {axis=2}\n"
    "%y = matmul(%p, %v)\n"
    "output %y\n";

TEST_CASE("FuseAttention: a quotient, a mask, a softmax between two products become one op") {
  const std::string text = RunOn(kFuseAttention, kAttentionInputs +
                                                     "%s = matmul(%q, %k)\n"
                                                     "%d = binary(%s, %root) {function=div}\n"
                                                     "%l = binary(%m, %d)\n" +
                                                     kEnd)
                               .text;
  CHECK(Contains(text, "%y: f32[2,40,3] = attention(%q, %k, %v, %m) {scale=0.5, transpose_k=1}"));
  CHECK_FALSE(Contains(text, "softmax("));
  CHECK_FALSE(Contains(text, "matmul("));
}

TEST_CASE("FuseAttention: scores as they are, and those times a number") {
  CHECK(Contains(RunOn(kFuseAttention, kAttentionInputs + "%l = matmul(%q, %k)\n" + kEnd).text,
                 "%y: f32[2,40,3] = attention(%q, %k, %v) {transpose_k=1}"));
  CHECK(Contains(RunOn(kFuseAttention, kAttentionInputs +
                                           "%s = matmul(%q, %k)\n"
                                           "%l = binary(%half, %s) {function=mul}\n" +
                                           kEnd)
                     .text,
                 "%y: f32[2,40,3] = attention(%q, %k, %v) {scale=0.5, transpose_k=1}"));
}

TEST_CASE("FuseAttention: keys that the product transposes are taken as they are") {
  CHECK(Contains(RunOn(kFuseAttention, kAttentionInputs +
                                           "input %t: f32[2,7,4]\n"
                                           "%l = matmul(%q, %t) {transpose_b=1}\n" +
                                           kEnd)
                     .text,
                 "%y: f32[2,40,3] = attention(%q, %t, %v)\n"));
}

TEST_CASE("FuseAttention: numbers that queries and keys are multiplied by are the scale, too") {
  const std::string text = RunOn(kFuseAttention, kAttentionInputs +
                                                     "const %three: f32[] = [3]\n"
                                                     "%qs = binary(%q, %three) {function=mul}\n"
                                                     "%ks = binary(%k, %root) {function=div}\n"
                                                     "%s = matmul(%qs, %ks)\n"
                                                     "%h = binary(%s, %half) {function=mul}\n"
                                                     "%l = binary(%h, %three) {function=mul}\n" +
                                                     kEnd)
                               .text;
  CHECK(Contains(text, "%y: f32[2,40,3] = attention(%q, %k, %v) {scale=2.25, transpose_k=1}"));
  CHECK_FALSE(Contains(text, "binary("));
  // Queries that something else reads stay scaled.
  const std::string read = RunOn(kFuseAttention, kAttentionInputs +
                                                     "%qs = binary(%q, %root) {function=mul}\n"
                                                     "%l = matmul(%qs, %k)\n" +
                                                     kEnd + "output %qs\n")
                               .text;
  CHECK(Contains(read, "attention(%qs, %k, %v) {transpose_k=1}"));
}

TEST_CASE("FuseAttention: queries are multiplied by a number for each matrix of scores") {
  const std::string middle =
      "%s = matmul(%q, %k)\n%h = binary(%s, %f) {function=mul}\n%l = binary(%h, %m)\n";
  const std::string text =
      RunOn(kFuseAttention, kAttentionInputs + "const %f: f32[2,1,1] = [3, 4]\n" + middle + kEnd)
          .text;
  CheckHas(text, {"%q.scaled: f32[2,40,4] = binary(%q, %f) {function=mul}\n",
                  "%y: f32[2,40,3] = attention(%q.scaled, %k, %v, %m) {transpose_k=1}"});
  const std::string row =
      RunOn(kFuseAttention,
            kAttentionInputs + "const %f: f32[2,40,1] = random(1)\n" + middle + kEnd)
          .text;
  CHECK_FALSE(Contains(row, "attention("));
}

TEST_CASE("FuseAttention: values that the product transposes are transposed for it") {
  const std::string text = RunOn(kFuseAttention, kAttentionInputs +
                                                     "input %u: f32[2,3,7]\n"
                                                     "%l = matmul(%q, %k)\n"
                                                     "%p = softmax(%l) {axis=2}\n"
                                                     "%y = matmul(%p, %u) {transpose_b=1}\n"
                                                     "output %y\n")
                               .text;
  CheckHas(text, {"%u.turned: f32[2,7,3] = transpose(%u) {permutation=[0,2,1]}\n",
                  "%y: f32[2,40,3] = attention(%q, %k, %u.turned) {transpose_k=1}"});
}

/// As a window transformer has it: a constant for each head, then one for each window.
std::string WindowNet(const std::string& bias, const std::string& window) {
  return "input %q: f32[4,2,2,4]\ninput %k: f32[4,2,4,2]\ninput %v: f32[4,2,2,5]\n" + bias +
         window +
         "%s = matmul(%q, %k)\n%b = binary(%s, %h)\n%r = reshape(%b) {dims=[2,2,2,2,2]}\n"
         "%a = binary(%r, %w)\n%l = reshape(%a) {dims=[4,2,2,2]}\n"
         "%p = softmax(%l) {axis=3}\n%y = matmul(%p, %v)\noutput %y\n";
}
const std::string kBias = "const %h: f32[2,2,2] = [0, 1, 2, 3, 10, 11, 12, 13]\n";
const std::string kWindow = "const %w: f32[1,2,1,2,2] = [0, 0, 0, 0, 100, 200, 300, 400]\n";

TEST_CASE("FuseAttention: two constant masks become their sum") {
  const std::string text = RunOn(kFuseAttention, WindowNet(kBias, kWindow)).text;
  CheckHas(text, {"const %w.sum: f32[1,2,2,2,2] = [0, 1, 2, 3, 10, 11, 12, 13, "
                  "100, 201, 302, 403, 110, 211, 312, 413]\n",
                  ": f32[2,2,2,2,5] = attention(%q.batches, %k.batches, %v.batches, %w.sum) "
                  "{transpose_k=1}"});
  CHECK_FALSE(Contains(text, "binary("));
}

TEST_CASE("FuseAttention: two masks of which one is computed are left") {
  for (const std::string& text : {WindowNet(kBias, "input %w: f32[1,2,1,2,2]\n"),
                                  WindowNet("input %h: f32[2,2,2]\n", kWindow)}) {
    CHECK_FALSE(Contains(RunOn(kFuseAttention, text).text, "attention("));
  }
}

TEST_CASE("FuseAttention: masks whose sum would be a large constant are left") {
  const std::string text =
      "input %q: f32[300,5,64,2]\ninput %k: f32[300,5,2,64]\ninput %v: f32[300,5,64,2]\n"
      "const %h: f32[5,64,64] = random(1)\nconst %w: f32[300,1,64,64] = random(2)\n"
      "%s: f32[300,5,64,64] = matmul(%q, %k)\n%b: f32[300,5,64,64] = binary(%s, %h)\n"
      "%l: f32[300,5,64,64] = binary(%b, %w)\n%p: f32[300,5,64,64] = softmax(%l) {axis=3}\n"
      "%y: f32[300,5,64,2] = matmul(%p, %v)\noutput %y\n";
  CheckDeclined(kFuseAttention, text, "y", "the sum of its masks would be large");
}

TEST_CASE("FuseAttention: scores that others read, other axes and logarithms are left") {
  const auto is_left = [](const std::string& middle, const std::string& end) {
    return !Contains(RunOn(kFuseAttention, kAttentionInputs + middle + end).text, "attention(");
  };
  const std::string scores = "%l = matmul(%q, %k)\n";
  CHECK(is_left(scores, kEnd + "output %l\n"));
  CHECK(is_left(scores, kEnd + "output %p\n"));
  CHECK(is_left(scores, "%p = softmax(%l) {axis=1}\n%y = matmul(%p, %v)\noutput %y\n"));
  CHECK(is_left(scores, "%p = softmax(%l) {axis=2, log=1}\n%y = matmul(%p, %v)\noutput %y\n"));
  CHECK(is_left("%l = matmul(%q, %k) {activation=relu}\n", kEnd));
  CHECK(is_left("%s = matmul(%q, %k)\n%l = binary(%s, %m) {function=mul}\n", kEnd));
}

TEST_CASE("FuseAttention: scores that are their own mask, and weights that are values, are left") {
  CHECK_FALSE(Contains(
      RunOn(kFuseAttention, kAttentionInputs + "%s = matmul(%q, %k)\n%l = binary(%s, %s)\n" + kEnd)
          .text,
      "attention("));
  const std::string text =
      "graph g\n"
      "input %q: f32[40,4]\n"
      "input %k: f32[4,40]\n"
      "%l = matmul(%q, %k)\n"
      "%p = softmax(%l) {axis=1}\n"
      "%y = matmul(%p, %p)\n"
      "output %y\n";
  CHECK_FALSE(Contains(RunOn(kFuseAttention, text).text, "attention("));
}

TEST_CASE("FuseAttention: a number of more dimensions than the scores is left") {
  const std::string text =
      "graph g\n"
      "input %q: f32[2,40,4]\n"
      "input %k: f32[2,4,7]\n"
      "input %v: f32[1,2,7,3]\n"
      "const %half: f32[1,1,1,1] = [0.5]\n"
      "%s = matmul(%q, %k)\n"
      "%l = binary(%s, %half) {function=mul}\n"
      "%p = softmax(%l) {axis=3}\n"
      "%y = matmul(%p, %v)\n"
      "output %y\n";
  CHECK_FALSE(Contains(RunOn(kFuseAttention, text).text, "attention("));
}

TEST_CASE("FuseAttention: a scale that is not finite is left") {
  const auto is_left = [](const std::string& number, const std::string& function) {
    return !Contains(RunOn(kFuseAttention, kAttentionInputs + "const %n: f32[] = [" + number +
                                               "]\n"
                                               "%s = matmul(%q, %k)\n"
                                               "%l = binary(%s, %n) {function=" +
                                               function + "}\n" + kEnd)
                         .text,
                     "attention(");
  };
  CHECK(is_left("inf", "mul"));
  CHECK(is_left("0", "div"));
  CHECK(is_left("1e-39", "div"));
  CHECK_FALSE(is_left("0", "mul"));
}

TEST_CASE("FuseAttention: where one of its ops would change its backend, all are left") {
  const Pass pass = {"fuse-attention", [](Graph& graph, PassContext& context) {
                       context.why_worse_kernel = [](const Graph&, const Op& before, const Op&) {
                         return std::string(before.name == "l" ? "it would leave its device" : "");
                       };
                       return FuseAttentionWithKernel(graph, context);
                     }};
  CheckDeclined(pass, kAttentionInputs + "%l = matmul(%q, %k)\n" + kEnd, "y",
                "it would leave its device");
}

TEST_CASE("FuseAttention: matrices that reshapes count in another way, as LiteRT Torch writes it") {
  const std::string ops =
      "graph g\n"
      "input %q: f32[2,3,4,5]\n"
      "input %k: f32[2,3,5,7]\n"
      "input %v: f32[2,3,7,8]\n"
      "input %m: f32[2,1,4,7]\n"
      "const %half: f32[] = [0.5]\n"
      "%q6 = reshape(%q) {dims=[6,4,5]}\n"
      "%k6 = reshape(%k) {dims=[6,5,7]}\n"
      "%v6 = reshape(%v) {dims=[6,7,8]}\n"
      "%s6 = matmul(%q6, %k6)\n"
      "%h6 = binary(%s6, %half) {function=mul}\n"
      "%s = reshape(%h6) {dims=[2,3,4,7]}\n"
      "%l = binary(%s, %m)\n"
      "%p = softmax(%l) {axis=3}\n"
      "%p6 = reshape(%p) {dims=[6,4,7]}\n"
      "%y6 = matmul(%p6, %v6)\n";
  // The mask says how the matrices are counted, the product's reader counts them in the same way.
  const std::string attention = "attention(%q, %k, %v, %m) {scale=0.5, transpose_k=1}";
  const std::string text =
      RunOn(kFuseAttention, ops + "%y = reshape(%y6) {dims=[2,3,4,8]}\noutput %y\n").text;
  CHECK(Contains(text, "%y: f32[2,3,4,8] = " + attention));
  CHECK_FALSE(Contains(text, "reshape("));
  // Another reader gets what the product made.
  const std::string flat = RunOn(kFuseAttention, ops + "output %y6\n").text;
  CHECK(Contains(flat, "f32[2,3,4,8] = " + attention));
  CHECK(Contains(flat, "%y6: f32[6,4,8] = reshape("));
}

TEST_CASE("FuseAttention: a softmax of more dimensions than the products have, without a mask") {
  const std::string text = RunOn(kFuseAttention,
                                 "graph g\n"
                                 "input %q: f32[2,4,5]\n"
                                 "input %k: f32[2,5,7]\n"
                                 "input %v: f32[2,7,8]\n"
                                 "%s = matmul(%q, %k)\n"
                                 "%l = reshape(%s) {dims=[1,2,4,7]}\n"
                                 "%p4 = softmax(%l) {axis=3}\n"
                                 "%p = reshape(%p4) {dims=[2,4,7]}\n"
                                 "%y = matmul(%p, %v)\n"
                                 "output %y\n")
                               .text;
  CHECK(Contains(text, "%y: f32[2,4,8] = attention(%q, %k, %v) {transpose_k=1}"));
  CHECK_FALSE(Contains(text, "reshape("));
}

TEST_CASE("FuseAttention: products that count their matrices differently are made alike") {
  const std::string text = RunOn(kFuseAttention,
                                 "graph g\n"
                                 "input %q: f32[6,4,5]\n"
                                 "input %k: f32[6,5,7]\n"
                                 "input %v: f32[2,3,7,8]\n"
                                 "%s = matmul(%q, %k)\n"
                                 "%l = reshape(%s) {dims=[2,3,4,7]}\n"
                                 "%p = softmax(%l) {axis=3}\n"
                                 "%y = matmul(%p, %v)\n"
                                 "output %y\n")
                               .text;
  CHECK(Contains(text, "%q.batches: f32[2,3,4,5] = reshape(%q)"));
  CHECK(Contains(text, "%k.batches: f32[2,3,5,7] = reshape(%k)"));
  CHECK(Contains(text, "%y: f32[2,3,4,8] = attention(%q.batches, %k.batches, %v) {transpose_k=1}"));
}

TEST_CASE("FuseAttention: reshapes that cut rows in another way are left") {
  const auto is_left = [](const std::string& scores, const std::string& weights) {
    return !Contains(RunOn(kFuseAttention,
                           "graph g\n"
                           "input %q: f32[2,4,5]\n"
                           "input %k: f32[2,5,8]\n"
                           "input %v: f32[2,8,3]\n"
                           "%s = matmul(%q, %k)\n"
                           "%l = reshape(%s) {dims=" +
                               scores +
                               "}\n"
                               "%w = softmax(%l) {axis=2}\n"
                               "%p = reshape(%w) {dims=" +
                               weights +
                               "}\n"
                               "%y = matmul(%p, %v)\n"
                               "output %y\n")
                         .text,
                     "attention(");
  };
  CHECK_FALSE(is_left("[2,4,8]", "[2,4,8]"));
  CHECK(is_left("[2,8,4]", "[2,4,8]"));
  CHECK(is_left("[4,2,8]", "[2,4,8]"));
}

TEST_CASE("FuseAttention: a declined one leaves nothing behind") {
  CheckDeclined(kFuseAttention,
                "input %q: f32[6,1,5]\n"
                "input %k: f32[6,5,7]\n"
                "input %v: f32[2,3,7,8]\n"
                "%s: f32[6,1,7] = matmul(%q, %k)\n"
                "%l: f32[2,3,1,7] = reshape(%s) {dims=[2,3,1,7]}\n"
                "%p: f32[2,3,1,7] = softmax(%l) {axis=3}\n"
                "%y: f32[2,3,1,8] = matmul(%p, %v)\n"
                "output %y\n",
                "y", "one query reads keys and values once, so that copying them does not pay");
}

TEST_CASE("FuseAttention: where only portable code would run it, it is left") {
  const std::string text =
      "graph g\n"
      "input %q: f32[2,40,9]\n"
      "input %k: f32[2,9,7]\n"
      "input %v: f32[2,7,3]\n"
      "%l = matmul(%q, %k)\n" +
      kEnd;
  CheckDeclined(kFuseAttention, text, "y", "no fast kernel computes attention as one op");
}

TEST_CASE("FuseAttention: numbers with factors, two masks and transposed values are the same") {
  // Two images of two windows with three heads.
  CheckSameNumbers(OnFastKernels("fuse-attention", FuseAttention),
                   "input %q: f32[12,4,5]\ninput %k: f32[12,5,6]\ninput %v: f32[12,7,6]\n"
                   "const %f: f32[3,1,1] = [0.5, 1, 2]\nconst %h: f32[3,4,6] = random(1)\n"
                   "const %w: f32[2,1,4,6] = random(2)\nconst %n: f32[] = [1.5]\n"
                   "%qn = binary(%q, %n) {function=mul}\n%kn = binary(%k, %n) {function=div}\n"
                   "%s = matmul(%qn, %kn)\n%s4 = reshape(%s) {dims=[4,3,4,6]}\n"
                   "%t = binary(%s4, %f) {function=mul}\n%b = binary(%h, %t)\n"
                   "%b5 = reshape(%b) {dims=[2,2,3,4,6]}\n%a = binary(%b5, %w)\n"
                   "%l = reshape(%a) {dims=[12,4,6]}\n%p = softmax(%l) {axis=2}\n"
                   "%y = matmul(%p, %v) {transpose_b=1}\noutput %y\n",
                   {RandomElements(DType::kF32, 240, 3), RandomElements(DType::kF32, 360, 4),
                    RandomElements(DType::kF32, 504, 5)},
                   0, 1e-5F);
}

}  // namespace
}  // namespace tenon::converter
