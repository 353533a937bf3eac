#include "converter/driver/parallel_programs.hpp"

#include <algorithm>
#include <utility>

#include "converter/stage/stage_units.hpp"

namespace tenon::converter {
namespace {

/// The time to start one op on all threads and to wait for them.
constexpr double kParallelRegionMicroseconds = 5;

class Maker {
 public:
  Maker(const Graph& graph, const Fitted& fitted, const CompileOptions& compile,
        const ParallelOptions& options)
      : graph_(graph),
        compiled_(fitted.compiled),
        compile_(compile),
        board_(compile.board()),
        for_throughput_(compile.objective == Objective::kThroughput),
        options_(options),
        was_split_(!fitted.ops.splits.empty() || !fitted.chains.chains.empty()) {}

  Result<ParallelPrograms> Run() {
    if (!HasChoice()) return std::move(result_);
    std::vector<ParallelCandidate> candidates = {Intra()};
    candidates.push_back(Replicas());
    TENON_ASSIGN_OR_RETURN(ParallelCandidate pipeline, Pipeline());
    candidates.push_back(std::move(pipeline));
    TENON_ASSIGN_OR_RETURN(ParallelCandidate inter, Inter());
    candidates.push_back(std::move(inter));
    TENON_ASSIGN_OR_RETURN(result_.report.choice,
                           ChooseParallel(std::move(candidates), for_throughput_, options_.mode));
    if (result_.report.choice.mode == ParallelMode::kReplicas) {
      result_.report.replicas = options_.threads;
    }
    // "inter" serves single inputs: where it is not chosen it would only make the plan larger.
    if (result_.report.choice.mode != ParallelMode::kInter) result_.inter.reset();
    if (result_.inter) result_.report.inter = result_.inter->latency;
    if (result_.pipeline) result_.report.pipeline = result_.pipeline->report;
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool HasChoice() const {
    if (options_.mode != ParallelMode::kAuto || options_.threads > 1) return true;
    const auto runs_ops = [](const Unit& unit) { return !unit.IsTransferOnly(); };
    return for_throughput_ && std::count_if(board_.units.begin(), board_.units.end(), runs_ops) > 1;
  }
  [[nodiscard]] bool Asked(ParallelMode mode) const { return options_.mode == mode; }

  /// Returns the sequential program with every CPU op divided among all threads.
  [[nodiscard]] ParallelCandidate Intra() const {
    ParallelCandidate candidate;
    candidate.mode = ParallelMode::kIntra;
    candidate.threads = options_.threads;
    candidate.latency = compiled_.time.after;
    candidate.memory_bytes = compiled_.arena.bytes;
    const Unit* cpu = ComputeUnit(board_);
    if (cpu != nullptr && options_.threads > 1) {
      const auto model = MakeCostModel(board_, compile_.profile, &compiled_.locations);
      const AnalyticCostModel one(board_, 1);
      const AnalyticCostModel several(board_, options_.threads);
      const double port = board_.PortBytesPerSecond(*cpu);
      for (const OpId id : compiled_.arena.steps) {
        const Op& op = compiled_.graph.op(id);
        if (UnitFor(board_, op) != cpu) continue;
        const Picoseconds alone = model->TimeOf(compiled_.graph, op, *cpu).Alone(port);
        const auto before = static_cast<double>(one.TimeOf(compiled_.graph, op, *cpu).Alone(port));
        const auto after =
            static_cast<double>(several.TimeOf(compiled_.graph, op, *cpu).Alone(port));
        if (before <= 0) continue;
        const auto shared = static_cast<Picoseconds>(static_cast<double>(alone) * after / before) +
                            TimeAtRate(kParallelRegionMicroseconds, 1e6);
        candidate.latency -= std::max<Picoseconds>(alone - shared, 0);
      }
    }
    candidate.latency = std::max<Picoseconds>(candidate.latency, 0);
    candidate.period = candidate.latency;
    return candidate;
  }

  /// Each replica runs the sequential program on one thread; devices serve replicas in turn.
  [[nodiscard]] ParallelCandidate Replicas() const {
    ParallelCandidate candidate;
    candidate.mode = ParallelMode::kReplicas;
    candidate.threads = options_.threads;
    if (options_.threads < 2) candidate.why_not = "it takes several threads";
    candidate.latency = compiled_.time.after;
    const Unit* cpu = ComputeUnit(board_);
    candidate.period = candidate.latency / options_.threads;
    for (const UnitTime& unit : compiled_.time.units) {
      const bool is_cpu = cpu != nullptr && unit.unit == cpu->name;
      candidate.period = std::max(candidate.period, unit.after / (is_cpu ? options_.threads : 1));
    }
    candidate.memory_bytes = options_.threads * compiled_.arena.bytes;
    return candidate;
  }

  Result<ParallelCandidate> Pipeline() {
    ParallelCandidate candidate;
    candidate.mode = ParallelMode::kPipeline;
    candidate.threads = options_.threads;
    if (!for_throughput_ && !Asked(ParallelMode::kPipeline)) {
      candidate.why_not = "a pipeline serves streams: objective throughput";
      return candidate;
    }
    if (was_split_) {
      candidate.why_not = "ops were split to fit the board's memory";
      return candidate;
    }
    PipelineOptions options{compile_, options_};
    // A pipeline that the user asks for is made even where it is not the best.
    if (Asked(ParallelMode::kPipeline)) options.least_stages = 2;
    auto built = BuildPipeline(graph_, options);
    if (!built.ok()) {
      if (built.error().kind != ErrorKind::kUsage) return built.error();
      candidate.why_not = built.error().message;
      return candidate;
    }
    const PipelineReport& report = built->report;
    const int64_t usable = board_.ArenaSpace()->usable_bytes();
    if (report.stages.size() < 2) {
      candidate.why_not = "one stage is best: more threads or units would be needed";
    } else if (report.memory_bytes > usable) {
      candidate.why_not = fmt::format("it needs {} bytes of '{}', {} are available",
                                      report.memory_bytes, board_.ArenaSpace()->name, usable);
    } else {
      candidate.latency = report.latency;
      candidate.period = report.period;
      candidate.memory_bytes = report.memory_bytes;
      result_.pipeline = std::move(*built);
    }
    return candidate;
  }

  Result<ParallelCandidate> Inter() {
    ParallelCandidate candidate;
    candidate.mode = ParallelMode::kInter;
    candidate.threads = options_.threads;
    const bool wanted = options_.threads > 1 && !for_throughput_;
    if (options_.threads < 2) {
      candidate.why_not = "it takes several threads";
    } else if (!wanted && !Asked(ParallelMode::kInter)) {
      candidate.why_not = "it serves single inputs";
    } else if (was_split_) {
      candidate.why_not = "ops were split to fit the board's memory";
    }
    if (!candidate.why_not.empty()) return candidate;
    ScheduleOptions schedule;
    schedule.aggregate = compile_.aggregate;
    schedule.search.work_budget = compile_.order.budget;
    schedule.search.seed = compile_.order.seed;
    schedule.arena = compile_.arena;
    auto built = BuildInterOp(graph_, compile_, options_.threads, schedule);
    if (!built.ok()) {
      const ErrorKind kind = built.error().kind;
      if (kind != ErrorKind::kUsage && kind != ErrorKind::kDoesNotFit) return built.error();
      candidate.why_not = built.error().message;
      return candidate;
    }
    if (built->worker_names.size() < 2) {
      candidate.why_not = "no two ops can run beside each other for long enough";
      return candidate;
    }
    candidate.latency = candidate.period = built->latency;
    candidate.memory_bytes = built->program.arena.bytes;
    result_.inter = std::move(*built);
    return candidate;
  }

  const Graph& graph_;
  const Compiled& compiled_;
  const CompileOptions& compile_;
  const Board& board_;
  bool for_throughput_;
  const ParallelOptions& options_;
  bool was_split_;
  ParallelPrograms result_;
};

}  // namespace

Result<ParallelPrograms> MakeParallelPrograms(const Graph& graph, const Fitted& fitted,
                                              const CompileOptions& compile,
                                              const ParallelOptions& options) {
  return Maker(graph, fitted, compile, options).Run();
}

}  // namespace tenon::converter
