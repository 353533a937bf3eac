#include "converter/schedule/lower_schedule.hpp"

#include <algorithm>
#include <map>

#include "converter/cost/simulated_board.hpp"
#include "converter/schedule/program_problem.hpp"
#include "converter/schedule/step_waits.hpp"
#include "converter/schedule/transfer_ops.hpp"
#include "converter/solve/place/place.hpp"

namespace tenon::converter {
namespace {

constexpr int32_t kFastArena = 0;
constexpr int32_t kSlowArena = 1;

class Lowering {
 public:
  Lowering(Graph& graph, Locations& locations, const Board& board, const CostModel& model,
           const ProgramProblem& program, const TimeSchedule& schedule, const PlacedHolds& placed)
      : graph_(graph),
        locations_(locations),
        board_(board),
        model_(model),
        program_(program),
        problem_(program.problem),
        schedule_(schedule),
        placed_(placed),
        memory_(MemoryOf(board)),
        transfers_(graph, locations, program, schedule) {}

  Result<LoweredSchedule> Run() {
    TENON_RETURN_IF_ERROR(transfers_.Run());
    FindSteps();
    FindNeeds();
    UseFast();
    UseSlow();
    TENON_RETURN_IF_ERROR(FillArena());
    std::vector<OpId> steps = transfers_.op_of_event();
    graph_.SetOrder(WithElidedOps(graph_, locations_, steps));
    result_.arena.steps = std::move(steps);
    AddReuseNeeds(uses_, steps_);
    waits_ = ReducedWaits(steps_, static_cast<int32_t>(board_.units.size()));
    FillProgram();
    FillWorkers();
    return std::move(result_);
  }

 private:
  [[nodiscard]] int32_t UnitOf(const TimeEvent& event) const {
    if (event.kind == TimeEventKind::kTask) {
      return static_cast<int32_t>(problem_.tasks[event.index].unit);
    }
    const Link& link = board_.links[static_cast<size_t>(LinkOf(event))];
    return static_cast<int32_t>(board_.FindUnit(link.unit) - board_.units.data());
  }
  [[nodiscard]] int32_t LinkOf(const TimeEvent& event) const {
    return event.kind == TimeEventKind::kFetch ? memory_.fetch_link : memory_.store_link;
  }

  void FindSteps() {
    step_of_task_.assign(problem_.tasks.size(), -1);
    fetch_of_hold_.assign(schedule_.holds.size(), -1);
    store_of_value_.assign(problem_.values.size(), -1);
    writer_of_value_.assign(problem_.values.size(), -1);
    for (size_t e = 0; e < schedule_.events.size(); ++e) {
      const TimeEvent& event = schedule_.events[e];
      const auto step = static_cast<int32_t>(e);
      steps_.push_back({UnitOf(event), {}});
      if (event.kind == TimeEventKind::kTask) {
        step_of_task_[event.index] = step;
        for (const Index v : problem_.tasks[event.index].writes) writer_of_value_[v] = step;
      } else if (event.kind == TimeEventKind::kFetch) {
        fetch_of_hold_[static_cast<size_t>(event.hold)] = step;
        ++result_.fetches;
      } else {
        store_of_value_[event.index] = step;
        ++result_.stores;
      }
    }
  }

  void FindNeeds() {
    for (size_t e = 0; e < schedule_.events.size(); ++e) {
      const TimeEvent& event = schedule_.events[e];
      const auto need = [&](int32_t step) {
        if (step >= 0) steps_[e].needs.push_back(step);
      };
      if (event.kind == TimeEventKind::kTask) {
        const TimeTask& task = problem_.tasks[event.index];
        for (const Index p : task.predecessors) need(step_of_task_[p]);
        for (const int32_t hold : schedule_.read_holds[event.index]) {
          need(fetch_of_hold_[static_cast<size_t>(hold)]);
        }
        continue;
      }
      const bool fetch = event.kind == TimeEventKind::kFetch;
      const std::vector<int32_t>& source = fetch ? store_of_value_ : writer_of_value_;
      if (source[event.index] >= 0) {
        need(source[event.index]);
      } else {
        for (const Index part : problem_.values[event.index].parts) need(source[part]);
      }
    }
  }

  void UseFast() {
    for (size_t h = 0; h < schedule_.holds.size(); ++h) {
      const FastHold& hold = schedule_.holds[h];
      UsedBytes use;
      use.arena = kFastArena;
      use.offset = placed_.offsets[h];
      use.bytes = hold.bytes;
      use.start = hold.start;
      use.end = hold.end;
      const int32_t writer =
          hold.kind == HoldKind::kTransient ? step_of_task_[hold.owner] : fetch_of_hold_[h];
      if (writer >= 0) {
        use.writers.push_back(writer);
        use.users.push_back(writer);
      }
      uses_.push_back(std::move(use));
    }
    for (Index t = 0; t < problem_.tasks.size(); ++t) {
      for (const int32_t hold : schedule_.read_holds[t]) {
        uses_[static_cast<size_t>(hold)].users.push_back(step_of_task_[t]);
      }
      for (const int32_t hold : schedule_.write_holds[t]) {
        uses_[static_cast<size_t>(hold)].users.push_back(step_of_task_[t]);
        uses_[static_cast<size_t>(hold)].writers.push_back(step_of_task_[t]);
      }
    }
    for (size_t e = 0; e < schedule_.events.size(); ++e) {
      if (schedule_.events[e].kind != TimeEventKind::kStore) continue;
      uses_[static_cast<size_t>(schedule_.events[e].hold)].users.push_back(static_cast<int32_t>(e));
    }
  }

  /// Records the uses of slow memory, by root: inputs from the start, outputs to the end.
  void UseSlow() {
    for (size_t e = 0; e < schedule_.events.size(); ++e) {
      const TimeEvent& event = schedule_.events[e];
      if (event.kind == TimeEventKind::kTask) continue;
      const TensorId root = locations_.at(transfers_.slow_tensor()[event.index]).root;
      if (graph_.tensor(root).IsConstant()) continue;
      UsedBytes& use = SlowUse(root);
      use.start = std::min(use.start, event.start);
      use.end = std::max(use.end, event.end);
      use.users.push_back(static_cast<int32_t>(e));
      if (event.kind == TimeEventKind::kStore) use.writers.push_back(static_cast<int32_t>(e));
    }
    std::vector<bool> is_fast(locations_.tensors.size(), false);
    for (const TensorId root : transfers_.root_of_hold()) {
      if (root != kNone) is_fast[static_cast<size_t>(root)] = true;
    }
    for (const bool output : {false, true}) {
      for (const Graph::Port& port : output ? graph_.outputs() : graph_.inputs()) {
        const TensorId root = locations_.at(port.tensor).root;
        if (is_fast[static_cast<size_t>(root)] || graph_.tensor(root).IsConstant()) continue;
        UsedBytes& use = SlowUse(root);
        use.end = std::max(use.end, output ? schedule_.makespan : 1);
        if (!output) use.start = 0;
      }
    }
  }

  UsedBytes& SlowUse(TensorId root) {
    const auto [entry, is_new] = slow_uses_.try_emplace(root, uses_.size());
    if (is_new) {
      UsedBytes use;
      use.arena = memory_.slow != nullptr ? kSlowArena : kFastArena;
      use.bytes = graph_.tensor(root).ByteSize();
      use.start = schedule_.makespan;
      uses_.push_back(std::move(use));
    }
    return uses_[entry->second];
  }

  Status FillArena() {
    ArenaPlan& arena = result_.arena;
    arena.arenas.push_back(
        {memory_.fast->name, placed_.bytes, placed_.lower_bound, placed_.proven_optimal});
    arena.place_work = placed_.work;
    PlaceSlow();
    OpId last = kNone;
    for (const OpId id : graph_.OpOrder()) last = std::max(last, id);
    arena.in_place.assign(static_cast<size_t>(last + 1), -1);
    for (size_t h = 0; h < schedule_.holds.size(); ++h) {
      const FastHold& hold = schedule_.holds[h];
      if (uses_[h].users.empty()) continue;  // released before anything was stored there
      PlannedStorage storage;
      storage.root = transfers_.root_of_hold()[h];
      if (hold.kind == HoldKind::kTransient) {
        storage.workspace_of = program_.op_of_task[hold.owner];
        storage.bytes = graph_.op(storage.workspace_of).workspace_bytes;
      } else {
        storage.bytes = graph_.tensor(storage.root).ByteSize();
      }
      AddStorage(storage, uses_[h]);
      if (hold.taken_over < 0) continue;
      TENON_RETURN_IF_ERROR(MarkInPlace(h));
    }
    for (const auto& [root, use] : slow_uses_) {
      PlannedStorage storage;
      storage.root = root;
      storage.bytes = uses_[use].bytes;
      AddStorage(storage, uses_[use]);
    }
    arena.bytes = arena.arenas[0].bytes;
    arena.lower_bound = arena.arenas[0].lower_bound;
    arena.proven_optimal = arena.arenas[0].proven_optimal;
    return {};
  }

  void AddStorage(PlannedStorage storage, const UsedBytes& use) {
    const auto end = std::max<int64_t>(static_cast<int64_t>(steps_.size()) - 1, 0);
    storage.arena = use.arena;
    storage.offset = use.offset;
    storage.first_step =
        use.writers.empty() ? 0 : *std::min_element(use.writers.begin(), use.writers.end());
    storage.last_step =
        use.users.empty() ? 0 : *std::max_element(use.users.begin(), use.users.end());
    const bool to_end =
        storage.root != kNone &&
        std::any_of(graph_.outputs().begin(), graph_.outputs().end(), [&](const Graph::Port& port) {
          return locations_.at(port.tensor).root == storage.root;
        });
    if (to_end) storage.last_step = end;
    result_.arena.storages.push_back(storage);
  }

  Status MarkInPlace(size_t hold) {
    const auto from = static_cast<size_t>(schedule_.holds[hold].taken_over);
    const TensorId from_root = transfers_.root_of_hold()[from];
    const TensorId to_root = transfers_.root_of_hold()[hold];
    const OpId id = graph_.tensor(to_root).producer;
    const Op& op = graph_.op(id);
    for (const size_t input : HandOverInputs(graph_, locations_, op)) {
      if (locations_.at(op.inputs[input]).root != from_root) continue;
      result_.arena.in_place[static_cast<size_t>(id)] = static_cast<int>(input);
      return {};
    }
    return InternalError("'{}' cannot take over its input's bytes as planned", op.name);
  }

  void PlaceSlow() {
    std::vector<Buffer> buffers;
    for (const auto& [root, index] : slow_uses_) {
      const UsedBytes& use = uses_[index];
      buffers.push_back({use.start, std::max(use.end, use.start + 1), use.bytes, kStorageAlignment,
                         std::nullopt});
    }
    PlaceOptions options;
    options.work_budget = 20'000;  // there is plenty of it
    const Placement placement = PlaceBuffers(buffers, options);
    result_.arena.place_work += placement.work;
    const bool apart = memory_.slow != nullptr;
    const int64_t base = apart ? 0 : placed_.bytes;
    size_t next = 0;
    for (const auto& [root, index] : slow_uses_) {
      uses_[index].offset = base + placement.offsets[next++];
    }
    if (apart) {
      result_.arena.arenas.push_back(
          {memory_.slow->name, placement.peak, placement.lower_bound, placement.proven_optimal});
    } else if (!slow_uses_.empty()) {
      result_.arena.arenas[0].bytes = base + placement.peak;
    }
  }

  void FillProgram() {
    const SimulatedBoard simulated(board_);
    result_.program = simulated.units_and_ports();
    for (size_t e = 0; e < schedule_.events.size(); ++e) {
      const TimeEvent& event = schedule_.events[e];
      SimulatedStep step;
      if (event.kind == TimeEventKind::kTask) {
        const Op& op = graph_.op(transfers_.op_of_event()[e]);
        const Unit& unit = board_.units[static_cast<size_t>(steps_[e].unit)];
        step = simulated.OpStep(steps_[e].unit, model_.TimeOf(graph_, op, unit));
      } else {
        const TensorId moved = program_.tensor_of_value[event.index];
        step =
            simulated.TransferStep(LinkOf(event), graph_.tensor(moved).ByteSize(), steps_[e].unit);
      }
      step.waits = waits_[e];
      result_.program.steps.push_back(std::move(step));
    }
  }

  void FillWorkers() {
    std::vector<int32_t> worker_of_unit(board_.units.size(), -1);
    for (const OrderedStep& step : steps_) worker_of_unit[static_cast<size_t>(step.unit)] = 0;
    Schedule& schedule = result_.schedule;
    for (size_t u = 0; u < worker_of_unit.size(); ++u) {
      if (worker_of_unit[u] < 0) continue;
      worker_of_unit[u] = static_cast<int32_t>(schedule.unit_of_worker.size());
      schedule.unit_of_worker.push_back(static_cast<int32_t>(u));
    }
    schedule.workers.resize(schedule.unit_of_worker.size());
    std::vector<ScheduledWait> place(steps_.size());
    for (size_t e = 0; e < steps_.size(); ++e) {
      const int32_t worker = worker_of_unit[static_cast<size_t>(steps_[e].unit)];
      std::vector<ScheduledStep>& list = schedule.workers[static_cast<size_t>(worker)];
      place[e] = {worker, static_cast<int32_t>(list.size())};
      ScheduledStep step;
      step.op = transfers_.op_of_event()[e];
      for (const int32_t wait : waits_[e]) step.waits.push_back(place[static_cast<size_t>(wait)]);
      list.push_back(std::move(step));
    }
  }

  Graph& graph_;
  Locations& locations_;
  const Board& board_;
  const CostModel& model_;
  const ProgramProblem& program_;
  const TimeProblem& problem_;
  const TimeSchedule& schedule_;
  const PlacedHolds& placed_;
  const BoardMemory memory_;
  TransferOps transfers_;
  LoweredSchedule result_;
  std::vector<OrderedStep> steps_;  ///< by event
  std::vector<UsedBytes> uses_;     ///< by hold, then of slow memory
  std::map<TensorId, size_t> slow_uses_;
  std::vector<std::vector<int32_t>> waits_;
  std::vector<int32_t> step_of_task_, fetch_of_hold_, store_of_value_, writer_of_value_;
};

}  // namespace

Result<LoweredSchedule> LowerSchedule(Graph& graph, Locations& locations, const Board& board,
                                      const CostModel& model, const ProgramProblem& problem,
                                      const TimeSchedule& schedule, const PlacedHolds& placed) {
  return Lowering(graph, locations, board, model, problem, schedule, placed).Run();
}

}  // namespace tenon::converter
