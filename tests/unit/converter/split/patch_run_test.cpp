// Patches as plans: views, halos and exits where the arena planner has put them.
#include "converter/emit/emit_plan.hpp"
#include "converter/split/chain_builder.hpp"
#include "converter/split/patch_rewrite.hpp"
#include "tests/unit/converter/split/chain_testing.hpp"
#include "tests/unit/converter/split/measure_arena.hpp"

namespace tenon::converter {
namespace {

using Arrays = std::vector<std::vector<std::byte>>;

/// A random chain of the network, cut at random. False: nothing could be cut.
bool CutAtRandom(Graph& graph, SplitMix64& dice) {
  const auto pick = [&](size_t count) { return dice.Next() % count; };
  const GraphOrder order(graph);
  if (order.ops.empty()) return false;
  const auto first = static_cast<int64_t>(pick((order.ops.size() + 1) / 2));
  const auto dimension = pick(6) == 0 ? SplitDimension::kBatch : SplitDimension::kHeight;
  ChainBuilder builder(graph, order, first, dimension);
  const size_t most = 2 + pick(10);
  while (builder.chain().ops.size() < most && builder.Add()) {
  }
  const Chain& chain = builder.chain();
  if (chain.ops.empty() || chain.tensors.back().rows < 2) return false;
  const auto parts = static_cast<int32_t>(2 + pick(static_cast<size_t>(chain.tensors[0].rows)));
  const Status status = CutIntoPatches(graph, {{&chain, {parts, kPatchPolicies[pick(3)]}}});
  REQUIRE_MESSAGE(status.ok(), status.error().message);
  return true;
}

Arrays RunAsPlan(const Graph& graph, const Arrays& inputs, bool portable) {
  MeasureOptions options;
  options.portable = portable;
  options.place_budget = 1000;
  const auto placed = PlaceGraph(graph, options);
  if (!placed.ok()) FAIL(placed.error().message);
  const auto plan = EmitPlan(placed->graph, placed->locations, placed->arena, EmitOptions{});
  if (!plan.ok()) FAIL(plan.error().message);
  const test::RunResult result = test::RunPlan(*plan, inputs, {portable, 1, false});
  REQUIRE_MESSAGE(result.error.empty(), result.error);
  return result.outputs;
}

TEST_CASE(
    "Patches: random networks run as plans of patches, on portable kernels and on fast ones") {
  SplitMix64 dice(23);
  int cut = 0;
  for (uint64_t seed = 0; seed < 250; ++seed) {
    CAPTURE(seed);
    const Graph whole = test::RandomNetwork(seed).Make(12, 1 + static_cast<int32_t>(seed % 3) / 2);
    Graph patched = whole;
    if (!CutAtRandom(patched, dice)) continue;
    ++cut;
    const Arrays inputs = test::RandomInputs(whole, seed);
    const Arrays expected = test::OutputsOf(whole, inputs);
    CHECK(RunAsPlan(patched, inputs, /*portable=*/true) == expected);
    const Arrays fast = RunAsPlan(patched, inputs, /*portable=*/false);
    REQUIRE(fast.size() == expected.size());
    for (size_t i = 0; i < fast.size(); ++i) {
      CHECK(test::RelativeDifference(fast[i], expected[i]) < 1e-4);
    }
  }
  CHECK(cut > 150);
}

}  // namespace
}  // namespace tenon::converter
