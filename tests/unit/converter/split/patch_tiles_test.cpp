// Patches that are cut by width too.
#include <algorithm>
#include <map>
#include <set>

#include "converter/split/chain_builder.hpp"
#include "converter/split/patch_profile.hpp"
#include "converter/split/patch_ranges.hpp"
#include "converter/split/patch_rewrite.hpp"
#include "tests/support/parsed_graph.hpp"
#include "tests/unit/converter/split/chain_testing.hpp"

namespace tenon::converter {
namespace {

using test::OutputsOf;
using test::RandomInputs;
using test::RandomNetwork;

constexpr PatchPolicy kTilePolicies[] = {PatchPolicy::kKeepRows, PatchPolicy::kKeepNarrow,
                                         PatchPolicy::kRecompute};

/// The chain by height of at most `most` ops from position `first`, with its columns; no ops if it
/// has none.
Chain TiledChain(const Graph& graph, int64_t first, size_t most) {
  const GraphOrder order(graph);
  ChainBuilder builder(graph, order, first, SplitDimension::kHeight);
  while (builder.chain().ops.size() < most && builder.Add()) {
  }
  Chain chain = builder.chain();
  if (!ChainBuilder::AddColumns(graph, order, chain)) chain.ops.clear();
  return chain;
}

/// Two convolutions of 3x3, padded, on 8x8 floats.
Graph PaddedConvolutions() {
  return Parsed(R"(graph g
input %x: f32[1,1,8,8]
const %w: f32[1,1,3,3] = random(1)
%a = conv(%x, %w) {pads=[1,1,1,1]}
%b = conv(%a, %w) {pads=[1,1,1,1]}
output %b
)");
}

using Pixel = std::pair<int32_t, int32_t>;

void AddAll(const Region& region, std::set<Pixel>& to) {
  for (int32_t row = region.rows.begin; row < region.rows.end; ++row) {
    for (int32_t column = region.columns.begin; column < region.columns.end; ++column) {
      to.emplace(row, column);
    }
  }
}

/// The pixels of every tensor that pixels of the exits need, found pixel by pixel.
std::vector<std::set<Pixel>> NeededPixels(const Chain& chain, const Patching& patching,
                                          int32_t part, int32_t tile) {
  std::vector<std::set<Pixel>> needed(chain.tensors.size());
  for (size_t k = chain.ops.size(); k-- > 0;) {
    if (chain.IsExit(k)) {
      AddAll({ExitShare(chain, k, patching.parts, part),
              ExitShare(*chain.columns, k, patching.tiles, tile)},
             needed[k]);
    }
    for (size_t i = 0; i < chain.ops[k].inputs.size(); ++i) {
      const ChainInput& by_rows = chain.ops[k].inputs[i];
      const ChainInput& by_columns = chain.columns->ops[k].inputs[i];
      if (by_rows.tensor < 0) continue;
      const auto source = static_cast<size_t>(by_rows.tensor);
      for (const auto& [row, column] : needed[k]) {
        AddAll({InputRange(by_rows.need, {row, row + 1}, chain.tensors[source].rows),
                InputRange(by_columns.need, {column, column + 1},
                           chain.columns->tensors[source].rows)},
               needed[source]);
      }
    }
  }
  return needed;
}

int Exits(const Chain& chain) {
  int exits = 0;
  for (size_t t = 0; t < chain.tensors.size(); ++t) exits += chain.IsExit(t) ? 1 : 0;
  return exits;
}

bool HasGranularity(const Chain& chain) {
  const auto is_coarse = [](const ChainOp& op) { return op.granularity != 1; };
  return std::any_of(chain.ops.begin(), chain.ops.end(), is_coarse) ||
         std::any_of(chain.columns->ops.begin(), chain.columns->ops.end(), is_coarse);
}

}  // namespace

TEST_CASE("Tiles: random chains compute bit by bit what the whole ops do, however they are cut") {
  SplitMix64 dice(17);
  const auto pick = [&](int32_t count) {
    return static_cast<int32_t>(dice.Next() % static_cast<uint64_t>(count));
  };
  int cut = 0;
  std::set<OpKind> kinds;
  for (uint64_t seed = 3000; seed < 3120; ++seed) {
    CAPTURE(seed);
    const Graph graph = RandomNetwork(seed).Make(2 + pick(12), 1);
    if (graph.OpOrder().empty()) continue;
    const int64_t first = pick(static_cast<int32_t>(graph.OpOrder().size()));
    const Chain chain = TiledChain(graph, first, static_cast<size_t>(1 + pick(10)));
    if (chain.ops.empty()) continue;
    const auto inputs = RandomInputs(graph, seed);
    const auto expected = OutputsOf(graph, inputs);
    for (const PatchPolicy policy : kTilePolicies) {
      for (const PatchPolicy tile_policy : kTilePolicies) {
        const int32_t steps = policy == PatchPolicy::kRecompute ? 1 : 2;
        Patching patching{1 + pick(steps * chain.MostSharedRows()), policy};
        patching.steps = 1 + pick(3);
        patching.tiles = 1 + pick(chain.columns->MostSharedRows());
        patching.tile_policy = tile_policy;
        CAPTURE(Name(policy));
        CAPTURE(patching.parts);
        CAPTURE(Name(tile_policy));
        CAPTURE(patching.tiles);
        Graph patched = graph;
        const Status status = CutIntoPatches(patched, {{&chain, patching}});
        REQUIRE_MESSAGE(status.ok(), status.error().message);
        const Status valid = Verify(patched);
        REQUIRE_MESSAGE(valid.ok(), valid.error().message);
        CHECK(OutputsOf(patched, inputs) == expected);
        cut += patching.tiles > 1 ? 1 : 0;
      }
    }
    for (const ChainOp& op : chain.ops) kinds.insert(graph.op(op.id).kind);
  }
  CHECK(cut > 300);
  CHECK(kinds.size() >= 7);
}

TEST_CASE("Tiles: what is computed again is the box around the pixels that a tile needs") {
  int looked_at = 0;
  for (uint64_t seed = 1; seed < 300; ++seed) {
    CAPTURE(seed);
    const Graph graph = RandomNetwork(seed).Make(8, 1);
    const Chain chain = TiledChain(graph, 0, 1 + seed % 8);
    // Of several exits, a tile may have rows of one and columns of another.
    if (chain.ops.empty() || HasGranularity(chain) || Exits(chain) != 1) continue;
    Patching patching{3, PatchPolicy::kRecompute};
    patching.tiles = 2;
    TileRanges ranges(chain, patching);
    std::vector<PatchRows> rows;
    std::vector<PatchRows> columns;
    for (int32_t part = 0; part < patching.parts; ++part) {
      ranges.Rows(part, rows);
      for (int32_t tile = 0; tile < patching.tiles; ++tile) {
        ranges.Columns(tile, columns);
        const auto needed = NeededPixels(chain, patching, part, tile);
        for (size_t t = 0; t < needed.size(); ++t) {
          if (needed[t].empty()) continue;
          std::set<int32_t> at_rows;
          std::set<int32_t> at_columns;
          for (const auto& [row, column] : needed[t]) {
            at_rows.insert(row);
            at_columns.insert(column);
          }
          CHECK(rows[t].New().begin == *at_rows.begin());
          CHECK(rows[t].New().end == *at_rows.rbegin() + 1);
          CHECK(columns[t].New().begin == *at_columns.begin());
          CHECK(columns[t].New().end == *at_columns.rbegin() + 1);
          ++looked_at;
        }
      }
    }
  }
  CHECK(looked_at > 150);
}

TEST_CASE(
    "Tiles: of rows and columns that are kept, every pixel is made once, and those needed are") {
  int looked_at = 0;
  for (uint64_t seed = 1; seed < 60; ++seed) {
    CAPTURE(seed);
    const Graph graph = RandomNetwork(seed).Make(8, 1);
    const Chain chain = TiledChain(graph, 0, 8);
    if (chain.ops.empty() || HasGranularity(chain)) continue;
    Patching patching{3, PatchPolicy::kKeepRows};
    patching.tiles = 2;
    patching.tile_policy = PatchPolicy::kKeepRows;
    TileRanges ranges(chain, patching);
    std::vector<std::map<Pixel, int>> made(chain.tensors.size());
    std::vector<PatchRows> rows;
    std::vector<PatchRows> columns;
    for (int32_t part = 0; part < patching.parts; ++part) {
      ranges.Rows(part, rows);
      for (int32_t tile = 0; tile < patching.tiles; ++tile) {
        ranges.Columns(tile, columns);
        for (size_t t = 0; t < made.size(); ++t) {
          std::set<Pixel> now;
          AddAll({rows[t].New(), columns[t].New()}, now);
          for (const Pixel& pixel : now) ++made[t][pixel];
        }
        const auto needed = NeededPixels(chain, patching, part, tile);
        for (size_t t = 0; t < needed.size(); ++t) {
          for (const Pixel& pixel : needed[t]) CHECK(made[t].count(pixel) == 1);
          looked_at += static_cast<int>(needed[t].size());
        }
      }
    }
    for (const auto& pixels : made) {
      for (const auto& [pixel, times] : pixels) CHECK(times == 1);
    }
  }
  CHECK(looked_at > 2000);
}

TEST_CASE("Tiles: an estimate by hand, of tiles that compute their borders again") {
  const Chain chain = TiledChain(PaddedConvolutions(), 0, 2);
  REQUIRE(chain.ops.size() == 2);
  Patching patching{4, PatchPolicy::kRecompute};
  patching.tiles = 4;
  const PatchEstimate estimate = EstimatePatches(chain, patching);
  CHECK(estimate.peak == (64 + 4 * 4) * 4);  // the exit, and a tile of 2x2 with its borders
  CHECK(estimate.copied_bytes == 0);
  CHECK(estimate.ops == 16 * 2);
  constexpr int64_t kRows = 3 + 4 + 4 + 3;  // of the first one's output, in four patches
  CHECK(estimate.recomputed_work == chain.ops[0].work * (kRows * kRows - 64) / 64);
}

TEST_CASE("Tiles: an estimate by hand, of rows that are kept for the next patch, tile by tile") {
  const Chain chain = TiledChain(PaddedConvolutions(), 0, 2);
  REQUIRE(chain.ops.size() == 2);
  Patching patching{4, PatchPolicy::kKeepRows};
  patching.tiles = 4;
  const PatchEstimate estimate = EstimatePatches(chain, patching);
  // The exit, a tile, and two rows of what each tile computes: 3 + 4 + 4 + 3 columns.
  CHECK(estimate.peak == (64 + 4 * 4 + 2 * 14) * 4);
  CHECK(estimate.copied_bytes == 3 * 2 * (2 * 14) * 4);  // moved twice between four patches
  CHECK(estimate.ops == 16 * 2 + 3 * 4 * 2);
  CHECK(estimate.recomputed_work == chain.ops[0].work * (14 - 8) / 8);
}

TEST_CASE("Tiles: an estimate by hand, of columns that are kept for the next tile") {
  const Chain chain = TiledChain(PaddedConvolutions(), 0, 2);
  REQUIRE(chain.ops.size() == 2);
  Patching patching{4, PatchPolicy::kRecompute};
  patching.tiles = 4;
  patching.tile_policy = PatchPolicy::kKeepRows;
  const PatchEstimate estimate = EstimatePatches(chain, patching);
  CHECK(estimate.peak == (64 + 4 * 4 + 4 * 2) * 4);  // two columns while they are moved
  CHECK(estimate.recomputed_work == chain.ops[0].work * (14 - 8) / 8);
  CHECK(estimate.ops == 16 * 2 + 4 * 3 * 2);
}

TEST_CASE("Tiles: a chain has columns only where all of its ops are cut by width too") {
  const Graph graph = Parsed(R"(graph g
input %x: f32[1,2,8,8]
%a = unary(%x) {function=relu}
%b = softmax(%a) {axis=3}
output %b
)");
  CHECK(TiledChain(graph, 0, 1).ops.size() == 1);
  CHECK(TiledChain(graph, 0, 2).ops.empty());
}

}  // namespace tenon::converter
