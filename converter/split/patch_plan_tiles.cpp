// Tries tiles: patches of a chain that are cut by width too.
#include <algorithm>

#include "converter/split/patch_plan_search.hpp"
#include "converter/split/patch_ranges.hpp"
#include "runtime/base/round_up.hpp"

namespace tenon::converter {
namespace {

constexpr int64_t kEffortOfColumns = 100;
constexpr int64_t kTilesPerPart = 2;  // tiles of a chain, over the most parts of one dimension
constexpr int64_t kMostOps = 2'600;   // of a chain's tiles: firmware refuses plans of many more

/// Returns the policies worth trying along one dimension: rows that are kept as narrow as possible,
/// or computed again. (A tile's whole buffer is never kept: others' parts of it would lie idle.)
std::vector<PatchPolicy> TilePolicies(const Chain& chain) {
  return {HasWideRows(chain) ? PatchPolicy::kKeepNarrow : PatchPolicy::kKeepRows,
          PatchPolicy::kRecompute};
}

/// Returns the numbers of tiles worth trying, ascending.
std::vector<int32_t> CountsOfTiles(const Chain& columns) {
  const int32_t width = columns.MostSharedRows();
  std::vector<int32_t> counts;
  for (int32_t size = width - 1; size >= 1; size -= std::max(1, size / 3)) {
    const auto tiles = static_cast<int32_t>(CeilDiv<int64_t>(width, size));
    if (tiles > 1 && (counts.empty() || counts.back() != tiles)) counts.push_back(tiles);
  }
  return counts;
}

}  // namespace

/// Returns the numbers of patches worth cutting into tiles: of four, two and one row of the tallest
/// exit, and those in steps.
std::vector<int32_t> MemoryPlanSearch::CountsOfTiledPatches(const Chain& chain,
                                                            PatchPolicy policy) const {
  const int32_t rows = chain.MostSharedRows();
  std::vector<int32_t> counts;
  for (const int32_t height : {4, 2, 1}) {
    const int32_t least = std::max(height, options_.limits.smallest_part_rows);
    const auto parts = static_cast<int32_t>(CeilDiv<int64_t>(rows, least));
    if (counts.empty() || counts.back() < parts) counts.push_back(parts);
  }
  const std::vector<int32_t> in_steps = CountsInSteps(chain, policy);
  counts.insert(counts.end(), in_steps.begin(), in_steps.end());
  return counts;
}

/// Takes the cheapest tiles that fit, of one policy along each dimension, if they are cheaper than
/// `best`. Returns true if `best` has changed.
bool MemoryPlanSearch::TryTilePolicy(const Chain& chain, int64_t target, Way way, Way& best,
                                     int64_t& least_peak) {
  bool found = false;
  for (const int32_t parts : CountsOfTiledPatches(chain, way.patching.policy)) {
    way.patching.parts = parts;
    for (const int32_t tiles : CountsOfTiles(*chain.columns)) {
      if (int64_t{parts} * tiles > kTilesPerPart * options_.limits.most_parts) break;
      way.patching.tiles = tiles;
      LookUp(chain, way);
      if (way.ops > kMostOps) break;
      least_peak = std::min(least_peak, way.peak);
      if (way.peak > target || way.cost >= best.cost) continue;
      best = way;
      found = true;
    }
  }
  return found;
}

/// Returns the bytes that are alive beside whatever tiles there are: what enters the chain, and its
/// exits.
int64_t MemoryPlanSearch::BytesBesideTiles(const Chain& chain) const {
  int64_t bytes = profile_.entering[static_cast<size_t>(chain.first)];
  for (size_t t = 0; t < chain.tensors.size(); ++t) {
    const ChainTensor& tensor = chain.tensors[t];
    if (chain.IsExit(t) && chain.source.id == kNone) bytes += tensor.row_bytes * tensor.rows;
  }
  return bytes + ExitsInLargerStorages(chain);
}

/// Tries tiles of a chain by height whose patches of whole rows need more than the target.
bool MemoryPlanSearch::TryTiles(const Chain& chain, int64_t target, Way way, Way& best) {
  int64_t& least_peak =
      least_tiled_.try_emplace({chain.first, chain.ops.size()}, BytesBesideTiles(chain))
          .first->second;
  if (least_peak > target) return false;
  Chain tiled = chain;
  int64_t least = INT64_MAX;
  bool found = false;
  effort_ += kEffortOfColumns * static_cast<int64_t>(chain.ops.size());
  if (ChainBuilder::AddColumns(graph_, order_, tiled)) {
    for (const PatchPolicy policy : TilePolicies(tiled)) {
      for (const PatchPolicy tile_policy : TilePolicies(*tiled.columns)) {
        if (IsOverdrawn()) return found;
        way.patching = {1, policy, 1, tile_policy};
        found = TryTilePolicy(tiled, target, way, best, least) || found;
      }
    }
  }
  least_peak = least;
  return found;
}

}  // namespace tenon::converter
