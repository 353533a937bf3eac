#include "converter/schedule/make_schedule.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "converter/cost/simulated_board.hpp"
#include "converter/schedule/lower_schedule.hpp"
#include "converter/schedule/program_problem.hpp"
#include "converter/schedule/segment_graph.hpp"
#include "converter/solve/time/time_orders.hpp"
#include "converter/solve/time/time_search.hpp"

namespace tenon::converter {
namespace {

/// Schedules everything on one unit, in the graph's order.
Result<ScheduledProgram> Sequential(const Graph& graph, const Locations& locations,
                                    const Board& board, const CostModel& model,
                                    const ScheduleOptions& options) {
  ScheduledProgram result;
  result.arena = PlanArena(graph, locations, options.arena);
  const SimulatedBoard simulated(board);
  result.program = simulated.units_and_ports();
  for (const OpId id : result.arena.steps) {
    const Op& op = graph.op(id);
    const Unit* unit = UnitFor(board, op);
    if (unit == nullptr) {
      return InputError("no unit of the board '{}' runs '{}'", board.name, op.name);
    }
    SimulatedStep step = simulated.OpStep(static_cast<int32_t>(unit - board.units.data()),
                                          model.TimeOf(graph, op, *unit));
    if (!result.program.steps.empty()) {
      step.waits = {static_cast<int32_t>(result.program.steps.size()) - 1};
    }
    result.program.steps.push_back(std::move(step));
  }
  TENON_ASSIGN_OR_RETURN(result.simulation, Simulate(result.program));
  return result;
}

class Scheduler {
 public:
  Scheduler(Graph& graph, Locations& locations, const Board& board, const CostModel& model,
            const ScheduleOptions& options)
      : graph_(graph), locations_(locations), board_(board), model_(model), options_(options) {}

  Result<ScheduledProgram> Run() {
    constexpr int64_t kShareOfCopies = 4;  // so that other work can overlap
    if (MemoryOf(board_).slow != nullptr) {
      const int64_t most = board_.ArenaSpace()->usable_bytes() / kShareOfCopies;
      TENON_RETURN_IF_ERROR(SplitCopies(graph_, locations_, most));
    }
    TENON_RETURN_IF_ERROR(ChooseRoots());
    if (options_.search_order) {
      ChooseIdleTasks(first_order_);
      Search();
      if (const OrderTime time = ChooseIdleTasks(result_.order.order)) result_.order.chosen = time;
    } else {
      const int64_t work = options_.search.work_budget / 2;
      ImproveRoots(program_->problem, SourceOrderOf(program_->problem), program_->fixed, work);
      result_.order.order = SourceOrderOf(program_->problem);
      ChooseIdleTasks(result_.order.order);
      const TimeOutcome outcome = TimeEvaluator(program_->problem).Evaluate(result_.order.order);
      if (outcome.fits) result_.order.chosen = result_.order.source = outcome.makespan;
      result_.order.stuck = outcome.stuck;
    }
    result_.order.bound = bound_;
    if (!result_.order.chosen.has_value()) return DoesNotFit(result_.order.stuck);
    TENON_RETURN_IF_ERROR(Place());
    TENON_ASSIGN_OR_RETURN(
        LoweredSchedule lowered,
        LowerSchedule(graph_, locations_, board_, model_, *program_, schedule_, placed_));
    result_.schedule = std::move(lowered.schedule);
    result_.arena = std::move(lowered.arena);
    result_.program = std::move(lowered.program);
    result_.fetches = lowered.fetches;
    result_.stores = lowered.stores;
    TENON_ASSIGN_OR_RETURN(result_.simulation, Simulate(result_.program));
    return std::move(result_);
  }

 private:
  /// Storages that are too large for fast memory are always in slow memory. Whether moving others
  /// there to free space is faster is tried on the two orders that need no search. If gaps between
  /// addresses prevent any schedule, addresses are found afterwards.
  Status ChooseRoots() {
    const bool has_slow = MemoryOf(board_).slow != nullptr;
    constexpr std::array<int64_t, 5> kShares = {1, 2, 4, 8, 1 << 20};
    for (const bool with_addresses : {true, false}) {
      for (const int64_t share : kShares) {
        TENON_RETURN_IF_ERROR(TryRoots(share, with_addresses && has_slow));
        // If everything fits there is nothing to gain.
        if (!has_slow || (first_time_.has_value() && *first_time_ <= bound_.bound)) return {};
      }
      if (first_time_.has_value()) return {};
    }
    return DoesNotFit(stuck_);
  }

  Status TryRoots(int64_t share, bool with_addresses) {
    ProblemOptions options;
    options.in_place = options_.arena.in_place;
    options.unit_of_op = &options_.unit_of_op;
    options.largest_fast_root = board_.ArenaSpace()->usable_bytes() / share;
    TENON_ASSIGN_OR_RETURN(ProgramProblem made,
                           MakeProgramProblem(graph_, locations_, board_, model_, options));
    made.problem.with_addresses = with_addresses;
    if (share == 1) bound_ = TimeBoundOf(made.problem);
    TimeEvaluator evaluator(made.problem);
    OrderTime time;
    std::vector<Index> best = SourceOrderOf(made.problem);
    for (const auto& order : {SourceOrderOf(made.problem), ListOrderOf(made.problem)}) {
      const TimeOutcome outcome = evaluator.Evaluate(order);
      if (outcome.fits) {
        if (!time.has_value() || outcome.makespan < *time) best = order;
        time = std::min(time.value_or(INT64_MAX), outcome.makespan);
      } else {
        stuck_ = outcome.stuck;
      }
    }
    const bool better = time.has_value() && (!first_time_.has_value() || *time < *first_time_);
    if (!better && program_.has_value()) return {};
    first_time_ = time;
    first_order_ = std::move(best);
    program_ = std::move(made);
    result_.largest_fast_root = options.largest_fast_root;
    return {};
  }

  /// Tries on an order how early things make way for others. Returns the least time; none if there
  /// was nothing to try.
  OrderTime ChooseIdleTasks(const std::vector<Index>& order) {
    constexpr Index kTried[] = {48, 24, 12, 6, 3};
    TimeProblem& problem = program_->problem;
    if (!problem.may_move_out || order.empty()) return {};
    const TimeOutcome first = TimeEvaluator(problem).Evaluate(order);
    if (!first.fits || first.makespan <= bound_.bound) return {};
    Picoseconds least = first.makespan;
    Index best = problem.idle_tasks;
    for (const Index tried : kTried) {
      problem.idle_tasks = tried;
      const TimeOutcome outcome = TimeEvaluator(problem).Evaluate(order, least);
      if (!outcome.fits || outcome.makespan >= least) continue;
      least = outcome.makespan;
      best = tried;
    }
    problem.idle_tasks = best;
    return least;
  }

  /// The memory of storages and the order of tasks depend on each other: both are improved in turn.
  void Search() {
    constexpr int kRounds = 3;
    TimeSearchOptions search = options_.search;
    search.work_budget /= kRounds;
    search.start = first_order_;
    const int64_t work = search.work_budget / 2;
    for (int round = 0; round < kRounds; ++round) {
      ImproveRoots(program_->problem, search.start, program_->fixed, work);
      TimeOrder found = FindTimeOrder(program_->problem, search);
      const int64_t tried = result_.order.tried + found.tried;
      if (round == 0 || (found.chosen.has_value() && *found.chosen <= *result_.order.chosen)) {
        result_.order = std::move(found);
      }
      result_.order.tried = tried;
      const OrderTime& chosen = result_.order.chosen;
      if (!chosen.has_value() || result_.order.exact || *chosen <= search.target) return;
      search.start = result_.order.order;
      ++search.seed;
    }
  }

  [[nodiscard]] Error DoesNotFit(Index task) const {
    const Op& op = graph_.op(program_->op_of_task[task]);
    const MemorySpace& space = *board_.ArenaSpace();
    int64_t bytes = op.workspace_bytes;
    for (const auto* operands : {&op.inputs, &op.outputs}) {
      for (const TensorId id : *operands) {
        if (id != kNone) bytes += graph_.tensor(id).ByteSize();
      }
    }
    Error error{ErrorKind::kDoesNotFit, "", {}};
    error.message = fmt::format(
        "'{}' does not fit into '{}': its operands have {} bytes, {} are "
        "available beside what must stay",
        op.name, space.name, bytes, space.usable_bytes());
    return error;
  }

  /// Takes the search's own addresses, or those that the placer finds for a schedule made without
  /// addresses: whichever takes less time or, if equal, less memory.
  Status Place() {
    const int64_t limit = program_->problem.fast_bytes;
    if (program_->problem.with_addresses) {
      schedule_ = TimeEvaluator(program_->problem).Record(result_.order.order);
      placed_ = PlacedHolds{};
      for (const FastHold& hold : schedule_.holds) {
        placed_.offsets.push_back(hold.offset);
        placed_.bytes = std::max(placed_.bytes, hold.offset + hold.bytes);
      }
      placed_.lower_bound = schedule_.peak_bytes;
      result_.fast_bytes = limit;
    }
    PlaceAfterwards();
    if (placed_.bytes <= limit && !placed_.offsets.empty()) return {};
    if (program_->problem.tasks.empty()) return {};
    Error error{ErrorKind::kDoesNotFit, "", {}};
    error.message = fmt::format(
        "no placement of the schedule in '{}' was found: {} bytes, {} are "
        "available",
        board_.ArenaSpace()->name, placed_.bytes, limit);
    return error;
  }

  /// Sums of live bytes do not include gaps: where the placer needs more memory than exists, the
  /// schedule is made again with less.
  void PlaceAfterwards() {
    TimeProblem problem = program_->problem;
    problem.with_addresses = false;
    const int64_t limit = problem.fast_bytes;
    constexpr int kMostTries = 12;
    for (int i = 0; i < kMostTries; ++i) {
      TimeSchedule schedule = TimeEvaluator(problem).Record(result_.order.order);
      const bool fits = !schedule.events.empty();
      if (!fits || (!placed_.offsets.empty() && schedule.makespan > schedule_.makespan)) return;
      // Where there are addresses already, others would only save memory that nobody waits for.
      const int64_t share = placed_.offsets.empty() ? 4 : 64;
      PlacedHolds placed =
          PlaceHolds(schedule, limit, options_.arena.place.work_budget / kMostTries / share);
      const int64_t excess = placed.bytes - limit;
      if (excess <= 0 || placed_.offsets.empty()) {
        schedule_ = std::move(schedule);
        placed_ = std::move(placed);
        result_.fast_bytes = problem.fast_bytes;
        if (excess <= 0) return;
        placed_.offsets.clear();
      }
      // Part of the excess: other schedules have other gaps.
      problem.fast_bytes -= std::clamp<int64_t>(excess / 2, limit / 200, limit / 20);
    }
  }

  Graph& graph_;
  Locations& locations_;
  const Board& board_;
  const CostModel& model_;
  const ScheduleOptions& options_;
  ScheduledProgram result_;
  std::optional<ProgramProblem> program_;
  TimeBound bound_;
  OrderTime first_time_;            ///< of orders that need no search
  std::vector<Index> first_order_;  ///< the best of those orders
  Index stuck_ = 0;                 ///< a task whose operands did not fit
  TimeSchedule schedule_;
  PlacedHolds placed_;
};

}  // namespace

bool NeedsSchedule(const Board& board) {
  const auto runs_ops = [](const Unit& unit) { return !unit.IsTransferOnly(); };
  return MemoryOf(board).slow != nullptr ||
         std::count_if(board.units.begin(), board.units.end(), runs_ops) > 1;
}

Result<ScheduledProgram> MakeSchedule(Graph& graph, Locations& locations, const Board& board,
                                      const CostModel& model, const ScheduleOptions& options) {
  if (RunsInSegments(graph, locations, board)) {
    return ScheduleSegments(graph, locations, board, model, options);
  }
  if (!NeedsSchedule(board)) return Sequential(graph, locations, board, model, options);
  return Scheduler(graph, locations, board, model, options).Run();
}

}  // namespace tenon::converter
