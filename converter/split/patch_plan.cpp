#include "converter/split/patch_plan.hpp"

#include <algorithm>
#include <utility>

#include "converter/split/patch_plan_search.hpp"
#include "converter/split/patch_rewrite.hpp"

namespace tenon::converter {
namespace {

SplitChain Describe(const Graph& graph, const MemoryPlanSearch& search, const PlannedChain& planned,
                    int64_t target) {
  const Chain& chain = planned.chain;
  SplitChain entry;
  entry.first_op = graph.op(chain.ops.front().id).name;
  entry.last_op = graph.op(chain.ops.back().id).name;
  entry.ops = static_cast<int64_t>(chain.ops.size());
  entry.dimension = chain.dimension;
  entry.patching = planned.patching;
  for (int64_t position = chain.first; position < chain.end(); ++position) {
    entry.peak_before =
        std::max(entry.peak_before, search.profile().at_step[static_cast<size_t>(position)]);
  }
  entry.peak_after = planned.peak;
  entry.copied_bytes = planned.estimate.copied_bytes;
  entry.recomputed_work = planned.estimate.recomputed_work;
  entry.reason = fmt::format("{} bytes live at once, {} wanted", entry.peak_before, target);
  return entry;
}

}  // namespace

/// The smallest target that was met, and by what.
struct PatchPlanner::SmallestPlan {
  int64_t target = 0;
  std::optional<PlanOfChains> plan;  ///< none: by what is known for patches, or by cutting nothing
};

bool MayMakeTiles(const OutsideInputs& outside) {
  return std::none_of(outside.begin(), outside.end(),
                      [](const OutsideInput& input) { return input.rows > 0; });
}

PatchPlanner::PatchPlanner(const Graph& graph, const MemorySplitOptions& options)
    : graph_(graph),
      search_(std::make_unique<MemoryPlanSearch>(graph, options)),
      time_limit_(options.time_limit) {
  may_make_tiles_ = options.tiles && converter::MayMakeTiles(options.outside);
  if (!search_->profile().has_waiting_parts) return;
  search_apart_ = std::make_unique<MemoryPlanSearch>(graph, options, WaitingParts::kApart);
}

PatchPlanner::~PatchPlanner() = default;

int64_t PatchPlanner::UnsplitPeak() const { return search_->profile().peak; }

MemorySplit PatchPlanner::Plan(int64_t target_bytes, CutInto into) {
  MemorySplit result;
  result.target_bytes = target_bytes;
  result.unsplit_peak = result.estimated_peak = UnsplitPeak();
  chains_.clear();
  std::optional<PlanOfChains> plan = search_->Find(target_bytes, into);
  if (search_apart_ && !(plan && plan->chains.empty())) {
    std::optional<PlanOfChains> apart = search_apart_->Find(target_bytes, into);
    if (apart && !(plan && plan->Cost() <= apart->Cost())) plan = std::move(apart);
  }
  // The search misses some plans, more or fewer by what it has looked at before: what it has found
  // to be the smallest remains.
  for (const auto& smallest : smallest_) {
    const bool is_tiled = &smallest != &smallest_[static_cast<size_t>(CutInto::kPatches)];
    if (plan || !smallest || smallest->target > target_bytes) continue;
    if (is_tiled && into != CutInto::kTiles) continue;
    plan = smallest->plan;
    if (plan) result.target_bytes = smallest->target;
  }
  if (!plan.has_value()) return result;
  result.fits = true;
  result.estimated_peak = plan->peak;
  result.cost = plan->Cost();
  for (const PlannedChain& planned : plan->chains) {
    result.chains.push_back(Describe(graph_, *search_, planned, result.target_bytes));
  }
  chains_ = std::move(plan->chains);
  return result;
}

int64_t PatchPlanner::SmallestTarget(CutInto into) {
  std::unique_ptr<SmallestPlan>& rows = smallest_[static_cast<size_t>(CutInto::kPatches)];
  if (!rows) rows = FindSmallest(CutInto::kPatches, UnsplitPeak());
  std::unique_ptr<SmallestPlan>& smallest = smallest_[static_cast<size_t>(into)];
  if (!smallest) smallest = FindSmallest(into, rows->target);
  return smallest->target;
}

std::optional<PlanOfChains> PatchPlanner::FindAny(int64_t target, CutInto into) {
  std::optional<PlanOfChains> plan = search_->Find(target, into);
  if (!plan && search_apart_) plan = search_apart_->Find(target, into);
  return plan;
}

/// Finds the smallest target below one that can be met. What a plan needs is often less than it was
/// made for.
std::unique_ptr<PatchPlanner::SmallestPlan> PatchPlanner::FindSmallest(CutInto into,
                                                                       int64_t reachable) {
  constexpr int64_t kPrecision = 256;
  auto smallest = std::make_unique<SmallestPlan>();
  smallest->target = reachable;
  int64_t unreachable = 0;
  while (smallest->target - unreachable > std::max<int64_t>(smallest->target / kPrecision, 1)) {
    const int64_t middle = unreachable + (smallest->target - unreachable) / 2;
    std::optional<PlanOfChains> plan = FindAny(middle, into);
    if (!plan) {
      unreachable = middle;
      continue;
    }
    smallest->target = std::min(middle, std::max<int64_t>(plan->peak, unreachable));
    smallest->plan = std::move(plan);
  }
  return smallest;
}

Status PatchPlanner::Apply(Graph& graph) const {
  std::vector<ChainCut> cuts;
  for (const PlannedChain& planned : chains_) cuts.push_back({&planned.chain, planned.patching});
  TENON_RETURN_IF_ERROR(CutIntoPatches(graph, cuts));
  return chains_.empty() ? Status() : Verify(graph);
}

Result<MemorySplit> SplitForMemory(Graph& graph, int64_t target_bytes,
                                   const MemorySplitOptions& options) {
  PatchPlanner planner(graph, options);
  MemorySplit split = planner.Plan(target_bytes);
  TENON_RETURN_IF_ERROR(planner.Apply(graph));
  return split;
}

int64_t SmallestTarget(const Graph& graph, const MemorySplitOptions& options) {
  return PatchPlanner(graph, options).SmallestTarget();
}

}  // namespace tenon::converter
