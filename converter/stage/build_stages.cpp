#include "converter/stage/build_stages.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "converter/layout/lower.hpp"
#include "converter/schedule/program_problem.hpp"
#include "converter/solve/stage/balance.hpp"
#include "converter/solve/stage/share_copies.hpp"
#include "converter/solve/stage/simulate_pipeline.hpp"
#include "converter/stage/fetch_constants.hpp"
#include "converter/stage/stage_programs.hpp"
#include "converter/stage/stage_schedule.hpp"
#include "runtime/format/plan_view.hpp"

namespace tenon::converter {

KernelChoiceOptions ChoiceOf(const PipelineOptions& options, const CostModel& costs) {
  KernelChoiceOptions choice = options.KernelsWith(costs);
  choice.backends = BackendsOf(choice);
  return choice;
}

namespace {

constexpr int32_t kInputsSimulated = 256;
constexpr int32_t kInputsInSteps = 64;  ///< where stages have several steps
constexpr int32_t kDeepest = 8;
/// How many ways to share the copy engine are built, and how often each is placed.
constexpr int kMostSharings = 2;
constexpr int kPlacements = 3;

class Builder {
 public:
  Builder(const Graph& graph, const PipelineOptions& options, const PipelineUnits& units)
      : source_(graph),
        options_(options),
        board_(options.board()),
        units_(units),
        engine_(CopyEngineOf(board_)) {}

  /// `unit_of_stage`: index into `units`.
  Result<PipelineProgram> Run(std::vector<int32_t> stage_of_op,
                              const std::vector<int32_t>& unit_of_stage) {
    unit_of_stage_ = unit_of_stage;
    program_.staged.graph = source_;
    program_.staged.stage_of_op = std::move(stage_of_op);
    repeated_.assign(unit_of_stage.size(), 0);
    is_helped_.assign(unit_of_stage.size(), false);
    TENON_RETURN_IF_ERROR(LowerInStages());
    TENON_RETURN_IF_ERROR(PlaceAndPredict());
    if (options_.memory_limit > 0 && program_.report.memory_bytes > options_.memory_limit) {
      TENON_RETURN_IF_ERROR(KeepToLimit());
    }
    program_.report.period_without_engine = program_.report.period;
    TENON_RETURN_IF_ERROR(OverlapCopies());
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
    copies_ = EngineCopies(program_.staged);
    return Predict();
  }

  Status Predict() {
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
    std::vector<int32_t> units;
    for (const int32_t unit : unit_of_stage_) units.push_back(BoardIndex(unit));
    program_.schedule = ScheduleStages(program_.staged, program_.arenas, copies_, units, is_helped_,
                                       engine_, is_paced_);
    program_.worker_names.clear();
    for (const int32_t unit : program_.schedule.unit_of_worker) {
      program_.worker_names.push_back(board_.units[static_cast<size_t>(unit)].name);
    }
  }

  [[nodiscard]] TimeOfOp TimeOfOps(const CostModel& model) const {
    return [this, &model](const Op& op) {
      return TimeOf(model, program_.staged.graph, op).value_or(0);
    };
  }

  /// What a stage takes beside its steps.
  [[nodiscard]] static Picoseconds StartOf(Picoseconds stage_time, const StageCopies& parts) {
    for (const StageCopies::Op& op : parts.ops) stage_time -= op.time;
    return stage_time - TimeOfCopies(parts);
  }

  /// The stage as it is simulated; if it is helped, takes its own time into the cut.
  PipelineStage SimulatedStage(size_t s, const TimeOfOp& time) {
    PipelineStage stage = {cut_.stage_time[s], unit_of_stage_[s]};
    const auto index = static_cast<int32_t>(s);
    parts_[s] = CopiesOfStage(program_.staged, program_.arenas, copies_, index, time);
    if (!is_helped_[s]) return stage;
    stage.steps = StepsOfStage(program_.staged, program_.schedule, index,
                               StartOf(stage.time, parts_[s]), stage.unit, EngineIndex(), time);
    const Picoseconds alone = SimulatePipeline({stage}, {}, 1).makespan;
    cut_.latency += alone - stage.time;
    cut_.stage_time[s] = stage.time = alone;
    return stage;
  }

  /// In simulations: behind the units of the stages.
  [[nodiscard]] int32_t EngineIndex() const { return static_cast<int32_t>(units_.costs.size()); }

  /// Lets the copy engine make the copies of some stages ahead of their readers, as far as memory
  /// allows. The program stays as it is where it would not be faster.
  Status OverlapCopies() {
    if (engine_ == kNone) return {};
    const PipelineProgram own = program_;
    const SharingProblem problem = MakeSharingProblem();
    PipelineProgram best = own;
    int built = 0;
    for (const CopySharing& sharing : ShareCopies(problem)) {
      if (++built > kMostSharings) break;
      for (size_t s = 0; s < is_helped_.size(); ++s) is_helped_[s] = sharing.lead[s] >= 0;
      program_ = own;
      TENON_RETURN_IF_ERROR(MoveCopies(own, problem, sharing));
      for (const bool is_paced : {true, false}) {
        is_paced_ = is_paced;
        TENON_RETURN_IF_ERROR(Predict());
        const PipelineReport& made = program_.report;
        const bool fits = made.memory_bytes <= MostBytes(own);
        if (fits && made.period < best.report.period) best = program_;
      }
    }
    program_ = std::move(best);
    return {};
  }

  /// Requires: a program whose stages make their copies themselves.
  [[nodiscard]] SharingProblem MakeSharingProblem() const {
    SharingProblem problem;
    const size_t stages = unit_of_stage_.size();
    for (size_t s = 0; s < stages; ++s) {
      SharingProblem::Stage stage;
      stage.own = {cut_.stage_time[s], unit_of_stage_[s]};
      stage.parts = parts_[s];
      stage.start = StartOf(stage.own.time, stage.parts);
      problem.stages.push_back(std::move(stage));
    }
    for (const PlannedChannel& channel : program_.arenas.channels) {
      const auto arena = static_cast<size_t>(channel.arena);
      problem.channels.push_back(
          {channel.from, channel.to, program_.arenas.plan.arenas[arena].slots});
    }
    problem.engine = EngineIndex();
    problem.most_helped = kMaxWorkers - std::min(kMaxWorkers, stages);
    if (options_.memory_limit > 0) {
      const int64_t free = options_.memory_limit - program_.report.memory_bytes;
      problem.spare_bytes = std::max<int64_t>(free, 0) / static_cast<int64_t>(stages);
    }
    return problem;
  }

  /// What the arenas may take if `own` takes what it does.
  [[nodiscard]] int64_t MostBytes(const PipelineProgram& own) const {
    if (options_.memory_limit <= 0) return INT64_MAX;
    return std::max(options_.memory_limit, own.report.memory_bytes);
  }

  /// Moves copies of `own` ahead and places everything; if that takes too much, less far.
  Status MoveCopies(const PipelineProgram& own, const SharingProblem& problem,
                    const CopySharing& sharing) {
    int64_t spare = problem.spare_bytes;
    for (int round = 0; round < kPlacements; ++round) {
      std::vector<CopyStarts> starts(problem.stages.size());
      for (size_t s = 0; s < starts.size(); ++s) {
        if (!is_helped_[s]) continue;
        starts[s] = StartCopies(problem.stages[s].parts, {sharing.lead[s], spare});
      }
      program_.staged = own.staged;
      MoveCopiesAhead(program_.staged, copies_, starts);
      TENON_RETURN_IF_ERROR(PlaceAndPredict());
      const int64_t over = program_.report.memory_bytes - MostBytes(own);
      if (over <= 0) break;
      spare -= over;
    }
    return {};
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
    parts_.assign(unit_of_stage_.size(), {});
    std::vector<PipelineStage> stages;
    for (size_t s = 0; s < unit_of_stage_.size(); ++s) {
      stages.push_back(SimulatedStage(s, TimeOfOps(*model)));
    }
    std::vector<PipelineChannel> channels;
    for (const PlannedChannel& channel : program_.arenas.channels) {
      channels.push_back({channel.from, channel.to, std::max(options_.parallel.channel_depth, 1)});
    }
    std::vector<PipelineStage> whole = stages;
    for (PipelineStage& stage : whole) stage.steps.clear();
    if (options_.parallel.channel_depth == 0) ChooseDepths(whole, kDeepest, channels);
    std::vector<int32_t> depths;
    for (const PipelineChannel& channel : channels) depths.push_back(channel.depth);
    SetDepths(depths, program_.arenas);
    const bool in_steps = std::find(is_helped_.begin(), is_helped_.end(), true) != is_helped_.end();
    program_.report.bound = PeriodBound(stages);
    const int32_t inputs = in_steps ? kInputsInSteps : kInputsSimulated;
    const Picoseconds period = SimulatePipeline(stages, channels, inputs).period;
    // Of few inputs the mean can be a little too short.
    program_.report.period = in_steps ? std::max(period, program_.report.bound) : period;
    for (size_t s = 0; s < stages.size(); ++s) {
      if (is_helped_[s]) stages[s].time = 0;
    }
    program_.report.overlap_bound = PeriodBound(stages);
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
      FillCopies(s, stage);
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

  void FillCopies(size_t s, PipelineReport::Stage& stage) const {
    stage.copies = parts_[s].copies.size();
    stage.copy_time = TimeOfCopies(parts_[s]);
    if (!is_helped_[s]) return;
    stage.ops += stage.copies;
    stage.copy_engine = board_.units[static_cast<size_t>(engine_)].name;
  }

  const Graph& source_;
  const PipelineOptions& options_;
  const Board& board_;
  const PipelineUnits& units_;
  std::vector<int32_t> unit_of_stage_;  ///< index into units_
  int32_t engine_;                      ///< that makes copies, index into the board's units
  std::vector<bool> copies_;            ///< by OpId: one that the engine can make
  std::vector<bool> is_helped_;         ///< by stage: the engine makes its copies
  bool is_paced_ = true;                ///< copies wait for the op before them
  StageCut cut_;                        ///< of the steps
  std::vector<StageCopies> parts_;      ///< by stage, as it was last predicted
  std::vector<int> repeated_;           ///< by stage
  PipelineProgram program_;
};

}  // namespace

Result<PipelineProgram> BuildStages(const Graph& graph, const PipelineOptions& options,
                                    const PipelineUnits& units, std::vector<int32_t> stage_of_op,
                                    const std::vector<int32_t>& unit_of_stage) {
  return Builder(graph, options, units).Run(std::move(stage_of_op), unit_of_stage);
}

}  // namespace tenon::converter
