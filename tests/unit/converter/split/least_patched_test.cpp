#include "converter/split/least_patched.hpp"

#include "tests/support/parsed_graph.hpp"
#include "tests/unit/converter/split/chain_testing.hpp"
#include "tests/unit/converter/split/measure_arena.hpp"

namespace tenon::converter {
namespace {

/// Lets the first reader of the input read a copy, which comes by rows.
OutsideInputs ByRows(Graph& graph, int32_t rows) {
  const TensorId input = graph.inputs()[0].tensor;
  const std::vector<OpId> readers = graph.Consumers(input);
  const auto copy =
      graph.InsertOp(readers.front(), OpKind::kCopy, "rows", {input}, Attributes(), {"rows"});
  REQUIRE(copy.ok());
  for (const OpId reader : readers) {
    for (size_t i = 0; i < graph.op(reader).inputs.size(); ++i) {
      if (graph.op(reader).inputs[i] == input) {
        graph.SetInput(reader, i, graph.op(*copy).outputs[0]);
      }
    }
  }
  return {{input, rows, *copy}};
}

/// Windows of 3 rows over 6 rows of 8 bytes, all of which are summed up to 4 bytes.
constexpr char kSummed[] = R"(graph g
input %x: f32[1,1,6,2]
const %w: f32[1,1,3,1] = random(1)
%a = conv(%x, %w) {pads=[1,0,1,0]}
%y = reduce(%a) {function=sum, axes_mask=12}
output %y
)";

}  // namespace

TEST_CASE("FindLeastPatched: inputs that lie in the arena") {
  const LeastPatched least = FindLeastPatched(Parsed(kSummed), {});
  CHECK(least.bytes == 6 * 8);
  CHECK(least.reason == "the inputs");
}

TEST_CASE("FindLeastPatched: of rows that come, those that windows reach back to, and a sum") {
  Graph graph = Parsed(kSummed);
  const OutsideInputs outside = ByRows(graph, 1);
  const LeastPatched least = FindLeastPatched(graph, outside);
  CHECK(least.bytes == 2 * 8 + 4 + 8);  // two rows of x, the sum so far, and the next row
  CHECK(least.reason == "what is kept of 3 rows of the input, and the next 1");
}

TEST_CASE("FindLeastPatched: rows of a wide image that a window needs") {
  Graph graph = Parsed(R"(graph g
input %x: f32[1,1,6,2]
const %w: f32[8,1,1,1] = random(1)
const %v: f32[1,8,3,1] = random(1)
%a = conv(%x, %w)
%y = conv(%a, %v) {pads=[1,0,1,0]}
output %y
)");
  const OutsideInputs memory = {{graph.inputs()[0].tensor, 0, kNone}};
  const LeastPatched least = FindLeastPatched(graph, memory);
  CHECK(least.bytes == 3 * 64);
  // By rows, narrow rows of x are kept instead of wide ones; the rows of a must be there still.
  CHECK(FindLeastPatched(graph, ByRows(graph, 1)).bytes == 3 * 64);
}

TEST_CASE("FindLeastPatched: of tiles, the window of a pixel alone") {
  Graph graph = Parsed(R"(graph g
input %x: f32[1,1,6,9]
const %w: f32[64,1,1,1] = random(1)
const %v: f32[1,64,3,3] = random(1)
%a = conv(%x, %w)
%y = conv(%a, %v) {pads=[1,1,1,1]}
output %y
)");
  const OutsideInputs memory = {{graph.inputs()[0].tensor, 0, kNone}};
  const LeastPatched least = FindLeastPatched(graph, memory, CutInto::kTiles);
  CHECK(least.bytes == 3 * 3 * 64 * 4);
  CHECK(FindLeastPatched(graph, memory).bytes == 3 * 9 * 64 * 4);
}

TEST_CASE("FindLeastPatched: no patches of random networks need less, and some need little more") {
  int patched = 0;
  int near = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Graph graph = test::RandomNetwork(seed).Make(8, /*batch=*/1);
    MemorySplitOptions options;
    if (seed % 2 == 0) options.outside = ByRows(graph, 1 + static_cast<int32_t>(seed % 3));
    // Of those that do not come by rows, every second one is cut into tiles.
    const CutInto into = seed % 4 == 1 ? CutInto::kTiles : CutInto::kPatches;
    const LeastPatched least = FindLeastPatched(graph, options.outside, into);
    const Graph uncut = graph;
    PatchPlanner planner(uncut, options);
    const MemorySplit split = planner.Plan(planner.SmallestTarget(into), into);
    const Status applied = planner.Apply(graph);
    REQUIRE_MESSAGE(applied.ok(), applied.error().message);
    std::vector<PassReport> passes;
    LowerOptions lower;
    lower.kernels.portable_only = true;
    auto lowered = Lower(graph, lower, passes);
    REQUIRE(lowered.ok());
    ArenaOptions arena;
    arena.outside = options.outside;
    const int64_t bytes = PlanArena(graph, lowered->locations, arena).bytes;
    CAPTURE(seed);
    CAPTURE(least.reason);
    CHECK(least.bytes <= bytes);
    patched += split.chains.empty() ? 0 : 1;
    near += bytes < 2 * least.bytes ? 1 : 0;
  }
  CHECK(patched > 10);
  CHECK(near > 10);
}

}  // namespace tenon::converter
