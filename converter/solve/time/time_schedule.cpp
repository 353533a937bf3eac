#include "converter/solve/time/time_schedule.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace tenon::converter {

TimeEvaluator::TimeEvaluator(const TimeProblem& problem)
    : problem_(problem),
      tails_(TailsOf(problem)),
      reads_of_value_(problem.values.size(), 0),
      touches_of_storage_(problem.storages.size(), 0),
      writes_of_storage_(problem.storages.size(), 0),
      composite_(problem.values.size(), false),
      values_of_storage_(problem.storages.size()) {
  for (const TimeTask& task : problem.tasks) {
    for (const Index v : task.reads) {
      ++reads_of_value_[v];
      ++touches_of_storage_[problem.values[v].storage];
    }
    for (const Index v : task.writes) {
      ++writes_of_storage_[problem.values[v].storage];
      ++touches_of_storage_[problem.values[v].storage];
    }
  }
  shortest_transfer_ = std::numeric_limits<Picoseconds>::max();
  for (Index v = 0; v < problem.values.size(); ++v) {
    const TimeValue& value = problem.values[v];
    values_of_storage_[value.storage].push_back(v);
    shortest_transfer_ = std::min({shortest_transfer_, value.fetch_time, value.store_time});
    for (const Index part : value.parts) {
      if (part != v && reads_of_value_[v] > 0) composite_[part] = true;
    }
  }
}

void TimeEvaluator::Reset(const std::vector<Index>& order) {
  order_ = &order;
  position_ = 0;
  free_.Reset(problem_.fast_bytes);
  memory_.Reset(problem_.fast_bytes);
  transfers_.Reset(shortest_transfer_);
  unit_free_ = problem_.busy;
  unit_free_.resize(problem_.units, 0);
  task_end_.assign(problem_.tasks.size(), 0);
  stored_at_.assign(problem_.values.size(), kNever);
  value_hold_.assign(problem_.values.size(), -1);
  storage_hold_.assign(problem_.storages.size(), -1);
  slow_.resize(problem_.storages.size());
  for (size_t s = 0; s < slow_.size(); ++s) slow_[s] = problem_.storages[s].slow;
  reads_left_ = reads_of_value_;
  touches_left_ = touches_of_storage_;
  writes_left_ = writes_of_storage_;
  holds_.clear();
  residents_.clear();
  uses_built_ = false;
  makespan_ = transfer_time_ = 0;
  for (Index v = 0; v < problem_.values.size(); ++v) {
    if (problem_.values[v].from_start) stored_at_[v] = 0;
  }
}

TimeOutcome TimeEvaluator::Evaluate(const std::vector<Index>& order, Picoseconds limit) {
  TimeOutcome outcome;
  outcome.fits = Run(order, limit);
  outcome.makespan = makespan_;
  if (!outcome.fits) {
    outcome.stuck = order[std::min<size_t>(position_, order.size() - 1)];
  } else if (makespan_ <= limit) {
    outcome.peak_bytes = PeakOfHolds();
  }
  return outcome;
}

TimeSchedule TimeEvaluator::Record(const std::vector<Index>& order) {
  TimeSchedule schedule;
  schedule.read_holds.resize(problem_.tasks.size());
  schedule.write_holds.resize(problem_.tasks.size());
  record_ = &schedule;
  const bool fits = Run(order, INT64_MAX);
  record_ = nullptr;
  if (!fits) return {};
  schedule.makespan = makespan_;
  schedule.peak_bytes = PeakOfHolds();
  schedule.transfer_time = transfer_time_;
  for (const Hold& hold : holds_) schedule.holds.push_back(hold.fast);
  std::stable_sort(schedule.events.begin(), schedule.events.end(),
                   [](const TimeEvent& a, const TimeEvent& b) {
                     return a.start != b.start ? a.start < b.start : a.end < b.end;
                   });
  return schedule;
}

bool TimeEvaluator::Run(const std::vector<Index>& order, Picoseconds limit) {
  Reset(order);
  for (Index s = 0; s < problem_.storages.size(); ++s) {
    const TimeStorage& storage = problem_.storages[s];
    if (storage.slow || !storage.from_start) continue;
    if (!MakeRoom(storage.bytes)) return false;
    storage_hold_[s] = NewHold(HoldKind::kStorage, s, storage.bytes);
    TakeBytes(storage_hold_[s], 0);
  }
  for (const Index task : order) {
    if (!Step(task, limit)) return false;
    // The order is beyond the limit, so its exact length does not matter.
    if (makespan_ > limit) return true;
    ++position_;
  }
  for (const int32_t hold : std::vector<int32_t>(residents_)) {
    holds_[static_cast<size_t>(hold)].busy = makespan_;
    Release(hold);
  }
  return true;
}

bool TimeEvaluator::Step(Index number, Picoseconds limit) {
  const TimeTask& task = problem_.tasks[number];
  Picoseconds ready = unit_free_[task.unit];
  for (const Index p : task.predecessors) ready = std::max(ready, task_end_[p]);
  fresh_.clear();
  transient_.clear();
  Pin(number);
  if (!PrepareReads(task, ready) || !PrepareWrites(number, ready)) {
    // The values that the task itself needs may block each other: all are moved out and come back
    // closely packed.
    if (!MoveAllOut()) return false;
    if (!PrepareReads(task, ready) || !PrepareWrites(number, ready)) return false;
  }
  if (ready > limit - tails_[number]) {
    makespan_ = std::max(makespan_, ready + tails_[number]);
    return true;
  }
  const Picoseconds end = ready + task.duration;
  unit_free_[task.unit] = task_end_[number] = end;
  makespan_ = std::max(makespan_, end);
  if (record_ != nullptr) Note(number, ready, end);
  Finish(task, ready, end);
  Retire(task);
  Simplify();
  return true;
}

/// Protects what the task needs and is in fast memory from eviction in favour of the rest.
void TimeEvaluator::Pin(Index number) {
  const TimeTask& task = problem_.tasks[number];
  const auto pin = [&](Index v) {
    const int32_t hold = HoldOf(v);
    if (hold >= 0) holds_[static_cast<size_t>(hold)].pinned_by = position_;
  };
  for (const Index v : task.reads) pin(v);
  for (const Index v : task.writes) pin(v);
}

bool TimeEvaluator::PrepareReads(const TimeTask& task, Picoseconds& ready) {
  for (const Index v : task.reads) {
    int32_t hold = HoldOf(v);
    if (hold < 0) hold = Fetch(v, ready);
    if (hold < 0) return false;
    Hold& used = holds_[static_cast<size_t>(hold)];
    used.pinned_by = position_;
    // The task's predecessors ensure that parts of a storage still being written are ready.
    if (used.fast.kind == HoldKind::kFetched) ready = std::max(ready, used.ready);
  }
  return true;
}

bool TimeEvaluator::PrepareWrites(Index number, Picoseconds& ready) {
  const TimeTask& task = problem_.tasks[number];
  for (const Index v : task.writes) {
    const TimeValue& value = problem_.values[v];
    if (!slow_[value.storage]) {
      if (!PrepareStorage(task, value.storage, ready)) return false;
      continue;
    }
    value_hold_[v] = AllocateAt(HoldKind::kWritten, v, value.bytes, ready);
    if (value_hold_[v] < 0) return false;
    fresh_.push_back(value_hold_[v]);
  }
  if (task.transient_bytes == 0) return true;
  const int32_t hold = AllocateAt(HoldKind::kTransient, number, task.transient_bytes, ready);
  if (hold >= 0) transient_.push_back(hold);
  return hold >= 0;
}

bool TimeEvaluator::PrepareStorage(const TimeTask& task, Index storage, Picoseconds& ready) {
  int32_t& hold = storage_hold_[storage];
  if (hold >= 0) {
    ready = std::max(ready, holds_[static_cast<size_t>(hold)].available);
    return true;
  }
  hold = TakeOver(task, storage, ready);
  if (hold < 0) {
    hold = AllocateAt(HoldKind::kStorage, storage, problem_.storages[storage].bytes, ready);
  }
  if (hold < 0) return false;
  fresh_.push_back(hold);
  return true;
}

/// Returns the hold of a storage that this task is the last to use, for `storage`; -1 if there is
/// none, or if waiting for other readers would cost time and there is space elsewhere.
int32_t TimeEvaluator::TakeOver(const TimeTask& task, Index storage, Picoseconds& ready) {
  for (const HandOver& hand_over : task.hand_overs) {
    const Index from = hand_over.from;
    if (hand_over.to != storage || slow_[from] || storage_hold_[from] < 0 ||
        problem_.storages[from].to_end) {
      continue;
    }
    const auto touches = [&](const std::vector<Index>& values) {
      return std::count_if(values.begin(), values.end(),
                           [&](Index v) { return problem_.values[v].storage == from; });
    };
    if (touches_left_[from] != touches(task.reads) + touches(task.writes)) continue;
    const int32_t old = storage_hold_[from];
    const Hold before = holds_[static_cast<size_t>(old)];
    const int64_t bytes = problem_.storages[storage].bytes;
    const bool has_room =
        problem_.with_addresses ? memory_.HasPlace(bytes) : free_.total() >= bytes;
    if (before.busy > ready && has_room) continue;
    if (before.fast.bytes != bytes) continue;
    ready = std::max(ready, before.busy);
    const int32_t made = NewHold(HoldKind::kStorage, storage, bytes);
    Hold& hold = holds_[static_cast<size_t>(made)];
    hold.available = ready;
    hold.fast.taken_over = old;
    hold.fast.offset = before.fast.offset;
    hold.pinned_by = position_;
    if (problem_.with_addresses) memory_.Rename(hold.fast.offset, old, made);
    Forget(old);
    storage_hold_[from] = -1;
    return made;
  }
  return -1;
}

void TimeEvaluator::Finish(const TimeTask& task, Picoseconds start, Picoseconds end) {
  for (const int32_t made : fresh_) {
    Hold& hold = holds_[static_cast<size_t>(made)];
    hold.fast.start = start;
    if (hold.fast.taken_over >= 0) {
      holds_[static_cast<size_t>(hold.fast.taken_over)].fast.end = start;
    }
  }
  const auto use = [&](Index v) -> Hold* {
    const int32_t number = HoldOf(v);
    if (number < 0) return nullptr;  // handed over
    Hold& hold = holds_[static_cast<size_t>(number)];
    hold.busy = std::max(hold.busy, end);
    // Of two writers of one storage, the later one in the order may be the earlier one in time.
    hold.fast.start = std::min(hold.fast.start, start);
    return &hold;
  };
  for (const Index v : task.reads) {
    const int32_t number = HoldOf(v);
    if (number >= 0) {
      Hold& hold = holds_[static_cast<size_t>(number)];
      hold.busy = std::max(hold.busy, end);
    }
    --reads_left_[v];
    --touches_left_[problem_.values[v].storage];
  }
  for (const Index v : task.writes) {
    if (Hold* hold = use(v)) hold->ready = std::max(hold->ready, end);
    --writes_left_[problem_.values[v].storage];
    --touches_left_[problem_.values[v].storage];
  }
  for (const Index v : task.writes) {
    if (slow_[problem_.values[v].storage] && (problem_.values[v].to_end || composite_[v])) Store(v);
  }
  for (const int32_t number : transient_) {
    Hold& hold = holds_[static_cast<size_t>(number)];
    hold.fast.start = start;
    hold.busy = end;
    Release(number);
  }
}

void TimeEvaluator::Retire(const TimeTask& task) {
  for (const Index v : task.reads) RetireValue(v);
  for (const Index v : task.writes) RetireValue(v);
}

void TimeEvaluator::RetireValue(Index v) {
  const Index storage = problem_.values[v].storage;
  if (slow_[storage]) {
    if (reads_left_[v] > 0 || value_hold_[v] < 0) return;
    Release(value_hold_[v]);
    value_hold_[v] = -1;
    return;
  }
  if (touches_left_[storage] > 0 || storage_hold_[storage] < 0 ||
      problem_.storages[storage].to_end) {
    return;
  }
  Release(storage_hold_[storage]);
  storage_hold_[storage] = -1;
}

void TimeEvaluator::Note(Index number, Picoseconds start, Picoseconds end) {
  const TimeTask& task = problem_.tasks[number];
  for (const Index v : task.reads) {
    int32_t hold = HoldOf(v);
    for (const int32_t made : fresh_) {
      const int32_t old = holds_[static_cast<size_t>(made)].fast.taken_over;
      if (hold < 0 && old >= 0 &&
          holds_[static_cast<size_t>(old)].fast.owner == problem_.values[v].storage) {
        hold = old;
      }
    }
    record_->read_holds[number].push_back(hold);
  }
  for (const Index v : task.writes) record_->write_holds[number].push_back(HoldOf(v));
  record_->events.push_back({TimeEventKind::kTask, number, start, end, -1});
}

int64_t TimeEvaluator::PeakOfHolds() const {
  std::vector<std::pair<Picoseconds, int64_t>> changes;
  changes.reserve(2 * holds_.size());
  for (const Hold& hold : holds_) {
    if (hold.fast.end <= hold.fast.start) continue;
    changes.emplace_back(hold.fast.start, hold.fast.bytes);
    changes.emplace_back(hold.fast.end, -hold.fast.bytes);
  }
  std::sort(changes.begin(), changes.end());  // at equal times what ends comes first
  int64_t live = 0;
  int64_t peak = 0;
  for (const auto& [time, bytes] : changes) peak = std::max(peak, live += bytes);
  return peak;
}

}  // namespace tenon::converter
