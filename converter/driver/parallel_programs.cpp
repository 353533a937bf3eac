#include "converter/driver/parallel_programs.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "converter/driver/fit_pipeline.hpp"
#include "converter/driver/memory_needs.hpp"
#include "converter/driver/parallel_candidates.hpp"
#include "converter/split/batch_rows.hpp"
#include "runtime/base/round_up.hpp"
#include "runtime/format/plan_view.hpp"

namespace tenon::converter {
namespace {

/// Runs of each replica of a stream that are predicted, to find the time between results.
constexpr int64_t kRunsOfStream = 4;

constexpr char kTakesThreads[] = "it takes several threads";
constexpr char kKeepsState[] = "the model keeps state: an input waits for the one before it";

/// A program that replicas run, or why there is none.
template <typename Program>
struct Made {
  std::optional<Program> program;
  std::string why_not;
  bool too_large = false;  ///< that is why not
};

class Maker {
 public:
  Maker(const Graph& graph, const Fitted& fitted, const CompileOptions& compile,
        const SplitOptions& split, const ParallelOptions& options)
      : graph_(graph),
        fitted_(fitted),
        compiled_(fitted.compiled),
        split_(split),
        compile_(compile),
        board_(compile.board()),
        for_throughput_(compile.objective == Objective::kThroughput),
        options_(options),
        was_split_(!fitted.ops.splits.empty() || !fitted.chains.chains.empty()),
        times_(compile) {}

  Result<ParallelPrograms> Run() {
    TENON_RETURN_IF_ERROR(FindRows());
    if (!HasChoice()) return std::move(result_);
    std::vector<ParallelCandidate> candidates;
    for (const ThreadDivision& division : DivisionsOf(options_.threads, MostWorkers())) {
      TENON_ASSIGN_OR_RETURN(ParallelCandidate candidate, CandidateOf(division));
      candidates.push_back(std::move(candidate));
    }
    if (options_.threads < 2) AddRefused(candidates);
    AddAsked(candidates);
    TENON_ASSIGN_OR_RETURN(ParallelCandidate pipeline, Pipeline());
    candidates.push_back(std::move(pipeline));
    TENON_ASSIGN_OR_RETURN(result_.report.choice,
                           ChooseParallel(std::move(candidates), for_throughput_, options_.mode));
    KeepChosen();
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool HasChoice() const {
    if (options_.mode != ParallelMode::kAuto || options_.threads > 1) return true;
    const auto runs_ops = [](const Unit& unit) { return !unit.IsTransferOnly(); };
    return for_throughput_ && std::count_if(board_.units.begin(), board_.units.end(), runs_ops) > 1;
  }
  [[nodiscard]] bool Asked(ParallelMode mode) const { return options_.mode == mode; }
  /// Cores are workers beside those of devices.
  [[nodiscard]] int MostWorkers() const {
    const Unit* cpu = ComputeUnit(board_);
    const auto others =
        std::count_if(board_.units.begin(), board_.units.end(),
                      [&](const Unit& unit) { return &unit != cpu && !unit.IsTransferOnly(); });
    return static_cast<int>(kMaxWorkers) - static_cast<int>(others);
  }

  /// Finds the rows that one call hands in, and how often that runs the model.
  Status FindRows() {
    batch_ = FindBatchRows(graph_);
    result_.report.why_whole_batch = batch_.why_whole;
    rows_ = batch_.rows;
    if (options_.rows_per_call > 0 && options_.rows_per_call != batch_.rows) {
      if (batch_.rows != 1) {
        return UsageError("{} rows per call: {}", options_.rows_per_call,
                          batch_.rows == 0 ? batch_.why_whole
                                           : fmt::format("the model has a batch of {} rows: give "
                                                         "another with --batch or --shape",
                                                         batch_.rows));
      }
      rows_ = options_.rows_per_call;
      result_.report.why_whole_batch.clear();
    }
    result_.report.rows_per_call = rows_;
    runs_ = batch_.rows > 0 ? rows_ / batch_.rows : 1;
    return {};
  }

  /// Whether replicas take parts of the graph's own batch.
  [[nodiscard]] bool DividesBatch(const ThreadDivision& division) const {
    return division.replicas > 1 && !for_throughput_ && batch_.rows > 1;
  }
  [[nodiscard]] int32_t ShardRows(const ThreadDivision& division) const {
    if (!DividesBatch(division)) return batch_.rows;
    return static_cast<int32_t>(CeilDiv<int64_t>(batch_.rows, division.replicas));
  }

  Result<ParallelCandidate> CandidateOf(const ThreadDivision& division) {
    ParallelCandidate candidate;
    candidate.mode = division.mode;
    candidate.threads = options_.threads;
    candidate.replicas = division.replicas;
    candidate.workers = division.workers;
    candidate.threads_per_op = division.threads_per_op;
    candidate.why_not = WhyNot(division);
    if (!candidate.why_not.empty()) return candidate;
    if (division.replicas > 1 && !for_throughput_ && rows_ > 1) {
      candidate.shard_rows = ShardRows(division);
    }
    if (RunsBetweenOps(division.mode)) {
      TENON_RETURN_IF_ERROR(PredictInter(division, candidate));
    } else {
      TENON_RETURN_IF_ERROR(PredictCompiled(division, candidate));
    }
    TENON_ASSIGN_OR_RETURN(const int64_t usable, BytesForArenas());
    if (candidate.why_not.empty() && candidate.memory_bytes > usable) {
      candidate.too_large = true;
      candidate.why_not = fmt::format("it needs {} bytes of '{}', {} are available",
                                      candidate.memory_bytes, board_.ArenaSpace()->name, usable);
    }
    return candidate;
  }

  /// Returns the bytes of the arena's space that constants and packed weights leave.
  [[nodiscard]] Result<int64_t> BytesForArenas() const {
    TENON_ASSIGN_OR_RETURN(const int64_t beside, BytesBesideArena(compiled_, board_));
    return board_.ArenaSpace()->usable_bytes() - beside;
  }

  [[nodiscard]] std::string WhyNot(const ThreadDivision& division) const {
    if (division.replicas > 1 && !graph_.states.empty()) return kKeepsState;
    const bool between = RunsBetweenOps(division.mode);
    if (between && for_throughput_ && !Asked(division.mode)) return "it serves single inputs";
    if (DividesBatch(division) && !batch_.apart) return batch_.why_whole;
    if (was_split_ && DividesBatch(division)) return "ops were split to fit the board's memory";
    return "";
  }

  /// Sets what depends on how long `runs` runs by all replicas take. `time(runs)`: that.
  template <typename Time>
  Status SetTimes(const ThreadDivision& division, const Time& time, ParallelCandidate& candidate) {
    const int64_t replicas = division.replicas;
    const int64_t shards = DividesBatch(division)
                               ? CeilDiv(int64_t{batch_.rows}, int64_t{ShardRows(division)})
                               : runs_;
    TENON_ASSIGN_OR_RETURN(candidate.latency, time(shards));
    candidate.period = candidate.latency;
    if (replicas == 1 || (rows_ > 1 && !for_throughput_)) return {};
    TENON_ASSIGN_OR_RETURN(const Picoseconds many, time(kRunsOfStream * replicas));
    candidate.period = many / (kRunsOfStream * replicas);
    return {};
  }

  Status PredictCompiled(const ThreadDivision& division, ParallelCandidate& candidate) {
    const Compiled* program = &compiled_;
    if (DividesBatch(division)) {
      TENON_ASSIGN_OR_RETURN(const Made<Compiled>* made, ShardsOf(ShardRows(division)));
      candidate.why_not = made->why_not;
      candidate.too_large = made->too_large;
      if (!made->program) return {};
      program = &*made->program;
    }
    candidate.memory_bytes = division.replicas * program->arena.bytes;
    return SetTimes(
        division,
        [&](int64_t runs) {
          return times_.OfCompiled(*program, division.threads_per_op, division.replicas, runs);
        },
        candidate);
  }

  Status PredictInter(const ThreadDivision& division, ParallelCandidate& candidate) {
    TENON_ASSIGN_OR_RETURN(const Made<InterOpProgram>* made,
                           InterOf(ShardRows(division), division.workers));
    candidate.why_not = made->why_not;
    candidate.too_large = made->too_large;
    if (!made->program) return {};
    candidate.workers = static_cast<int>(made->program->worker_names.size());
    candidate.memory_bytes = division.replicas * made->program->program.arena.bytes;
    return SetTimes(
        division,
        [&](int64_t runs) {
          return times_.OfInter(*made->program, division.threads_per_op, division.replicas, runs);
        },
        candidate);
  }

  /// Returns the graph for that many rows.
  [[nodiscard]] Result<Graph> GraphOf(int32_t rows) const {
    if (rows == batch_.rows) return graph_;
    return WithRows(graph_, batch_, rows);
  }

  /// As GraphOf, with the patches and parts that the sequential program has.
  [[nodiscard]] Result<Graph> GraphInParts(int32_t rows) const {
    return fitted_.cut != nullptr && rows == batch_.rows ? *fitted_.cut : GraphOf(rows);
  }

  Result<const Made<Compiled>*> ShardsOf(int32_t rows) {
    const auto [place, is_new] = shards_.try_emplace(rows);
    if (!is_new) return &place->second;
    TENON_ASSIGN_OR_RETURN(Graph graph, GraphOf(rows));
    CompileOptions options = compile_;
    options.progress = nullptr;
    auto compiled = Compile(std::move(graph), options);
    TENON_RETURN_IF_ERROR(Keep(std::move(compiled), place->second));
    return &place->second;
  }

  Result<const Made<InterOpProgram>*> InterOf(int32_t rows, int workers) {
    const auto [place, is_new] = inter_.try_emplace({rows, workers});
    Made<InterOpProgram>& made = place->second;
    if (!is_new) return &made;
    ScheduleOptions schedule;
    schedule.aggregate = compile_.aggregate;
    schedule.search.work_budget = compile_.order.budget;
    schedule.search.seed = compile_.order.seed;
    schedule.arena = compile_.arena;
    TENON_ASSIGN_OR_RETURN(const Graph graph, GraphInParts(rows));
    TENON_RETURN_IF_ERROR(Keep(BuildInterOp(graph, compile_, workers, schedule), made));
    if (made.program && made.program->worker_names.size() < 2) {
      made.why_not = "no two ops can run beside each other for long enough";
      made.program.reset();
    }
    return &made;
  }

  /// Where a program cannot be made for this board, that is a reason and no error.
  template <typename Program>
  static Status Keep(Result<Program> built, Made<Program>& made) {
    if (built.ok()) {
      made.program = std::move(*built);
      return {};
    }
    const ErrorKind kind = built.error().kind;
    if (kind != ErrorKind::kUsage && kind != ErrorKind::kDoesNotFit) return built.error();
    made.why_not = built.error().message;
    made.too_large = kind == ErrorKind::kDoesNotFit;
    return {};
  }

  void AddRefused(std::vector<ParallelCandidate>& candidates) const {
    for (const ParallelMode mode : {ParallelMode::kInter, ParallelMode::kReplicas}) {
      candidates.emplace_back();
      candidates.back().mode = mode;
      candidates.back().why_not = kTakesThreads;
    }
  }

  /// The same of a mode that is asked for and that so many threads cannot be divided into.
  void AddAsked(std::vector<ParallelCandidate>& candidates) const {
    const ParallelMode asked = options_.mode;
    const bool is_there = std::any_of(candidates.begin(), candidates.end(),
                                      [&](const auto& one) { return one.mode == asked; });
    if (is_there || Asked(ParallelMode::kAuto) || Asked(ParallelMode::kPipeline)) return;
    candidates.emplace_back();
    candidates.back().mode = asked;
    if (RunsReplicas(asked) && options_.threads <= 2 * MostWorkers()) {
      candidates.back().why_not = "it takes replicas of several threads each, as of --threads=4";
    } else if (options_.threads > 1) {
      candidates.back().why_not =
          fmt::format("ops run beside each other on at most {} threads", MostWorkers());
    } else {
      candidates.back().why_not = kTakesThreads;
    }
  }

  Result<ParallelCandidate> Pipeline() {
    ParallelCandidate candidate;
    candidate.mode = ParallelMode::kPipeline;
    candidate.threads = options_.threads;
    if (!graph_.states.empty()) {
      candidate.why_not = kKeepsState;
      return candidate;
    }
    if (!for_throughput_ && !Asked(ParallelMode::kPipeline)) {
      candidate.why_not = "a pipeline serves streams: objective throughput";
      return candidate;
    }
    PipelineOptions options{compile_, options_};
    options.program = compile_.program.solve;
    // A pipeline that the user asks for is made even where it is not the best.
    if (Asked(ParallelMode::kPipeline)) options.least_stages = 2;
    // Patches of chains and parts of ops are ops like others: stages are cut between them.
    TENON_ASSIGN_OR_RETURN(FittedPipeline fitted,
                           FitPipelineInParts(graph_, fitted_, compile_, split_, options));
    candidate.why_not = std::move(fitted.why_not);
    candidate.too_large = fitted.too_large;
    if (!fitted.program) return candidate;
    const PipelineReport& report = fitted.program->report;
    candidate.latency = report.latency;
    candidate.period = report.period;
    candidate.memory_bytes = report.memory_bytes;
    candidate.workers = static_cast<int>(report.stages.size());
    result_.pipeline = std::move(fitted.program);
    return candidate;
  }

  /// Keeps the programs that the chosen mode runs; others would only make the plan larger. A
  /// pipeline that was made stays: streams may use it whatever serves single inputs.
  void KeepChosen() {
    ParallelReport& report = result_.report;
    const ParallelCandidate& chosen = report.choice.candidates[report.choice.chosen];
    report.replicas = chosen.replicas;
    report.threads_per_op = chosen.threads_per_op;
    const bool divides = chosen.replicas > 1 && !for_throughput_ && batch_.rows > 1;
    if (divides) report.shard_rows = chosen.shard_rows;
    const int32_t rows = divides ? chosen.shard_rows : batch_.rows;
    if (RunsBetweenOps(chosen.mode)) {
      const int workers = options_.threads / chosen.replicas;
      std::optional<InterOpProgram>& to = divides ? result_.inter_shards : result_.inter;
      to = std::move(inter_.at({rows, workers}).program);
      to->name = divides ? "shards" : "inter";
      to->mode = divides ? ProgramMode::kReplicas : ProgramMode::kSequential;
      if (!divides) report.inter = to->latency;
    } else if (divides) {
      result_.shards = std::move(shards_.at(rows).program);
    }
    if (result_.pipeline) report.pipeline = result_.pipeline->report;
  }

  const Graph& graph_;
  const Fitted& fitted_;
  const Compiled& compiled_;
  const SplitOptions& split_;
  const CompileOptions& compile_;
  const Board& board_;
  bool for_throughput_;
  const ParallelOptions& options_;
  bool was_split_;
  CallTimes times_;
  BatchRows batch_;
  int64_t rows_ = 0;                                               ///< of one call; 0: none
  int64_t runs_ = 1;                                               ///< of the graph for one call
  std::map<int32_t, Made<Compiled>> shards_;                       ///< by rows
  std::map<std::pair<int32_t, int>, Made<InterOpProgram>> inter_;  ///< by rows and workers
  ParallelPrograms result_;
};

}  // namespace

Result<ParallelPrograms> MakeParallelPrograms(const Graph& graph, const Fitted& fitted,
                                              const CompileOptions& compile,
                                              const SplitOptions& split,
                                              const ParallelOptions& options) {
  return Maker(graph, fitted, compile, split, options).Run();
}

}  // namespace tenon::converter
