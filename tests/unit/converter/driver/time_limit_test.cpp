// Conversions that have run out of time: still right, and said to be cut short.
#include "converter/time_limit.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "converter/driver/pipeline.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/support/evaluate_graph.hpp"
#include "tests/unit/converter/driver/conv_chain.hpp"

namespace tenon::converter {
namespace {

ConvertOptions WithRam(int64_t bytes) {
  ConvertOptions options = test::OptionsFor();
  options.board.units[0].portable_kernels_only = true;
  options.board.FindSpace("ram")->bytes = bytes;
  return options;
}

TEST_CASE("Time limit: none leaves all work to be done") {
  CHECK_FALSE(TimeLimit().Passed());
  CHECK(TimeLimit().Within(INT64_MAX, 1) == INT64_MAX);
}

TEST_CASE("Time limit: work is what there is time for, and one unit after the end") {
  CHECK_FALSE(TimeLimit::After(1000).Passed());
  CHECK(TimeLimit::After(1000).Within(5, 1) == 5);
  const int64_t within = TimeLimit::After(1000).Within(INT64_MAX, 1e-3);
  CHECK(within > 900'000);
  CHECK(within <= 1'000'000);
  CHECK(TimeLimit::After(0).Passed());
  CHECK(TimeLimit::After(0).Within(1'000'000, 1e-6) == 1);
  CHECK_FALSE(TimeLimit::After(1e300).Passed());
}

TEST_CASE("Time limit: a conversion without any time gives the same bits, and says so") {
  const Graph graph = Parsed(kChain);
  const auto whole = ConvertGraph(graph, WithRam(int64_t{1} << 30));
  REQUIRE(whole.ok());
  CHECK_FALSE(whole->cut_short);
  ConvertOptions hasty = WithRam(whole->memory.arena_bytes / 2);
  hasty.compile.time_limit = TimeLimit::After(0);
  const auto cut = ConvertGraph(graph, hasty);
  REQUIRE(cut.ok());
  CHECK(cut->cut_short);
  CHECK(cut->memory.arena_bytes <= whole->memory.arena_bytes / 2);
  const auto inputs = test::RandomInputs(graph, 1);
  CHECK(Outputs(*cut, inputs) == Outputs(*whole, inputs));
}

TEST_CASE("Time limit: what does not fit then is said to be found without much of a search") {
  ConvertOptions options = WithRam(1000);
  options.compile.time_limit = TimeLimit::After(0);
  const auto refused = ConvertGraph(Parsed(kChain), options);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().kind == ErrorKind::kDoesNotFit);
  const auto& details = refused.error().details;
  const auto says = [&](const char* words) {
    return std::any_of(details.begin(), details.end(), [&](const std::string& detail) {
      return detail.find(words) != std::string::npos;
    });
  };
  CHECK(says("the smallest limit that was found in time is --memory-limit"));
  CHECK(says("cut short by the time limit: with more time less memory may do"));
  CHECK_FALSE(says("the smallest limit that works"));
}

}  // namespace
}  // namespace tenon::converter
