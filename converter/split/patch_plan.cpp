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

PatchPlanner::PatchPlanner(const Graph& graph, const MemorySplitOptions& options)
    : graph_(graph), search_(std::make_unique<MemoryPlanSearch>(graph, options)) {
  may_make_tiles_ =
      options.tiles && std::none_of(options.outside.begin(), options.outside.end(),
                                    [](const OutsideInput& input) { return input.rows > 0; });
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
  if (!plan.has_value()) return result;
  result.fits = true;
  result.estimated_peak = plan->peak;
  for (const PlannedChain& planned : plan->chains) {
    result.chains.push_back(Describe(graph_, *search_, planned, target_bytes));
  }
  chains_ = std::move(plan->chains);
  return result;
}

int64_t PatchPlanner::SmallestTarget(CutInto into) {
  if (!smallest_target_) smallest_target_ = FindSmallestTarget(CutInto::kPatches, UnsplitPeak());
  if (into == CutInto::kPatches) return *smallest_target_;
  if (!smallest_tiled_) smallest_tiled_ = FindSmallestTarget(into, *smallest_target_);
  return *smallest_tiled_;
}

/// Sets `peak` to what the plan needs.
bool PatchPlanner::Reaches(int64_t target, CutInto into, int64_t& peak) {
  std::optional<PlanOfChains> plan = search_->Find(target, into);
  if (!plan && search_apart_) plan = search_apart_->Find(target, into);
  if (plan) peak = plan->peak;
  return plan.has_value();
}

/// Finds the smallest target below one that can be met.
int64_t PatchPlanner::FindSmallestTarget(CutInto into, int64_t reachable) {
  constexpr int64_t kPrecision = 256;
  int64_t unreachable = 0;
  while (reachable - unreachable > std::max<int64_t>(reachable / kPrecision, 1)) {
    const int64_t middle = unreachable + (reachable - unreachable) / 2;
    int64_t peak = 0;
    if (Reaches(middle, into, peak)) {
      reachable = std::min(middle, std::max<int64_t>(peak, unreachable));
    } else {
      unreachable = middle;
    }
  }
  return reachable;
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
