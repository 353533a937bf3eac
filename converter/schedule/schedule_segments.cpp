#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "converter/cost/simulated_board.hpp"
#include "converter/schedule/make_schedule.hpp"
#include "converter/schedule/program_problem.hpp"
#include "converter/schedule/segment_arena.hpp"
#include "converter/schedule/segment_graph.hpp"
#include "converter/solve/order/memory_order.hpp"

namespace tenon::converter {
namespace {

/// Makes a memory problem of one segment's ops; what is outside of its block does not count.
MemoryProblem InsideOf(const MemoryProblem& whole, const std::vector<int32_t>& nodes,
                       const std::vector<int32_t>& users_of_storage) {
  MemoryProblem inside;
  std::vector<int32_t> number(whole.nodes.size(), -1);
  for (size_t i = 0; i < nodes.size(); ++i) {
    number[static_cast<size_t>(nodes[i])] = static_cast<int32_t>(i);
  }
  std::vector<int32_t> users(whole.storages.size(), 0);
  for (const int32_t node : nodes) {
    for (const Index s : whole.nodes[static_cast<size_t>(node)].storages) ++users[s];
  }
  std::vector<int32_t> storage(whole.storages.size(), -1);
  for (const int32_t node : nodes) {
    for (const Index s : whole.nodes[static_cast<size_t>(node)].storages) {
      const MemoryStorage& one = whole.storages[s];
      if (storage[s] >= 0 || users[s] != users_of_storage[s] || one.from_start || one.to_end) {
        continue;
      }
      storage[s] = static_cast<int32_t>(inside.storages.size());
      inside.storages.push_back(one);
    }
  }
  for (const int32_t node : nodes) {
    const MemoryNode& one = whole.nodes[static_cast<size_t>(node)];
    MemoryNode made;
    made.transient_bytes = one.transient_bytes;
    for (const Index p : one.predecessors) {
      if (number[p] >= 0) made.predecessors.push_back(static_cast<Index>(number[p]));
    }
    for (const Index s : one.storages) {
      if (storage[s] >= 0) made.storages.push_back(static_cast<Index>(storage[s]));
    }
    for (const HandOver& hand_over : one.hand_overs) {
      if (storage[hand_over.from] < 0 || storage[hand_over.to] < 0) continue;
      made.hand_overs.push_back(
          {static_cast<Index>(storage[hand_over.from]), static_cast<Index>(storage[hand_over.to])});
    }
    inside.nodes.push_back(std::move(made));
  }
  return inside;
}

class SegmentScheduler {
 public:
  SegmentScheduler(Graph& graph, const Locations& locations, const Board& board,
                   const CostModel& model, const ScheduleOptions& options)
      : graph_(graph), locations_(locations), board_(board), model_(model), options_(options) {}

  Result<ScheduledProgram> Run() {
    TENON_ASSIGN_OR_RETURN(
        segments_, MakeSegmentGraph(graph_, locations_, board_, model_, options_.unit_of_op));
    ChooseSegments();
    OrderInside();
    SortByStart();
    TENON_RETURN_IF_ERROR(Place());
    FindWaits();
    FillProgram();
    FillWorkers();
    FillReport();
    graph_.SetOrder(WithElidedOps(graph_, locations_, result_.arena.steps));
    TENON_ASSIGN_OR_RETURN(result_.simulation, Simulate(result_.program));
    return std::move(result_);
  }

 private:
  [[nodiscard]] const SegmentProblem& problem() const { return segments_.problem; }
  [[nodiscard]] OpId OpOf(int32_t node) const {
    return segments_.op_of_node[static_cast<size_t>(node)];
  }

  /// Merges into few segments first; then splits those whose merging delays others.
  void ChooseSegments() {
    const SegmentList per_op = OnePerOp();
    SegmentList source = ListOf(problem(), SourceOrderAggregation(problem().ops));
    result_.segments.ops = problem().size();
    result_.segments.per_op_time = TimesOf(problem(), per_op).makespan;
    result_.order.source = TimesOf(problem(), source).makespan;
    result_.segments.source_order = source.size();
    result_.segments.fewest = source.size();
    if (!options_.aggregate) {
      list_ = per_op;
    } else if (!options_.search_order) {
      list_ = std::move(source);
    } else {
      SearchSegments();
    }
  }

  [[nodiscard]] SegmentList OnePerOp() const {
    SegmentList list;
    for (size_t node = 0; node < problem().size(); ++node) {
      list.push_back({problem().ops.unit[node], {static_cast<int32_t>(node)}});
    }
    return list;
  }

  void SearchSegments() {
    const Aggregation early = Aggregate(problem().ops);
    const Aggregation late = AsLateAsPossible(problem().ops, early);
    result_.segments.fewest = early.segments();
    result_.segments.fewest_is_exact = early.exact;
    result_.segments.fewest_time = INT64_MAX;
    Picoseconds best = INT64_MAX;
    constexpr int64_t kLooksPerUnitOfWork = 20;
    const int64_t work = options_.search.work_budget * kLooksPerUnitOfWork;
    for (const Aggregation* aggregation : {&early, &late}) {
      SegmentList list = ListOf(problem(), *aggregation);
      OrderByTails(problem(), list);
      const Picoseconds merged = TimesOf(problem(), list).makespan;
      result_.segments.fewest_time = std::min(result_.segments.fewest_time, merged);
      result_.order.tried += ImproveSegments(problem(), work, list);
      const Picoseconds time = TimesOf(problem(), list).makespan;
      if (time > best || (time == best && list.size() >= list_.size())) continue;
      best = time;
      list_ = std::move(list);
    }
  }

  /// Gives segments the order that needs least memory if that does not delay other segments.
  void OrderInside() {
    if (!options_.search_order) return;
    std::vector<int32_t> users_of_storage(segments_.memory.storages.size(), 0);
    for (const MemoryNode& node : segments_.memory.nodes) {
      for (const Index s : node.storages) ++users_of_storage[s];
    }
    Picoseconds makespan = TimesOf(problem(), list_).makespan;
    MemoryOrderOptions search;
    search.work_budget = options_.search.work_budget;
    search.seed = options_.search.seed;
    search.progress = options_.search.progress;
    for (SegmentOps& segment : list_) {
      if (segment.ops.size() < 2) continue;
      std::vector<int32_t> nodes = segment.ops;
      std::sort(nodes.begin(), nodes.end());
      const MemoryProblem inside = InsideOf(segments_.memory, nodes, users_of_storage);
      std::vector<int32_t> ordered;
      for (const Index i : FindMemoryOrder(inside, search).order) ordered.push_back(nodes[i]);
      std::swap(segment.ops, ordered);
      const Picoseconds time = TimesOf(problem(), list_).makespan;
      if (time > makespan) {
        std::swap(segment.ops, ordered);
      } else {
        makespan = time;
      }
    }
  }

  /// Orders segments: of those whose predecessors are placed, the one that starts first comes next.
  /// So all that end before a segment starts come before it.
  void SortByStart() {
    const SegmentTimes times = TimesOf(problem(), list_);
    std::vector<size_t> segment_of_node(problem().size());
    for (size_t s = 0; s < list_.size(); ++s) {
      for (const int32_t node : list_[s].ops) segment_of_node[static_cast<size_t>(node)] = s;
    }
    std::vector<std::vector<size_t>> after(list_.size());
    std::vector<size_t> missing(list_.size(), 0);
    std::vector<size_t> last_of_unit(problem().units.size(), SIZE_MAX);
    const auto add = [&](size_t from, size_t to) {
      if (from == to) return;
      after[from].push_back(to);
      ++missing[to];
    };
    for (size_t s = 0; s < list_.size(); ++s) {
      size_t& last = last_of_unit[static_cast<size_t>(list_[s].unit)];
      if (last != SIZE_MAX) add(last, s);
      last = s;
      for (const int32_t node : list_[s].ops) {
        for (const int32_t p : problem().ops.predecessors[static_cast<size_t>(node)]) {
          add(segment_of_node[static_cast<size_t>(p)], s);
        }
      }
    }
    using Ready = std::pair<Picoseconds, size_t>;
    std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
    for (size_t s = 0; s < list_.size(); ++s) {
      if (missing[s] == 0) ready.emplace(times.start[s], s);
    }
    SegmentList sorted;
    while (!ready.empty()) {
      const size_t s = ready.top().second;
      ready.pop();
      for (const size_t next : after[s]) {
        if (--missing[next] == 0) ready.emplace(times.start[next], next);
      }
      TimedSegment timed;
      for (const int32_t node : list_[s].ops) timed.ops.push_back(OpOf(node));
      timed.start = times.start[s];
      timed.end = times.end[s];
      timed_.push_back(std::move(timed));
      sorted.push_back(std::move(list_[s]));
    }
    list_ = std::move(sorted);
    result_.order.chosen = times.makespan;
  }

  Status Place() {
    const MemorySpace& space = *board_.ArenaSpace();
    const int64_t limit = space.usable_bytes();
    SegmentArena placed = PlaceSegments(graph_, locations_, timed_, limit, options_.arena);
    result_.arena = std::move(placed.plan);
    uses_ = std::move(placed.uses);
    result_.fast_bytes = limit;
    result_.largest_fast_root = limit;
    result_.arena.arenas = {
        {space.name, result_.arena.bytes, result_.arena.lower_bound, result_.arena.proven_optimal}};
    if (result_.arena.bytes <= limit) return {};
    return Error{ErrorKind::kDoesNotFit,
                 fmt::format("the segments need {} bytes of '{}', {} are available",
                             result_.arena.bytes, space.name, limit),
                 {}};
  }

  void FindWaits() {
    std::vector<int32_t> step_of_node(problem().size());
    int32_t step = 0;
    for (const SegmentOps& segment : list_) {
      for (const int32_t node : segment.ops) step_of_node[static_cast<size_t>(node)] = step++;
    }
    std::vector<OrderedStep> steps;
    for (const SegmentOps& segment : list_) {
      const size_t first = steps.size();
      const bool at_start = problem().units[static_cast<size_t>(segment.unit)].waits_at_start;
      for (const int32_t node : segment.ops) {
        steps.push_back({segment.unit, {}});
        OrderedStep& waiter = at_start ? steps[first] : steps.back();
        for (const int32_t p : problem().ops.predecessors[static_cast<size_t>(node)]) {
          const int32_t need = step_of_node[static_cast<size_t>(p)];
          if (!at_start || need < static_cast<int32_t>(first)) waiter.needs.push_back(need);
        }
      }
    }
    AddReuseNeeds(uses_, steps);
    waits_ = ReducedWaits(steps, static_cast<int32_t>(board_.units.size()));
  }

  void FillProgram() {
    const SimulatedBoard simulated(board_);
    result_.program = simulated.units_and_ports();
    size_t step = 0;
    for (const SegmentOps& segment : list_) {
      const Unit& unit = board_.units[static_cast<size_t>(segment.unit)];
      for (const int32_t node : segment.ops) {
        SimulatedStep made =
            simulated.OpStep(segment.unit, model_.TimeOf(graph_, graph_.op(OpOf(node)), unit));
        made.fixed += segments_.crossing[static_cast<size_t>(node)];
        if (node == segment.ops.front()) {
          made.fixed += problem().units[static_cast<size_t>(segment.unit)].start;
        }
        made.waits = waits_[step++];
        result_.program.steps.push_back(std::move(made));
      }
    }
  }

  void FillWorkers() {
    Schedule& schedule = result_.schedule;
    std::vector<int32_t> worker_of_unit(board_.units.size(), -1);
    for (const SegmentOps& segment : list_) worker_of_unit[static_cast<size_t>(segment.unit)] = 0;
    for (size_t u = 0; u < worker_of_unit.size(); ++u) {
      if (worker_of_unit[u] < 0) continue;
      worker_of_unit[u] = static_cast<int32_t>(schedule.unit_of_worker.size());
      schedule.unit_of_worker.push_back(static_cast<int32_t>(u));
    }
    schedule.workers.resize(schedule.unit_of_worker.size());
    std::vector<ScheduledWait> place;
    for (size_t s = 0; s < list_.size(); ++s) {
      const int32_t worker = worker_of_unit[static_cast<size_t>(list_[s].unit)];
      std::vector<ScheduledStep>& steps = schedule.workers[static_cast<size_t>(worker)];
      for (const OpId op : timed_[s].ops) {
        ScheduledStep made;
        made.op = op;
        for (const int32_t wait : waits_[place.size()]) {
          made.waits.push_back(place[static_cast<size_t>(wait)]);
        }
        place.push_back({worker, static_cast<int32_t>(steps.size())});
        steps.push_back(std::move(made));
      }
      schedule.segments.push_back(timed_[s].ops);
    }
  }

  void FillReport() {
    SegmentReport& report = result_.segments;
    report.segments = list_.size();
    report.time = *result_.order.chosen;
    for (size_t s = 0; s < list_.size(); ++s) {
      if (problem().units[static_cast<size_t>(list_[s].unit)].waits_at_start) {
        ++report.device_starts;
        report.device_ops += list_[s].ops.size();
      }
    }
    for (const std::vector<int32_t>& waits : waits_) report.waits += waits.size();
    result_.order.bound.bound = SegmentBound(problem());
  }

  Graph& graph_;
  const Locations& locations_;
  const Board& board_;
  const CostModel& model_;
  const ScheduleOptions& options_;
  ScheduledProgram result_;
  SegmentGraph segments_;
  SegmentList list_;
  std::vector<TimedSegment> timed_;  ///< as list_
  std::vector<UsedBytes> uses_;
  std::vector<std::vector<int32_t>> waits_;  ///< by step
};

}  // namespace

Result<ScheduledProgram> ScheduleSegments(Graph& graph, const Locations& locations,
                                          const Board& board, const CostModel& model,
                                          const ScheduleOptions& options) {
  return SegmentScheduler(graph, locations, board, model, options).Run();
}

}  // namespace tenon::converter
