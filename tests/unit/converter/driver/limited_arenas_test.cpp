// Plans for devices that give no piece of memory as large as the arena: several arenas, which pass
// the plan check and compute the same.
#include <doctest/doctest.h>

#include "converter/driver/pipeline.hpp"
#include "runtime/format/plan_view.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/support/plan_bytes.hpp"
#include "tests/support/random_graph.hpp"
#include "tests/support/run_plan.hpp"

namespace tenon::test {
namespace {

using converter::ConvertOptions;
using converter::Graph;

/// The bytes of every arena of every program.
std::vector<int64_t> ArenasOf(const std::vector<uint8_t>& plan_bytes) {
  const PlanBytes bytes(plan_bytes);
  const auto plan = PlanView::Open({static_cast<const uint8_t*>(bytes.data()), bytes.size()});
  REQUIRE(plan.ok());
  std::vector<int64_t> arenas;
  for (size_t i = 0; i < plan->program_count(); ++i) {
    for (size_t j = 0; j < plan->program(i).arena_count(); ++j) {
      arenas.push_back(static_cast<int64_t>(ArenaBytes(plan->program(i).arena(j))));
    }
  }
  return arenas;
}

TEST_CASE("ConvertGraph: on a device of small pieces random graphs have several arenas") {
  size_t several = 0;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    CAPTURE(seed);
    const Graph graph = RandomGraph(seed);
    ConvertOptions options = OptionsFor();
    const auto whole = converter::ConvertGraph(graph, options);
    REQUIRE(whole.ok());
    const int64_t limit = whole->memory.arena_bytes * 2 / 3;
    options.board.memory_spaces[0].largest_allocation_bytes = std::max<int64_t>(limit, 64);
    const auto limited = converter::ConvertGraph(graph, options);
    if (!limited.ok()) {
      CHECK(limited.error().kind == converter::ErrorKind::kDoesNotFit);
      CHECK(limited.error().message.find("in one piece") != std::string::npos);
      continue;
    }
    const std::vector<int64_t> arenas = ArenasOf(limited->plan);
    for (const int64_t bytes : arenas) CHECK(bytes <= std::max<int64_t>(limit, 64));
    several += arenas.size() > 1 ? 1 : 0;
    const auto inputs = RandomInputs(graph, seed);
    const RunResult expected = RunPlan(whole->plan, inputs);
    const RunResult result = RunPlan(limited->plan, inputs);
    REQUIRE_MESSAGE(expected.error.empty(), expected.error);
    REQUIRE_MESSAGE(result.error.empty(), result.error);
    CHECK(result.outputs == expected.outputs);
  }
  CHECK(several > 30);
}

}  // namespace
}  // namespace tenon::test
