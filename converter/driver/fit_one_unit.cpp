#include "converter/driver/fit_one_unit.hpp"

#include <algorithm>
#include <utility>

#include "converter/driver/direct_space.hpp"
#include "converter/driver/fit_program.hpp"
#include "converter/schedule/make_schedule.hpp"
#include "converter/split/early_reads.hpp"

namespace tenon::converter {
namespace {

CompileOptions Lean(CompileOptions options, int64_t limit) {
  options.kernels = LeanKernels(std::move(options.kernels), limit);
  return options;
}

/// Returns options that prefer in-place kernels with the smallest workspaces. Only a CPU has some:
/// on a board of several units preferring them would move ops between units.
CompileOptions InPlace(CompileOptions options) {
  if (NeedsSchedule(options.board())) return options;
  options.kernels.in_place = true;
  options.kernels.least_workspace = true;
  return options;
}

/// Returns options without groups of ops that start together, which need more memory.
CompileOptions Apart(CompileOptions options) {
  options.branches.fuse = false;
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

/// Tiles are worth making of layers with few channels, of which kernels do no more
/// multiply-accumulates than of depthwise ones.
PatchPrices TilePricesOf(const Board& board) {
  PatchPrices prices = PricesOf(board);
  const Unit* unit = ComputeUnit(board);
  if (unit != nullptr && unit->depthwise_fraction > 0) {
    prices.bytes_per_work /= unit->depthwise_fraction;
  }
  return prices;
}

/// Returns true for shares (see LeanKernels) that whole ops are tried with, and nothing else.
bool IsBetween(int64_t shares) { return shares != 0 && shares != kLeanShares; }

Picoseconds TimeOf(const Fitted& fitted) { return fitted.compiled.time.after; }

/// Gives `graph` the order that its ops have in `compiled`, which was made from it: ops keep their
/// ids.
void TakeOrder(const Compiled& compiled, Graph& graph) {
  std::vector<OpId> order;
  for (const OpId id : compiled.graph.OpOrder()) {
    if (graph.IsOp(id)) order.push_back(id);
  }
  if (order.size() == graph.OpOrder().size()) graph.SetOrder(order);
}

}  // namespace

Board WithLimit(Board board, int64_t bytes) {
  MemorySpace* space = board.FindSpace(board.ArenaSpace()->name);
  space->bytes = bytes;
  space->reserve_bytes = 0;
  return board;
}

KernelChoiceOptions LeanKernels(KernelChoiceOptions kernels, int64_t limit, int64_t shares) {
  constexpr int64_t kLeast = 16 * 1024;
  kernels.workspace_limit = std::max(kLeast, limit / shares);
  kernels.packed_limit = kernels.workspace_limit;
  return kernels;
}

CompileOptions Quick(CompileOptions options) {
  constexpr int64_t kShare = 16;
  options.order.budget /= kShare;
  options.arena.place.work_budget /= kShare;
  options.branches.improve_work /= kShare;
  return options;
}

OneUnitFitter::OneUnitFitter(const Graph& graph, const CompileOptions& options,
                             const SplitOptions& split)
    : graph_(graph),
      split_(split),
      options_(options),
      board_(WithLimit(options.board(), kUnlimited)) {
  options_.kernels.board = &board_;
  options_.fill_with_workspaces = split.limit_asked && options.objective == Objective::kLatency;
  options_.branches.space_bytes = options.board().ArenaSpace()->usable_bytes();
  split_options_.limits = board_.splitting;
  split_options_.tiles = split.tiles;
  split_options_.follow = options.arena.follow && split.follow;
  constexpr double kPatchSeconds = 1e-7;  // a unit of that search
  constexpr int64_t kLeastShare = 64;
  split_options_.least_work = split.work_budget / kLeastShare;
  split_options_.work_budget = std::max(options.time_limit.Within(split.work_budget, kPatchSeconds),
                                        split_options_.least_work);
  split_options_.time_limit = options.time_limit;
  split_options_.in_place = InPlaceInputsOf(options);
  split_options_.outside = options.arena.outside;
  split_options_.tile_prices = TilePricesOf(board_);
  if (split.most_slowdown > 0) split_options_.prices = PricesOf(board_);
}

Result<Fitted> OneUnitFitter::Whole() {
  if (!whole_) {
    TENON_ASSIGN_OR_RETURN(whole_, SplitAndCompile(graph_, options_, MemorySplit(), /*ops=*/false));
    whole_->compiled.memory.unsplit_bytes = unsplit_ = whole_->compiled.arena.bytes;
  }
  return *whole_;
}

Result<std::optional<Fitted>> OneUnitFitter::Aim(int64_t bytes) {
  limit_ = bytes;
  board_ = WithLimit(std::move(board_), bytes);
  spread_.reset();
  Result<std::optional<Fitted>> aimed = AimAtOneSpace();
  if (!aimed.ok() && IsTooLarge(aimed.error())) aimed = std::optional<Fitted>();
  TENON_ASSIGN_OR_RETURN(std::optional<Fitted> found, std::move(aimed));
  if (found && split_.limit_asked && HasDirectSpace()) {
    // As it would be within less, where the second space is the faster one.
    TENON_ASSIGN_OR_RETURN(const Fitted whole, Whole());
    TENON_ASSIGN_OR_RETURN(Fitted least, LeastSpread(whole));
    TENON_ASSIGN_OR_RETURN(const bool fits, Accept(least, /*lean=*/false));
    if (fits && TimeOf(least) < TimeOf(*found)) found = std::move(least);
  }
  // What costs no time needs no memory program.
  const auto whole_time = whole_ ? whole_->compiled.time.after : 0;
  if (split_.force_program) return AimByProgram();
  if (found && options_.time_limit.Passed()) return found;
  if (split_.program && !(found && found->compiled.time.after <= whole_time)) {
    TENON_ASSIGN_OR_RETURN(std::optional<Fitted> program, AimByProgram());
    if (program && (!found || program->compiled.time.after < found->compiled.time.after)) {
      found = std::move(program);
    }
  }
  const bool spread_is_better =
      spread_ && (!found || spread_->compiled.time.after < found->compiled.time.after);
  return spread_is_better ? std::move(spread_) : std::move(found);
}

Result<std::optional<Fitted>> OneUnitFitter::Proof(int64_t bytes) {
  TENON_ASSIGN_OR_RETURN(const Fitted uncut, LeastUncut());
  TENON_ASSIGN_OR_RETURN(const int64_t beside, BytesBesideArena(uncut.compiled, board_));
  if (uncut.compiled.arena.bytes + beside <= bytes) return std::optional(uncut);
  return std::optional<Fitted>();
}

Result<Fitted> OneUnitFitter::Smallest() {
  if (!smallest_) {
    TENON_ASSIGN_OR_RETURN(const Fitted uncut, LeastUncut());
    TENON_ASSIGN_OR_RETURN(Fitted in_one, SmallestInAll());
    TENON_ASSIGN_OR_RETURN(smallest_, LeastSpread(std::move(in_one)));
    TENON_RETURN_IF_ERROR(TakeIfSmaller(uncut, *smallest_));
  }
  return *smallest_;
}

Result<Fitted> OneUnitFitter::SmallestInAll() {
  if (!in_one_) {
    board_ = WithLimit(std::move(board_), kUnlimited);
    TENON_ASSIGN_OR_RETURN(in_one_, SmallestInOneSpace());
    if (HasDirectSpace()) return *in_one_;
    TENON_ASSIGN_OR_RETURN(const Fitted uncut, LeastUncut());
    if (!IsTooSlow(uncut, most_time_)) TENON_RETURN_IF_ERROR(TakeIfSmaller(uncut, *in_one_));
  }
  return *in_one_;
}

/// Returns the program of whole ops that needs least: with kernels in place or with the fastest,
/// and over two spaces if the board has them.
Result<Fitted> OneUnitFitter::LeastUncut() {
  if (!uncut_) {
    board_ = WithLimit(std::move(board_), kUnlimited);
    TENON_ASSIGN_OR_RETURN(Fitted whole, Whole());
    TENON_ASSIGN_OR_RETURN(uncut_, LeastSpread(std::move(whole)));
    const CompileOptions compile = Apart(InPlace(Quick(options_)));
    TENON_ASSIGN_OR_RETURN(Fitted over,
                           SplitAndCompile(graph_, compile, MemorySplit(), /*ops=*/false));
    over.compiled.memory.unsplit_bytes = unsplit_;
    TENON_ASSIGN_OR_RETURN(over, LeastSpread(std::move(over)));
    TENON_RETURN_IF_ERROR(TakeIfSmaller(std::move(over), *uncut_));
  }
  return *uncut_;
}

/// Where patches cost time, whole ops with kernels that need less beside the arena may be faster.
Result<std::optional<Fitted>> OneUnitFitter::AimAtOneSpace() {
  constexpr int64_t kShares[] = {0, 2, 4, 8, kLeanShares};
  std::optional<Fitted> fastest;
  // Whole ops alone: known to need more, whatever their kernels pack?
  const bool must_cut = uncut_ && uncut_->compiled.arena.bytes > limit_;
  for (const int64_t shares : kShares) {
    if (IsBetween(shares) && must_cut) continue;
    TENON_ASSIGN_OR_RETURN(std::optional<Fitted> found, AimWith(shares));
    if (found && (!fastest || TimeOf(*found) < TimeOf(*fastest))) fastest = std::move(found);
    if (SpreadIsFastest() || (fastest && IsNearlyAsFastAsWhole(*fastest))) break;
  }
  return fastest;
}

bool OneUnitFitter::IsNearlyAsFastAsWhole(const Fitted& fitted) const {
  constexpr Picoseconds kMostSlower = 16;  // a 16th
  return !whole_ || TimeOf(fitted) <= TimeOf(*whole_) + TimeOf(*whole_) / kMostSlower;
}

/// Returns the fastest of the memory programs of the whole graph and of graphs that are cut less
/// than they would have to be without it.
Result<std::optional<Fitted>> OneUnitFitter::AimByProgram() {
  constexpr int64_t kEighths[] = {10, 13, 16};  // of the limit: what is left of it to the program
  if (SpreadIsFastest()) return std::optional<Fitted>();
  TENON_ASSIGN_OR_RETURN(const Fitted whole, Whole());
  TENON_ASSIGN_OR_RETURN(const int64_t beside, BytesBesideArena(whole.compiled, board_));
  const int64_t bytes = limit_ - beside;
  TENON_ASSIGN_OR_RETURN(std::optional<Fitted> best, FitByProgram(graph_, options_, whole, bytes));
  const CompileOptions in_place = InPlace(options_);
  if (!best) {
    TENON_ASSIGN_OR_RETURN(best, FitByProgram(graph_, in_place, whole, bytes));
  }
  const int64_t fewest = best ? best->compiled.time.after : INT64_MAX;
  for (const int64_t eighths : kEighths) {
    if (!split_.allowed || bytes <= 0 || fewest <= whole.compiled.time.after) break;
    Result<Fitted> cut =
        Cut(in_place, bytes / 8 * eighths, whole, /*ops=*/false, Wanted::kCheapest);
    if (!cut.ok() && !IsTooLarge(cut.error())) return cut.error();
    if (!cut.ok() || cut->cut == nullptr) continue;
    CompileOptions as_cut = Quick(in_place);
    as_cut.order.mode = OrderMode::kSource;
    TENON_ASSIGN_OR_RETURN(std::optional<Fitted> found,
                           FitByProgram(*cut->cut, as_cut, *cut, bytes));
    if (!found) continue;
    TENON_ASSIGN_OR_RETURN(const bool accepted, Accept(*found, /*lean=*/false));
    if (!accepted) continue;
    if (best && best->compiled.time.after <= found->compiled.time.after) continue;
    best = std::move(found);
  }
  return best;
}

/// Looks for a memory program that needs less than the smallest program without one.
Status OneUnitFitter::ShrinkByProgram(Fitted& smallest) const {
  if (!split_.program) return {};
  CompileOptions compile = InPlace(Quick(options_));
  compile.program.moves = false;  // storages may be spread over two spaces afterwards
  if (smallest.cut != nullptr) compile.order.mode = OrderMode::kSource;
  const Graph& graph = smallest.cut != nullptr ? *smallest.cut : graph_;
  TENON_ASSIGN_OR_RETURN(Fitted shrunk, SmallestByProgram(graph, compile, smallest));
  if (IsTooSlow(shrunk, most_time_)) return {};
  return TakeIfSmaller(std::move(shrunk), smallest);
}

/// Returns true if using two spaces costs no time: patches then cannot be faster.
bool OneUnitFitter::SpreadIsFastest() const {
  return spread_ && whole_ && spread_->compiled.time.after <= whole_->compiled.time.after;
}

/// Returns true if it fits one space; else it becomes a candidate for two.
Result<bool> OneUnitFitter::AcceptUncut(Fitted& fitted, bool lean) {
  TENON_ASSIGN_OR_RETURN(const bool accepted, Accept(fitted, lean));
  if (accepted || !HasDirectSpace()) return accepted;
  TENON_ASSIGN_OR_RETURN(std::optional<Fitted> spread, Spread(fitted, limit_));
  if (spread && (!spread_ || spread->compiled.time.after < spread_->compiled.time.after)) {
    spread_ = std::move(spread);
  }
  return false;
}

/// Tries the graph whole, then with chains cut, then with single ops split too. Ops that share
/// bytes with their inputs need less than their working sets: ops that fit the arena are not split
/// for those. `shares`: see LeanKernels; 0: all kernels. Between the two ends nothing is cut, which
/// would take long.
Result<std::optional<Fitted>> OneUnitFitter::AimWith(int64_t shares) {
  const bool lean = shares != 0;
  CompileOptions compile = options_;
  if (lean) compile.kernels = LeanKernels(compile.kernels, limit_, shares);
  TENON_ASSIGN_OR_RETURN(
      Fitted whole,
      lean ? SplitAndCompile(graph_, compile, MemorySplit(), /*ops=*/false) : Whole());
  TENON_ASSIGN_OR_RETURN(bool accepted, AcceptUncut(whole, lean));
  if (accepted) return std::optional(std::move(whole));
  const CompileOptions in_place = InPlace(compile);
  TENON_ASSIGN_OR_RETURN(Fitted over,
                         SplitAndCompile(graph_, in_place, MemorySplit(), /*ops=*/false));
  TENON_ASSIGN_OR_RETURN(accepted, AcceptUncut(over, lean));
  if (accepted) return std::optional(std::move(over));
  if (!split_.allowed || IsBetween(shares) || SpreadIsFastest()) return std::optional<Fitted>();
  TENON_ASSIGN_OR_RETURN(const int64_t beside, BytesBesideArena(whole.compiled, board_));
  for (const bool ops : {false, true}) {
    Result<Fitted> cut =
        Cut(in_place, std::max<int64_t>(limit_ - beside, 1), whole, ops, Wanted::kCheapest);
    if (!cut.ok() && !IsTooLarge(cut.error())) return cut.error();
    if (!cut.ok()) continue;
    TENON_ASSIGN_OR_RETURN(accepted, Accept(*cut, lean));
    if (accepted) return std::optional(std::move(*cut));
  }
  return std::optional<Fitted>();
}

/// Returns true if it fits.
Result<bool> OneUnitFitter::Accept(Fitted& fitted, bool lean) {
  fitted.lean = lean;
  fitted.compiled.memory.unsplit_bytes = unsplit_;
  TENON_ASSIGN_OR_RETURN(const int64_t beside, BytesBesideArena(fitted.compiled, board_));
  return fitted.compiled.arena.bytes + beside <= limit_;
}

/// Spreads storages over the arena's space, of which `bytes` may be used, and the direct one.
Result<std::optional<Fitted>> OneUnitFitter::Spread(Fitted fitted, int64_t bytes) const {
  TENON_ASSIGN_OR_RETURN(const int64_t beside, BytesBesideArena(fitted.compiled, board_));
  if (!SpreadOverSpaces(options_, bytes - beside, fitted.compiled)) return std::optional<Fitted>();
  return std::optional(std::move(fitted));
}

Result<Fitted> OneUnitFitter::SmallestInOneSpace() {
  CompileOptions compile = Apart(InPlace(Lean(options_, /*limit=*/0)));
  TENON_ASSIGN_OR_RETURN(const Fitted fastest, Whole());
  if (split_.most_slowdown > 0) {
    most_time_ = static_cast<double>(fastest.compiled.time.after) * split_.most_slowdown;
    compile.most_time = most_time_;
  }
  TENON_ASSIGN_OR_RETURN(const Fitted whole,
                         SplitAndCompile(graph_, compile, MemorySplit(), /*ops=*/false));
  Fitted smallest = whole;
  if (split_.allowed) {
    TENON_ASSIGN_OR_RETURN(Fitted cut, Cut(compile, 0, whole, /*ops=*/false));
    if (!IsTooSlow(cut, most_time_)) TENON_RETURN_IF_ERROR(TakeIfSmaller(std::move(cut), smallest));
    TENON_RETURN_IF_ERROR(Improve(compile, whole, smallest));
  }
  TENON_RETURN_IF_ERROR(ShrinkCuts(compile, smallest));
  // Patches alone are what a forced program stands against.
  if (split_.force_program && smallest.cut != nullptr && !smallest.compiled.program.used) {
    smallest = whole;
    TENON_RETURN_IF_ERROR(ShrinkByProgram(smallest));
  }
  smallest.lean = true;
  smallest.compiled.memory.unsplit_bytes = unsplit_;
  return smallest;
}

/// Takes the program that needs less of the arena's space, with all that lies beside the arena.
Status OneUnitFitter::TakeIfSmaller(Fitted fitted, Fitted& smallest) const {
  TENON_ASSIGN_OR_RETURN(const int64_t beside, BytesBesideArena(fitted.compiled, board_));
  TENON_ASSIGN_OR_RETURN(const int64_t least, BytesBesideArena(smallest.compiled, board_));
  if (fitted.compiled.arena.bytes + beside < smallest.compiled.arena.bytes + least) {
    smallest = std::move(fitted);
  }
  return {};
}

/// Orders the patches of a program once more, with all the effort that was asked for. Where there
/// are many, each order takes longer to compare, so that fewer are.
Result<Fitted> OneUnitFitter::OrderAgain(const CompileOptions& compile, const Fitted& cut) const {
  constexpr int64_t kMany = 256;
  CompileOptions more = compile;
  const auto ops = static_cast<int64_t>(cut.cut->OpOrder().size());
  more.order.budget /= std::max<int64_t>(1, ops / kMany);
  TENON_ASSIGN_OR_RETURN(Fitted again, SplitAndCompile(*cut.cut, more, cut.chains, /*ops=*/false));
  again.ops = cut.ops;
  again.cut = cut.cut;
  return again;
}

/// Looks for smaller programs of the smallest one's patches, and of others that needed little more
/// when they were compiled quickly.
Status OneUnitFitter::ShrinkCuts(const CompileOptions& compile, Fitted& smallest) const {
  constexpr size_t kMostCuts = 3;
  constexpr int64_t kLittleMore = 32;  // a 32nd
  if (smallest.cut == nullptr || !cutter_) return ShrinkByProgram(smallest);
  std::vector<Fitted> cuts = cutter_->Promising(smallest, kMostCuts);
  cuts.insert(cuts.begin(), smallest);
  for (const Fitted& cut : cuts) {
    if (options_.time_limit.Passed()) break;
    TENON_ASSIGN_OR_RETURN(Fitted again, OrderAgain(compile, cut));
    Fitted kept = cut.compiled.arena.bytes > 0 ? cut : again;
    if (!IsTooSlow(again, most_time_)) TENON_RETURN_IF_ERROR(TakeIfSmaller(again, kept));
    const int64_t bytes = smallest.compiled.arena.bytes;
    const bool may_shrink = kept.compiled.arena.bytes <= bytes + bytes / kLittleMore;
    if (!may_shrink || IsTooSlow(kept, most_time_)) continue;
    TENON_RETURN_IF_ERROR(ShrinkByProgram(kept));
    TENON_RETURN_IF_ERROR(TakeIfSmaller(std::move(kept), smallest));
  }
  return {};
}

/// Aims below what was found, as long as that finds something smaller: the plan with the smallest
/// estimate is not always the smallest when it is placed.
Status OneUnitFitter::Improve(const CompileOptions& compile, const Fitted& whole,
                              Fitted& smallest) {
  constexpr int kMostTries = 3;
  for (int tries = 0; tries < kMostTries && !options_.time_limit.Passed(); ++tries) {
    bool improved = false;
    for (const bool ops : {false, true}) {
      const int64_t below = smallest.compiled.arena.bytes - 1;
      board_ = WithLimit(std::move(board_), below);
      Result<Fitted> cut = Cut(compile, below, whole, ops);
      if (!cut.ok() && !IsTooLarge(cut.error())) return cut.error();
      if (!cut.ok() || cut->compiled.arena.bytes > below || IsTooSlow(*cut, most_time_)) continue;
      const int64_t before = smallest.compiled.arena.bytes;
      TENON_RETURN_IF_ERROR(TakeIfSmaller(std::move(*cut), smallest));
      improved = improved || smallest.compiled.arena.bytes < before;
    }
    if (!improved) break;
  }
  board_ = WithLimit(std::move(board_), kUnlimited);
  return {};
}

/// Spreads a program, so that as little as possible is in the arena's space.
Result<Fitted> OneUnitFitter::LeastSpread(Fitted smallest) const {
  if (!HasDirectSpace()) return smallest;
  const int64_t whole = smallest.compiled.arena.bytes;
  const int64_t arena = SmallestSpread(options_, whole, smallest.compiled);
  if (arena >= whole) return smallest;
  Fitted spread = smallest;
  if (!SpreadOverSpaces(options_, arena, spread.compiled)) return smallest;
  return spread;
}

/// Cuts chains until the arena has at most `arena_bytes`; 0: as few as possible. `whole` is the
/// graph compiled uncut, whose order is a good one to start from.
Result<Fitted> OneUnitFitter::Cut(const CompileOptions& compile, int64_t arena_bytes,
                                  const Fitted& whole, bool ops, Wanted wanted) {
  if (options_.progress) options_.progress("splitting", 0);
  Graph graph = graph_;
  if (whole.compiled.order.changed) TakeOrder(whole.compiled, graph);
  if (!cutter_ || !cutter_->HasOrder(graph.OpOrder())) {
    cutter_ = std::make_unique<ChainCutter>(std::move(graph), split_options_);
    early_reads_ = 0;
  }
  const ChainCutOptions options = {compile, ops, most_time_, wanted};
  Result<Fitted> found = cutter_->Cut(options, arena_bytes);
  if (split_options_.follow) TENON_RETURN_IF_ERROR(TryEarlyReads(options, arena_bytes, found));
  return found;
}

/// Takes what is cut where shortcuts' inputs die early, if that is better than `found`.
Status OneUnitFitter::TryEarlyReads(const ChainCutOptions& options, int64_t arena_bytes,
                                    Result<Fitted>& found) {
  if (!found.ok() && !IsTooLarge(found.error())) return {};
  if (options_.time_limit.Passed() || (arena_bytes == 0 && !found.ok())) return {};
  const bool fits = arena_bytes > 0 && found.ok() && found->compiled.arena.bytes <= arena_bytes;
  if (fits && IsNearlyAsFastAsWhole(*found)) return {};
  Graph graph = cutter_->graph();
  const int64_t most = arena_bytes > 0 ? arena_bytes : found->compiled.arena.bytes;
  TENON_ASSIGN_OR_RETURN(const int reads, ReadEarly(graph, most));
  if (reads == 0) return {};
  if (reads != early_reads_) {
    early_ = std::make_unique<ChainCutter>(std::move(graph), split_options_);
    early_reads_ = reads;
  }
  Result<Fitted> early = early_->Cut(options, arena_bytes);
  if (!early.ok()) return IsTooLarge(early.error()) ? Status() : early.error();
  if (IsTooSlow(*early, options.most_time)) return {};
  const bool is_better =
      !found.ok() || IsTooSlow(*found, options.most_time) || IsCheaper(*early, *found, arena_bytes);
  if (is_better) found = std::move(early);
  return {};
}

}  // namespace tenon::converter
