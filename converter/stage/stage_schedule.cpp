#include "converter/stage/stage_schedule.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "converter/schedule/program_problem.hpp"
#include "converter/schedule/step_waits.hpp"
#include "converter/stage/fetch_constants.hpp"

namespace tenon::converter {
namespace {

constexpr int32_t kMain = 0;
constexpr int32_t kEngine = 1;

/// The steps of one stage, in order.
std::vector<OpId> StepsOf(const StagedGraph& staged, int32_t stage) {
  std::vector<OpId> steps;
  for (const OpId id : staged.steps) {
    if (staged.stage_of_op[static_cast<size_t>(id)] == stage) steps.push_back(id);
  }
  return steps;
}

bool IsCopy(const std::vector<bool>& copies, OpId id) {
  return static_cast<size_t>(id) < copies.size() && copies[static_cast<size_t>(id)];
}

/// Finds what the steps of a stage wait for that two workers share.
class StageWaits {
 public:
  StageWaits(const StagedGraph& staged, const ArenaPlan& arena, int32_t own_arena,
             const std::vector<bool>& copies, const std::vector<OpId>& steps, bool is_paced)
      : staged_(staged), copies_(copies), steps_(steps), is_paced_(is_paced) {
    for (const PlannedStorage& storage : arena.storages) {
      if (storage.arena != own_arena) continue;
      if (storage.root != kNone) use_of_root_[storage.root] = uses_.size();
      if (storage.workspace_of != kNone) use_of_workspace_[storage.workspace_of] = uses_.size();
      UsedBytes use;
      use.offset = storage.offset;
      use.bytes = storage.bytes;
      use.start = storage.first_step;
      use.end = storage.last_step;
      uses_.push_back(std::move(use));
    }
  }

  /// By step: the steps to wait for.
  std::vector<std::vector<int32_t>> Run() {
    for (const OpId id : steps_) AddStep(id);
    AddReuseNeeds(uses_, ordered_);
    return ReducedWaits(ordered_, kEngine + 1);
  }

 private:
  void AddStep(OpId id) {
    const auto number = static_cast<int32_t>(ordered_.size());
    OrderedStep step;
    step.unit = IsCopy(copies_, id) ? kEngine : kMain;
    if (is_paced_ && step.unit == kEngine && last_op_ >= 0) step.needs.push_back(last_op_);
    if (step.unit == kMain) last_op_ = number;
    const Op& op = staged_.graph.op(id);
    for (const TensorId input : op.inputs) {
      UsedBytes* use = UseOf(input);
      if (use == nullptr) continue;
      step.needs.insert(step.needs.end(), use->writers.begin(), use->writers.end());
      use->users.push_back(number);
    }
    for (const TensorId output : op.outputs) Write(UseOf(output), number);
    const auto workspace = use_of_workspace_.find(id);
    if (workspace != use_of_workspace_.end()) Write(&uses_[workspace->second], number);
    ordered_.push_back(std::move(step));
  }

  /// Null: it is none of the stage's own.
  UsedBytes* UseOf(TensorId tensor) {
    if (tensor == kNone) return nullptr;
    const auto found = use_of_root_.find(staged_.locations.at(tensor).root);
    return found == use_of_root_.end() ? nullptr : &uses_[found->second];
  }

  static void Write(UsedBytes* use, int32_t step) {
    if (use == nullptr) return;
    use->writers.push_back(step);
    use->users.push_back(step);
  }

  const StagedGraph& staged_;
  const std::vector<bool>& copies_;
  const std::vector<OpId>& steps_;
  bool is_paced_;
  std::vector<OrderedStep> ordered_;
  int32_t last_op_ = -1;
  std::vector<UsedBytes> uses_;
  std::map<TensorId, size_t> use_of_root_;
  std::map<OpId, size_t> use_of_workspace_;
};

}  // namespace

int32_t CopyEngineOf(const Board& board) {
  const BoardMemory memory = MemoryOf(board);
  if (!memory.stage_constants) return kNone;
  const Unit* unit = board.FindUnit(board.links[static_cast<size_t>(memory.fetch_link)].unit);
  return unit == nullptr ? kNone : static_cast<int32_t>(unit - board.units.data());
}

std::vector<bool> EngineCopies(const StagedGraph& staged) {
  std::vector<bool> copies;
  std::map<TensorId, OpId> copy_of_root;
  for (const OpId id : staged.steps) {
    const auto k = static_cast<size_t>(id);
    if (copies.size() <= k) copies.resize(k + 1, false);
    copies[k] = IsFetch(staged.graph, staged.graph.op(id));
    if (copies[k]) copy_of_root[staged.locations.at(staged.graph.op(id).outputs[0]).root] = id;
  }
  const auto exclude = [&](TensorId tensor, int32_t reader_stage) {
    if (tensor == kNone) return;
    const auto copy = copy_of_root.find(staged.locations.at(tensor).root);
    if (copy == copy_of_root.end()) return;
    const auto k = static_cast<size_t>(copy->second);
    if (staged.stage_of_op[k] != reader_stage) copies[k] = false;
  };
  for (const OpId id : staged.steps) {
    for (const TensorId input : staged.graph.op(id).inputs) {
      exclude(input, staged.stage_of_op[static_cast<size_t>(id)]);
    }
  }
  for (const Graph::Port& port : staged.graph.outputs()) exclude(port.tensor, kNone);
  return copies;
}

StageCopies CopiesOfStage(const StagedGraph& staged, const StageArenas& arenas,
                          const std::vector<bool>& copies, int32_t stage, const TimeOfOp& time) {
  StageCopies result;
  std::map<TensorId, size_t> copy_of_root;
  std::vector<int32_t> op_of_step;  // by step: the stage's op that it is, or the next one
  for (const OpId id : staged.steps) {
    op_of_step.push_back(static_cast<int32_t>(result.ops.size()));
    if (staged.stage_of_op[static_cast<size_t>(id)] != stage) continue;
    const Op& op = staged.graph.op(id);
    if (IsCopy(copies, id)) {
      const TensorId root = staged.locations.at(op.outputs[0]).root;
      copy_of_root[root] = result.copies.size();
      result.copies.push_back({time(op), INT32_MAX, 0, staged.graph.tensor(root).ByteSize()});
      continue;
    }
    const auto number = static_cast<int32_t>(result.ops.size());
    for (const TensorId input : op.inputs) {
      if (input == kNone) continue;
      const auto found = copy_of_root.find(staged.locations.at(input).root);
      if (found == copy_of_root.end()) continue;
      StageCopies::Copy& copy = result.copies[found->second];
      copy.reader = std::min(copy.reader, number);
      copy.last_reader = number;
    }
    result.ops.push_back({time(op), 0});
  }
  const auto last = static_cast<int32_t>(result.ops.size()) - 1;
  int32_t next = last;  // in the order of the engine, whatever nobody reads at the end
  for (auto copy = result.copies.rbegin(); copy != result.copies.rend(); ++copy) {
    copy->reader = next = std::min(copy->reader, next);
    copy->last_reader = std::max(copy->last_reader, copy->reader);
    copy->bytes = PaddedBytes(copy->bytes);
  }
  for (const PlannedStorage& storage : arenas.plan.storages) {
    const bool is_own = storage.arena == arenas.arena_of_stage[static_cast<size_t>(stage)];
    if (!is_own || copy_of_root.count(storage.root) > 0) continue;
    const int32_t first = op_of_step[static_cast<size_t>(storage.first_step)];
    const int32_t end = std::min(op_of_step[static_cast<size_t>(storage.last_step)], last);
    for (int32_t op = first; op <= end; ++op) {
      result.ops[static_cast<size_t>(op)].live_bytes += PaddedBytes(storage.bytes);
    }
  }
  return result;
}

void MoveCopiesAhead(StagedGraph& staged, const std::vector<bool>& copies,
                     const std::vector<CopyStarts>& starts) {
  std::vector<OpId> steps;
  for (size_t s = 0; s < starts.size(); ++s) {
    const std::vector<OpId> before = StepsOf(staged, static_cast<int32_t>(s));
    if (starts[s].before.empty()) {
      steps.insert(steps.end(), before.begin(), before.end());
      continue;
    }
    std::vector<std::pair<int32_t, OpId>> moved;  // by the op that each begins at
    for (const OpId id : before) {
      if (IsCopy(copies, id)) moved.emplace_back(starts[s].before[moved.size()], id);
    }
    std::stable_sort(moved.begin(), moved.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    size_t next = 0;
    int32_t op = 0;
    for (const OpId id : before) {
      if (IsCopy(copies, id)) continue;
      for (; next < moved.size() && moved[next].first <= op; ++next) {
        steps.push_back(moved[next].second);
      }
      steps.push_back(id);
      ++op;
    }
  }
  staged.steps = std::move(steps);
  staged.graph.SetOrder(WithElidedOps(staged.graph, staged.locations, staged.steps));
}

Schedule ScheduleStages(const StagedGraph& staged, const StageArenas& arenas,
                        const std::vector<bool>& copies, const std::vector<int32_t>& unit_of_stage,
                        const std::vector<bool>& is_helped, int32_t engine, bool is_paced) {
  Schedule schedule;
  const size_t stages = unit_of_stage.size();
  schedule.workers.resize(stages);
  schedule.unit_of_worker = unit_of_stage;
  for (size_t s = 0; s < stages; ++s) {
    const auto stage = static_cast<int32_t>(s);
    schedule.stage_of_worker.insert(schedule.stage_of_worker.begin() + stage, stage);
    const std::vector<OpId> steps = StepsOf(staged, stage);
    if (!is_helped[s]) {
      for (const OpId id : steps) schedule.workers[s].push_back({id, {}});
      continue;
    }
    const int32_t worker[] = {stage, static_cast<int32_t>(schedule.workers.size())};
    schedule.workers.emplace_back();
    schedule.unit_of_worker.push_back(engine);
    schedule.stage_of_worker.push_back(stage);
    StageWaits finder(staged, arenas.plan, arenas.arena_of_stage[s], copies, steps, is_paced);
    const std::vector<std::vector<int32_t>> waits = finder.Run();
    std::vector<ScheduledWait> place;
    for (size_t i = 0; i < steps.size(); ++i) {
      const int32_t own = worker[IsCopy(copies, steps[i]) ? kEngine : kMain];
      std::vector<ScheduledStep>& list = schedule.workers[static_cast<size_t>(own)];
      place.push_back({own, static_cast<int32_t>(list.size())});
      ScheduledStep step;
      step.op = steps[i];
      for (const int32_t wait : waits[i]) step.waits.push_back(place[static_cast<size_t>(wait)]);
      list.push_back(std::move(step));
    }
  }
  return schedule;
}

std::vector<StageStep> StepsOfStage(const StagedGraph& staged, const Schedule& schedule,
                                    int32_t stage, Picoseconds start, int32_t unit, int32_t engine,
                                    const TimeOfOp& time) {
  std::vector<StageStep> steps = {{start, unit, {}}};
  std::map<std::pair<int32_t, int32_t>, int32_t> place;  // of a worker's step
  for (size_t w = 0; w < schedule.workers.size(); ++w) {
    if (schedule.stage_of_worker[w] != stage) continue;
    for (size_t i = 0; i < schedule.workers[w].size(); ++i) {
      const auto before = i == 0 ? 0 : static_cast<int32_t>(steps.size()) - 1;
      place[{static_cast<int32_t>(w), static_cast<int32_t>(i)}] =
          static_cast<int32_t>(steps.size());
      const bool is_main = static_cast<int32_t>(w) == stage;
      steps.push_back(
          {time(staged.graph.op(schedule.workers[w][i].op)), is_main ? unit : engine, {before}});
    }
  }
  for (const auto& [key, index] : place) {
    const auto& [worker, step] = key;
    const ScheduledStep& from =
        schedule.workers[static_cast<size_t>(worker)][static_cast<size_t>(step)];
    for (const ScheduledWait& wait : from.waits) {
      steps[static_cast<size_t>(index)].waits.push_back(place.at({wait.worker, wait.step}));
    }
  }
  return steps;
}

}  // namespace tenon::converter
