#include "converter/driver/fit_several_units.hpp"

#include <algorithm>
#include <utility>

#include "converter/schedule/program_problem.hpp"

namespace tenon::converter {
namespace {

/// Returns options to compare ways of splitting by: searches find little more in their order than
/// lists do.
CompileOptions Trial(const CompileOptions& options) { return Quick(Quick(options)); }

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
    board_ = WithLimit(std::move(board_), kUnlimited);
    TENON_ASSIGN_OR_RETURN(whole_, With(Shares{}, Quick(options_)));
  }
  return *whole_;
}

/// Chains, then single ops, are cut so that they leave space for what is fetched ahead.
Result<std::optional<Fitted>> SeveralUnitsFitter::Aim(int64_t bytes) {
  constexpr Shares kWays[] = {{0, 8}, {0, 4}, {0, 2}, {0, 1}, {8, 4}, {8, 2},
                              {8, 1}, {6, 4}, {6, 2}, {6, 1}, {4, 2}, {4, 1}};
  TENON_ASSIGN_OR_RETURN(const int64_t beside, Beside());
  if (bytes <= beside) return std::optional<Fitted>();
  board_ = WithLimit(std::move(board_), bytes - beside);
  const bool board_is_flat = MemoryOf(board_).slow == nullptr;
  std::optional<Shares> best;
  Picoseconds best_time = 0;
  bool tried_whole = false;
  size_t way = 0;
  for (const Shares& shares : kWays) {
    const auto done = static_cast<double>(way++) / static_cast<double>(std::size(kWays));
    if (options_.progress) options_.progress("splitting", done);
    Result<Candidate> candidate = Split(shares);
    if (candidate.ok() && candidate->IsWhole() && std::exchange(tried_whole, true)) continue;
    if (candidate.ok() && best && IsLarge(candidate->graph)) continue;
    if (candidate.ok()) {
      auto compiled = Compile(std::move(candidate->graph), Trial(options_));
      if (compiled.ok()) {
        candidate->fitted.compiled = std::move(*compiled);
      } else {
        candidate = compiled.error();
      }
    }
    if (!candidate.ok()) {
      if (!IsTooLarge(candidate.error())) return candidate.error();
      continue;
    }
    if (board_is_flat && candidate->IsWhole()) {
      best = shares;
      break;  // what fits whole is not split where nothing is moved between memories
    }
    const TimeReport& time = candidate->fitted.compiled.time;
    if (best && time.after >= best_time) continue;
    best = shares;
    best_time = time.after;
    if (best_time <= time.lower_bound && candidate->IsWhole()) {
      break;  // no order of whole ops takes less, and parts only add starts
    }
    if (!split_.allowed) break;
  }
  if (!best) return std::optional<Fitted>();
  Result<Fitted> fitted = With(*best, options_);
  if (fitted.ok()) return std::optional(std::move(*fitted));
  if (IsTooLarge(fitted.error())) return std::optional<Fitted>();
  return fitted.error();
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
  board_ = WithLimit(std::move(board_), arena_bytes);
  for (const Shares& shares : kWays) {
    Result<Candidate> candidate = Split(shares);
    if (!candidate.ok() && !IsTooLarge(candidate.error())) return candidate.error();
    if (!candidate.ok()) break;  // smaller shares split even finer
    if (IsLarge(candidate->graph)) break;
    Result<Compiled> compiled = Compile(std::move(candidate->graph), Trial(options_));
    if (!compiled.ok() && !IsTooLarge(compiled.error())) return compiled.error();
    if (!compiled.ok()) continue;
    candidate->fitted.compiled = std::move(*compiled);
    if (candidate->fitted.compiled.arena.bytes > arena_bytes) continue;
    return std::optional(std::move(candidate->fitted));
  }
  return std::optional<Fitted>();
}

/// Returns true for a graph in so many parts that it takes too long to compile, and to run, where
/// others are left to try.
bool SeveralUnitsFitter::IsLarge(const Graph& split) const {
  constexpr size_t kMostOps = 1024;
  return split.OpOrder().size() > std::max(kMostOps, 2 * graph_.OpOrder().size());
}

Result<int64_t> SeveralUnitsFitter::Beside() {
  if (!beside_) {
    TENON_ASSIGN_OR_RETURN(const Fitted whole, Whole());
    TENON_ASSIGN_OR_RETURN(beside_, BytesBesideArena(whole.compiled, board_));
  }
  return *beside_;
}

Result<SeveralUnitsFitter::Candidate> SeveralUnitsFitter::Split(const Shares& shares) {
  constexpr int64_t kShares = 8;
  Candidate candidate;
  candidate.graph = graph_;
  if (shares.chains != 0) {
    // Inputs and outputs are in slow memory but count here, so a share below the smallest target
    // cuts nothing.
    if (!planner_) planner_.emplace(graph_, split_options_);
    if (!smallest_target_) smallest_target_ = planner_->SmallestTarget();
    const int64_t share = board_.ArenaSpace()->usable_bytes() / kShares * shares.chains;
    candidate.fitted.chains = planner_->Plan(std::max(share, *smallest_target_));
    TENON_RETURN_IF_ERROR(planner_->Apply(candidate.graph));
  }
  if (split_.allowed) {
    const WorkingSetLimit limit = ShareOf(WorkingSetLimitOf(options_.kernels), shares.ops);
    TENON_RETURN_IF_ERROR(SplitToWorkingSet(candidate.graph, limit, candidate.fitted.ops));
  }
  return candidate;
}

Result<Fitted> SeveralUnitsFitter::With(const Shares& shares, const CompileOptions& compile) {
  TENON_ASSIGN_OR_RETURN(Candidate candidate, Split(shares));
  TENON_ASSIGN_OR_RETURN(candidate.fitted.compiled, Compile(std::move(candidate.graph), compile));
  return std::move(candidate.fitted);
}

}  // namespace tenon::converter
