// Patches as plans: views, halos and exits where the arena planner has put them.
#include "converter/emit/emit_plan.hpp"
#include "converter/split/chain_builder.hpp"
#include "converter/split/patch_rewrite.hpp"
#include "tests/unit/converter/split/chain_testing.hpp"
#include "tests/unit/converter/split/measure_arena.hpp"

namespace tenon::converter {
namespace {

using Arrays = std::vector<std::vector<std::byte>>;

/// A random chain of the network, cut at random, by width too or not. False: nothing could be cut.
bool CutAtRandom(Graph& graph, CutInto into, SplitMix64& dice) {
  const auto pick = [&](size_t count) { return dice.Next() % count; };
  const GraphOrder order(graph);
  if (order.ops.empty()) return false;
  const auto first = static_cast<int64_t>(pick((order.ops.size() + 1) / 2));
  const bool by_batch = into == CutInto::kPatches && pick(6) == 0;
  const auto dimension = by_batch ? SplitDimension::kBatch : SplitDimension::kHeight;
  ChainBuilder builder(graph, order, first, dimension);
  const size_t most = 2 + pick(10);
  while (builder.chain().ops.size() < most && builder.Add()) {
  }
  Chain chain = builder.chain();
  if (chain.ops.empty() || chain.tensors.back().rows < 2) return false;
  const auto parts = static_cast<int32_t>(2 + pick(static_cast<size_t>(chain.tensors[0].rows)));
  Patching patching{parts, kPatchPolicies[pick(3)]};
  patching.steps = static_cast<int32_t>(1 + pick(3));
  if (into == CutInto::kTiles) {
    if (!ChainBuilder::AddColumns(graph, order, chain)) return false;
    patching.tiles =
        static_cast<int32_t>(1 + pick(static_cast<size_t>(chain.columns->MostSharedRows())));
    patching.tile_policy = kPatchPolicies[pick(4)];
  }
  const Status status = CutIntoPatches(graph, {{&chain, patching}});
  REQUIRE_MESSAGE(status.ok(), status.error().message);
  return true;
}

struct Ran {
  Arrays outputs;
  int64_t bytes = 0;  ///< of the arena
};

Ran RunAsPlan(const Graph& graph, const Arrays& inputs, bool portable, bool follow) {
  MeasureOptions options;
  options.portable = portable;
  options.follow = follow;
  options.place_budget = 1000;
  const auto placed = PlaceGraph(graph, options);
  if (!placed.ok()) FAIL(placed.error().message);
  const auto plan = EmitPlan(placed->graph, placed->locations, placed->arena, EmitOptions{});
  if (!plan.ok()) FAIL(plan.error().message);
  const test::RunResult result = test::RunPlan(*plan, inputs, {portable, 1, false});
  REQUIRE_MESSAGE(result.error.empty(), result.error);
  return {result.outputs, placed->arena.bytes};
}

struct Cuts {
  int all = 0;
  int smaller = 0;  ///< whose arena is smaller where storages may follow others
};

/// Of some networks, cut and run by portable kernels and by fast ones.
Cuts RunCut(CutInto into, uint64_t networks) {
  SplitMix64 dice(23);
  Cuts cuts;
  for (uint64_t seed = 0; seed < networks; ++seed) {
    CAPTURE(seed);
    const Graph whole = test::RandomNetwork(seed).Make(12, 1 + static_cast<int32_t>(seed % 3) / 2);
    Graph patched = whole;
    if (!CutAtRandom(patched, into, dice)) continue;
    ++cuts.all;
    const Arrays inputs = test::RandomInputs(whole, seed);
    const Arrays expected = test::OutputsOf(whole, inputs);
    const Ran apart = RunAsPlan(patched, inputs, /*portable=*/true, /*follow=*/false);
    const Ran follows = RunAsPlan(patched, inputs, /*portable=*/true, /*follow=*/true);
    CHECK(apart.outputs == expected);
    CHECK(follows.outputs == expected);
    CHECK(follows.bytes <= apart.bytes);
    cuts.smaller += follows.bytes < apart.bytes ? 1 : 0;
    const Arrays fast = RunAsPlan(patched, inputs, /*portable=*/false, /*follow=*/true).outputs;
    REQUIRE(fast.size() == expected.size());
    for (size_t i = 0; i < fast.size(); ++i) {
      CHECK(test::RelativeDifference(fast[i], expected[i]) < 1e-4);
    }
  }
  return cuts;
}

TEST_CASE(
    "Patches: random networks run as plans of patches, on portable kernels and on fast ones") {
  const Cuts cuts = RunCut(CutInto::kPatches, 250);
  MESSAGE(cuts.all << " cut, " << cuts.smaller << " smaller where storages follow others");
  CHECK(cuts.all > 150);
  CHECK(cuts.smaller > 10);
}

TEST_CASE("Tiles: random networks run as plans of tiles, on portable kernels and on fast ones") {
  const Cuts cuts = RunCut(CutInto::kTiles, 150);
  MESSAGE(cuts.all << " cut, " << cuts.smaller << " smaller where storages follow others");
  CHECK(cuts.all > 60);
}

}  // namespace
}  // namespace tenon::converter
