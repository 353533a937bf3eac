#include "converter/split/patch_plan_search.hpp"

#include <algorithm>

#include "converter/split/patch_ranges.hpp"
#include "runtime/base/round_up.hpp"

namespace tenon::converter {
namespace {

constexpr SplitDimension kDimensions[] = {SplitDimension::kBatch, SplitDimension::kHeight,
                                          SplitDimension::kWidth};

constexpr size_t kEveryChain =
    512;  // number of cuts up to which every chain of a graph is examined
constexpr int kPatience = 12;
constexpr int64_t kMostSavedBySteps = 2;  // factor on what patches need, at most

constexpr int64_t kEffortOfGrowing = 100;
constexpr int64_t kEffortOfPrefix = 3;

/// Returns true if there are rows to divide and patches of the last op's output are views: columns
/// of an image are not contiguous, so that few kernels accept them.
bool CanBeCut(const Graph& graph, const Chain& chain) {
  if (chain.tensors[0].rows < 2) return false;
  const ChainTensor& last = chain.tensors.back();
  const Shape& shape = graph.tensor(last.id).shape;
  return chain.dimension != SplitDimension::kWidth || shape.rank != 4 || last.axis != 3 ||
         shape[2] == 1;
}

}  // namespace

int64_t PlanOfChains::Cost() const {
  int64_t cost = 0;
  for (const PlannedChain& chain : chains) cost += chain.cost;
  return cost;
}

MemoryPlanSearch::MemoryPlanSearch(const Graph& graph, const MemorySplitOptions& options,
                                   WaitingParts waiting)
    : graph_(graph),
      options_(options),
      order_(graph, options.in_place, options.outside),
      profile_(graph, order_, waiting) {
  ChooseCuts();
}

/// Chooses every position of a small graph; of a large one, those across which the fewest bytes are
/// alive.
void MemoryPlanSearch::ChooseCuts() {
  constexpr int64_t kMostCuts = 16'384;
  const auto steps = static_cast<int64_t>(order_.ops.size());
  const int64_t stretch = std::max<int64_t>(1, steps / kMostCuts);
  cuts_.push_back(0);
  for (int64_t begin = 1; begin < steps; begin += stretch) {
    const int64_t end = std::min(begin + stretch, steps);
    int64_t best = begin;
    for (int64_t position = begin; position < end; ++position) {
      const auto live = [&](int64_t p) { return profile_.entering[static_cast<size_t>(p)]; };
      if (live(position) < live(best)) best = position;
    }
    cuts_.push_back(best);
  }
  if (steps > 0) cuts_.push_back(steps);
  for (size_t i = 0; i + 1 < cuts_.size(); ++i) {
    const auto live = profile_.at_step.begin();
    whole_peak_.push_back(*std::max_element(live + cuts_[i], live + cuts_[i + 1]));
  }
}

int64_t MemoryPlanSearch::CostOf(const PatchEstimate& estimate) const {
  constexpr int64_t kBytesPerCopied = 2;  // read and written
  // Of tiles there are so many that it matters: a copy has next to nothing to prepare.
  constexpr double kOfMove = 0.25;
  const bool tiles = into_ == CutInto::kTiles;
  const PatchPrices& prices = tiles ? options_.tile_prices : options_.prices;
  const auto moves = static_cast<double>(estimate.moves);
  const double ops = static_cast<double>(estimate.ops) - (tiles ? (1 - kOfMove) * moves : 0);
  return estimate.copied_bytes * kBytesPerCopied +
         static_cast<int64_t>(prices.bytes_per_work *
                              static_cast<double>(estimate.recomputed_work)) +
         static_cast<int64_t>(prices.bytes_per_op * ops);
}

/// Returns the chain of `count` ops from a position, or none. Chains grow on demand.
std::optional<Chain> MemoryPlanSearch::ChainOf(int64_t first, SplitDimension dimension,
                                               size_t count) {
  const auto key = std::make_pair(first, static_cast<int>(dimension));
  auto found = growing_.find(key);
  if (found == growing_.end()) {
    found = growing_.try_emplace(key, ChainBuilder(graph_, order_, first, dimension)).first;
  }
  Growing& growing = found->second;
  const Chain& chain = growing.builder.chain();
  while (!growing.ended && chain.ops.size() < count) {
    effort_ += kEffortOfGrowing;
    growing.ended = !growing.builder.Add() || !CanBeCut(graph_, chain);
    if (growing.ended) break;
    growing.usable = chain.ops.size();
  }
  if (growing.usable + 1 >= count && count > 1) {
    Chain summed = chain.Prefix(count - 1);
    if (ChainBuilder::Accumulate(graph_, order_, summed)) return summed;
  }
  if (growing.usable < count) return std::nullopt;
  effort_ += kEffortOfPrefix * static_cast<int64_t>(count);
  Chain prefix = chain.Prefix(count);
  if (options_.follow) FindSource(prefix);
  return prefix;
}

void MemoryPlanSearch::FindSource(Chain& chain) const {
  const auto storage_of = [&](TensorId id) -> const LiveProfile::Storage& {
    return profile_.storages[static_cast<size_t>(id)];
  };
  const LiveProfile::Storage& exit = storage_of(chain.tensors.back().id);
  if (exit.begin < chain.first || exit.bytes != graph_.tensor(chain.tensors.back().id).ByteSize()) {
    return;
  }
  const auto is_last = [&](TensorId id) {
    const LiveProfile::Storage& storage = storage_of(id);
    return storage.last < chain.end() && storage.bytes == graph_.tensor(id).ByteSize();
  };
  ChainBuilder::FindSource(graph_, order_, is_last, chain);
}

/// Returns the numbers of patches worth trying, ascending: each is the smallest for its number of
/// rows per patch of the tallest exit.
std::vector<int32_t> MemoryPlanSearch::PartCounts(const Chain& chain) const {
  const int32_t rows = chain.MostSharedRows();
  std::vector<int32_t> counts;
  const int32_t least = std::max<int32_t>(1, options_.limits.smallest_part_rows);
  for (int32_t height = rows - 1; height >= least;) {
    const auto parts = static_cast<int32_t>(CeilDiv<int64_t>(rows, height));
    if (parts > options_.limits.most_parts) break;
    if (counts.empty() || counts.back() != parts) counts.push_back(parts);
    // Reduces the rows by a quarter each time; tries every number once they are small.
    height -= std::max<int32_t>(1, height / 4);
  }
  return counts;
}

/// Returns the numbers of patches that add one row of the tallest exit in several steps, ascending;
/// none where no tensor inside the chain is taller.
std::vector<int32_t> MemoryPlanSearch::CountsInSteps(const Chain& chain, PatchPolicy policy) const {
  constexpr int32_t kMostSteps = 4;
  if (policy == PatchPolicy::kRecompute || options_.limits.smallest_part_rows > 1) return {};
  const int64_t rows = chain.MostSharedRows();
  int64_t tallest = 0;
  for (const ChainTensor& tensor : chain.tensors) {
    tallest = std::max<int64_t>(tallest, tensor.rows);
  }
  std::vector<int32_t> counts;
  for (int64_t steps = 2; steps <= kMostSteps && rows * steps <= tallest; steps *= 2) {
    if (rows * steps > options_.limits.most_parts) break;
    counts.push_back(static_cast<int32_t>(rows * steps));
  }
  return counts;
}

/// Returns in how many steps shares of few rows are tried. Where an op has a stride, those before
/// it make more rows than the exits get.
int32_t MemoryPlanSearch::MostSteps(const Chain& chain, PatchPolicy policy, int32_t parts) const {
  constexpr int32_t kFewRows = 4;
  const int32_t rows = chain.MostSharedRows();
  const bool has_stride =
      std::any_of(chain.tensors.begin(), chain.tensors.end(),
                  [rows](const ChainTensor& tensor) { return tensor.rows / 2 >= rows; });
  const bool few = parts < rows && CeilDiv(rows, parts) <= kFewRows;
  return options_.follow && policy != PatchPolicy::kRecompute && has_stride && few ? 2 : 1;
}

/// Returns the extra bytes of exits that are parts of storages reaching beyond the chain, such as
/// concatenations: the whole storage if it begins in the chain; nothing if it is alive before.
int64_t MemoryPlanSearch::ExitsInLargerStorages(const Chain& chain) const {
  int64_t more = 0;
  std::vector<TensorId> counted;
  for (size_t t = 0; t < chain.tensors.size(); ++t) {
    if (!chain.IsExit(t)) continue;
    const ChainTensor& tensor = chain.tensors[t];
    const LiveProfile::Storage& storage = profile_.storages[static_cast<size_t>(tensor.id)];
    more -= tensor.row_bytes * tensor.rows;
    const bool is_new = std::find(counted.begin(), counted.end(), storage.root) == counted.end();
    if (storage.begin < chain.first || !is_new) continue;
    counted.push_back(storage.root);
    more += storage.bytes;
  }
  return more;
}

PlannedChain MemoryPlanSearch::Evaluate(const Chain& chain, const Patching& patching) {
  PlannedChain planned;
  planned.patching = patching;
  planned.estimate = EstimatePatches(chain, patching);
  effort_ += planned.estimate.effort;
  planned.cost = CostOf(planned.estimate);
  planned.peak = planned.estimate.peak + profile_.entering[static_cast<size_t>(chain.first)];
  planned.peak += ExitsInLargerStorages(chain);
  return planned;
}

/// Sets the peak and the cost of a way.
void MemoryPlanSearch::LookUp(const Chain& chain, Way& way) {
  const Patching& patching = way.patching;
  const Key key{chain.first,
                static_cast<size_t>(chain.end() - chain.first),
                static_cast<int>(chain.dimension),
                patching.parts,
                static_cast<int>(patching.policy),
                patching.tiles,
                static_cast<int>(patching.tile_policy),
                patching.steps};
  const auto [found, is_new] = known_[static_cast<size_t>(into_)].try_emplace(key);
  if (is_new) {
    const PlannedChain planned = Evaluate(chain, patching);
    found->second = {planned.peak, planned.cost, planned.estimate.ops};
  }
  way.peak = found->second.peak;
  way.cost = found->second.cost;
  way.ops = found->second.ops;
}

/// Takes the fewest patches that fit if that is cheaper than `best`. Returns true if `best` has
/// changed. Lowers `least_peak` to what the finest patches need.
bool MemoryPlanSearch::TryPolicy(const Chain& chain, int64_t target, Way way, Way& best,
                                 int64_t& least_peak) {
  const auto take_first = [&](const std::vector<int32_t>& counts) {
    for (const int32_t parts : counts) {
      for (int32_t steps = 1; steps <= MostSteps(chain, way.patching.policy, parts); ++steps) {
        way.patching.parts = parts * steps;
        way.patching.steps = steps;
        LookUp(chain, way);
        if (way.cost >= best.cost) return false;
        if (way.peak > target) continue;
        best = way;
        return true;
      }
    }
    return false;
  };
  const std::vector<int32_t> counts = PartCounts(chain);
  if (counts.empty()) return false;
  way.patching.parts = counts.back();
  LookUp(chain, way);
  // Steps save parts of what is inside a chain, and are examined where that may be enough.
  const std::vector<int32_t> in_steps = CountsInSteps(chain, way.patching.policy);
  const int64_t least = in_steps.empty() ? way.peak : way.peak / kMostSavedBySteps;
  least_peak = std::min(least_peak, least);
  if (way.peak <= target) return take_first(counts);  // the finest need the least, as a rule
  return least <= target && take_first(in_steps);
}

/// Tries all policies on a chain that is cut along one dimension.
bool MemoryPlanSearch::TryPolicies(const Chain& chain, int64_t target, Way way, Way& best) {
  bool found = false;
  int64_t least_peak = INT64_MAX;
  for (const PatchPolicy policy : options_.policies) {
    if (policy == PatchPolicy::kRecompute && !chain.MayRecompute()) continue;
    if (policy == PatchPolicy::kKeepNarrow && !HasWideRows(chain)) continue;
    if (IsOverdrawn()) return found;
    way.patching = {1, policy};
    found = TryPolicy(chain, target, way, best, least_peak) || found;
    if (chain.dimension == SplitDimension::kBatch) break;  // all policies are the same
  }
  const auto count = static_cast<size_t>(chain.end() - chain.first);
  least_peaks_.try_emplace({chain.first, count, static_cast<int>(chain.dimension)}, least_peak);
  return found;
}

bool MemoryPlanSearch::Cheapest(size_t from, size_t to, int64_t target, Way& best) {
  bool found = false;
  const auto count = static_cast<size_t>(cuts_[to] - cuts_[from]);
  for (const SplitDimension dimension : kDimensions) {
    const bool batch = dimension == SplitDimension::kBatch;
    // A batch is divided from the start, if at all: nothing is needed twice, however long the
    // chain.
    if (static_cast<int64_t>(count) > options_.longest && !(batch && from == 0)) continue;
    const auto key = std::make_tuple(cuts_[from], count, static_cast<int>(dimension));
    const auto known = least_peaks_.find(key);
    const bool is_known_larger = known != least_peaks_.end() && known->second > target;
    const bool has_tiles = into_ == CutInto::kTiles && dimension == SplitDimension::kHeight;
    if (is_known_larger && !has_tiles) continue;
    if (IsOverdrawn()) return found;
    const std::optional<Chain> chain = ChainOf(cuts_[from], dimension, count);
    if (!chain.has_value()) {
      least_peaks_.try_emplace(key, INT64_MAX);
      continue;
    }
    const Way way{from, dimension, {}, 0, 0, 0};
    const bool whole_rows = !is_known_larger && TryPolicies(*chain, target, way, best);
    found = found || whole_rows;
    if (has_tiles && !whole_rows) found = TryTiles(*chain, target, way, best) || found;
  }
  return found;
}

void MemoryPlanSearch::Extend(size_t to, int64_t target, std::vector<Reached>& reached) {
  Reached& here = reached[to];
  if (reached[to - 1].cost != INT64_MAX && whole_peak_[to - 1] <= target) {
    here.cost = reached[to - 1].cost;
  }
  if (profile_.entering[static_cast<size_t>(cuts_[to])] > target) return;
  bool needed = false;  // some step between is over the target
  int refused = 0;      // chains in a row; longer ones are not likely to fit then
  const bool is_large = cuts_.size() > kEveryChain;
  const auto share =
      static_cast<int64_t>(static_cast<double>(options_.work_budget) * static_cast<double>(to) /
                           static_cast<double>(cuts_.size()));
  for (size_t from = to; from-- > 0;) {
    // From the start of the order, a batch could still be divided.
    if (is_large && refused >= kPatience) from = 0;
    if (effort_ > share && here.cost != INT64_MAX) break;
    needed = needed || whole_peak_[from] > target;
    if (!needed || reached[from].cost == INT64_MAX || reached[from].cost >= here.cost) continue;
    if (profile_.entering[static_cast<size_t>(cuts_[from])] > target) continue;
    Way way;
    way.cost = here.cost == INT64_MAX ? INT64_MAX : here.cost - reached[from].cost;
    if (!Cheapest(from, to, target, way)) {
      ++refused;
      continue;
    }
    refused = 0;
    here.cost = reached[from].cost + way.cost;
    here.whole = false;
    here.way = way;
  }
}

std::optional<PlanOfChains> MemoryPlanSearch::Find(int64_t target, CutInto into) {
  effort_ = 0;
  into_ = into;
  std::vector<Reached> reached(cuts_.size());
  reached[0].cost = 0;
  for (size_t to = 1; to < cuts_.size(); ++to) Extend(to, target, reached);
  if (reached.back().cost == INT64_MAX) return std::nullopt;
  return Collect(reached);
}

PlanOfChains MemoryPlanSearch::Collect(const std::vector<Reached>& reached) {
  PlanOfChains plan;
  for (size_t to = cuts_.size() - 1; to > 0;) {
    const Reached& step = reached[to];
    if (step.whole) {
      plan.peak = std::max(plan.peak, whole_peak_[--to]);
      continue;
    }
    const int64_t first = cuts_[step.way.from];
    std::optional<Chain> chain =
        ChainOf(first, step.way.dimension, static_cast<size_t>(cuts_[to] - first));
    if (step.way.patching.tiles > 1) (void)ChainBuilder::AddColumns(graph_, order_, *chain);
    PlannedChain planned = Evaluate(*chain, step.way.patching);
    planned.chain = std::move(*chain);
    plan.peak = std::max(plan.peak, planned.peak);
    plan.chains.push_back(std::move(planned));
    to = step.way.from;
  }
  std::reverse(plan.chains.begin(), plan.chains.end());
  return plan;
}

}  // namespace tenon::converter
