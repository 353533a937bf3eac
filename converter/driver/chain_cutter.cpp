#include "converter/driver/chain_cutter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "converter/cost/instruction_cost_model.hpp"
#include "converter/driver/fit_ways.hpp"
#include "converter/map/kernel_choice.hpp"
#include "converter/schedule/make_schedule.hpp"

namespace tenon::converter {
namespace {

/// Returns options for graphs cut into patches, whose order (depth first) is already good.
CompileOptions AsCut(CompileOptions options) {
  options.order.mode = OrderMode::kSource;
  return Quick(options);
}

std::string KeyOfCuts(const MemorySplit& chains) {
  std::string key;
  for (const SplitChain& chain : chains.chains) {
    const Patching& patching = chain.patching;
    key += fmt::format("\n{} {} {} {} {} {} {} {}", chain.first_op, chain.last_op,
                       static_cast<int>(chain.dimension), patching.parts,
                       static_cast<int>(patching.policy), patching.tiles,
                       static_cast<int>(patching.tile_policy), patching.steps);
  }
  return key;
}

/// Returns a text that is equal for two programs of one graph only if they are equal.
std::string KeyOf(const MemorySplit& chains, const SplitReport& ops,
                  const CompileOptions& compile) {
  std::string key =
      fmt::format("{} {} {} {} {}", compile.kernels.workspace_limit.value_or(-1),
                  compile.kernels.packed_limit.value_or(-1), static_cast<int>(compile.order.mode),
                  compile.order.budget, compile.kernels.in_place);
  if (NeedsSchedule(compile.board())) {
    key += fmt::format(" {}", compile.board().ArenaSpace()->usable_bytes());
  }
  key += KeyOfCuts(chains);
  for (const SplitRecord& split : ops.splits) {
    key += fmt::format("\n{} {} {}", split.op, split.dimension, split.parts);
  }
  return key;
}

/// Returns true if firmware, which compares storages pair by pair when it loads a plan, would give
/// up: its budget is 16 million comparisons (runtime/format/plan_check_state.cpp), of which uses of
/// the same bytes and parts of exits take more than half. Patches along one dimension are never
/// that many.
bool HasTooManyTiles(const Fitted& fitted) {
  constexpr int64_t kMostPairs = int64_t{7} << 20;
  const std::vector<SplitChain>& chains = fitted.chains.chains;
  const bool has_tiles = std::any_of(chains.begin(), chains.end(), [](const SplitChain& chain) {
    return chain.patching.tiles > 1;
  });
  const auto storages = static_cast<int64_t>(fitted.compiled.arena.storages.size());
  return has_tiles && storages * (storages - 1) / 2 > kMostPairs;
}

}  // namespace

Result<Fitted> SplitAndCompile(Graph graph, const CompileOptions& compile, MemorySplit chains,
                               bool ops) {
  Fitted fitted;
  fitted.chains = std::move(chains);
  if (ops) {
    const WorkingSetLimit limit = WorkingSetLimitOf(compile.kernels);
    TENON_RETURN_IF_ERROR(SplitToWorkingSet(graph, limit, fitted.ops));
    if (!fitted.ops.splits.empty()) fitted.cut = std::make_shared<Graph>(graph);
  }
  TENON_ASSIGN_OR_RETURN(fitted.compiled, Compile(std::move(graph), compile));
  return fitted;
}

bool IsTooSlow(const Fitted& fitted, double most_time) {
  return most_time > 0 && static_cast<double>(fitted.compiled.time.after) > most_time;
}

bool IsCheaper(const Fitted& a, const Fitted& b, int64_t arena_bytes) {
  const int64_t of_a = a.compiled.arena.bytes;
  const int64_t of_b = b.compiled.arena.bytes;
  if (of_a > arena_bytes || of_b > arena_bytes) return of_a < of_b;
  const Picoseconds time_of_a = a.compiled.time.after;
  const Picoseconds time_of_b = b.compiled.time.after;
  return time_of_a != time_of_b ? time_of_a < time_of_b : of_a < of_b;
}

ChainCutter::ChainCutter(Graph graph, const MemorySplitOptions& options)
    : graph_(std::move(graph)), options_(options), planner_(graph_, options) {}

bool ChainCutter::HasOrder(const std::vector<OpId>& order) const {
  return graph_.OpOrder() == order;
}

Result<const Fitted*> ChainCutter::CompileCut(const Graph& cut, const MemorySplit& chains,
                                              const ChainCutOptions& options,
                                              const CompileOptions& compile) {
  Graph split = cut;
  SplitReport ops;
  if (options.ops) {
    TENON_RETURN_IF_ERROR(SplitToWorkingSet(split, WorkingSetLimitOf(compile.kernels), ops));
  }
  const auto [entry, is_new] = known_.try_emplace(KeyOf(chains, ops, compile));
  if (!is_new) return &entry->second;
  std::shared_ptr<const Graph> parts;
  if (!ops.splits.empty()) parts = std::make_shared<Graph>(split);
  Result<Fitted> fitted = SplitAndCompile(std::move(split), compile, chains, /*ops=*/false);
  if (!fitted.ok()) {
    known_.erase(entry);
    return fitted.error();
  }
  fitted->ops = std::move(ops);
  fitted->cut = std::move(parts);
  entry->second = std::move(*fitted);
  return &entry->second;
}

Result<Fitted> ChainCutter::CutBy(PatchPlanner& planner, const ChainCutOptions& options,
                                  int64_t arena_bytes) {
  constexpr double kNearlyFastEnough = 1.125;
  constexpr int64_t kNearlySmallEnough = 32;  // a 32nd more than the limit
  const CompileOptions as_cut = AsCut(options.compile);
  // The order of patches, depth first, is already good: it is searched little.
  CompileOptions searched = options.compile;
  searched.order.budget = Quick(options.compile).order.budget;
  const bool room_matters = HasInstructionTables(options.compile.board());  // PredictInArena
  const auto measure = [&](const Graph& cut, const MemorySplit& chains) -> Result<MeasuredCut> {
    TENON_ASSIGN_OR_RETURN(const Fitted* fitted, CompileCut(cut, chains, options, as_cut));
    // In another order it may need less, or have more room for workspaces. Where the smallest is
    // sought, all of them are near it: see Promising.
    const int64_t bytes = fitted->compiled.arena.bytes;
    const bool nearly_fits = options.wanted == Wanted::kCheapest && bytes > arena_bytes &&
                             chains.estimated_peak <= arena_bytes &&
                             bytes - arena_bytes <= arena_bytes / kNearlySmallEnough;
    const bool is_nearly_fast = room_matters && IsTooSlow(*fitted, options.most_time) &&
                                !IsTooSlow(*fitted, options.most_time * kNearlyFastEnough);
    if (nearly_fits || is_nearly_fast) {
      TENON_ASSIGN_OR_RETURN(fitted, CompileCut(cut, chains, options, searched));
    }
    const Picoseconds time = fitted->compiled.time.after;
    if (IsTooSlow(*fitted, options.most_time) || HasTooManyTiles(*fitted)) {
      return MeasuredCut(kTooSlow, time);
    }
    Remember(cut, chains, *fitted);
    const int64_t packed = arena_bytes > 0 ? 0 : PackedBytes(fitted->compiled.graph);
    return MeasuredCut(fitted->compiled.arena.bytes + packed, time);
  };
  Graph cut;
  TENON_ASSIGN_OR_RETURN(const MemoryFit fit,
                         FitMemory(planner, cut, arena_bytes, measure, options.wanted));
  TENON_ASSIGN_OR_RETURN(const Fitted* fitted, CompileCut(cut, fit.split, options, searched));
  // In a smaller arena there may be less room for workspaces, so that it takes too long.
  if (IsTooSlow(*fitted, options.most_time)) {
    TENON_ASSIGN_OR_RETURN(fitted, CompileCut(cut, fit.split, options, as_cut));
  }
  // Another order may need less, but leave workspaces less room where it matters.
  if (options.wanted == Wanted::kCheapest) {
    TENON_ASSIGN_OR_RETURN(const Fitted* unordered, CompileCut(cut, fit.split, options, as_cut));
    if (IsCheaper(*unordered, *fitted, arena_bytes)) fitted = unordered;
  }
  Fitted result = *fitted;
  if (result.cut == nullptr) result.cut = std::make_shared<Graph>(std::move(cut));
  return result;
}

Result<Fitted> ChainCutter::Cut(const ChainCutOptions& options, int64_t arena_bytes) {
  Result<Fitted> found = CutBy(planner_, options, arena_bytes);
  const bool is_other_error = !found.ok() && !IsTooLarge(found.error());
  const bool is_uncut = found.ok() && found->chains.chains.empty();
  if (!options_.follow || options.wanted != Wanted::kCheapest || is_other_error || is_uncut ||
      planner_.IsOutOfTime()) {
    return found;
  }
  if (!beside_) {
    MemorySplitOptions beside = options_;
    beside.follow = false;
    beside_ = std::make_unique<PatchPlanner>(graph_, beside);
  }
  Result<Fitted> other = CutBy(*beside_, options, arena_bytes);
  if (!other.ok()) return found;
  return !found.ok() || IsCheaper(*other, *found, arena_bytes) ? std::move(other)
                                                               : std::move(found);
}

/// Keeps a cut for Promising. Splits of single ops are not repeated there.
void ChainCutter::Remember(const Graph& cut, const MemorySplit& chains, const Fitted& fitted) {
  if (chains.chains.empty() || !fitted.ops.splits.empty()) return;
  const int64_t bytes = fitted.compiled.arena.bytes;
  const auto [entry, is_new] = candidates_.try_emplace(KeyOfCuts(chains));
  Candidate& candidate = entry->second;
  if (!is_new) {
    candidate.measured = std::min(candidate.measured, bytes);
    return;
  }
  candidate.measured = bytes;
  candidate.fitted.chains = chains;
  candidate.fitted.cut = std::make_shared<Graph>(cut);
}

std::vector<Fitted> ChainCutter::Promising(const Fitted& smallest, size_t most) const {
  const std::string own = KeyOfCuts(smallest.chains);
  std::vector<const Candidate*> found;
  for (const auto& [key, candidate] : candidates_) {
    const bool may_need_less =
        candidate.fitted.chains.estimated_peak < smallest.compiled.arena.bytes;
    if (may_need_less && key != own) found.push_back(&candidate);
  }
  std::stable_sort(found.begin(), found.end(), [](const Candidate* a, const Candidate* b) {
    return a->measured < b->measured;
  });
  if (found.size() > most) found.resize(most);
  std::vector<Fitted> promising;
  promising.reserve(found.size());
  for (const Candidate* candidate : found) promising.push_back(candidate->fitted);
  return promising;
}

}  // namespace tenon::converter
