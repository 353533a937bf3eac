#include "converter/cost/instruction_terms.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <string_view>

#include "converter/cost/instruction_bound.hpp"
#include "converter/ir/text.hpp"

namespace tenon::converter {
namespace {

std::optional<CostTerms> TermsOf(std::string_view text, const KernelCallFacts& facts) {
  const Result<Graph> graph = ParseGraph(text);
  REQUIRE_MESSAGE(graph.ok(), graph.error().message);
  const Op& op = graph->op(graph->tensor(graph->FindTensor("y")).producer);
  return InstructionTerms(ProfileOperands(*graph, op, nullptr), facts);
}

std::map<std::string, double> AmountsOf(const CostTerms& terms) {
  std::map<std::string, double> amounts;
  for (const CostTerm& term : terms.terms) amounts[term.name] = term.amount;
  return amounts;
}

constexpr std::string_view kCopy =
    "graph g\ninput %x: i8[1,10,4,5] channels_last\n"
    "%y: i8[1,10,4,5] channels_last = copy(%x) @cpu/cpu.copy.portable\noutput %y\n";

TEST_CASE("Instructions: a copy goes by 64 bytes, then words, then bytes") {
  KernelCallFacts facts;
  facts.has_aligned_words = true;
  const auto terms = TermsOf(kCopy, facts);
  REQUIRE(terms);
  const auto amounts = AmountsOf(*terms);  // 200 bytes
  CHECK(amounts.at("start") == 1);
  CHECK(amounts.at("operands") == 2);
  CHECK(amounts.at("steps") == 3);
  CHECK(amounts.at("words") == 2);
  CHECK(amounts.count("bytes") == 0);
}

TEST_CASE("Instructions: a copy between odd addresses goes by words alone") {
  const auto terms = TermsOf(kCopy, {});
  REQUIRE(terms);
  CHECK(AmountsOf(*terms).count("steps") == 0);
  CHECK(AmountsOf(*terms).at("words") == 50);
}

TEST_CASE("Instructions: nothing is known of kernels that no microcontroller has") {
  CHECK_FALSE(
      TermsOf("graph g\ninput %x: f32[1,8]\n"
              "%y: f32[1,8] = softmax(%x) {axis=1} @cpu/cpu.softmax.vector\noutput %y\n",
              {}));
}

TEST_CASE("Instructions: a pool counts its windows' pixels inside x by blocks of 16 channels") {
  const auto terms = TermsOf(
      "graph g\ninput %x: i8[1,40,3,3] channels_last\n"
      "%y: i8[1,40,2,2] channels_last = max_pool(%x) {kernel=[2,2], strides=[2,2], pads=[0,0,1,1]} "
      "@cpu/cpu.max_pool.dsp\noutput %y\n",
      {});
  REQUIRE(terms);
  const auto amounts = AmountsOf(*terms);
  CHECK(amounts.at("windows") == 4 * 3);  // two whole blocks and one of 8 channels
  CHECK(amounts.at("block_taps") == 9 * 2);
  CHECK(amounts.at("word_taps") == 9 * 2);
  CHECK(amounts.at("block_rows") == 6 * 2);
}

/// A depthwise convolution of `channels` channels on 4 rows of `width` pixels, to as many. With
/// biases and factors of their own, four channels go at once.
std::map<std::string, double> WindowsOf(int channels, int width, const char* window,
                                        const char* pads) {
  const std::string count = std::to_string(channels);
  const std::string image = "i8[1," + count + ",4," + std::to_string(width) + "] channels_last";
  const std::string text = "graph g\ninput %x: " + image + "\nconst %w: i8[" + count + ",1," +
                           window + "] = random(1)\nconst %m: f32[" + count +
                           "] = random(2)\nconst %b: i32[" + count + "] = splat(0)\n%y: " + image +
                           " = quantized_conv(%x, %w, %b, %m) {group=" + count + ", pads=" + pads +
                           ", to=i8} @cpu/cpu.quantized_conv.dsp_depthwise_windows\noutput %y\n";
  const auto terms = TermsOf(text, {});
  REQUIRE(terms);
  CHECK(terms->model == "cpu.quantized_conv.dsp_depthwise_windows float");
  return AmountsOf(*terms);
}

TEST_CASE("Instructions: depthwise windows count the taps inside x, by pairs of a row") {
  const auto amounts = WindowsOf(10, 2, "2,3", "[1,1,0,1]");
  CHECK(amounts.at("pixels") == 8);
  CHECK(amounts.at("pair_quads") == 8 * 3);  // three words of channels
  CHECK(amounts.at("pair_rows") == 14 * 3);  // of the first two outputs a row is outside
  CHECK(amounts.at("quad_taps") == 28 * 3);
  CHECK(amounts.at("quad_pairs") == 14 * 3);
  CHECK(amounts.count("quads") == 0);
}

TEST_CASE("Instructions: depthwise windows of channels in fours have rows of taps") {
  const auto amounts = WindowsOf(12, 2, "2,3", "[1,1,0,1]");
  CHECK(amounts.at("quads") == 8 * 3);
  CHECK(amounts.at("quad_rows") == 14 * 3);
  CHECK(amounts.at("quad_taps") == 28 * 3);
  CHECK(amounts.count("quad_pairs") == 0);
}

TEST_CASE("Instructions: depthwise windows of channels in fours go by pairs in long rows") {
  const auto amounts = WindowsOf(8, 12, "1,9", "[0,4,0,4]");
  CHECK(amounts.at("quads") == 4 * 6 * 2);  // of 5, 6 and 7 taps at both ends
  CHECK(amounts.at("pair_rows") == 4 * 6 * 2);
  CHECK(amounts.at("quad_pairs") == 4 * (2 * 4 + 4 * 5) * 2);
}

TEST_CASE("Instructions: depthwise windows of one column are one row of taps") {
  const auto amounts = WindowsOf(10, 1, "4,1", "[2,0,1,0]");
  CHECK(amounts.at("pair_rows") == 4 * 3);
  CHECK(amounts.at("quad_taps") == (2 + 3 + 4 + 3) * 3);
  CHECK(amounts.at("quad_pairs") == (1 + 2 + 2 + 2) * 3);
}

TEST_CASE("Instructions: single rows of outputs count the columns that are inside x") {
  const auto terms = TermsOf(
      "graph g\ninput %x: i8[1,8,2,23] channels_last\nconst %w: i8[8,1,3,3] = random(1)\n"
      "const %m: f32[8] = random(2)\nconst %b: i32[8] = splat(0)\n"
      "%y: i8[1,8,1,12] channels_last = quantized_conv(%x, %w, %b, %m) {group=8, strides=[2,2], "
      "pads=[1,1,0,1], to=i8} @cpu/cpu.quantized_conv.dsp_depthwise_row\noutput %y\n",
      {});
  REQUIRE(terms);
  CHECK(terms->model == "cpu.quantized_conv.dsp_depthwise_row float");
  const auto amounts = AmountsOf(*terms);
  CHECK(amounts.at("strips") == 3);  // of 5, 5 and 2 outputs
  CHECK(amounts.at("quads") == 3 * 2);
  CHECK(amounts.at("columns") == (10 + 11 + 4) * 2);
  CHECK(amounts.at("cleared_columns") == 2);
  CHECK(amounts.at("outputs") == 12 * 2);
}

TEST_CASE("Instructions: rows of five pixels count steps of inputs, and rows that are gathered") {
  const auto terms = TermsOf(
      "graph g\ninput %x: i8[1,4,2,5] channels_last\nconst %w: i8[6,4,2,3] = random(1)\n"
      "const %m: f32[6] = random(2)\nconst %b: i32[6] = splat(0)\n"
      "%y: i8[1,6,2,5] channels_last = quantized_conv(%x, %w, %b, %m) {pads=[1,1,0,1], to=i8} "
      "@cpu/cpu.quantized_conv.dsp_fives\noutput %y\n",
      {});
  REQUIRE(terms);
  CHECK(terms->model == "cpu.quantized_conv.dsp_fives float");
  const auto amounts = AmountsOf(*terms);
  CHECK(amounts.at("pixel_steps") == 10 * 6);
  CHECK(amounts.at("outputs") == 2 * 6);
  CHECK(amounts.at("output_steps") == 2 * 6 * 6);
  CHECK(amounts.at("padding_rows") == 5);
  CHECK(amounts.at("edge_rows") == 3 * 2);
  CHECK(amounts.at("inside_rows") == 3 * 3);
  CHECK(amounts.at("row_bytes") == 20 * 12);
}

TEST_CASE("Instructions: over its input, part by part, a convolution does what its rows do apart") {
  const auto conv = [](int rows, const char* kernel, size_t workspace) {
    const std::string image = "i8[1,64," + std::to_string(rows) + ",8] channels_last";
    KernelCallFacts facts;
    facts.workspace_bytes = workspace;
    return TermsOf("graph g\ninput %x: " + image +
                       "\nconst %w: i8[64,64,3,3] = random(1)\nconst %m: f32[64] = random(2)\n"
                       "const %b: i32[64] = splat(0)\n%y: " +
                       image + " = quantized_conv(%x, %w, %b, %m) {pads=[1,1,1,1], to=i8} @cpu/" +
                       kernel + "\noutput %y\n",
                   facts);
  };
  constexpr size_t kRows = 2 * 8 * 64;  // one held back, and the one that is computed
  constexpr size_t kPart = 4608;
  const auto parts = conv(6, "cpu.quantized_conv.dsp_in_place", kRows + kPart);
  const auto row = conv(1, "cpu.quantized_conv.dsp", kPart);
  REQUIRE(parts);
  REQUIRE(row);
  CHECK(parts->model == row->model);
  const auto all = AmountsOf(*parts);
  const auto one = AmountsOf(*row);
  for (const char* const name :
       {"start", "operands", "factors", "passes", "pass_pairs", "products", "product_words"}) {
    CAPTURE(name);
    REQUIRE(one.count(name) == 1);
    CHECK(all.at(name) == 6 * one.at(name));
  }
  // What is stored and moved counts too.
  const auto widened = one.find("widened_words");
  CHECK(all.at("widened_words") >=
        12 * 8 * 64 / 4 + (widened == one.end() ? 0 : 6 * widened->second));
}

TEST_CASE("Instructions: over its input, Winograd's tiles are counted one by one") {
  const auto conv = [](const std::string& kernel, size_t workspace) {
    KernelCallFacts facts;
    facts.workspace_bytes = workspace;
    return TermsOf(
        "graph g\ninput %x: i8[1,64,6,8] channels_last\nconst %w: i8[64,64,3,3] = "
        "random(1)\nconst %m: f32[64] = random(2)\nconst %b: i32[64] = splat(0)\n"
        "%y: i8[1,64,6,8] channels_last = quantized_conv(%x, %w, %b, %m) "
        "{pads=[1,1,1,1], to=i8} @cpu/cpu.quantized_conv." +
            kernel + "\noutput %y\n",
        facts);
  };
  constexpr size_t kTile = 6144 + 3072 + 64;
  constexpr size_t kRows = 3 * 8 * 64;  // one held back, and the two that are computed
  const auto over_input = conv("dsp_winograd_in_place", kRows + kTile);
  const auto apart = conv("dsp_winograd", kTile);
  REQUIRE(over_input);
  REQUIRE(apart);
  CHECK(over_input->model == apart->model);
  const auto parts = AmountsOf(*over_input);
  const auto whole = AmountsOf(*apart);
  for (const char* const name : {"passes", "tiles", "products", "product_words"}) {
    CAPTURE(name);
    CHECK(parts.at(name) == whole.at(name));
  }
  for (const char* const name : {"start", "operands", "factors"}) {
    CAPTURE(name);
    CHECK(parts.at(name) == 3 * whole.at(name));
  }
  // With less, it goes as the other kernel over its input does.
  const auto less = conv("dsp_winograd_in_place", 8192);
  const auto direct = conv("dsp_in_place", 8192);
  REQUIRE(less);
  REQUIRE(direct);
  CHECK(less->model == direct->model);
  CHECK(AmountsOf(*less) == AmountsOf(*direct));
}

TEST_CASE("Instructions: sums rounded half to even are known with tables and without") {
  for (const size_t workspace : {0, 2048}) {
    KernelCallFacts facts;
    facts.workspace_bytes = workspace;
    const auto terms = TermsOf(
        "graph g\ninput %a: i8[40]\ninput %b: i8[40]\n%y: i8[40] = quantized_binary(%a, %b) "
        "{function=add, rounding=half_even, to=i8} @cpu/cpu.quantized_binary.dsp\noutput %y\n",
        facts);
    REQUIRE(terms);
    const std::string suffix = workspace == 0 ? " values" : "";
    CHECK(terms->model == "cpu.quantized_binary.dsp half_even" + suffix);
    CHECK(AmountsOf(*terms).at("elements") == 40);
  }
}

TEST_CASE("Instructions: what is no plan has no bound") {
  CHECK_FALSE(BoundInstructions(std::vector<uint8_t>(64)));
}

TEST_CASE("Instructions: without a bound, the kernels that lack one are named") {
  InstructionBound bound;
  bound.unknown = {"cpu.a.portable", "cpu.b.portable"};
  CHECK(Describe(bound) == "no bound is known for cpu.a.portable, cpu.b.portable");
  bound.most = 7;
  CHECK(Describe(bound) == "at most 7");
}

}  // namespace
}  // namespace tenon::converter
