#include <algorithm>
#include <optional>
#include <utility>

#include "converter/cost/simulated_board.hpp"
#include "converter/schedule/make_schedule.hpp"
#include "converter/schedule/program_problem.hpp"
#include "converter/schedule/segment_arena.hpp"
#include "converter/schedule/segment_lists.hpp"
#include "converter/solve/order/memory_order.hpp"
#include "converter/solve/time/task_steps.hpp"
#include "converter/solve/time/time_orders.hpp"

namespace tenon::converter {
namespace {

/// A list of segments with what follows from it.
struct OrderCandidate {
  SegmentList list;
  Picoseconds time = 0;    ///< simulated; while it is not placed, without waits for reused bytes
  bool as_listed = false;  ///< its segments run one after the other: their order stays
};

/// A candidate in memory: what the plan consists of.
struct PlacedSegments {
  SegmentList list;
  std::vector<TimedSegment> timed;  ///< as list
  SegmentArena arena;
  std::vector<std::vector<int32_t>> waits;  ///< by step
  SimulatedProgram program;
  Simulation simulation;
};

class SegmentScheduler {
 public:
  SegmentScheduler(Graph& graph, const Locations& locations, const Board& board,
                   const CostModel& model, const ScheduleOptions& options)
      : graph_(graph), locations_(locations), board_(board), model_(model), options_(options) {}

  Result<ScheduledProgram> Run() {
    TENON_ASSIGN_OR_RETURN(
        segments_, MakeSegmentGraph(graph_, locations_, board_, model_, options_.unit_of_op));
    for (const OpId id : segments_.op_of_node) {
      const int32_t unit = problem().ops.unit[op_times_.size()];
      op_times_.push_back(
          model_.TimeOf(graph_, graph_.op(id), board_.units[static_cast<size_t>(unit)]));
    }
    bound_ = SegmentBound(problem());
    TENON_RETURN_IF_ERROR(FillBaselines());
    TENON_RETURN_IF_ERROR(Choose());
    FillWorkers();
    FillReport();
    result_.arena = std::move(best_->arena.plan);
    graph_.SetOrder(WithElidedOps(graph_, locations_, result_.arena.steps));
    result_.program = std::move(best_->program);
    result_.simulation = std::move(best_->simulation);
    return std::move(result_);
  }

 private:
  [[nodiscard]] const SegmentProblem& problem() const { return segments_.problem; }
  [[nodiscard]] OpId OpOf(int32_t node) const {
    return segments_.op_of_node[static_cast<size_t>(node)];
  }

  [[nodiscard]] int64_t limit() const { return board_.ArenaSpace()->usable_bytes(); }
  [[nodiscard]] const TimeSearchOptions& search() const { return options_.search; }

  Status FillBaselines() {
    const SegmentList per_op = MergeNeighbours(segments_, SourceOrderOf(segments_.time), 1);
    SegmentList source = SourceSegments(segments_);
    result_.segments.ops = problem().size();
    result_.segments.per_op_time = TimesOf(problem(), per_op).makespan;
    result_.segments.source_order = result_.segments.fewest = source.size();
    TENON_ASSIGN_OR_RETURN(result_.order.source, Add(options_.aggregate ? source : per_op));
    return {};
  }

  /// Adds a candidate and returns its simulated time.
  Result<Picoseconds> Add(SegmentList list) {
    ++result_.order.tried;
    for (const OrderCandidate& known : candidates_) {
      if (known.list == list) return known.time;
    }
    OrderCandidate candidate;
    TENON_ASSIGN_OR_RETURN(const Simulation simulation,
                           Simulate(ProgramOf(list, WaitsOf(list, {}))));
    candidate.time = simulation.makespan;
    candidate.list = std::move(list);
    candidates_.push_back(std::move(candidate));
    return simulation.makespan;
  }

  /// Takes the first order that is as short as wanted, or of all that fit the one that takes least.
  Status Choose() {
    if (options_.search_order && options_.aggregate) {
      TENON_ASSIGN_OR_RETURN(bool reached, TryToReach());
      if (!reached) {
        TENON_ASSIGN_OR_RETURN(result_.order.list, Add(ListSegments(segments_)));
        TENON_RETURN_IF_ERROR(AddRandom());
        TENON_ASSIGN_OR_RETURN(reached, TryToReach());
      }
      if (!reached) TENON_RETURN_IF_ERROR(AddSearched());
    }
    TENON_RETURN_IF_ERROR(PlaceFastest());
    if (!best_ && options_.search_order) TENON_RETURN_IF_ERROR(PlaceSmall());
    if (best_) return {};
    const MemorySpace& space = *board_.ArenaSpace();
    return Error{ErrorKind::kDoesNotFit,
                 fmt::format("the segments need {} bytes of '{}', {} are available", fewest_bytes_,
                             space.name, limit()),
                 {}};
  }

  /// Places candidates if the fastest is as short as wanted. Returns true if a placed one is.
  Result<bool> TryToReach() {
    const auto is_enough = [&](Picoseconds time) { return time <= search().target; };
    const bool any = std::any_of(candidates_.begin(), candidates_.end(),
                                 [&](const OrderCandidate& one) { return is_enough(one.time); });
    if (!any) return false;
    TENON_RETURN_IF_ERROR(PlaceFastest());
    return best_ && is_enough(best_->simulation.makespan);
  }

  Status AddRandom() {
    const auto ops = static_cast<int64_t>(std::max<size_t>(problem().size(), 1));
    const int64_t affordable =
        std::clamp<int64_t>(search().work_budget / 4 / ops, 1, search().random_orders);
    for (int64_t i = 0; i < affordable; ++i) {
      const uint64_t seed = search().seed + static_cast<uint64_t>(i);
      TENON_ASSIGN_OR_RETURN(const Picoseconds time, Add(RandomSegments(segments_, seed)));
      result_.order.random = std::min(result_.order.random.value_or(time), time);
    }
    return {};
  }

  Status AddSearched() {
    SegmentProposals found = ProposeSegments(segments_, search(), bound_);
    result_.segments.fewest = found.fewest;
    result_.segments.fewest_is_exact = found.fewest_is_exact;
    result_.segments.fewest_time = found.fewest_time;
    result_.order.tried += found.tried;
    result_.order.subgraphs = SubgraphsOf(segments_, search(), found.search);
    result_.order.orders = CountOrders(segments_.memory, search().count_budget);
    bound_ = std::max(bound_, found.search.bound);
    for (SegmentList& list : found.lists) {
      TENON_ASSIGN_OR_RETURN(const Picoseconds ignored, Add(std::move(list)));
      static_cast<void>(ignored);
    }
    return {};
  }

  /// Places candidates in the order of their times, until one that fits takes less than the next
  /// would without waiting for bytes. Of a few that take as long, the smallest is kept.
  Status PlaceFastest() {
    constexpr int kMostEquals = 3;
    int equals = 0;
    // Of equals the last one, which the search has made with memory in mind.
    std::reverse(candidates_.begin(), candidates_.end());
    std::stable_sort(
        candidates_.begin(), candidates_.end(),
        [](const OrderCandidate& a, const OrderCandidate& b) { return a.time < b.time; });
    for (OrderCandidate& candidate : candidates_) {
      if (best_ && best_->simulation.makespan < candidate.time) break;
      if (best_ && best_->simulation.makespan == candidate.time && ++equals >= kMostEquals) break;
      TENON_RETURN_IF_ERROR(TryPlace(candidate).status());
    }
    candidates_.clear();
    return {};
  }

  Status PlaceSmall() {
    Status failed;
    ProposeSmallSegments(segments_, search(), limit(), [&](const SegmentList& list) {
      OrderCandidate candidate;
      candidate.list = list;
      candidate.as_listed = true;
      ++result_.order.tried;
      const Result<int64_t> bytes = TryPlace(candidate);
      if (bytes.ok()) return *bytes;
      failed = bytes.error();
      return int64_t{0};
    });
    if (best_ || !failed.ok()) return failed;
    for (const std::vector<Index>& order :
         {SmallestOrder(segments_, search()), SourceOrderOf(segments_.time)}) {
      if (!best_) TENON_RETURN_IF_ERROR(PlaceOneByOne(order));
    }
    return {};
  }

  /// Places ops as on one unit, where each may take over the bytes of what nothing later reads:
  /// every segment then waits for the one before. A segment may overwrite what it has read, so that
  /// a fall-back could not run it again.
  Status PlaceOneByOne(const std::vector<Index>& order) {
    const auto falls_back = [&](OpId id) { return !graph_.op(id).fallback_kernel.empty(); };
    const std::vector<OpId>& ops = segments_.op_of_node;
    if (std::any_of(ops.begin(), ops.end(), falls_back)) return {};
    std::vector<OpId> steps;
    for (const Index node : order) steps.push_back(ops[node]);
    graph_.SetOrder(WithElidedOps(graph_, locations_, steps));
    PlacedSegments placed;
    placed.list = MergeNeighbours(segments_, order);
    SortByStart(/*as_listed=*/true, placed);
    placed.arena.plan = PlanArena(graph_, locations_, options_.arena);
    fewest_bytes_ = std::min(fewest_bytes_, placed.arena.plan.bytes);
    if (placed.arena.plan.bytes > limit()) return {};
    std::vector<OrderedStep> chain;
    for (const SegmentOps& segment : placed.list) {
      for (const int32_t node : segment.ops) {
        chain.push_back({segment.unit, {}});
        const auto step = static_cast<int32_t>(chain.size()) - 1;
        if (step > 0 && node == segment.ops.front()) chain.back().needs = {step - 1};
      }
    }
    placed.waits = ReducedWaits(chain, static_cast<int32_t>(board_.units.size()));
    placed.program = ProgramOf(placed.list, placed.waits);
    TENON_ASSIGN_OR_RETURN(placed.simulation, Simulate(placed.program));
    best_ = std::move(placed);
    return {};
  }

  /// Returns the bytes that it needs; it becomes the best if they are there and nothing that fits
  /// takes less time.
  Result<int64_t> TryPlace(const OrderCandidate& candidate) {
    PlacedSegments placed;
    placed.list = candidate.list;
    SortByStart(candidate.as_listed, placed);
    placed.arena = PlaceSegments(graph_, locations_, placed.timed, limit(), options_.arena);
    const int64_t bytes = placed.arena.plan.bytes;
    fewest_bytes_ = std::min(fewest_bytes_, bytes);
    if (bytes > limit()) return bytes;
    placed.waits = WaitsOf(placed.list, placed.arena.uses);
    placed.program = ProgramOf(placed.list, placed.waits);
    TENON_ASSIGN_OR_RETURN(placed.simulation, Simulate(placed.program));
    const auto rank = [](const PlacedSegments& one) {
      return std::pair(one.simulation.makespan, one.arena.plan.bytes);
    };
    if (!best_ || rank(placed) < rank(*best_)) best_ = std::move(placed);
    return bytes;
  }

  /// Orders segments by their starts, unless they are to run as listed, and notes these. Bytes are
  /// given to those that come later in the list: segments that run as listed start in that order,
  /// though another unit might be ready for some of them before.
  void SortByStart(bool as_listed, PlacedSegments& placed) const {
    if (!as_listed) placed.list = SortedByStart(problem(), placed.list);
    SegmentTimes times = TimesOf(problem(), placed.list);
    for (size_t s = 0; as_listed && s < placed.list.size(); ++s) {
      times.start[s] = static_cast<Picoseconds>(s);
      times.end[s] = static_cast<Picoseconds>(s) + 1;
    }
    for (size_t s = 0; s < placed.list.size(); ++s) {
      TimedSegment timed;
      for (const int32_t node : placed.list[s].ops) timed.ops.push_back(OpOf(node));
      timed.keeps_own = KeepsOwn(placed.list[s]);
      timed.start = times.start[s];
      timed.end = times.end[s];
      placed.timed.push_back(std::move(timed));
    }
  }

  /// True of a segment that runs by code, without a fall-back, which would need the tensors.
  [[nodiscard]] bool KeepsOwn(const SegmentOps& segment) const {
    const Unit& unit = board_.units[static_cast<size_t>(segment.unit)];
    return unit.accelerator.has_value() &&
           std::none_of(segment.ops.begin(), segment.ops.end(), [&](int32_t node) {
             return !graph_.op(OpOf(node)).fallback_kernel.empty();
           });
  }

  /// Returns by step the steps that it waits for: what it needs, and who must be done with the
  /// bytes that `uses` gives again.
  [[nodiscard]] std::vector<std::vector<int32_t>> WaitsOf(
      const SegmentList& list, const std::vector<UsedBytes>& uses) const {
    std::vector<std::vector<int32_t>> needs = NeedsOfSteps(problem(), list);
    std::vector<OrderedStep> steps;
    for (const SegmentOps& segment : list) {
      for (size_t i = 0; i < segment.ops.size(); ++i) {
        steps.push_back({segment.unit, std::move(needs[steps.size()])});
      }
    }
    AddReuseNeeds(uses, steps);
    return ReducedWaits(steps, static_cast<int32_t>(board_.units.size()));
  }

  [[nodiscard]] SimulatedProgram ProgramOf(const SegmentList& list,
                                           const std::vector<std::vector<int32_t>>& waits) const {
    const SimulatedBoard simulated(board_);
    SimulatedProgram program = simulated.units_and_ports();
    for (const SegmentOps& segment : list) {
      for (const int32_t node : segment.ops) {
        SimulatedStep made = simulated.OpStep(segment.unit, op_times_[static_cast<size_t>(node)]);
        made.fixed += segments_.crossing[static_cast<size_t>(node)];
        if (node == segment.ops.front()) {
          made.fixed += problem().units[static_cast<size_t>(segment.unit)].start;
        }
        made.waits = waits[program.steps.size()];
        program.steps.push_back(std::move(made));
      }
    }
    return program;
  }

  void FillWorkers() {
    Schedule& schedule = result_.schedule;
    std::vector<int32_t> worker_of_unit(board_.units.size(), -1);
    for (const SegmentOps& segment : best_->list)
      worker_of_unit[static_cast<size_t>(segment.unit)] = 0;
    for (size_t u = 0; u < worker_of_unit.size(); ++u) {
      if (worker_of_unit[u] < 0) continue;
      worker_of_unit[u] = static_cast<int32_t>(schedule.unit_of_worker.size());
      schedule.unit_of_worker.push_back(static_cast<int32_t>(u));
    }
    schedule.workers.resize(schedule.unit_of_worker.size());
    std::vector<ScheduledWait> place;
    for (size_t s = 0; s < best_->list.size(); ++s) {
      const int32_t worker = worker_of_unit[static_cast<size_t>(best_->list[s].unit)];
      std::vector<ScheduledStep>& steps = schedule.workers[static_cast<size_t>(worker)];
      for (const OpId op : best_->timed[s].ops) {
        ScheduledStep made;
        made.op = op;
        for (const int32_t wait : best_->waits[place.size()]) {
          made.waits.push_back(place[static_cast<size_t>(wait)]);
        }
        place.push_back({worker, static_cast<int32_t>(steps.size())});
        steps.push_back(std::move(made));
      }
      schedule.segments.push_back(best_->timed[s].ops);
    }
  }

  void FillReport() {
    const MemorySpace& space = *board_.ArenaSpace();
    ArenaPlan& arena = best_->arena.plan;
    arena.arenas = {{space.name, arena.bytes, arena.lower_bound, arena.proven_optimal}};
    result_.fast_bytes = result_.largest_fast_root = limit();
    SegmentReport& report = result_.segments;
    report.segments = best_->list.size();
    report.time = best_->simulation.makespan;
    for (const SegmentOps& segment : best_->list) {
      if (problem().units[static_cast<size_t>(segment.unit)].waits_at_start) {
        ++report.device_starts;
        report.device_ops += segment.ops.size();
      }
    }
    for (const std::vector<int32_t>& waits : best_->waits) report.waits += waits.size();
    result_.order.chosen = report.time;
    result_.order.peak_bytes = arena.bytes;
    result_.order.bound.bound = bound_;
    result_.order.exact = report.time <= bound_;
  }

  Graph& graph_;
  const Locations& locations_;
  const Board& board_;
  const CostModel& model_;
  const ScheduleOptions& options_;
  ScheduledProgram result_;
  SegmentGraph segments_;
  std::vector<OpTime> op_times_;  ///< by node
  Picoseconds bound_ = 0;
  std::vector<OrderCandidate> candidates_;
  std::optional<PlacedSegments> best_;  ///< of those that fit
  int64_t fewest_bytes_ = INT64_MAX;    ///< that a candidate needs
};

}  // namespace

Result<ScheduledProgram> ScheduleSegments(Graph& graph, const Locations& locations,
                                          const Board& board, const CostModel& model,
                                          const ScheduleOptions& options) {
  return SegmentScheduler(graph, locations, board, model, options).Run();
}

}  // namespace tenon::converter
