#include "converter/driver/fit.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "converter/driver/fit_one_unit.hpp"
#include "converter/driver/fit_several_units.hpp"
#include "converter/driver/predict_time.hpp"
#include "converter/driver/refusal.hpp"
#include "converter/schedule/program_problem.hpp"

namespace tenon::converter {
namespace {

/// Returns the board with the first compute unit of its CPU alone; none if that is no change.
std::optional<Board> CpuAlone(const Board& board) {
  const Unit* cpu = ComputeUnit(board);
  const auto others = [&](const Unit& unit) { return !unit.IsTransferOnly() && &unit != cpu; };
  if (cpu == nullptr || !cpu->ops.empty() || board.SpaceOf(*cpu) != board.ArenaSpace() ||
      std::none_of(board.units.begin(), board.units.end(), others) ||
      MemoryOf(board).slow != nullptr) {
    return std::nullopt;
  }
  Board alone = board;
  alone.units = {*cpu};
  return alone;
}

/// Fits a graph to a board by all ways that there are.
class Fitter {
 public:
  Fitter(const Graph& graph, const CompileOptions& options, const SplitOptions& split)
      : graph_(graph), options_(options), split_(split), board_(options.board()) {}

  Result<Fitted> Run() {
    TENON_RETURN_IF_ERROR(FindWays());
    const bool for_memory = options_.objective == Objective::kMemory;
    if (!for_memory || one_unit_) {
      TENON_ASSIGN_OR_RETURN(const Fitted whole, ways_.front()->Whole());
      TENON_RETURN_IF_ERROR(CheckConstants(whole));
      if (!for_memory) TENON_RETURN_IF_ERROR(Offer(whole).status());
    }
    if (!accepted_) TENON_RETURN_IF_ERROR(FindProof());
    if (!accepted_ || for_memory) TENON_RETURN_IF_ERROR(TryOtherCuts());
    if (!accepted_) return Refuse();
    if (for_memory && split_.limit_asked) TENON_RETURN_IF_ERROR(TakeSmallerWay());
    return for_memory ? std::move(*accepted_) : Fastest();
  }

 private:
  /// The board's own way comes first. What needs too much on several backends may fit on the CPU
  /// alone, whose kernels work in place and in little workspace.
  Status FindWays() {
    TENON_ASSIGN_OR_RETURN(one_unit_, RunsOnOneUnit(graph_, options_));
    if (one_unit_) {
      ways_.push_back(std::make_unique<OneUnitFitter>(graph_, options_, split_));
    } else {
      if (split_.most_slowdown > 0) {
        return UsageError("a most slowdown is for one unit: several of '{}' are used", board_.name);
      }
      ways_.push_back(std::make_unique<SeveralUnitsFitter>(graph_, options_, split_));
    }
    std::optional<Board> cpu = CpuAlone(board_);
    if (!cpu) return {};
    cpu_ = std::move(*cpu);
    cpu_options_ = options_;
    cpu_options_.kernels.board = &cpu_;
    cpu_options_.mapping = MappingMode::kTable;
    Graph mapped = graph_;
    if (!ChooseKernels(mapped, cpu_options_.kernels).ok()) return {};  // pinned, or no kernel
    ways_.push_back(std::make_unique<OneUnitFitter>(graph_, cpu_options_, split_));
    return {};
  }

  /// Refuses at once a model whose constants alone are too many for a memory that holds nothing
  /// else, if its arena is short too: no split makes constants fewer, so that looking for the
  /// smallest arena would take long and help nobody.
  Status CheckConstants(const Fitted& whole) const {
    const MemorySpace& space = ConstantsSpace(board_);
    if (&space == board_.ArenaSpace()) return {};
    TENON_ASSIGN_OR_RETURN(const std::vector<SpaceNeed> needs, NeedsOf(whole.compiled, board_));
    const int64_t constants = std::min(graph_.ConstantBytes(), NeedOf(needs, space.name).constants);
    const SpaceNeed arena = NeedOf(needs, board_.ArenaSpace()->name);
    if (constants <= space.usable_bytes() || arena.bytes() <= board_.ArenaSpace()->usable_bytes()) {
      return {};
    }
    return RefusalOfConstants(constants, arena, board_);
  }

  /// Accepts the program if nothing that it needs is short. Else keeps what a refusal says of it.
  Result<bool> Offer(Fitted fitted) {
    TENON_ASSIGN_OR_RETURN(std::vector<SpaceNeed> needs, NeedsOf(fitted.compiled, board_));
    if (FindShortage(needs, board_) == nullptr) {
      accepted_ = std::move(fitted);
      return true;
    }
    refused_.push_back({std::move(fitted), std::move(needs)});
    return false;
  }

  /// Finds a program that fits, whether fast or not. What exists is the same whatever the limit is,
  /// so that with a larger limit something is found too.
  Status FindProof() {
    const int64_t limit = board_.ArenaSpace()->usable_bytes();
    std::optional<Fitted> proof;
    if (options_.objective == Objective::kMemory) {
      TENON_ASSIGN_OR_RETURN(proof, ways_.front()->SmallestInAll());
    } else {
      TENON_ASSIGN_OR_RETURN(proof, ways_.front()->Proof(limit));
    }
    if (proof) {
      TENON_ASSIGN_OR_RETURN(const bool fits, Offer(std::move(*proof)));
      if (fits) return {};
    }
    for (const auto& ways : ways_) {
      // On one device alone nothing is smaller than on the CPU alone.
      if (one_unit_ && ways_.size() > 1 && &ways == &ways_.front()) continue;
      TENON_ASSIGN_OR_RETURN(Fitted smallest, ways->Smallest());
      MarkUnit(ways, smallest);
      TENON_ASSIGN_OR_RETURN(const bool fits, Offer(std::move(smallest)));
      if (fits) return {};
    }
    return {};
  }

  /// For the smallest arena within a limit that is asked for: takes the CPU alone where it needs
  /// less than the table's mapping. Else a larger limit would give a larger arena.
  Status TakeSmallerWay() {
    const std::string space = board_.ArenaSpace()->name;
    for (const auto& ways : ways_) {
      if (&ways == &ways_.front() || !accepted_->only_unit.empty()) continue;
      TENON_ASSIGN_OR_RETURN(Fitted smallest, ways->Smallest());
      MarkUnit(ways, smallest);
      TENON_ASSIGN_OR_RETURN(const auto before, NeedsOf(accepted_->compiled, board_));
      TENON_ASSIGN_OR_RETURN(const auto after, NeedsOf(smallest.compiled, board_));
      if (NeedOf(after, space).bytes() >= NeedOf(before, space).bytes()) continue;
      TENON_RETURN_IF_ERROR(Offer(std::move(smallest)).status());
    }
    return {};
  }

  /// Where patches do not fit, or for the smallest arena, tries those whose exits lie beside what
  /// they are made of, and both as tiles; on microcontrollers, since elsewhere such small ops are
  /// over before they have started.
  Status TryOtherCuts() {
    if (!one_unit_ || !split_.allowed || board_.architecture != "cortex-m") return {};
    struct Cuts {
      bool tiles;
      bool follow;
    };
    for (const Cuts& cuts : {Cuts{false, false}, Cuts{true, true}, Cuts{true, false}}) {
      if (accepted_ && options_.objective != Objective::kMemory) return {};
      if (options_.time_limit.Passed()) return {};
      if (cuts.tiles && !MayMakeTiles(options_.arena.outside)) continue;
      split_.tiles = cuts.tiles;
      split_.follow = cuts.follow;
      TENON_RETURN_IF_ERROR(TryCuts());
    }
    return {};
  }

  /// Tries the cuts that are allowed now. What is known by then stays if it is as small: in one
  /// search, a first smaller plan could hide one that gets smaller still.
  Status TryCuts() {
    std::optional<Fitted> known = std::move(accepted_);
    accepted_.reset();
    ways_.clear();
    ways_.push_back(std::make_unique<OneUnitFitter>(graph_, options_, split_));
    TENON_RETURN_IF_ERROR(FindProof());
    const bool is_smaller =
        accepted_ && known && accepted_->compiled.arena.bytes < known->compiled.arena.bytes;
    if (known && !is_smaller) accepted_ = std::move(known);
    return {};
  }

  /// Aims at the limit, now that something is known to fit, which is kept where it is faster. The
  /// first way that fits is the last that is tried, unless all are to be compared.
  Result<Fitted> Fastest() {
    const int64_t limit = board_.ArenaSpace()->usable_bytes();
    Fitted fastest = std::move(*accepted_);
    bool replaces = split_.force_program;  // what is known to fit is not what was asked for
    for (const auto& ways : ways_) {
      TENON_ASSIGN_OR_RETURN(const bool may_be, MayBeFaster(ways, fastest));
      if (!may_be && !replaces) continue;
      TENON_ASSIGN_OR_RETURN(std::optional<Fitted> aimed, ways->Aim(limit));
      if (!aimed) continue;
      MarkUnit(ways, *aimed);
      TENON_ASSIGN_OR_RETURN(const bool fits, Offer(std::move(*aimed)));
      if (!fits) continue;
      const bool is_slower = TimeOf(*accepted_) > TimeOf(fastest);
      if (!is_slower || replaces) fastest = std::move(*accepted_);
      if (!ComparesWays()) break;
      replaces = false;
    }
    return fastest;
  }

  /// A larger limit must not give a slower program, which it would where the CPU alone is faster
  /// than the table's mapping, but is only taken while that does not fit. Streams are another
  /// matter: there units work side by side on several inputs.
  [[nodiscard]] bool ComparesWays() const {
    return split_.limit_asked && options_.objective == Objective::kLatency;
  }

  /// The CPU alone is never faster than without any limit.
  Result<bool> MayBeFaster(const std::unique_ptr<FitWays>& ways, const Fitted& than) const {
    if (&ways == &ways_.front() || !ComparesWays()) return true;
    TENON_ASSIGN_OR_RETURN(const Fitted whole, ways->Whole());
    return TimeOf(whole) < TimeOf(than);
  }

  static Picoseconds TimeOf(const Fitted& fitted) { return fitted.compiled.time.after; }

  void MarkUnit(const std::unique_ptr<FitWays>& ways, Fitted& fitted) const {
    if (&ways != &ways_.front()) fitted.only_unit = cpu_.units.front().name;
  }

  Error Refuse() { return RefusalOf(refused_, board_, split_.allowed); }

  const Graph& graph_;
  const CompileOptions& options_;
  SplitOptions split_;
  const Board& board_;
  Board cpu_;  ///< its CPU alone
  CompileOptions cpu_options_;
  bool one_unit_ = false;  ///< the first way runs on one unit
  std::vector<std::unique_ptr<FitWays>> ways_;
  std::optional<Fitted> accepted_;
  std::vector<RefusedProgram> refused_;
};

}  // namespace

namespace {

/// A refusal of what a forced memory program does not fit says so where other ways do. Its limit is
/// one that works with the program forced.
Error WithOtherWays(Error refused, const Graph& graph, const CompileOptions& options,
                    SplitOptions split) {
  split.force_program = false;
  if (!Fitter(graph, options, split).Run().ok()) return refused;
  const MemorySpace& space = *options.board().ArenaSpace();
  refused.details.insert(refused.details.begin(), refused.message);
  refused.message = fmt::format(
      "memory program: none that is found keeps to {} bytes of '{}', other ways do: "
      "--memory-program=auto takes them",
      space.usable_bytes(), space.name);
  return refused;
}

/// Returns how large workspaces may make the arena: for the fastest program within a limit that was
/// asked for, as large as that limit.
Result<int64_t> BytesForWorkspaces(const Fitted& fitted, const CompileOptions& options,
                                   const SplitOptions& split) {
  if (!split.limit_asked || options.objective != Objective::kLatency) return 0;
  TENON_ASSIGN_OR_RETURN(const int64_t beside, BytesBesideArena(fitted.compiled, options.board()));
  return options.board().ArenaSpace()->usable_bytes() - beside;
}

}  // namespace

Result<Fitted> CompileToFit(const Graph& graph, const CompileOptions& options,
                            const SplitOptions& split) {
  Result<Fitted> found = Fitter(graph, options, split).Run();
  if (!found.ok() && IsTooLarge(found.error()) && split.force_program) {
    return WithOtherWays(found.error(), graph, options, split);
  }
  TENON_ASSIGN_OR_RETURN(Fitted fitted, std::move(found));
  if (fitted.compiled.schedule.workers.empty()) {
    TENON_ASSIGN_OR_RETURN(const int64_t most, BytesForWorkspaces(fitted, options, split));
    FillArena(options, most, fitted.compiled);
  }
  return fitted;
}

}  // namespace tenon::converter
