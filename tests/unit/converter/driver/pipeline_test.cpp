// Random graphs through the whole converter: whatever it fuses, lays out, turns into views and
// places in the arena, a plan computes what its graph says.
#include "converter/driver/pipeline.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "converter/driver/pass_list.hpp"
#include "converter/ir/text.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/support/evaluate_graph.hpp"
#include "tests/support/random_graph.hpp"

namespace tenon::test {
namespace {

using converter::Graph;

struct Variant {
  bool fuse;
  bool portable;
  bool bound;
};

constexpr Variant kVariants[] = {
    {true, true, false}, {false, true, true}, {true, false, true}, {false, false, false}};

/// What a variant gets wrong, in words; empty if nothing.
std::string Compare(const RunResult& run, const Graph& graph, const Evaluation& expected) {
  // Fused ops round differently; nothing in these graphs magnifies a difference by much.
  const double tolerance = 1e-4 * std::max(1.0, expected.largest);
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const converter::Tensor& tensor = graph.tensor(graph.outputs()[i].tensor);
    const std::vector<std::byte>& wanted = expected.values.at(graph.outputs()[i].tensor);
    const std::vector<std::byte>& got = run.outputs[i];
    if (wanted.size() != got.size()) return fmt::format("output {}: another size", i);
    if (tensor.dtype != DType::kF32) {
      if (wanted != got) return fmt::format("output {}: other values", i);
      continue;
    }
    for (size_t at = 0; at < wanted.size(); at += sizeof(float)) {
      float x = 0;
      float y = 0;
      std::memcpy(&x, got.data() + at, sizeof x);
      std::memcpy(&y, wanted.data() + at, sizeof y);
      if (std::isfinite(y) && !(std::abs(x - y) <= tolerance)) {
        return fmt::format("output {}, element {}: {} instead of {}", i, at / sizeof x, x, y);
      }
    }
  }
  return {};
}

std::string RunVariant(const Graph& graph, const Variant& variant, const Evaluation& expected,
                       const std::vector<std::vector<std::byte>>& inputs,
                       const converter::ConvertOptions& options) {
  converter::ConvertOptions changed = options;
  changed.fuse = variant.fuse;
  changed.board.units[0].portable_kernels_only = variant.portable;
  changed.compile.arena.place.work_budget = 2000;
  changed.compile.order.budget = 2000;
  const auto conversion = converter::ConvertGraph(graph, changed);
  if (!conversion.ok()) return "convert: " + conversion.error().message;
  const RunResult run = RunPlan(conversion->plan, inputs, {variant.portable, 1, variant.bound});
  if (!run.error.empty()) return "run: " + run.error;
  const std::string wrong = Compare(run, graph, expected);
  return wrong.empty() ? wrong : wrong + "\n" + conversion->graph_text;
}

/// What is wrong with any variant of the graph of this seed; empty if nothing.
std::string TrySeed(uint64_t seed, int most_ops, const converter::ConvertOptions& options) {
  RandomGraphOptions shape;
  shape.most_ops = most_ops;
  const Graph graph = RandomGraph(seed, shape);
  const auto inputs = RandomInputs(graph, seed);
  const Evaluation expected = EvaluateGraph(graph, inputs);
  if (!expected.error.empty()) return "evaluate: " + expected.error;
  for (const Variant& variant : kVariants) {
    const std::string wrong = RunVariant(graph, variant, expected, inputs, options);
    if (!wrong.empty()) {
      return fmt::format("seed {}, most_ops {}, fuse {}, portable {}, bound {}: {}\n{}", seed,
                         most_ops, variant.fuse, variant.portable, variant.bound, wrong,
                         PrintGraph(graph));
    }
  }
  return {};
}

/// The failure with the fewest ops that this seed gives.
std::string Shrunk(uint64_t seed, const converter::ConvertOptions& options) {
  for (int most_ops = 1;; ++most_ops) {
    const std::string wrong = TrySeed(seed, most_ops, options);
    if (!wrong.empty() || most_ops >= RandomGraphOptions{}.most_ops) return wrong;
  }
}

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

TEST_CASE("ListOfPasses: every pass has a name and a reason, and phases follow each other") {
  const std::vector<converter::ListedPass>& list = converter::ListOfPasses();
  for (size_t i = 0; i < list.size(); ++i) {
    CAPTURE(i);
    CHECK(!std::string(list[i].name).empty());
    CHECK(!std::string(list[i].reason).empty());
    if (i > 0) CHECK(list[i - 1].phase <= list[i].phase);
  }
}

std::vector<std::string> PassesOn(const char* text, bool fuse) {
  auto graph = converter::ParseGraph(text);
  REQUIRE(graph.ok());
  std::vector<converter::PassReport> reports;
  REQUIRE(converter::Canonicalise(*graph, fuse, reports).ok());
  std::vector<std::string> names;
  for (const converter::PassReport& report : reports) names.push_back(report.name);
  return names;
}

TEST_CASE("Canonicalise: runs the listed passes whose conditions hold, in their order") {
  using Names = std::vector<std::string>;
  constexpr const char* kFloat =
      "graph g\ninput %x: f32[2]\n%y = unary(%x) {function=relu}\noutput %y\n";
  constexpr const char* kQuantized =
      "graph g\ninput %x: f32[2]\nconst %s: f32[1] = [1]\n%q = quantize(%x, %s)\n"
      "%y = dequantize(%q, %s)\noutput %y\n";
  const Names clean = {"simplify", "fold-constants", "eliminate-dead-code"};
  const Names clean_to_fuse = {"simplify", "lift-rows", "simplify", "fold-constants",
                               "eliminate-dead-code"};
  const Names norms = {"fuse-layer-norm", "fuse-channel-norm", "functions-before-moves",
                       "simplify"};
  const Names fused = {"fold-pad",        "fuse-affine",   "fold-one-hot",       "merge-branches",
                       "fuse-activation", "fuse-residual", "eliminate-dead-code"};
  const auto joined = [](std::initializer_list<Names> parts) {
    Names all;
    for (const Names& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
  };
  CHECK(PassesOn(kFloat, false) == joined({clean, {"isolate-outputs"}}));
  CHECK(PassesOn(kFloat, true) == joined({clean_to_fuse, norms, fused, {"isolate-outputs"}}));
  CHECK(PassesOn(kQuantized, false) ==
        joined({clean, {"fold-constants", "eliminate-dead-code", "isolate-outputs"}}));
  CHECK(PassesOn(kQuantized, true) ==
        joined({clean_to_fuse,
                norms,
                {"fold-pad", "fuse-quantized", "fold-lookups", "simplify", "move-channels-last",
                 "eliminate-dead-code", "fold-constants", "eliminate-dead-code"},
                fused,
                {"isolate-outputs"}}));
}

TEST_CASE("ConvertGraph: random graphs compute what their ops say, fused or not, on any kernels") {
  // More cases, or others: TENON_RANDOM_GRAPHS and TENON_RANDOM_SEED.
  const uint64_t first = FromEnvironment("TENON_RANDOM_SEED", 1);
  const uint64_t count = FromEnvironment("TENON_RANDOM_GRAPHS", 1500);
  const converter::ConvertOptions options = OptionsFor();
  int failures = 0;
  for (uint64_t seed = first; seed < first + count && failures < 5; ++seed) {
    const bool agrees = TrySeed(seed, RandomGraphOptions{}.most_ops, options).empty();
    CHECK(agrees);
    if (agrees) continue;
    ++failures;
    FAIL_CHECK(Shrunk(seed, options));
  }
}

TEST_CASE("ConvertGraph: random graphs that went wrong once stay right") {
  // Writers in columns of different widths inside one concatenation; an operand of one value for
  // each row, which lie a row apart.
  for (const uint64_t seed : {uint64_t{522036}, uint64_t{273}}) {
    CHECK(TrySeed(seed, RandomGraphOptions{}.most_ops, OptionsFor()) == "");
  }
}

/// What any variant of the graph computes wrongly, in words; empty if nothing.
std::string TryText(const std::string& text) {
  const auto graph = converter::ParseGraph("graph g\n" + text);
  if (!graph.ok()) return graph.error().message;
  const auto inputs = RandomInputs(*graph, 7);
  const Evaluation expected = EvaluateGraph(*graph, inputs);
  if (!expected.error.empty()) return "evaluate: " + expected.error;
  for (const Variant& variant : kVariants) {
    const std::string wrong = RunVariant(*graph, variant, expected, inputs, OptionsFor());
    if (!wrong.empty()) return wrong;
  }
  return {};
}

TEST_CASE("ConvertGraph: moves of images behind convolutions, and what follows them") {
  const std::string conv =
      "input %x: f32[2,6,5,7]\nconst %w: f32[24,6,1,1] = random(1)\n"
      "const %b: f32[24] = random(2)\n%c = conv(%x, %w, %b)\n";
  const std::string grouped =
      "input %x: f32[2,6,5,7]\nconst %w: f32[24,2,1,1] = random(1)\n"
      "const %b: f32[24] = random(2)\n%c = conv(%x, %w, %b) {group=3}\n";
  const auto moved = [](const std::string& parts, const std::string& order,
                        const std::string& shape) {
    return "%d = reshape(%c) {dims=[" + parts + "]}\n%e = transpose(%d) {permutation=[" + order +
           "]}\n%f = reshape(%e) {dims=[" + shape + "]}\n";
  };
  const std::string shuffle = moved("2,3,8,5,7", "0,2,1,3,4", "2,24,5,7");
  const std::string phases = moved("2,6,2,2,5,7", "0,1,4,2,5,3", "2,6,10,14");
  const std::string rows = moved("2,2,2,6,5,7", "0,3,4,1,5,2", "2,6,10,14");
  const std::string deep = moved("2,24,1,5,7,1", "0,1,4,2,3,5", "2,24,7,5");
  const std::string norm = "const %g: f32[1,6,1,1] = random(3)\nconst %h: f32[6,1,1] = random(4)\n";
  const std::string cut = "%s = slice(%f) {begins=[0,0,1,2], sizes=[2,6,8,11], steps=[1,1,1,1]}\n";
  for (const std::string& tail : {
           shuffle + "output %f\n",
           shuffle + "const %v: f32[8,24,3,3] = random(5)\n%y = conv(%f, %v)\noutput %y\n",
           phases + "%y = unary(%f) {function=relu}\noutput %y\n",
           rows + cut + "%y = unary(%s) {function=tanh}\noutput %y\n",
           phases + norm + cut +
               "%p = binary(%s, %g) {function=mul}\n%q = binary(%h, %p) {function=sub}\n"
               "%y = unary(%q) {function=leaky_relu, a=0.1}\noutput %y\n",
           phases + norm + "%p = binary(%f, %g) {function=mul}\noutput %p\noutput %f\n",
           deep + "%y = unary(%f) {function=silu}\noutput %y\n",
       }) {
    for (const std::string& head : {conv, grouped}) {
      CAPTURE(tail);
      CHECK(TryText(head + tail) == "");
    }
  }
}

TEST_CASE("ConvertGraph: large patches are products, fused or not") {
  const std::string text =
      "input %x: f32[1,3,32,48]\nconst %w: f32[24,3,16,16] = random(1)\n"
      "const %b: f32[24] = random(2)\n%y = conv(%x, %w, %b) {strides=[16,16]}\noutput %y\n";
  CHECK(TryText(text) == "");
  const auto graph = converter::ParseGraph("graph g\n" + text);
  REQUIRE(graph.ok());
  for (const bool fuse : {true, false}) {
    converter::ConvertOptions options = OptionsFor("x86-64");
    options.fuse = fuse;
    const auto conversion = converter::ConvertGraph(*graph, options);
    REQUIRE(conversion.ok());
    CAPTURE(fuse);
    CHECK(conversion->graph_text.find("@cpu/cpu.matmul.vector") != std::string::npos);
    CHECK(conversion->graph_text.find("cpu.conv.portable") == std::string::npos);
  }
}

TEST_CASE("ConvertGraph: transposed depthwise convolutions phase by phase") {
  for (const char* cut : {"0,0,1,1], sizes=[1,16,48,48", "0,0,0,1], sizes=[1,16,49,45"}) {
    CAPTURE(cut);
    CHECK(TryText("input %x: f32[1,16,24,24]\nconst %w: f32[64,1,2,2] = random(1)\n"
                  "const %b: f32[64] = random(2)\n"
                  "%c = conv(%x, %w, %b) {pads=[1,1,1,1], group=16}\n"
                  "%d = reshape(%c) {dims=[1,16,2,2,25,25]}\n"
                  "%e = transpose(%d) {permutation=[0,1,4,2,5,3]}\n"
                  "%f = reshape(%e) {dims=[1,16,50,50]}\n%y = slice(%f) {begins=[" +
                  std::string(cut) + "], steps=[1,1,1,1]}\noutput %y\n") == "");
  }
}

TEST_CASE("ConvertGraph: transposed convolutions phase by phase") {
  // Phases of 3x3 and of 4x4 windows: whole, and without their outermost rows and columns.
  std::string sparse;
  for (int i = 0; i < 4 * 16 * 32; ++i) {
    const int phase = i / (16 * 32);
    const int row = phase < 2 ? 0 : 1;
    const int column = phase % 2;
    for (int tap = 0; tap < 4; ++tap) {
      const bool is_zero = (row == 0 && tap < 2) || (column == 0 && tap % 2 == 0);
      sparse += is_zero ? "0, " : fmt::format("{}, ", (i * 7 + tap) % 5 - 2);
    }
  }
  sparse.resize(sparse.size() - 2);
  for (const std::string& weights : {std::string("random(1)"), "[" + sparse + "]"}) {
    for (const char* cut : {"0,0,1,1], sizes=[1,16,24,24", "0,0,0,0], sizes=[1,16,25,24",
                            "0,0,1,0], sizes=[1,16,23,26", "0,0,2,3], sizes=[1,16,21,20"}) {
      CAPTURE(cut);
      CHECK(TryText("input %x: f32[1,32,12,12]\nconst %w: f32[64,32,2,2] = " + weights +
                    "\nconst %b: f32[64] = random(2)\n"
                    "%c = conv(%x, %w, %b) {pads=[1,1,1,1]}\n"
                    "%d = reshape(%c) {dims=[1,2,2,16,13,13]}\n"
                    "%e = transpose(%d) {permutation=[0,3,4,1,5,2]}\n"
                    "%f = reshape(%e) {dims=[1,16,26,26]}\n%s = slice(%f) {begins=[" +
                    cut + "], steps=[1,1,1,1]}\n%y = unary(%s) {function=relu}\noutput %y\n") ==
            "");
    }
  }
}

}  // namespace
}  // namespace tenon::test
