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
