#include "converter/stage/build_pipeline.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "converter/solve/stage/balance.hpp"
#include "converter/stage/build_stages.hpp"
#include "converter/stage/stage_units.hpp"
#include "converter/stage/unit_times.hpp"

namespace tenon::converter {
namespace {

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
          BuildStages(graph_, options_, units_, StageOfOp(*cut), cut->unit_of_stage));
      const std::vector<Picoseconds> times = TimesOf(built.report);
      built.report.exact = cut->exact && round == 0;
      built.report.balance_bound = BalanceBound(problem, *cut);
      if (!Offer(std::move(built)) || !options_.parallel.balance) break;
      TakeBuiltTimes(*cut, times, problem);
    }
    best_->report.rounds = std::move(rounds_);
    best_->report.kept_round = kept_;
    best_->report.period_without_engine = without_engine_;
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
    const bool is_first = rounds_.size() == 1;
    without_engine_ = is_first ? report.period_without_engine
                               : std::min(without_engine_, report.period_without_engine);
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
  Picoseconds without_engine_ = 0;  ///< the shortest period of all rounds
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
  return BuildStages(graph, options, units, stage_of_op, stage_units);
}

}  // namespace tenon::converter
