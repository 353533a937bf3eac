#include "converter/driver/fit.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "converter/driver/direct_space.hpp"
#include "converter/layout/arena_plan.hpp"

namespace tenon::converter {
namespace {

/// Returns the bytes of the constants that ops read.
int64_t ConstantBytes(const Graph& graph) {
  int64_t bytes = 0;
  for (const TensorId id : graph.Tensors()) {
    if (graph.tensor(id).IsConstant() && graph.IsRead(id)) bytes += graph.tensor(id).ByteSize();
  }
  return bytes;
}

/// The step at which the most bytes are alive.
struct PeakStep {
  std::string op;
  int64_t bytes = 0;
};

PeakStep FindPeakStep(const Compiled& compiled) {
  const ArenaPlan& arena = compiled.arena;
  std::vector<int64_t> change(arena.steps.size() + 1, 0);
  for (const PlannedStorage& storage : arena.storages) {
    if (storage.arena != 0) continue;
    change[static_cast<size_t>(storage.first_step)] += storage.bytes;
    change[static_cast<size_t>(storage.last_step) + 1] -= storage.bytes;
  }
  PeakStep peak;
  int64_t alive = 0;
  for (size_t step = 0; step < arena.steps.size(); ++step) {
    alive += change[step];
    if (alive > peak.bytes) peak = {compiled.graph.op(arena.steps[step]).name, alive};
  }
  return peak;
}

/// Returns options that exclude kernels whose extra memory is a large share of `limit` bytes.
CompileOptions Lean(CompileOptions options, int64_t limit) {
  constexpr int64_t kLeast = 16 * 1024;
  constexpr int64_t kShare = 16;
  options.kernels.workspace_limit = std::max(kLeast, limit / kShare);
  options.kernels.packed_limit = options.kernels.workspace_limit;
  return options;
}

/// Returns options that prefer in-place kernels with the smallest workspaces.
CompileOptions InPlace(CompileOptions options) {
  options.kernels.in_place = true;
  options.kernels.least_workspace = true;
  return options;
}

/// Returns which inputs those kernels may overwrite, for estimates before kernels are chosen.
InPlaceInputs InPlaceInputsOf(const CompileOptions& compile) {
  MarkOptions marking = compile.kernels;
  marking.backends = BackendsOf(compile.kernels);
  return [marking](const Graph& graph, const Op& op) -> uint32_t {
    const InPlaceKernel found = FindInPlaceKernel(graph, op, marking);
    return found.kernel == nullptr ? 0 : found.kernel->in_place_inputs;
  };
}

/// Returns what patches cost on the board's core, in bytes moved in the arena's memory space.
PatchPrices PricesOf(const Board& board) {
  PatchPrices prices;
  const Unit* unit = ComputeUnit(board);
  const double bandwidth = board.ArenaSpace()->bandwidth_bytes_per_second;
  if (unit == nullptr || bandwidth <= 0) return prices;
  prices.bytes_per_op = unit->op_overhead_us() * 1e-6 * bandwidth;
  double rate = unit->elementary_ops_per_second;
  for (const auto& [dtype, of_dtype] : unit->multiply_accumulates_per_second) {
    rate = std::max(rate, of_dtype);
  }
  if (rate > 0) prices.bytes_per_work = bandwidth / rate;
  return prices;
}

/// Returns options for trial compilations: they find most of what a full search finds, in a
/// fraction of the time.
CompileOptions Quick(CompileOptions options) {
  constexpr int64_t kShare = 16;
  options.order.budget /= kShare;
  options.arena.place.work_budget /= kShare;
  return options;
}

/// Returns options for graphs cut into patches, whose order (depth first) is already good.
CompileOptions AsCut(CompileOptions options) {
  options.order.mode = OrderMode::kSource;
  return Quick(options);
}

/// Gives `graph` the order that its ops have in `compiled`, which was made from it: ops keep their
/// ids.
void TakeOrder(const Compiled& compiled, Graph& graph) {
  std::vector<OpId> order;
  for (const OpId id : compiled.graph.OpOrder()) {
    if (graph.IsOp(id)) order.push_back(id);
  }
  if (order.size() == graph.OpOrder().size()) graph.SetOrder(order);
}

/// Returns the board with another size limit for the arena's memory space.
Board WithLimit(Board board, int64_t bytes) {
  MemorySpace* space = board.FindSpace(board.ArenaSpace()->name);
  space->bytes = bytes;
  space->reserve_bytes = 0;
  return board;
}

bool IsTooLarge(const Error& error) { return error.kind == ErrorKind::kDoesNotFit; }

/// Fits a graph to one unit that runs all ops, where only the memory limit matters.
class OneUnitFitter {
 public:
  OneUnitFitter(const Graph& graph, const CompileOptions& options, const SplitOptions& split,
                Board board)
      : graph_(graph), options_(options), split_(split), board_(std::move(board)) {
    options_.kernels.board = &board_;
    limit_ = board_.ArenaSpace()->usable_bytes();
    split_options_.limits = board_.splitting;
    split_options_.work_budget = split.work_budget;
    split_options_.in_place = InPlaceInputsOf(options);
    if (split.most_slowdown > 0) split_options_.prices = PricesOf(board_);
  }

  OneUnitFitter(const OneUnitFitter&) = delete;
  OneUnitFitter& operator=(const OneUnitFitter&) = delete;

  /// Returns the first way that fits, tried in order of its cost in time, or a spread over two
  /// spaces if that takes less time.
  Result<std::optional<Fitted>> Try() {
    TENON_ASSIGN_OR_RETURN(std::optional<Fitted> found, TryOneSpace());
    const bool spread_is_better =
        spread_ && (!found || spread_->compiled.time.after < found->compiled.time.after);
    return spread_is_better ? std::move(spread_) : std::move(found);
  }

  /// Spreads storages over the arena's space and the board's direct one. None if the board has no
  /// such space or both together are too small.
  [[nodiscard]] std::optional<Fitted> OverTwoSpaces(Fitted fitted) const {
    const int64_t limit = limit_ - Beside(fitted);
    if (!SpreadOverSpaces(options_, limit, fitted.compiled)) return std::nullopt;
    return fitted;
  }

  /// Returns the smallest result that can be reached if time does not matter.
  Result<Fitted> Smallest() {
    const CompileOptions compile = InPlace(Lean(options_, /*limit=*/0));
    if (split_.most_slowdown > 0) {
      TENON_ASSIGN_OR_RETURN(const Compiled whole, Compile(graph_, Quick(options_)));
      most_time_ = static_cast<double>(whole.time.after) * split_.most_slowdown;
    }
    TENON_ASSIGN_OR_RETURN(Fitted smallest, Split(graph_, compile, MemorySplit(), /*ops=*/false));
    if (unsplit_ == 0) unsplit_ = smallest.compiled.arena.bytes;
    if (split_.allowed) {
      TENON_ASSIGN_OR_RETURN(Fitted cut, Cut(compile, 0, smallest, /*ops=*/false));
      if (NeededBytes(cut.compiled, board_) < NeededBytes(smallest.compiled, board_) &&
          !IsTooSlow(cut)) {
        smallest = std::move(cut);
      }
    }
    smallest.lean = true;
    smallest.compiled.memory.unsplit_bytes = unsplit_;
    return smallest;
  }

 private:
  Result<std::optional<Fitted>> TryOneSpace() {
    for (const bool lean : {false, true}) {
      TENON_ASSIGN_OR_RETURN(std::optional<Fitted> found, TryKernels(lean));
      if (found || SpreadIsFastest()) return found;
    }
    TENON_ASSIGN_OR_RETURN(Fitted least, Smallest());
    if (Accept(least, /*lean=*/true)) return std::optional(std::move(least));
    if (!spread_) spread_ = OverTwoSpaces(std::move(least));
    return std::optional<Fitted>();
  }

  /// Returns true if using two spaces costs no time: patches then cannot be faster.
  [[nodiscard]] bool SpreadIsFastest() const {
    return spread_ && spread_->compiled.time.after <= whole_time_;
  }

  /// Returns true if it fits one space; else it becomes a candidate for two.
  bool AcceptUncut(Fitted& fitted, bool lean) {
    if (Accept(fitted, lean)) return true;
    if (board_.DirectSpace() == nullptr) return false;
    std::optional<Fitted> spread = OverTwoSpaces(fitted);
    if (spread && (!spread_ || spread->compiled.time.after < spread_->compiled.time.after)) {
      spread_ = std::move(spread);
    }
    return false;
  }

  /// Tries the graph whole, then with chains cut, then with single ops split too. Ops that share
  /// bytes with their inputs need less than their working sets: ops that fit the arena are not
  /// split for those.
  Result<std::optional<Fitted>> TryKernels(bool lean) {
    const CompileOptions compile = lean ? Lean(options_, limit_) : options_;
    TENON_ASSIGN_OR_RETURN(Fitted whole, Split(graph_, compile, MemorySplit(), /*ops=*/false));
    if (!lean) whole_time_ = whole.compiled.time.after;
    if (AcceptUncut(whole, lean)) return std::optional(std::move(whole));
    const CompileOptions in_place = InPlace(compile);
    TENON_ASSIGN_OR_RETURN(Fitted over, Split(graph_, in_place, MemorySplit(), /*ops=*/false));
    if (AcceptUncut(over, lean)) return std::optional(std::move(over));
    if (!split_.allowed || SpreadIsFastest()) return std::optional<Fitted>();
    const int64_t limit = std::max<int64_t>(limit_ - Beside(whole), 1);
    for (const bool ops : {false, true}) {
      Result<Fitted> cut = Cut(in_place, limit, whole, ops);
      if (!cut.ok() && !IsTooLarge(cut.error())) return cut.error();
      if (cut.ok() && Accept(*cut, lean)) return std::optional(std::move(*cut));
    }
    return std::optional<Fitted>();
  }

  [[nodiscard]] bool IsTooSlow(const Fitted& fitted) const {
    return most_time_ > 0 && static_cast<double>(fitted.compiled.time.after) > most_time_;
  }

  /// Returns the bytes that are needed in addition to the arena.
  [[nodiscard]] int64_t Beside(const Fitted& fitted) const {
    return NeededBytes(fitted.compiled, board_) - fitted.compiled.arena.bytes;
  }

  /// Returns true if it fits.
  bool Accept(Fitted& fitted, bool lean) {
    if (unsplit_ == 0) unsplit_ = fitted.compiled.arena.bytes;
    fitted.lean = lean;
    fitted.compiled.memory.unsplit_bytes = unsplit_;
    return NeededBytes(fitted.compiled, board_) <= limit_;
  }

  /// Compiles the graph; with `ops`, first splits every op whose working set exceeds its memory.
  Result<Fitted> Split(Graph graph, const CompileOptions& compile, MemorySplit chains,
                       bool ops) const {
    Fitted fitted;
    fitted.chains = std::move(chains);
    if (ops) {
      TENON_RETURN_IF_ERROR(SplitToWorkingSet(graph, WorkingSetLimitOf(board_), fitted.ops));
    }
    TENON_ASSIGN_OR_RETURN(fitted.compiled, Compile(std::move(graph), compile));
    return fitted;
  }

  /// Cuts chains until the arena is within `limit`; 0: as small as possible. `whole` is the graph
  /// compiled uncut, whose order is a good one to start from.
  Result<Fitted> Cut(const CompileOptions& compile, int64_t limit, const Fitted& whole,
                     bool ops) const {
    Graph graph = graph_;
    if (whole.compiled.order.changed) TakeOrder(whole.compiled, graph);
    const auto measure = [&](const Graph& candidate) -> Result<int64_t> {
      TENON_ASSIGN_OR_RETURN(const Fitted fitted,
                             Split(candidate, AsCut(compile), MemorySplit(), ops));
      return IsTooSlow(fitted) ? kTooSlow : fitted.compiled.arena.bytes;
    };
    TENON_ASSIGN_OR_RETURN(MemoryFit fit, FitMemory(graph, limit, split_options_, measure));
    return Split(std::move(graph), compile, std::move(fit.split), ops);
  }

  const Graph& graph_;
  CompileOptions options_;  ///< for `board_`
  const SplitOptions& split_;
  const Board board_;
  int64_t limit_ = 0;
  int64_t unsplit_ = 0;
  double most_time_ = 0;  ///< in picoseconds; 0: no limit
  MemorySplitOptions split_options_;
  Picoseconds whole_time_ = 0;    ///< time of the uncut graph in one space
  std::optional<Fitted> spread_;  ///< the fastest spread over two spaces so far
};

/// `works`: the smallest limit that does.
Error TooLarge(const Compiled& smallest, const Board& board, int64_t works, bool split) {
  const MemorySpace& space = *board.ArenaSpace();
  const PeakStep peak = FindPeakStep(smallest);
  Error error{ErrorKind::kDoesNotFit, "", {}};
  error.message = fmt::format("the model needs {} bytes of '{}', {} are available", works,
                              space.name, space.usable_bytes());
  error.details.push_back(
      fmt::format("most is needed while '{}' runs: {} bytes of tensors and workspace are alive",
                  peak.op, peak.bytes));
  error.details.push_back(
      fmt::format("arena: {} bytes{}", smallest.arena.bytes,
                  split ? ", with everything split that helps" : "; --split=auto may need less"));
  const int64_t beside = NeededBytes(smallest, board) - smallest.arena.bytes;
  if (beside > 0) {
    error.details.push_back(
        fmt::format("packed weights and constants beside it: {} bytes", beside));
  }
  error.details.push_back(
      fmt::format("the smallest limit that works is --memory-limit {}={}", space.name, works));
  return error;
}

/// Returns the way that fits under a limit of `bytes`, if there is one.
Result<std::optional<Fitted>> TryLimit(const Graph& graph, const CompileOptions& options,
                                       const SplitOptions& split, int64_t bytes) {
  return OneUnitFitter(graph, options, split, WithLimit(options.board(), bytes)).Try();
}

/// Refuses a graph on a board with a direct space: states the smallest limit with which the
/// smallest graph fits both spaces.
Error RefuseSpread(const CompileOptions& options, bool split, const Fitted& smallest) {
  const Board& board = options.board();
  const int64_t whole = smallest.compiled.arena.bytes;
  const int64_t beside = NeededBytes(smallest.compiled, board) - whole;
  const int64_t arena = SmallestSpread(options, whole, smallest.compiled);
  Error error = TooLarge(smallest.compiled, board, arena + beside, split);
  if (arena < whole) {
    error.details.push_back(
        fmt::format("with that limit the rest lies in '{}'", board.DirectSpace()->name));
  }
  return error;
}

/// Refuses a graph and states the smallest limit that works: it was tried, and so was one byte
/// less, which failed. (After `kMostTries` improvements a smaller one may remain undiscovered.)
Error Refuse(const Graph& graph, const CompileOptions& options, const SplitOptions& split) {
  constexpr int kMostTries = 6;
  constexpr int64_t kUnlimited = int64_t{1} << 50;
  const Board& board = options.board();
  TENON_ASSIGN_OR_RETURN(
      Fitted smallest,
      OneUnitFitter(graph, options, split, WithLimit(board, kUnlimited)).Smallest());
  int64_t works = NeededBytes(smallest.compiled, board);
  if (board.DirectSpace() != nullptr) return RefuseSpread(options, split.allowed, smallest);
  for (int tries = 0; tries < kMostTries; ++tries) {
    TENON_ASSIGN_OR_RETURN(std::optional<Fitted> found, TryLimit(graph, options, split, works - 1));
    if (!found.has_value()) break;
    smallest = std::move(*found);
    const int64_t needed = NeededBytes(smallest.compiled, board);
    const Result<std::optional<Fitted>> again = TryLimit(graph, options, split, needed);
    works = again.ok() && again->has_value() ? needed : works - 1;
  }
  return TooLarge(smallest.compiled, board, works, split.allowed);
}

Result<Fitted> FitOneUnit(const Graph& graph, const CompileOptions& options,
                          const SplitOptions& split) {
  const Board& board = options.board();
  OneUnitFitter fitter(graph, options, split, board);
  if (options.objective == Objective::kMemory) {
    TENON_ASSIGN_OR_RETURN(Fitted smallest, fitter.Smallest());
    if (NeededBytes(smallest.compiled, board) <= board.ArenaSpace()->usable_bytes()) {
      return smallest;
    }
    std::optional<Fitted> spread = fitter.OverTwoSpaces(std::move(smallest));
    if (spread) return std::move(*spread);
  } else {
    TENON_ASSIGN_OR_RETURN(std::optional<Fitted> found, fitter.Try());
    if (found) return std::move(*found);
  }
  return Refuse(graph, options, split);
}

/// Fits a graph to several concurrent units: compiles each way to split with little effort, then
/// the fastest one again in full.
class SeveralUnitsFitter {
 public:
  SeveralUnitsFitter(const Graph& graph, const CompileOptions& options, const SplitOptions& split)
      : graph_(graph), options_(options), split_(split.allowed), board_(options.board()) {
    split_options_.limits = board_.splitting;
    split_options_.work_budget = split.work_budget;
  }

  Result<Fitted> Fastest() const {
    if (!split_) return With(Shares{}, options_);
    // Chains, then single ops, are cut so that they leave space for what is fetched ahead.
    constexpr Shares kWays[] = {{0, 8}, {0, 4}, {0, 2}, {0, 1}, {8, 4}, {8, 2},
                                {8, 1}, {6, 4}, {6, 2}, {6, 1}, {4, 2}, {4, 1}};
    std::optional<Shares> best;
    Picoseconds best_time = 0;
    std::optional<Error> first_error;
    bool tried_whole = false;
    for (const Shares& shares : kWays) {
      Result<Candidate> candidate = Split(shares);
      if (candidate.ok() && candidate->IsWhole() && std::exchange(tried_whole, true)) continue;
      if (candidate.ok()) {
        const Status status = CompileCandidate(Quick(options_), *candidate);
        if (!status.ok()) candidate = status.error();
      }
      if (!candidate.ok()) {
        if (!IsTooLarge(candidate.error())) return candidate.error();
        if (!first_error) first_error = candidate.error();
        continue;
      }
      const TimeReport& time = candidate->fitted.compiled.time;
      if (best && time.after >= best_time) continue;
      best = shares;
      best_time = time.after;
      if (best_time <= time.lower_bound && candidate->IsWhole()) {
        break;  // no order of whole ops takes less, and parts only add starts
      }
    }
    if (!best) return *first_error;
    return With(*best, options_);
  }

 private:
  /// Eighths of the fast memory that chains' live bytes and ops' working sets may use; 0 cuts no
  /// chains.
  struct Shares {
    int64_t chains = 0;
    int64_t ops = 8;
  };

  struct Candidate {
    Fitted fitted;
    Graph graph;  ///< split, not compiled yet

    [[nodiscard]] bool IsWhole() const {
      return fitted.ops.splits.empty() && fitted.chains.chains.empty();
    }
  };

  Result<Candidate> Split(const Shares& shares) const {
    constexpr int64_t kShares = 8;
    Candidate candidate;
    candidate.graph = graph_;
    if (shares.chains != 0) {
      // Inputs and outputs are in slow memory but count here, so a share below the smallest target
      // cuts nothing.
      const int64_t share = board_.ArenaSpace()->usable_bytes() / kShares * shares.chains;
      const int64_t target = std::max(share, SmallestTarget(candidate.graph, split_options_));
      TENON_ASSIGN_OR_RETURN(candidate.fitted.chains,
                             SplitForMemory(candidate.graph, target, split_options_));
    }
    if (split_) {
      WorkingSetLimit working_set = WorkingSetLimitOf(board_);
      for (WorkingSpace& space : working_set.spaces) {
        space.bytes = space.bytes / kShares * shares.ops;
      }
      TENON_RETURN_IF_ERROR(SplitToWorkingSet(candidate.graph, working_set, candidate.fitted.ops));
    }
    return candidate;
  }

  static Status CompileCandidate(const CompileOptions& compile, Candidate& candidate) {
    TENON_ASSIGN_OR_RETURN(candidate.fitted.compiled, Compile(std::move(candidate.graph), compile));
    return {};
  }

  Result<Fitted> With(const Shares& shares, const CompileOptions& compile) const {
    TENON_ASSIGN_OR_RETURN(Candidate candidate, Split(shares));
    TENON_RETURN_IF_ERROR(CompileCandidate(compile, candidate));
    return std::move(candidate.fitted);
  }

  const Graph& graph_;
  const CompileOptions& options_;
  bool split_;
  const Board& board_;
  MemorySplitOptions split_options_;
};

}  // namespace

int64_t NeededBytes(const Compiled& compiled, const Board& board) {
  const int64_t beside = PackedBytes(compiled.graph);
  const bool holds_constants = board.ArenaSpace()->holds_constants;
  return compiled.arena.bytes + beside + (holds_constants ? ConstantBytes(compiled.graph) : 0);
}

Result<Fitted> CompileToFit(const Graph& graph, const CompileOptions& options,
                            const SplitOptions& split) {
  const Board& board = options.board();
  TENON_ASSIGN_OR_RETURN(const bool one_unit, RunsOnOneUnit(graph, options));
  if (!one_unit) {
    if (options.objective == Objective::kMemory) {
      return UsageError(
          "the objective memory is for one unit: several of '{}' are used, which are scheduled for "
          "time within '{}'",
          board.name, board.ArenaSpace()->name);
    }
    return SeveralUnitsFitter(graph, options, split).Fastest();
  }
  TENON_ASSIGN_OR_RETURN(Fitted fitted, FitOneUnit(graph, options, split));
  GrowWorkspaces(fitted.compiled.graph, fitted.compiled.arena);
  return fitted;
}

}  // namespace tenon::converter
