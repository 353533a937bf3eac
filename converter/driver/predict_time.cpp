#include "converter/driver/predict_time.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "converter/cost/instruction_cost_model.hpp"
#include "converter/driver/fit_ways.hpp"
#include "converter/driver/widen_workspaces.hpp"
#include "converter/layout/grow_workspaces.hpp"
#include "converter/schedule/conditional_ops.hpp"
#include "converter/schedule/make_schedule.hpp"

namespace tenon::converter {
namespace {

/// Passes leave constants behind that nobody reads any more: until they are counted, a cost model
/// takes the network for larger than it is.
void CountConstants(const Graph& graph) { static_cast<void>(graph.ConstantBytes()); }

/// Adds the times of ops up to that of the longest run: of ops that run where a condition is met
/// and of those that run where it is not, those that take longer count.
class LongestRun {
 public:
  LongestRun(const Board& board, const Compiled& compiled, const std::vector<OpId>& executed) {
    if (!HasConditions(board)) return;
    conditions_ = FindConditions(compiled.graph, compiled.locations, executed);
  }

  void Add(OpId op, Picoseconds time) {
    const auto condition = conditions_.find(op);
    if (condition == conditions_.end()) {
      always_ += time;
    } else {
      either_[condition->second.tensor][condition->second.runs_if ? 1 : 0] += time;
    }
  }
  [[nodiscard]] Picoseconds time() const {
    Picoseconds total = always_;
    for (const auto& [tensor, times] : either_) total += std::max(times[0], times[1]);
    return total;
  }

 private:
  std::unordered_map<OpId, RunCondition> conditions_;
  Picoseconds always_ = 0;
  std::unordered_map<TensorId, std::array<Picoseconds, 2>> either_;
};

/// Predicts the time on one unit, where every order takes the sum of the times of the ops that run.
/// `graph` is that of `compiled`, or has workspaces of another size.
void Predict(const CompileOptions& options, const Unit& unit, const std::vector<OpId>& executed,
             const Graph& graph, Compiled& compiled) {
  const auto model = MakeCostModel(options.board(), options.profile, &compiled.locations);
  CountConstants(graph);
  const double bandwidth = options.board().PortBytesPerSecond(unit);
  LongestRun run(options.board(), compiled, executed);
  TimeReport& time = compiled.time;
  for (const OpId id : executed) {
    const OpTime op = model->TimeOf(graph, graph.op(id), unit);
    run.Add(id, op.Alone(bandwidth));
    time.measured = time.measured || op.measured;
  }
  const Picoseconds total = TimeAtRate(unit.start_overhead_us(), 1e6) + run.time();
  time.before = time.after = time.lower_bound = total;
  time.units = {{unit.name, total, total}};
  if (unit.backend == "cpu" || executed.empty()) return;
  SegmentReport& segments = compiled.segments;
  segments.ops = segments.device_ops = executed.size();
  segments.segments = segments.device_starts = 1;
  segments.fewest = segments.source_order = 1;
  segments.fewest_is_exact = true;
  segments.time = segments.fewest_time = total;
  const auto more = static_cast<Picoseconds>(segments.ops) - 1;
  segments.per_op_time = total + more * TimeAtRate(unit.start_overhead_us(), 1e6);
}

/// Returns true if nothing but the arena must change where storages lie elsewhere.
bool MayWiden(const Compiled& compiled) {
  return !compiled.program.used && compiled.schedule.workers.empty() &&
         compiled.arena.arenas.empty();
}

/// Predicts times once there is an arena, with the workspaces that it has room for: with less of
/// them, kernels of microcontrollers take longer.
class InArena {
 public:
  InArena(const CompileOptions& options, const Unit& unit, const std::vector<OpId>& executed,
          Compiled& compiled)
      : options_(options), unit_(unit), executed_(executed), compiled_(compiled) {}

  void Run() {
    const int64_t usable = options_.board().ArenaSpace()->usable_bytes();
    const bool fills = options_.fill_with_workspaces && usable < kUnlimited;
    if (fills && compiled_.arena.bytes <= usable && MayWiden(compiled_)) {
      PredictWidened(usable);
    } else {
      PredictWith(fills ? usable : 0);
    }
    if (!IsSlowerThan(options_.most_time)) return;
    constexpr double kNearlyFastEnough = 1.0625;
    if (!IsSlowerThan(kNearlyFastEnough * options_.most_time) && MayWiden(compiled_)) {
      PredictWidened(compiled_.arena.bytes);
      if (!IsSlowerThan(options_.most_time)) return Keep();
    }
    Grow();
  }

 private:
  /// False without a bound.
  [[nodiscard]] bool IsSlowerThan(double time) const {
    return time > 0 && static_cast<double>(compiled_.time.after) > time;
  }

  /// The arena may have `most_bytes`, or what it has.
  void PredictWith(int64_t most_bytes) {
    graph_ = compiled_.graph;
    arena_ = compiled_.arena;
    GrowWorkspaces(graph_, compiled_.locations, arena_, {most_bytes, options_.arena.follow});
    converter::Predict(options_, unit_, executed_, graph_, compiled_);
  }

  /// The same with a few more placements, since this is one of many programs.
  void PredictWidened(int64_t most_bytes) {
    constexpr int64_t kMostPlacedOps = 2048;
    graph_ = compiled_.graph;
    arena_ = compiled_.arena;
    WidenWorkspaces({options_, unit_, compiled_.locations, most_bytes, kMostPlacedOps}, graph_,
                    arena_);
    converter::Predict(options_, unit_, executed_, graph_, compiled_);
  }

  void Keep() {
    compiled_.graph = std::move(graph_);
    arena_.proven_optimal = false;
    compiled_.arena = std::move(arena_);
  }

  /// Halves what lies between the arena and a quarter more of it.
  void Grow() {
    constexpr int64_t kPrecision = 256;
    int64_t slow = compiled_.arena.bytes;
    int64_t fast = slow + slow / 4;
    PredictWith(fast);
    if (IsSlowerThan(options_.most_time)) {
      PredictWith(0);
      return;
    }
    while (fast - slow > std::max<int64_t>(kStorageAlignment, slow / kPrecision)) {
      const int64_t middle = slow + (fast - slow) / 2;
      PredictWith(middle);
      (IsSlowerThan(options_.most_time) ? slow : fast) = middle;
    }
    PredictWith(fast);
    Keep();
  }

  const CompileOptions& options_;
  const Unit& unit_;
  const std::vector<OpId>& executed_;
  Compiled& compiled_;
  Graph graph_;
  ArenaPlan arena_;
};

}  // namespace

void PredictOnOneUnit(const CompileOptions& options, const Unit& unit,
                      const std::vector<OpId>& executed, Compiled& compiled) {
  Predict(options, unit, executed, compiled.graph, compiled);
}

void PredictInArena(const CompileOptions& options, const Unit& unit,
                    const std::vector<OpId>& executed, Compiled& compiled) {
  if (options.profile != nullptr || !HasInstructionTables(options.board())) return;
  InArena(options, unit, executed, compiled).Run();
}

void FillArena(const CompileOptions& options, int64_t most_bytes, Compiled& compiled) {
  ArenaPlan& arena = compiled.arena;
  const bool is_known = options.profile == nullptr && HasInstructionTables(options.board()) &&
                        !NeedsSchedule(options.board());
  if (!is_known || arena.bytes > most_bytes || !MayWiden(compiled)) {
    GrowWorkspaces(compiled.graph, compiled.locations, arena, {most_bytes, options.arena.follow});
    return;
  }
  constexpr int64_t kMostPlacedOps = 16'384;
  const Unit& unit = *ComputeUnit(options.board());
  MemoryReport& memory = compiled.memory;
  memory.arena_bytes = WidenWorkspaces(
      {options, unit, compiled.locations, most_bytes, kMostPlacedOps}, compiled.graph, arena);
  memory.lower_bound = arena.lower_bound;
  memory.proven_optimal = arena.proven_optimal;
  PredictOnOneUnit(options, unit, arena.steps, compiled);
}

void PredictProgramInArena(const CompileOptions& options, const Unit& unit, Compiled& compiled) {
  if (!compiled.program.used || compiled.program.moves > 0) return;
  const std::vector<OpId> executed = compiled.arena.steps;
  const Picoseconds before = compiled.time.before;
  PredictInArena(options, unit, executed, compiled);
  compiled.time.before = before;
  compiled.program.time = compiled.time.after;
}

std::vector<Picoseconds> PredictSteps(const Board& board, const Profile* profile,
                                      const Compiled& compiled) {
  const auto model = MakeCostModel(board, profile, &compiled.locations);
  CountConstants(compiled.graph);
  std::vector<Picoseconds> times;
  times.reserve(compiled.arena.steps.size());
  for (const OpId id : compiled.arena.steps) {
    const Op& op = compiled.graph.op(id);
    const Unit* unit = UnitFor(board, op);
    times.push_back(
        unit == nullptr
            ? 0
            : model->TimeOf(compiled.graph, op, *unit).Alone(board.PortBytesPerSecond(*unit)));
  }
  return times;
}

}  // namespace tenon::converter
