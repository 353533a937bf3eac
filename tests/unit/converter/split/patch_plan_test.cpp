#include "converter/split/patch_plan.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>

#include "converter/ir/text.hpp"
#include "tests/support/parsed_graph.hpp"
#include "tests/unit/converter/split/chain_testing.hpp"
#include "tests/unit/converter/split/measure_arena.hpp"

namespace tenon::converter {
namespace {

using test::Hourglass;
using test::OutputsOf;
using test::RandomInputs;
using test::RandomNetwork;

constexpr int64_t kImage = 16 * 16 * 4 * 4;  // bytes of a wide image of the hourglass
constexpr int64_t kEnds = 2 * 16 * 4 * 4;    // of input and output

int64_t PortableArena(const Graph& graph) {
  MeasureOptions options;
  options.portable = true;
  const auto placed = PlaceGraph(graph, options);
  if (!placed.ok()) FAIL(placed.error().message);
  return placed->arena.bytes;
}

/// Most bytes of tensors alive at once; workspaces, of which the planner knows nothing, left out.
int64_t LiveTensorBytes(const Graph& graph) {
  MeasureOptions options;
  options.portable = true;
  const auto placed = PlaceGraph(graph, options);
  if (!placed.ok()) FAIL(placed.error().message);
  int64_t most = 0;
  for (size_t step = 0; step < placed->arena.steps.size(); ++step) {
    int64_t live = 0;
    for (const PlannedStorage& storage : placed->arena.storages) {
      const auto now = static_cast<int64_t>(step);
      const bool alive = storage.first_step <= now && now <= storage.last_step;
      live += alive && storage.root != kNone ? storage.bytes : 0;
    }
    most = std::max(most, live);
  }
  return most;
}

TEST_CASE("Memory plan: a graph that fits stays as it is") {
  Graph graph = Hourglass(1);
  const std::string before = PrintGraph(graph);
  const auto split = SplitForMemory(graph, 2 * kImage, {});
  REQUIRE(split.ok());
  CHECK(split->fits);
  CHECK(split->chains.empty());
  CHECK(split->unsplit_peak == 2 * kImage);
  CHECK(PrintGraph(graph) == before);
}

TEST_CASE("Memory plan: a target below what any cut reaches changes nothing and says so") {
  Graph graph = Hourglass(1);
  const std::string before = PrintGraph(graph);
  const auto split = SplitForMemory(graph, kEnds, {});
  REQUIRE(split.ok());
  CHECK(!split->fits);
  CHECK(PrintGraph(graph) == before);
}

TEST_CASE("Memory plan: the arena becomes as small as the estimate says, at every target") {
  const Graph graph = Hourglass(1);
  PatchPlanner planner(graph, {});
  const int64_t smallest = planner.SmallestTarget();
  CHECK(smallest < kImage);
  for (int64_t target = smallest; target < 2 * kImage; target += 256) {
    CAPTURE(target);
    const MemorySplit split = planner.Plan(target);
    REQUIRE(split.fits);
    CHECK(split.estimated_peak <= target);
    Graph patched = graph;
    REQUIRE(planner.Apply(patched).ok());
    CHECK(LiveTensorBytes(patched) <= target);
  }
  CHECK(!planner.Plan(smallest - smallest / 64).fits);
}

TEST_CASE("Memory plan: looser targets never cost more patches") {
  const Graph graph = Hourglass(1);
  PatchPlanner planner(graph, {});
  size_t ops = 1'000'000;
  for (int64_t target = planner.SmallestTarget(); target <= 2 * kImage; target += 512) {
    Graph patched = graph;
    REQUIRE(planner.Plan(target).fits);
    REQUIRE(planner.Apply(patched).ok());
    CHECK(patched.OpOrder().size() <= ops + 8);  // another policy may take a few ops more
    ops = std::min(ops, patched.OpOrder().size());
  }
  CHECK(ops == 3);
}

TEST_CASE("Memory plan: a batch is shared out before images are cut") {
  Graph graph = Hourglass(8);
  const auto split = SplitForMemory(graph, 8 * kEnds + 2 * kImage, {});
  REQUIRE(split.ok());
  REQUIRE(split->chains.size() == 1);
  CHECK(split->chains[0].dimension == SplitDimension::kBatch);
  CHECK(split->chains[0].ops == 3);
  CHECK(split->chains[0].copied_bytes == 0);
  CHECK(PortableArena(graph) <= 8 * kEnds + 2 * kImage);
}

TEST_CASE("Memory plan: an output of several channels is not held twice for its layout") {
  Graph graph = Parsed(R"(graph g
input %x: f32[1,1,32,16]
const %w: f32[32,1,3,3] = random(1)
const %u: f32[16,32,1,1] = random(2)
%a = conv(%x, %w) {pads=[1,1,1,1]}
%b = conv(%a, %u)
output %b
)");
  constexpr int64_t kOutput = int64_t{16} * 32 * 16 * 4;
  const auto fit = FitMemory(graph, 0, {}, MeasureWith({}));
  REQUIRE(fit.ok());
  REQUIRE(fit->split.chains.size() == 1);
  CHECK(fit->measured_bytes < kOutput * 3 / 2);
}

/// A U: an image of 8 channels waits while a path of half the resolution is computed, and is then
/// joined with what the path has made.
Graph WithSkipConnection() {
  return Parsed(R"(graph g
input %x: f32[1,1,32,32]
const %w: f32[8,1,3,3] = random(1)
const %v: f32[16,8,3,3] = random(1)
const %u: f32[16,16,3,3] = random(1)
const %t: f32[8,16,1,1] = random(1)
const %s: f32[4,16,3,3] = random(1)
const %r: f32[1,4,1,1] = random(1)
%skip = conv(%x, %w) {pads=[1,1,1,1]}
%half = max_pool(%skip) {kernel=[2,2], strides=[2,2]}
%b = conv(%half, %v) {pads=[1,1,1,1]}
%c = conv(%b, %u) {pads=[1,1,1,1]}
%d = conv(%c, %u) {pads=[1,1,1,1]}
%large: f32[1,16,32,32] = resize(%d) {coordinates=asymmetric, nearest=floor, sizes=[1,16,32,32], scales=[1,1,2,2]}
%e = conv(%large, %t)
%joined = concat(%skip, %e) {axis=1}
%f = conv(%joined, %s) {pads=[1,1,1,1]}
%y = conv(%f, %r)
output %y
)");
}

TEST_CASE("Memory plan: a skip connection waits on its own if its concatenation is cut") {
  const Graph graph = WithSkipConnection();
  constexpr int64_t kSkip = 8 * 32 * 32 * 4;  // bytes; its concatenation has twice as many
  constexpr int64_t kHalf = 16 * 16 * 16 * 4;
  constexpr int64_t kPorts = 2 * 32 * 32 * 4;
  PatchPlanner planner(graph, {});
  const int64_t target = kSkip + 2 * kHalf + kPorts;
  const MemorySplit split = planner.Plan(target);
  REQUIRE(split.fits);
  CHECK(split.chains.back().last_op == "y");
  Graph patched = graph;
  REQUIRE(planner.Apply(patched).ok());
  CHECK(LiveTensorBytes(patched) <= target);
  const auto inputs = RandomInputs(graph, 1);
  CHECK(OutputsOf(patched, inputs) == OutputsOf(graph, inputs));
}

/// Two times a pointwise convolution to eight times the channels, and one of 3 rows with a stride.
Graph Bottlenecks() {
  return Parsed(R"(graph g
input %x: f32[1,2,32,8]
const %wide: f32[16,2,1,1] = random(1)
const %narrow: f32[2,16,3,3] = random(2)
%a = conv(%x, %wide)
%b = conv(%a, %narrow) {strides=[2,2], pads=[1,1,1,1]}
%c = conv(%b, %wide)
%d = conv(%c, %narrow) {strides=[2,2], pads=[1,1,1,1]}
output %d
)");
}

TEST_CASE("Memory plan: narrow rows are kept where wide ones would need more") {
  MemorySplitOptions without;
  without.policies = {PatchPolicy::kKeepBuffer, PatchPolicy::kKeepRows, PatchPolicy::kRecompute};
  CHECK(SmallestTarget(Bottlenecks(), {}) < SmallestTarget(Bottlenecks(), without));
}

TEST_CASE("Memory plan: rows are made in steps where that needs less") {
  const Graph graph = Bottlenecks();
  PatchPlanner planner(graph, {});
  const MemorySplit split = planner.Plan(planner.SmallestTarget());
  REQUIRE(split.chains.size() == 1);
  CHECK(split.chains[0].last_op == "d");
  CHECK(split.chains[0].patching.parts > 8);  // rows of d
}

TEST_CASE("Memory plan: what is found does not depend on the targets asked for before") {
  const Graph graph = Bottlenecks();
  PatchPlanner asked_before(graph, {});
  int met = 0;
  for (int64_t target = asked_before.UnsplitPeak(); target > 0; target -= 32) {
    CAPTURE(target);
    const bool fits = PatchPlanner(graph, {}).Plan(target).fits;
    CHECK(asked_before.Plan(target).fits == fits);
    met += fits ? 1 : 0;
  }
  CHECK(met > 2);
}

/// Wide rows between narrow ones: windows of three of them are most of what patches need.
Graph WideRows() {
  return Parsed(R"(graph g
input %x: f32[1,1,16,64]
const %w: f32[8,1,3,3] = random(1)
const %v: f32[8,8,3,3] = random(1)
const %u: f32[1,8,1,1] = random(1)
%a = conv(%x, %w) {pads=[1,1,1,1]}
%b = conv(%a, %v) {strides=[2,2], pads=[1,1,1,1]}
%c = conv(%b, %u)
output %c
)");
}

TEST_CASE("Memory plan: tiles reach what patches of whole rows do not, with the same values") {
  const Graph graph = WideRows();
  MemorySplitOptions options;
  options.tiles = true;
  PatchPlanner planner(graph, options);
  REQUIRE(planner.MayMakeTiles());
  const int64_t rows = planner.SmallestTarget();
  const int64_t tiles = planner.SmallestTarget(CutInto::kTiles);
  CHECK(tiles < rows);
  CHECK_FALSE(planner.Plan(tiles).fits);
  const MemorySplit split = planner.Plan(tiles, CutInto::kTiles);
  REQUIRE(split.fits);
  REQUIRE(split.chains.size() == 1);
  CHECK(split.chains[0].patching.tiles > 1);
  Graph tiled = graph;
  REQUIRE(planner.Apply(tiled).ok());
  CHECK(PortableArena(tiled) <= tiles + tiles / 16);  // gaps and alignment
  const auto inputs = RandomInputs(graph, 5);
  CHECK(OutputsOf(tiled, inputs) == OutputsOf(graph, inputs));
}

TEST_CASE("Memory plan: tiles are made where a limit is not reached otherwise, and only there") {
  Graph whole_rows = WideRows();
  MemorySplitOptions options;
  options.tiles = true;
  PatchPlanner planner(whole_rows, options);
  const auto fit = [&](int64_t limit) {
    Graph cut;
    MeasureOptions measure;
    measure.portable = true;
    const auto found = FitMemory(planner, cut, limit, MeasureWith(measure));
    REQUIRE(found.ok());
    return *found;
  };
  const MemoryFit by_rows = fit(planner.UnsplitPeak() * 3 / 4);
  REQUIRE(by_rows.split.chains.size() == 1);
  CHECK(by_rows.split.chains[0].patching.tiles == 1);
  const MemoryFit smallest = fit(0);
  CHECK(smallest.measured_bytes < by_rows.measured_bytes);
  REQUIRE(smallest.split.chains.size() == 1);
  CHECK(smallest.split.chains[0].patching.tiles > 1);
}

TEST_CASE("Memory plan: random networks keep their values in the least tiles") {
  int tiled = 0;
  for (uint64_t seed = 2000; seed < 2060; ++seed) {
    CAPTURE(seed);
    const Graph graph = RandomNetwork(seed).Make(12, 1);
    const auto inputs = RandomInputs(graph, seed);
    PatchPlanner planner(graph, {});
    const int64_t smallest = planner.SmallestTarget(CutInto::kTiles);
    CHECK(smallest <= planner.SmallestTarget());
    if (smallest == planner.SmallestTarget()) continue;
    const MemorySplit split = planner.Plan(smallest, CutInto::kTiles);
    REQUIRE(split.fits);
    Graph cut = graph;
    REQUIRE(planner.Apply(cut).ok());
    CHECK(OutputsOf(cut, inputs) == OutputsOf(graph, inputs));
    for (const SplitChain& chain : split.chains) tiled += chain.patching.tiles > 1 ? 1 : 0;
  }
  CHECK(tiled > 10);
}

TEST_CASE("Memory plan: there are no tiles of an input that comes by rows") {
  Graph graph = WideRows();
  MemorySplitOptions options;
  options.tiles = true;
  options.outside = {{graph.inputs()[0].tensor, 2, graph.OpOrder()[0]}};
  CHECK_FALSE(PatchPlanner(graph, options).MayMakeTiles());
}

TEST_CASE("Memory plan: limits of the board are kept") {
  Graph graph = Hourglass(1);
  MemorySplitOptions options;
  options.limits.most_parts = 3;
  const int64_t coarse = SmallestTarget(graph, options);
  options.limits = {};
  options.limits.smallest_part_rows = 4;
  const int64_t tall = SmallestTarget(graph, options);
  const int64_t finest = SmallestTarget(graph, {});
  CHECK(finest < coarse);
  CHECK(finest < tall);
}

TEST_CASE("Memory plan: random networks keep their values under every target that is met") {
  SplitMix64 dice(11);
  int cut = 0;
  for (uint64_t seed = 1000; seed < 1120; ++seed) {
    CAPTURE(seed);
    Graph graph = RandomNetwork(seed).Make(12, 1 + static_cast<int32_t>(seed % 2));
    const auto inputs = RandomInputs(graph, seed);
    const auto expected = OutputsOf(graph, inputs);
    PatchPlanner planner(graph, {});
    const int64_t smallest = planner.SmallestTarget();
    const int64_t range = planner.UnsplitPeak() - smallest + 1;
    const MemorySplit split =
        planner.Plan(smallest + static_cast<int64_t>(dice.Next() % static_cast<uint64_t>(range)));
    REQUIRE(split.fits);
    Graph patched = graph;
    const Status status = planner.Apply(patched);
    REQUIRE_MESSAGE(status.ok(), status.error().message);
    CHECK(OutputsOf(patched, inputs) == expected);
    cut += split.chains.empty() ? 0 : 1;
  }
  CHECK(cut > 40);
}

TEST_CASE("Memory plan: the smallest target is met, however little the search may look at") {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    CAPTURE(seed);
    const Graph graph = RandomNetwork(seed).Make(16, 1);
    for (const int64_t budget : {500, 5'000, 100'000}) {
      CAPTURE(budget);
      MemorySplitOptions options;
      options.tiles = true;
      options.work_budget = budget;
      PatchPlanner planner(graph, options);
      for (const CutInto into : {CutInto::kPatches, CutInto::kTiles}) {
        const int64_t smallest = planner.SmallestTarget(into);
        CHECK(planner.Plan(smallest, into).fits);
      }
    }
  }
}

TEST_CASE("Memory plan: the same graph gives the same plan") {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Graph first = RandomNetwork(seed).Make(12, 1);
    Graph second = first;
    const int64_t target = SmallestTarget(first, {});
    REQUIRE(SplitForMemory(first, target, {}).ok());
    REQUIRE(SplitForMemory(second, target, {}).ok());
    CHECK(PrintGraph(first) == PrintGraph(second));
  }
}

TEST_CASE("Memory fit: aims lower until what is measured fits") {
  Graph graph = Hourglass(1);
  constexpr int64_t kOverhead = 1000;  // workspaces, say, that no estimate knows of
  const MeasureMemory measure = [](const Graph& cut, const MemorySplit&) -> Result<MeasuredCut> {
    return MeasuredCut(PortableArena(cut) + kOverhead);
  };
  const int64_t limit = kImage + kOverhead;
  const auto fit = FitMemory(graph, limit, {}, measure);
  REQUIRE(fit.ok());
  CHECK(fit->measured_bytes <= limit);
  CHECK(fit->tries >= 2);
  CHECK(!fit->split.chains.empty());
  CHECK(PortableArena(graph) + kOverhead == fit->measured_bytes);
}

TEST_CASE("Memory fit: an impossible limit leaves the graph that needs least") {
  Graph graph = Hourglass(1);
  const MeasureMemory measure = [](const Graph& cut, const MemorySplit&) -> Result<MeasuredCut> {
    return MeasuredCut(PortableArena(cut));
  };
  Graph smallest = graph;
  const auto least = FitMemory(smallest, 0, {}, measure);
  const auto fit = FitMemory(graph, 8, {}, measure);
  REQUIRE(least.ok());
  REQUIRE(fit.ok());
  CHECK(fit->measured_bytes > 8);
  CHECK(fit->measured_bytes < kImage);
  CHECK(least->measured_bytes == fit->measured_bytes);
}

TEST_CASE("Memory fit: comes close to the smallest target that is not too slow") {
  Graph graph = Hourglass(1);
  const int64_t smallest = SmallestTarget(graph, {});
  const int64_t fast = smallest + smallest * 27 / 64;
  const MeasureMemory measure = [&](const Graph&, const MemorySplit& split) -> Result<MeasuredCut> {
    return MeasuredCut(split.target_bytes < fast ? kTooSlow : split.target_bytes);
  };
  const auto fit = FitMemory(graph, 0, {}, measure);
  REQUIRE(fit.ok());
  CHECK(fit->measured_bytes >= fast);
  CHECK(fit->measured_bytes < fast + smallest / 64);
}

TEST_CASE("Memory fit: the cheapest that fits is cut for nearly the largest target that does") {
  // Aims at the limit all need one byte too much, down to targets that they do not reach.
  const int64_t smallest = SmallestTarget(Hourglass(1), {});
  const int64_t limit = 2 * smallest;
  const int64_t fits_below = smallest + smallest / 2;
  const MeasureMemory measure = [&](const Graph&, const MemorySplit& split) -> Result<MeasuredCut> {
    return MeasuredCut(split.target_bytes <= fits_below ? limit : limit + 1);
  };
  const auto target_of = [&](Wanted wanted) {
    Graph graph = Hourglass(1);
    const auto fit = FitMemory(graph, limit, {}, measure, wanted);
    REQUIRE(fit.ok());
    CHECK(fit->measured_bytes == limit);
    return fit->split.target_bytes;
  };
  CHECK(target_of(Wanted::kFirst) == smallest);
  const int64_t cheapest = target_of(Wanted::kCheapest);
  CHECK(cheapest <= fits_below);
  CHECK(cheapest > fits_below - smallest / 8);
}

TEST_CASE("Memory fit: what is known as the smallest does not stand for larger targets") {
  const MeasureMemory measure = [](const Graph&, const MemorySplit& split) {
    return Result<MeasuredCut>(split.estimated_peak);
  };
  MemorySplitOptions options;
  options.work_budget = 500;  // it finds little of what there is
  for (const auto& [seed, limit] : std::map<uint64_t, int64_t>{{23, 5888}, {58, 20'230}}) {
    const Graph graph = RandomNetwork(seed).Make(16, 1);
    Graph cut;
    PatchPlanner planner(graph, options);
    const int64_t finest = planner.Plan(planner.SmallestTarget()).cost;
    const auto fit = FitMemory(planner, cut, limit, measure, Wanted::kCheapest);
    CHECK((fit.ok() && fit->measured_bytes <= limit && fit->split.cost < finest));
  }
}

TEST_CASE("Memory fit: an error of the conversion comes through") {
  Graph graph = Hourglass(1);
  const MeasureMemory measure = [](const Graph&, const MemorySplit&) -> Result<MeasuredCut> {
    return InputError("no kernel");
  };
  const auto fit = FitMemory(graph, 1, {}, measure);
  CHECK((!fit.ok() && fit.error().message == "no kernel"));
}

TEST_CASE("Memory plan: ten thousand ops are planned in seconds") {
  Graph graph;
  const int32_t dims[] = {1, 4, 64, 8};
  const int32_t widen[] = {16, 4, 3, 3};
  const int32_t narrow[] = {4, 16, 3, 3};
  TensorId x = graph.AddTensor("x", DType::kF32, Shape(dims));
  graph.AddInput(x, "x");
  const std::vector<float> values(576, 0.1F);
  ConvAttributes attributes;
  std::fill(std::begin(attributes.pads), std::end(attributes.pads), 1);
  for (int i = 0; i < 10'000; ++i) {
    const Shape shape = i % 2 == 0 ? Shape(widen) : Shape(narrow);
    const TensorId w = graph.AddConstantOf("w", DType::kF32, shape, values);
    auto made = graph.AddOpTensor(OpKind::kConv, "conv", {x, w}, Attributes(attributes));
    REQUIRE(made.ok());
    x = *made;
  }
  graph.AddOutput(x, "y");
  const auto begin = std::chrono::steady_clock::now();
  const auto split = SplitForMemory(graph, graph.tensor(x).ByteSize() * 7 / 2, {});
  REQUIRE(split.ok());
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  CHECK(split->fits);
  CHECK(seconds.count() < 60);  // a few, when the machine has nothing else to do
  MESSAGE("10,000 convolutions: " << seconds.count() << " s");
}

}  // namespace
}  // namespace tenon::converter
