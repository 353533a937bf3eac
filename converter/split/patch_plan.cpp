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
  if (!search_->profile().has_waiting_parts) return;
  search_apart_ = std::make_unique<MemoryPlanSearch>(graph, options, WaitingParts::kApart);
}

PatchPlanner::~PatchPlanner() = default;

int64_t PatchPlanner::UnsplitPeak() const { return search_->profile().peak; }

MemorySplit PatchPlanner::Plan(int64_t target_bytes) {
  MemorySplit result;
  result.target_bytes = target_bytes;
  result.unsplit_peak = result.estimated_peak = UnsplitPeak();
  chains_.clear();
  std::optional<PlanOfChains> plan = search_->Find(target_bytes);
  if (search_apart_ && !(plan && plan->chains.empty())) {
    std::optional<PlanOfChains> apart = search_apart_->Find(target_bytes);
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

int64_t PatchPlanner::SmallestTarget() {
  if (!smallest_target_) smallest_target_ = FindSmallestTarget();
  return *smallest_target_;
}

/// Sets `peak` to what the plan needs.
bool PatchPlanner::Reaches(int64_t target, int64_t& peak) {
  std::optional<PlanOfChains> plan = search_->Find(target);
  if (!plan && search_apart_) plan = search_apart_->Find(target);
  if (plan) peak = plan->peak;
  return plan.has_value();
}

int64_t PatchPlanner::FindSmallestTarget() {
  constexpr int64_t kPrecision = 256;
  int64_t reachable = UnsplitPeak();
  int64_t unreachable = 0;
  while (reachable - unreachable > std::max<int64_t>(reachable / kPrecision, 1)) {
    const int64_t middle = unreachable + (reachable - unreachable) / 2;
    int64_t peak = 0;
    if (Reaches(middle, peak)) {
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
