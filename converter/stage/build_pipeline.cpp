#include "converter/stage/build_pipeline.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "converter/layout/lower.hpp"
#include "converter/schedule/program_problem.hpp"
#include "converter/solve/stage/balance.hpp"
#include "converter/solve/stage/simulate_pipeline.hpp"
#include "converter/stage/fetch_constants.hpp"
#include "converter/stage/stage_programs.hpp"
#include "converter/stage/stage_units.hpp"
#include "converter/stage/unit_times.hpp"

namespace tenon::converter {
namespace {

constexpr int32_t kInputsSimulated = 256;
constexpr int32_t kDeepest = 8;

KernelChoiceOptions ChoiceOf(const PipelineOptions& options, const CostModel& costs) {
  KernelChoiceOptions choice = options.KernelsWith(costs);
  choice.backends = BackendsOf(choice);
  return choice;
}

std::string UnitName(const Board& board, int32_t unit) {
  return board.units[static_cast<size_t>(unit)].name;
}

class Builder {
 public:
  Builder(const Graph& graph, const PipelineOptions& options, const PipelineUnits& units)
      : source_(graph), options_(options), board_(options.board()), units_(units) {}

  /// `unit_of_stage`: index into `units`.
  Result<PipelineProgram> Run(std::vector<int32_t> stage_of_op,
                              const std::vector<int32_t>& unit_of_stage) {
    unit_of_stage_ = unit_of_stage;
    program_.staged.graph = source_;
    program_.staged.stage_of_op = std::move(stage_of_op);
    repeated_.assign(unit_of_stage.size(), 0);
    TENON_RETURN_IF_ERROR(LowerInStages());
    TENON_RETURN_IF_ERROR(PlaceAndPredict());
    if (options_.memory_limit > 0 && program_.report.memory_bytes > options_.memory_limit) {
      TENON_RETURN_IF_ERROR(KeepToLimit());
    }
    return std::move(program_);
  }

 private:
  [[nodiscard]] int32_t BoardIndex(int32_t unit) const {
    return units_.board_unit[static_cast<size_t>(unit)];
  }
  [[nodiscard]] const Unit& BoardUnit(int32_t unit) const {
    return board_.units[static_cast<size_t>(BoardIndex(unit))];
  }

  Status LowerInStages() {
    StagedGraph& staged = program_.staged;
    const auto costs = MakeCostModel(board_, options_.profile);
    LowerOptions lower;
    lower.kernels = ChoiceOf(options_, *costs);
    lower.fallback = options_.fallback;
    lower.kernels.assigned.assign(staged.stage_of_op.size(), "");
    for (const OpId id : staged.graph.OpOrder()) {
      const auto k = static_cast<size_t>(id);
      const int32_t unit = unit_of_stage_.at(static_cast<size_t>(staged.stage_of_op.at(k)));
      lower.kernels.assigned[k] = BoardUnit(unit).backend;
    }
    const std::vector<std::string> backends = BackendOfStage();
    lower.locate = {
        "place-in-stages", [&](Graph&, PassContext& context) -> Status {
          TENON_RETURN_IF_ERROR(FetchConstants(staged, board_, StagesThatFetch(), context.report));
          TENON_RETURN_IF_ERROR(PlaceInStages(staged, backends, context.report));
          context.locations = staged.locations;
          return {};
        }};
    TENON_ASSIGN_OR_RETURN(Lowered lowered, Lower(staged.graph, lower, program_.passes));
    program_.mapping = std::move(lowered.mapping);
    return {};
  }

  [[nodiscard]] std::vector<std::string> BackendOfStage() const {
    std::vector<std::string> backends;
    for (const int32_t unit : unit_of_stage_) backends.push_back(BoardUnit(unit).backend);
    return backends;
  }

  [[nodiscard]] std::vector<bool> StagesThatFetch() const {
    std::vector<bool> fetches;
    for (const int32_t unit : unit_of_stage_) {
      const Unit& runs = BoardUnit(unit);
      fetches.push_back(runs.backend == "cpu" && board_.SpaceOf(runs) == board_.ArenaSpace());
    }
    return fetches;
  }

  Status PlaceAndPredict() {
    program_.arenas = PlanStageArenas(program_.staged, static_cast<int32_t>(unit_of_stage_.size()),
                                      options_.arena);
    FillSchedule();
    TENON_RETURN_IF_ERROR(PredictTimes());
    FillReport();
    return {};
  }

  /// Runs ops of the stages again, so that all arenas together keep to the limit. The largest ones
  /// are brought to one level; a stage that cannot reach it stays as it is, and the others go
  /// lower. What is found is placed, and the level is lowered by what that takes more. Where
  /// nothing is found the program stays as it is.
  Status KeepToLimit() {
    const PipelineProgram whole = program_;
    std::vector<int64_t> own;
    for (const PipelineReport::Stage& stage : whole.report.stages) own.push_back(stage.arena_bytes);
    std::vector<bool> stays(own.size(), false);
    const int64_t over = whole.report.memory_bytes - options_.memory_limit;
    int64_t goal = std::accumulate(own.begin(), own.end(), int64_t{0}) - over;
    const auto model = MakeCostModel(board_, options_.profile, &whole.staged.locations);
    StageProgramOptions again;
    again.backend_of_stage = BackendOfStage();
    again.solve = options_.program;
    again.time = [&](const Op& op) { return TimeOf(*model, whole.staged.graph, op).value_or(0); };
    for (size_t round = 0; round < own.size() + 3; ++round) {
      const std::optional<int64_t> level = CommonLevel(own, stays, goal);
      if (!level) break;
      again.own_bytes.clear();
      for (size_t s = 0; s < own.size(); ++s) {
        again.own_bytes.push_back(stays[s] ? own[s] : std::min(own[s], *level));
      }
      PassReport report;
      report.name = "stage-memory-programs";
      TENON_ASSIGN_OR_RETURN(StagePrograms made, RunStagesAgain(whole.staged, again, report));
      if (made.too_small >= 0) {
        stays[static_cast<size_t>(made.too_small)] = true;
        continue;
      }
      program_ = whole;
      program_.staged = std::move(made.staged);
      program_.passes.push_back(std::move(report));
      repeated_ = made.repeated;
      TENON_RETURN_IF_ERROR(PlaceAndPredict());
      const int64_t still_over = program_.report.memory_bytes - options_.memory_limit;
      if (still_over <= 0) return {};
      goal -= still_over;
    }
    program_ = whole;
    return {};
  }

  /// None if no unit runs the op.
  [[nodiscard]] std::optional<Picoseconds> TimeOf(const CostModel& model, const Graph& graph,
                                                  const Op& op) const {
    if (MemoryOf(board_).stage_constants && IsFetch(graph, op)) {
      return FetchTime(graph, op, board_);
    }
    const Unit* unit = UnitFor(board_, op);
    if (unit == nullptr) return std::nullopt;
    return model.TimeOf(graph, op, *unit).Alone(board_.PortBytesPerSecond(*unit));
  }

  void FillSchedule() {
    Schedule& schedule = program_.schedule;
    schedule = {};
    program_.worker_names.clear();
    schedule.workers.resize(unit_of_stage_.size());
    for (const int32_t unit : unit_of_stage_) {
      schedule.unit_of_worker.push_back(BoardIndex(unit));
      program_.worker_names.push_back(UnitName(board_, BoardIndex(unit)));
    }
    for (const OpId id : program_.staged.steps) {
      const int32_t stage = program_.staged.stage_of_op[static_cast<size_t>(id)];
      schedule.workers[static_cast<size_t>(stage)].push_back({id, {}});
    }
  }

  /// Simulates the steps that will run, with copies and without views, and sets the channels'
  /// depths.
  Status PredictTimes() {
    const StagedGraph& staged = program_.staged;
    const auto model = MakeCostModel(board_, options_.profile, &staged.locations);
    std::string refused;
    const auto time = [&](OpId id, size_t) -> Picoseconds {
      const Op& op = staged.graph.op(id);
      const std::optional<Picoseconds> taken = TimeOf(*model, staged.graph, op);
      if (!taken) refused = op.name;
      return taken.value_or(0);
    };
    const StageProblem problem =
        MakeStageProblem(staged.graph, &staged.locations, staged.steps, units_, time);
    if (!refused.empty()) {
      return InputError("no unit of the board '{}' runs '{}'", board_.name, refused);
    }
    cut_ = {};
    cut_.unit_of_stage = unit_of_stage_;
    for (const OpId id : staged.steps) {
      cut_.stage_of_op.push_back(staged.stage_of_op[static_cast<size_t>(id)]);
    }
    MeasureCut(problem, cut_);
    std::vector<PipelineStage> stages;
    for (size_t s = 0; s < unit_of_stage_.size(); ++s) {
      stages.push_back({cut_.stage_time[s], unit_of_stage_[s]});
    }
    std::vector<PipelineChannel> channels;
    for (const PlannedChannel& channel : program_.arenas.channels) {
      channels.push_back({channel.from, channel.to, std::max(options_.parallel.channel_depth, 1)});
    }
    if (options_.parallel.channel_depth == 0) ChooseDepths(stages, kDeepest, channels);
    std::vector<int32_t> depths;
    for (const PipelineChannel& channel : channels) depths.push_back(channel.depth);
    SetDepths(depths, program_.arenas);
    program_.report.period = SimulatePipeline(stages, channels, kInputsSimulated).period;
    program_.report.bound = PeriodBound(stages);
    return {};
  }

  void FillReport() {
    PipelineReport& report = program_.report;
    report.stages.clear();
    report.channels.clear();
    report.latency = cut_.latency;
    report.balance = BalanceRate(cut_);
    const ArenaPlan& plan = program_.arenas.plan;
    for (size_t s = 0; s < unit_of_stage_.size(); ++s) {
      PipelineReport::Stage stage;
      stage.unit = program_.worker_names[s];
      stage.ops = program_.schedule.workers[s].size();
      stage.time = cut_.stage_time[s];
      stage.repeated = repeated_[s];
      const int32_t arena = program_.arenas.arena_of_stage[s];
      if (arena >= 0) stage.arena_bytes = plan.arenas[static_cast<size_t>(arena)].bytes;
      report.stages.push_back(std::move(stage));
    }
    for (const PlannedChannel& channel : program_.arenas.channels) {
      const PlannedArena& arena = plan.arenas[static_cast<size_t>(channel.arena)];
      report.channels.push_back({channel.from, channel.to, arena.slots, arena.bytes});
    }
    report.memory_bytes = plan.bytes;
  }

  const Graph& source_;
  const PipelineOptions& options_;
  const Board& board_;
  const PipelineUnits& units_;
  std::vector<int32_t> unit_of_stage_;  ///< index into units_
  StageCut cut_;                        ///< of the steps
  std::vector<int> repeated_;           ///< by stage
  PipelineProgram program_;
};

/// Cuts, builds, takes what the stages took into the next cut, and does so again until that gains
/// nothing (docs/methods.md, R5).
class Balancer {
 public:
  Balancer(const Graph& graph, const PipelineOptions& options, const PipelineUnits& units,
           const std::vector<OpId>& order)
      : graph_(graph), options_(options), units_(units), order_(order) {}

  Result<PipelineProgram> Run(StageProblem problem) {
    constexpr size_t kMostRounds = 6;
    for (size_t round = 0; round < kMostRounds; ++round) {
      std::optional<StageCut> cut = CutStages(problem, options_.cut);
      if (!cut.has_value()) {
        return UsageError("no pipeline: ops change units more often than {} stages can",
                          options_.parallel.most_stages);
      }
      BoundaryOptions improve = options_.improve;
      improve.even_out = options_.parallel.balance;
      ImproveBoundaries(problem, improve, *cut);
      TENON_ASSIGN_OR_RETURN(
          PipelineProgram built,
          Builder(graph_, options_, units_).Run(StageOfOp(*cut), cut->unit_of_stage));
      const std::vector<Picoseconds> times = TimesOf(built.report);
      built.report.exact = cut->exact && round == 0;
      built.report.balance_bound = BalanceBound(problem, *cut);
      if (!Offer(std::move(built)) || !options_.parallel.balance) break;
      TakeBuiltTimes(*cut, times, problem);
    }
    best_->report.rounds = std::move(rounds_);
    best_->report.kept_round = kept_;
    return std::move(*best_);
  }

 private:
  [[nodiscard]] std::vector<int32_t> StageOfOp(const StageCut& cut) const {
    std::vector<int32_t> stage_of_op;
    for (size_t i = 0; i < order_.size(); ++i) {
      const auto k = static_cast<size_t>(order_[i]);
      if (stage_of_op.size() <= k) stage_of_op.resize(k + 1, -1);
      stage_of_op[k] = cut.stage_of_op[i];
    }
    return stage_of_op;
  }

  static std::vector<Picoseconds> TimesOf(const PipelineReport& report) {
    std::vector<Picoseconds> times;
    for (const PipelineReport::Stage& stage : report.stages) times.push_back(stage.time);
    return times;
  }

  [[nodiscard]] bool Fits(const PipelineReport& report) const {
    return options_.memory_limit <= 0 || report.memory_bytes <= options_.memory_limit;
  }

  /// Returns true if it is better than what there is, and keeps it then.
  bool Offer(PipelineProgram built) {
    const PipelineReport& report = built.report;
    BalanceRound round;
    round.stages = report.stages.size();
    round.period = report.period;
    round.rate = report.balance;
    round.memory_bytes = report.memory_bytes;
    for (const PipelineReport::Stage& stage : report.stages) round.repeated += stage.repeated;
    rounds_.push_back(round);
    if (best_ && !IsBetter(report, best_->report)) return false;
    best_ = std::move(built);
    kept_ = rounds_.size() - 1;
    return true;
  }

  [[nodiscard]] bool IsBetter(const PipelineReport& a, const PipelineReport& b) const {
    if (Fits(a) != Fits(b)) return Fits(a);
    if (a.period != b.period) return a.period < b.period;
    return a.balance > b.balance;
  }

  const Graph& graph_;
  const PipelineOptions& options_;
  const PipelineUnits& units_;
  const std::vector<OpId>& order_;
  std::vector<BalanceRound> rounds_;
  std::optional<PipelineProgram> best_;
  size_t kept_ = 0;
};

}  // namespace

ProgramToEmit PipelineProgram::ToEmit() const {
  ProgramToEmit program;
  program.name = "pipeline";
  program.mode = ProgramMode::kPipeline;
  program.graph = &staged.graph;
  program.locations = &staged.locations;
  program.arena = &arenas.plan;
  program.schedule = &schedule;
  program.worker_names = worker_names;
  program.channels = arenas.channels;
  return program;
}

Result<PipelineProgram> BuildPipeline(const Graph& graph, const PipelineOptions& options) {
  TENON_ASSIGN_OR_RETURN(const PipelineUnits units,
                         UnitsOfPipeline(options.board(), options.parallel.threads));
  const auto costs = MakeCostModel(options.board(), options.profile);
  const KernelChoiceOptions choice = ChoiceOf(options, *costs);
  UnitTimes times(graph, choice, options.parallel.keep_table);
  TENON_RETURN_IF_ERROR(times.Run());
  const std::vector<OpId> order = graph.OpOrder();
  size_t index = 0;
  const auto time = [&](OpId id, size_t unit) {
    while (order[index] != id) ++index;  // ops are requested in order
    const auto board_unit = static_cast<size_t>(units.board_unit[unit]);
    return times.At(index, graph.op(id), options.board().units[board_unit]);
  };
  StageProblem problem = MakeStageProblem(graph, nullptr, order, units, time);
  problem.least_stages = std::min(options.least_stages, static_cast<int32_t>(problem.ops()));
  problem.most_stages = options.parallel.most_stages;
  if (units.costs.size() < 2 && options.least_stages > 1) {
    return UsageError("one thread of one unit makes no pipeline: --threads gives it more");
  }
  TENON_ASSIGN_OR_RETURN(PipelineProgram program,
                         Balancer(graph, options, units, order).Run(std::move(problem)));
  for (const int32_t board_unit : units.board_unit) {
    const Unit& unit = options.board().units[static_cast<size_t>(board_unit)];
    const Picoseconds alone = times.Alone(order, unit);
    PipelineReport& report = program.report;
    if (alone == kCannotRun || (!report.best_alone.empty() && alone >= report.alone)) continue;
    report.best_alone = unit.name;
    report.alone = alone;
  }
  return program;
}

Result<PipelineProgram> BuildPipelineFromCut(const Graph& graph, const PipelineOptions& options,
                                             const std::vector<int32_t>& stage_of_op,
                                             const std::vector<int32_t>& unit_of_stage) {
  TENON_ASSIGN_OR_RETURN(const PipelineUnits units,
                         UnitsOfPipeline(options.board(), options.parallel.threads));
  std::vector<int32_t> stage_units;
  for (const int32_t unit : unit_of_stage) {
    const auto found = std::find(units.board_unit.begin(), units.board_unit.end(), unit);
    if (found == units.board_unit.end()) return UsageError("stage on unit {}: no such unit", unit);
    stage_units.push_back(static_cast<int32_t>(found - units.board_unit.begin()));
  }
  return Builder(graph, options, units).Run(stage_of_op, stage_units);
}

}  // namespace tenon::converter
