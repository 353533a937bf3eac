#include "converter/stage/build_pipeline.hpp"

#include <algorithm>
#include <utility>

#include "converter/layout/lower.hpp"
#include "converter/solve/stage/simulate_pipeline.hpp"
#include "converter/stage/stage_units.hpp"
#include "runtime/ops/host/op_host_row.hpp"

namespace tenon::converter {
namespace {

constexpr int32_t kInputsSimulated = 256;
constexpr int32_t kDeepest = 8;

KernelChoiceOptions ChoiceOf(const PipelineOptions& options, const CostModel& costs) {
  KernelChoiceOptions choice = options.KernelsWith(costs);
  choice.backends = BackendsOf(choice);
  return choice;
}

/// Collects the input of the cut search, by op and unit.
class UnitTimes {
 public:
  UnitTimes(const Graph& graph, const PipelineOptions& options, const KernelChoiceOptions& choice)
      : graph_(graph), board_(options.board()), options_(options), choice_(choice) {}

  /// Errors as ChooseKernels.
  Status Run() {
    Graph mapped = graph_;
    TENON_ASSIGN_OR_RETURN(const auto mapping, ChooseKernels(mapped, choice_));
    for (const OpId id : graph_.OpOrder()) {
      const Op& op = graph_.op(id);
      const bool bound =
          options_.parallel.keep_table || FindPin(options_.kernels.pins, op.name) != nullptr;
      marks_.push_back(MarkOp(graph_, op, choice_));
      bound_.push_back(bound ? mapped.op(id).backend : "");
    }
    return {};
  }

  /// Returns the time of the op at `index` in the order; kCannotRun where it must not run.
  [[nodiscard]] Picoseconds At(size_t index, const Op& op, const Unit& unit) const {
    const std::string& bound = bound_[index];
    for (const Mark& mark : marks_[index]) {
      const bool may = bound.empty() ? mark.IsListed() : mark.backend == bound;
      if (mark.backend == unit.backend && !may) return kCannotRun;
    }
    return Anywhere(index, op, unit);
  }

  /// Returns what the unit would take for the whole model; kCannotRun if it cannot run some op.
  [[nodiscard]] Picoseconds Alone(const std::vector<OpId>& order, const Unit& unit) const {
    Picoseconds total = TimeAtRate(unit.start_overhead_us(), 1e6);
    for (size_t i = 0; i < order.size(); ++i) {
      const auto listed = [&](const Mark& mark) {
        return mark.backend == unit.backend && mark.IsListed();
      };
      const Picoseconds time = Anywhere(i, graph_.op(order[i]), unit);
      if (time == kCannotRun || std::none_of(marks_[i].begin(), marks_[i].end(), listed)) {
        return kCannotRun;
      }
      total += time;
    }
    return total;
  }

 private:
  [[nodiscard]] Picoseconds Anywhere(size_t index, const Op& op, const Unit& unit) const {
    for (const Mark& mark : marks_[index]) {
      if (mark.backend != unit.backend || !mark.CanRun()) continue;
      Op mapped = op;
      UseKernel(mapped, mark.backend, *mark.kernel);
      if (UnitFor(board_, mapped) != &unit) return kCannotRun;
      // Most views cost nothing; which ones do is known only after layouts are chosen.
      if (GetOpHostRow(op.kind).view != ViewKind::kNone) return 0;
      return mark.time.value_or(0);
    }
    return kCannotRun;
  }

  const Graph& graph_;
  const Board& board_;
  const PipelineOptions& options_;
  const KernelChoiceOptions& choice_;
  std::vector<std::vector<Mark>> marks_;  ///< by op in the order
  std::vector<std::string> bound_;        ///< by op in the order: its backend; empty: any listed
};

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
    TENON_RETURN_IF_ERROR(LowerInStages());
    program_.arenas = PlanStageArenas(program_.staged, static_cast<int32_t>(unit_of_stage.size()),
                                      options_.arena);
    FillSchedule();
    TENON_RETURN_IF_ERROR(PredictTimes());
    FillReport();
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
    std::vector<std::string> backends;
    for (const int32_t unit : unit_of_stage_) backends.push_back(BoardUnit(unit).backend);
    lower.locate = {"place-in-stages", [&](Graph&, PassContext& context) -> Status {
                      TENON_RETURN_IF_ERROR(PlaceInStages(staged, backends, context.report));
                      context.locations = staged.locations;
                      return {};
                    }};
    TENON_ASSIGN_OR_RETURN(Lowered lowered, Lower(staged.graph, lower, program_.passes));
    program_.mapping = std::move(lowered.mapping);
    return {};
  }

  void FillSchedule() {
    Schedule& schedule = program_.schedule;
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
      const Unit* unit = UnitFor(board_, op);
      if (unit == nullptr) {
        refused = op.name;
        return 0;
      }
      return model->TimeOf(staged.graph, op, *unit).Alone(board_.PortBytesPerSecond(*unit));
    };
    const StageProblem problem =
        MakeStageProblem(staged.graph, &staged.locations, staged.steps, units_, time);
    if (!refused.empty()) {
      return InputError("no unit of the board '{}' runs '{}'", board_.name, refused);
    }
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
    report.latency = cut_.latency;
    const ArenaPlan& plan = program_.arenas.plan;
    for (size_t s = 0; s < unit_of_stage_.size(); ++s) {
      PipelineReport::Stage stage;
      stage.unit = program_.worker_names[s];
      stage.ops = program_.schedule.workers[s].size();
      stage.time = cut_.stage_time[s];
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
  PipelineProgram program_;
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
  UnitTimes times(graph, options, choice);
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
  std::optional<StageCut> cut = CutStages(problem, options.cut);
  if (!cut.has_value()) {
    return UsageError("no pipeline: the mapping changes backends more often than {} stages can",
                      options.parallel.most_stages);
  }
  ImproveBoundaries(problem, options.improve, *cut);
  std::vector<int32_t> stage_of_op;
  for (size_t i = 0; i < order.size(); ++i) {
    const auto k = static_cast<size_t>(order[i]);
    if (stage_of_op.size() <= k) stage_of_op.resize(k + 1, -1);
    stage_of_op[k] = cut->stage_of_op[i];
  }
  TENON_ASSIGN_OR_RETURN(
      PipelineProgram program,
      Builder(graph, options, units).Run(std::move(stage_of_op), cut->unit_of_stage));
  program.report.exact = cut->exact;
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
