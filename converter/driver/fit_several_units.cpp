#include "converter/driver/fit_several_units.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "converter/schedule/program_problem.hpp"
#include "converter/split/traffic_chains.hpp"

namespace tenon::converter {
namespace {

/// Returns options to compare ways of splitting by: searches find little more in their order than
/// lists do.
CompileOptions ForTrial(const CompileOptions& options) { return Quick(Quick(options)); }

}  // namespace

SeveralUnitsFitter::SeveralUnitsFitter(const Graph& graph, const CompileOptions& options,
                                       const SplitOptions& split)
    : graph_(graph),
      split_(split),
      options_(options),
      board_(WithLimit(options.board(), kUnlimited)) {
  options_.kernels.board = &board_;
  split_options_.limits = board_.splitting;
  split_options_.work_budget = split.work_budget;
}

Result<Fitted> SeveralUnitsFitter::Whole() {
  if (!whole_) {
    SetLimit(kUnlimited);
    TENON_ASSIGN_OR_RETURN(const Candidate candidate, Split(Shares{}));
    TENON_ASSIGN_OR_RETURN(whole_, With(candidate, Quick(options_)));
  }
  return *whole_;
}

/// Chains, then single ops, are cut so that they leave space for what is fetched ahead.
Result<std::optional<Fitted>> SeveralUnitsFitter::Aim(int64_t bytes) {
  constexpr Shares kWays[] = {{0, 8}, {0, 4}, {0, 2}, {0, 1}, {8, 4}, {8, 2},       {8, 1},
                              {6, 4}, {6, 2}, {6, 1}, {4, 2}, {4, 1}, {5, 3, true}, {6, 2, true}};
  TENON_ASSIGN_OR_RETURN(const int64_t beside, Beside());
  if (bytes <= beside) return std::optional<Fitted>();
  SetLimit(bytes - beside);
  constexpr size_t kMostOpsForTraffic = 1000;  // chains from every one of them are compared
  const bool is_long = graph_.OpOrder().size() > kMostOpsForTraffic;
  const bool board_is_flat = MemoryOf(board_).slow == nullptr;
  const Candidate* best = nullptr;
  std::vector<const Candidate*> tried;
  // By target of chains: the least time so far. -1: even finer parts do not make it faster.
  std::map<std::pair<int64_t, bool>, Picoseconds> least_time;
  size_t way = 0;
  for (const Shares& shares : kWays) {
    const auto done = static_cast<double>(way++) / static_cast<double>(std::size(kWays));
    if (options_.progress) options_.progress("splitting", done);
    if (shares.traffic && (board_is_flat || is_long || IsNearBound(best))) continue;
    const auto target = std::make_pair(ChainTarget(shares), shares.traffic);
    const auto least = least_time.try_emplace(target, INT64_MAX).first;
    if (best != nullptr && least->second < 0) continue;
    TENON_ASSIGN_OR_RETURN(const Trial* trial, Try(shares));
    if (trial->is_large) least->second = -1;
    if (!trial->fits) continue;
    const Candidate& candidate = trial->candidate;
    tried.push_back(&candidate);
    const TimeReport& time = candidate.fitted.compiled.time;
    least->second = time.after > least->second ? -1 : time.after;
    if (best != nullptr && time.after >= best->fitted.compiled.time.after) continue;
    best = &candidate;
    // What fits whole is not split where nothing is moved between memories. Elsewhere no order of
    // whole ops takes less than the bound, and parts only add starts.
    if (candidate.IsWhole() && (board_is_flat || time.after <= time.lower_bound)) break;
    if (!split_.allowed || options_.time_limit.Passed()) break;
  }
  if (best == nullptr) return std::optional<Fitted>();
  TENON_ASSIGN_OR_RETURN(std::optional<Fitted> fitted, InFull(*best));
  if (fitted && split_.limit_asked) TENON_RETURN_IF_ERROR(TryOthersInFull(*best, tried, *fitted));
  return fitted;
}

/// Compiles again with all the effort that was asked for. None: that needs more than there is.
Result<std::optional<Fitted>> SeveralUnitsFitter::InFull(const Candidate& candidate) {
  Result<Fitted> fitted = With(candidate, options_);
  if (fitted.ok()) return std::optional(std::move(*fitted));
  if (IsTooLarge(fitted.error())) return std::optional<Fitted>();
  return fitted.error();
}

/// Under memory limits, searches in full find far better orders of some ways than of others, and
/// better ones where they have a little less: what comes second is compiled too, and the first once
/// more with a 16th less, unless their bounds say that it hardly matters.
Status SeveralUnitsFitter::TryOthersInFull(const Candidate& best,
                                           const std::vector<const Candidate*>& tried,
                                           Fitted& fitted) {
  const Candidate* second = nullptr;
  for (const Candidate* other : tried) {
    const TimeReport& time = other->fitted.compiled.time;
    if (other == &best || !MayBeBelow(time.lower_bound, fitted)) continue;
    if (second == nullptr || time.after < second->fitted.compiled.time.after) second = other;
  }
  const auto take = [&](std::optional<Fitted> found) {
    if (found && found->compiled.time.after < fitted.compiled.time.after)
      fitted = std::move(*found);
  };
  if (second != nullptr) {
    TENON_ASSIGN_OR_RETURN(std::optional<Fitted> found, InFull(*second));
    take(std::move(found));
  }
  if (!MayBeBelow(best.fitted.compiled.time.lower_bound, fitted)) return {};
  const Candidate first = best;  // trials of other limits are forgotten
  const int64_t bytes = board_.ArenaSpace()->usable_bytes();
  SetLimit(bytes - bytes / 16);
  TENON_ASSIGN_OR_RETURN(std::optional<Fitted> found, InFull(first));
  take(std::move(found));
  return {};
}

bool SeveralUnitsFitter::MayBeBelow(Picoseconds bound, const Fitted& fitted) {
  return bound < fitted.compiled.time.after - fitted.compiled.time.after / 16;
}

Result<std::optional<Fitted>> SeveralUnitsFitter::Proof(int64_t bytes) {
  TENON_ASSIGN_OR_RETURN(const int64_t beside, Beside());
  TENON_ASSIGN_OR_RETURN(LimitSearch * search, Search());
  return search->AtMost(bytes - beside);
}

Result<Fitted> SeveralUnitsFitter::Smallest() {
  if (!smallest_) {
    TENON_ASSIGN_OR_RETURN(LimitSearch * search, Search());
    TENON_ASSIGN_OR_RETURN(smallest_, search->Smallest());
    if (!smallest_) smallest_ = whole_;
  }
  return *smallest_;
}

/// The ladder reaches from the largest working set, split as finely as the board allows, to what
/// the whole program needs.
Result<LimitSearch*> SeveralUnitsFitter::Search() {
  if (!search_) {
    TENON_ASSIGN_OR_RETURN(const Fitted whole, Whole());
    const int64_t least =
        split_.allowed ? SmallestWorkingSet(graph_, WorkingSetLimitOf(options_.kernels)) : 1;
    search_.emplace([this](int64_t bytes) { return Attempt(bytes); }, least,
                    whole.compiled.arena.bytes);
  }
  return &*search_;
}

/// Returns the first way that fits: whether one is faster does not matter here.
Result<std::optional<Fitted>> SeveralUnitsFitter::Attempt(int64_t arena_bytes) {
  constexpr Shares kWays[] = {{0, 8}, {0, 4}, {0, 2}};
  SetLimit(arena_bytes);
  for (const Shares& shares : kWays) {
    TENON_ASSIGN_OR_RETURN(const Trial* trial, Try(shares));
    if (trial->is_large) break;  // smaller shares split even finer
    if (!trial->fits) continue;
    const Fitted& fitted = trial->candidate.fitted;
    if (fitted.compiled.arena.bytes <= arena_bytes) return std::optional(fitted);
  }
  return std::optional<Fitted>();
}

/// What was tried under another limit is forgotten.
void SeveralUnitsFitter::SetLimit(int64_t arena_bytes) {
  if (board_.ArenaSpace()->usable_bytes() == arena_bytes) return;
  board_ = WithLimit(std::move(board_), arena_bytes);
  trials_.clear();
}

/// Splits and compiles, unless there would be too many parts or an op fits in none.
Result<SeveralUnitsFitter::Trial*> SeveralUnitsFitter::Try(const Shares& shares) {
  const auto [entry, is_new] =
      trials_.try_emplace({ChainTarget(shares), shares.ops, shares.traffic});
  Trial& trial = entry->second;
  if (!is_new) return &trial;
  Result<Candidate> candidate = Split(shares);
  if (!candidate.ok()) {
    if (!IsTooLarge(candidate.error())) return candidate.error();
    trial.is_large = true;
    return &trial;
  }
  trial.candidate = std::move(*candidate);
  trial.is_large = IsLarge(trial.candidate.graph, shares);
  if (trial.is_large) return &trial;
  Result<Compiled> compiled = Compile(trial.candidate.graph, ForTrial(options_));
  if (!compiled.ok() && !IsTooLarge(compiled.error())) return compiled.error();
  trial.fits = compiled.ok();
  if (trial.fits) trial.candidate.fitted.compiled = std::move(*compiled);
  return &trial;
}

/// Returns true for a graph in so many parts that it takes too long to compile, and to run, where
/// others are left to try.
bool SeveralUnitsFitter::IsLarge(const Graph& split, const Shares& shares) const {
  constexpr size_t kMostOps = 4096;
  const size_t factor = shares.traffic ? 24 : 2;  // where nothing coarser came near the bound
  return split.OpOrder().size() > std::max(kMostOps, factor * graph_.OpOrder().size());
}

/// Returns true if less traffic would hardly make the program faster: with all memory that there
/// could be, the whole ops would take nearly as long.
bool SeveralUnitsFitter::IsNearBound(const Candidate* best) const {
  constexpr double kNear = 1.1;
  if (best == nullptr || !whole_) return false;
  const auto bound = static_cast<double>(whole_->compiled.time.lower_bound);
  return static_cast<double>(best->fitted.compiled.time.after) <= kNear * bound;
}

Result<int64_t> SeveralUnitsFitter::Beside() {
  if (!beside_) {
    TENON_ASSIGN_OR_RETURN(const Fitted whole, Whole());
    TENON_ASSIGN_OR_RETURN(beside_, BytesBesideArena(whole.compiled, board_));
  }
  return *beside_;
}

/// Returns the live bytes that chains are cut for; 0: none is cut. Inputs and outputs are in slow
/// memory but count here, so a share below the smallest target cuts nothing.
int64_t SeveralUnitsFitter::ChainTarget(const Shares& shares) {
  constexpr int64_t kShares = 8;
  if (shares.chains == 0) return 0;
  const int64_t share = board_.ArenaSpace()->usable_bytes() / kShares * shares.chains;
  if (shares.traffic) return share;
  if (!planner_) planner_.emplace(graph_, split_options_);
  return std::max(share, planner_->SmallestTarget());
}

Result<SeveralUnitsFitter::Candidate> SeveralUnitsFitter::Split(const Shares& shares) {
  Candidate candidate;
  candidate.graph = graph_;
  if (shares.traffic) {
    TrafficOptions traffic;
    traffic.fast_bytes = ChainTarget(shares);
    traffic.limits = split_options_.limits;
    TENON_ASSIGN_OR_RETURN(candidate.fitted.chains, CutForTraffic(candidate.graph, traffic));
  } else if (const int64_t target = ChainTarget(shares); target != 0) {
    candidate.fitted.chains = planner_->Plan(target);
    TENON_RETURN_IF_ERROR(planner_->Apply(candidate.graph));
  }
  if (split_.allowed) {
    const WorkingSetLimit limit = ShareOf(WorkingSetLimitOf(options_.kernels), shares.ops);
    TENON_RETURN_IF_ERROR(SplitToWorkingSet(candidate.graph, limit, candidate.fitted.ops));
  }
  return candidate;
}

Result<Fitted> SeveralUnitsFitter::With(const Candidate& candidate, const CompileOptions& compile) {
  Fitted fitted;
  fitted.ops = candidate.fitted.ops;
  fitted.chains = candidate.fitted.chains;
  if (!candidate.IsWhole()) fitted.cut = std::make_shared<Graph>(candidate.graph);
  TENON_ASSIGN_OR_RETURN(fitted.compiled, Compile(candidate.graph, compile));
  return fitted;
}

}  // namespace tenon::converter
