#include "converter/driver/apply_memory_program.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "converter/driver/memory_needs.hpp"
#include "converter/layout/assign_locations.hpp"
#include "converter/layout/two_arenas.hpp"
#include "converter/schedule/memory_steps_of_graph.hpp"
#include "converter/solve/program/memory_program.hpp"

namespace tenon::converter {
namespace {

class Applier {
 public:
  Applier(const CompileOptions& options, const Unit& unit, const Compiled& whole)
      : options_(options),
        board_(options.board()),
        unit_(unit),
        whole_(whole),
        direct_(board_.DirectSpace()) {}

  /// Returns none if nothing that is found fits.
  Result<std::optional<Compiled>> Run() {
    const auto model = MakeCostModel(board_, options_.profile, &whole_.locations);
    StepTimes times;
    times.run = [&](const Op& op) { return TimeOf(*model, whole_.graph, op); };
    if (SlowLimit() > 0) {
      times.out = times.in = [&](int64_t bytes) { return MoveTime(bytes); };
    }
    StepsOfGraph steps =
        MakeStepsProblem(whole_.graph, whole_.locations, times, options_.arena.outside);
    steps.problem.slow_bytes = SlowLimit();
    constexpr int kMostRounds = 4;
    int64_t limit = options_.program.bytes;
    for (int round = 1; round <= kMostRounds && limit > 0; ++round) {
      steps.problem.fast_bytes = limit;
      const MemoryProgram program = SolveMemoryProgram(steps.problem, options_.program.solve);
      if (!program.fits) break;
      TENON_ASSIGN_OR_RETURN(std::optional<Compiled> made, Write(steps, program));
      const int64_t over = made ? made->arena.bytes - options_.program.bytes : 1;
      if (over <= 0) {
        made->program.rounds = round;
        return made;
      }
      limit -= std::max(over, kStorageAlignment);
    }
    return std::optional<Compiled>();
  }

 private:
  [[nodiscard]] Picoseconds TimeOf(const CostModel& model, const Graph& graph, const Op& op) const {
    return model.TimeOf(graph, op, unit_).Alone(board_.PortBytesPerSecond(unit_));
  }

  /// Returns the bytes that may lie in the direct space.
  [[nodiscard]] int64_t SlowLimit() const {
    if (direct_ == nullptr || !options_.program.moves) return 0;
    int64_t bytes = direct_->usable_bytes();
    if (direct_ == &ConstantsSpace(board_)) {
      const Result<std::vector<SpaceNeed>> needs = NeedsOf(whole_, board_);
      bytes = needs.ok() ? bytes - NeedOf(*needs, direct_->name).constants : 0;
    }
    return std::max<int64_t>(bytes, 0);
  }

  /// The unit reads from one memory and writes to the other.
  [[nodiscard]] int64_t MoveTime(int64_t bytes) const {
    double slowest = direct_->bandwidth_bytes_per_second;
    const double arena = board_.ArenaSpace()->bandwidth_bytes_per_second;
    if (slowest <= 0 || (arena > 0 && arena < slowest)) slowest = arena;
    const Picoseconds moved = slowest > 0 ? TimeAtRate(static_cast<double>(bytes), slowest) : 0;
    return moved + TimeAtRate(unit_.op_overhead_us(), 1e6);
  }

  Result<std::optional<Compiled>> Write(const StepsOfGraph& steps, const MemoryProgram& program) {
    Compiled made = whole_;
    TENON_ASSIGN_OR_RETURN(const RanSteps ran,
                           RunSteps(made.graph, whole_.locations, steps, program.steps));
    TENON_RETURN_IF_ERROR(Verify(made.graph));
    PassReport report;
    report.name = "memory-program";
    TENON_ASSIGN_OR_RETURN(made.locations,
                           AssignLocations(made.graph, report, nullptr, options_.arena.outside));
    ArenaOptions arena = options_.arena;
    arena.place.limit = options_.program.bytes;
    made.arena = PlanArena(made.graph, made.locations, arena);
    if (!ran.slow.empty() && !MoveOut(ran, made)) return std::optional<Compiled>();
    report.changed = ran.repeated + ran.moves;
    made.passes.push_back(std::move(report));
    Predict(ran, made);
    made.program.used = true;
    made.program.limit = options_.program.bytes;
    made.program.repeated = ran.repeated;
    made.program.moves = ran.moves;
    made.program.time_once = whole_.time.after;
    made.program.time = made.time.after;
    made.program.bound = program.bound > 0 ? program.bound + Start() : 0;
    made.program.windows = program.windows;
    made.program.proved = program.proved;
    made.program.stopped = program.stopped;
    return std::optional(std::move(made));
  }

  [[nodiscard]] Picoseconds Start() const { return TimeAtRate(unit_.start_overhead_us(), 1e6); }

  bool MoveOut(const RanSteps& ran, Compiled& made) const {
    std::vector<TensorId> slow;
    for (const TensorId id : ran.slow) slow.push_back(made.locations.at(id).root);
    const TwoSpaces spaces = {{"", INT64_MAX, board_.ArenaSpace()->bandwidth_bytes_per_second},
                              {direct_->name, SlowLimit(), direct_->bandwidth_bytes_per_second}};
    std::optional<ArenaPlan> plan = PutIntoTwoArenas(made.graph, made.locations, made.arena, spaces,
                                                     slow, options_.arena.place.work_budget);
    if (!plan) return false;
    made.arena = std::move(*plan);
    return true;
  }

  void Predict(const RanSteps& ran, Compiled& made) const {
    const auto model = MakeCostModel(board_, options_.profile, &made.locations);
    Picoseconds total = Start();
    for (const OpId id : made.arena.steps) {
      const Op& op = made.graph.op(id);
      const bool moves = op.kind == OpKind::kCopy && IsMove(ran, op);
      total += moves ? MoveTime(made.graph.tensor(op.outputs[0]).ByteSize())
                     : TimeOf(*model, made.graph, op);
    }
    made.time.after = made.time.lower_bound = total;
    for (UnitTime& unit : made.time.units) unit.after = total;
  }

  static bool IsMove(const RanSteps& ran, const Op& copy) {
    return std::any_of(ran.slow.begin(), ran.slow.end(),
                       [&](TensorId id) { return id == copy.inputs[0] || id == copy.outputs[0]; });
  }

  const CompileOptions& options_;
  const Board& board_;
  const Unit& unit_;
  const Compiled& whole_;
  const MemorySpace* direct_;
};

}  // namespace

Status ApplyMemoryProgram(const CompileOptions& options, const Unit& unit, Compiled& compiled) {
  if (options.program.bytes <= 0 || compiled.arena.bytes <= options.program.bytes) return {};
  TENON_ASSIGN_OR_RETURN(std::optional<Compiled> made, Applier(options, unit, compiled).Run());
  if (made) compiled = std::move(*made);
  return {};
}

}  // namespace tenon::converter
