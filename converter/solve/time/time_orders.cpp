#include "converter/solve/time/time_orders.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

namespace tenon::converter {
namespace {

/// Returns the largest priority first; the smaller number, if equal.
template <typename Priority>
class ReadyQueue {
 public:
  void Push(Priority priority, Index task) { queue_.push({priority, UINT32_MAX - task}); }
  Index Pop() {
    const Index task = UINT32_MAX - queue_.top().second;
    queue_.pop();
    return task;
  }
  [[nodiscard]] bool empty() const { return queue_.empty(); }

 private:
  std::priority_queue<std::pair<Priority, Index>> queue_;
};

std::vector<Index> CountPredecessors(const TimeProblem& problem) {
  std::vector<Index> counts;
  counts.reserve(problem.tasks.size());
  for (const TimeTask& task : problem.tasks) {
    counts.push_back(static_cast<Index>(task.predecessors.size()));
  }
  return counts;
}

/// Copies part of a problem with new numbers.
class PartMaker {
 public:
  PartMaker(const TimeProblem& problem, const std::vector<Index>& numbers)
      : problem_(problem),
        numbers_(numbers),
        task_(problem.tasks.size(), kNobody),
        value_(problem.values.size(), kNobody),
        storage_(problem.storages.size(), kNobody),
        written_(problem.values.size(), false) {
    for (Index i = 0; i < numbers.size(); ++i) {
      task_[numbers[i]] = i;
      for (const Index v : problem.tasks[numbers[i]].writes) written_[v] = true;
    }
  }

  TimeProblem Run() {
    part_.units = problem_.units;
    part_.fast_bytes = problem_.fast_bytes;
    part_.may_move_out = problem_.may_move_out;
    part_.with_addresses = problem_.with_addresses;
    part_.idle_tasks = problem_.idle_tasks;
    MarkShared();
    for (const Index number : numbers_) AddTask(problem_.tasks[number]);
    for (Index v = 0; v < value_.size(); ++v) {
      if (value_[v] == kNobody) continue;
      TimeValue& made = part_.values[value_[v]];
      for (const Index part : problem_.values[v].parts) {
        if (written_[part]) made.parts.push_back(ValueOf(part));
      }
      if (made.parts.empty()) made.from_start = true;
    }
    return std::move(part_);
  }

 private:
  /// Marks which storages earlier and later tasks use.
  void MarkShared() {
    before_.assign(problem_.storages.size(), false);
    behind_.assign(problem_.storages.size(), false);
    for (Index t = 0; t < problem_.tasks.size(); ++t) {
      if (task_[t] != kNobody) continue;
      std::vector<bool>& side = t < numbers_.front() ? before_ : behind_;
      for (const Index v : problem_.tasks[t].reads) side[problem_.values[v].storage] = true;
      for (const Index v : problem_.tasks[t].writes) side[problem_.values[v].storage] = true;
    }
  }

  void AddTask(const TimeTask& task) {
    TimeTask made;
    made.unit = task.unit;
    made.duration = task.duration;
    made.transient_bytes = task.transient_bytes;
    for (const Index p : task.predecessors) {
      if (task_[p] != kNobody) made.predecessors.push_back(task_[p]);
    }
    for (const Index v : task.reads) made.reads.push_back(ValueOf(v));
    for (const Index v : task.writes) made.writes.push_back(ValueOf(v));
    for (const HandOver& hand_over : task.hand_overs) {
      made.hand_overs.push_back({StorageOf(hand_over.from), StorageOf(hand_over.to)});
    }
    part_.tasks.push_back(std::move(made));
  }

  Index ValueOf(Index v) {
    if (value_[v] == kNobody) {
      value_[v] = static_cast<Index>(part_.values.size());
      TimeValue made = problem_.values[v];
      made.storage = StorageOf(made.storage);
      made.parts.clear();
      part_.values.push_back(std::move(made));
    }
    return value_[v];
  }

  Index StorageOf(Index s) {
    if (storage_[s] == kNobody) {
      storage_[s] = static_cast<Index>(part_.storages.size());
      TimeStorage made = problem_.storages[s];
      if (!made.slow) {
        made.from_start = made.from_start || before_[s];
        made.to_end = made.to_end || behind_[s];
      }
      part_.storages.push_back(made);
    }
    return storage_[s];
  }

  const TimeProblem& problem_;
  const std::vector<Index>& numbers_;
  TimeProblem part_;
  std::vector<Index> task_, value_, storage_;
  std::vector<bool> written_, before_, behind_;
};

}  // namespace

std::vector<Index> SourceOrderOf(const TimeProblem& problem) {
  std::vector<Index> order(problem.tasks.size());
  std::iota(order.begin(), order.end(), Index{0});
  return order;
}

std::vector<std::vector<Index>> SuccessorsOf(const TimeProblem& problem) {
  std::vector<std::vector<Index>> successors(problem.tasks.size());
  for (Index t = 0; t < problem.tasks.size(); ++t) {
    for (const Index p : problem.tasks[t].predecessors) successors[p].push_back(t);
  }
  return successors;
}

std::vector<Index> ListOrderOf(const TimeProblem& problem) {
  const auto successors = SuccessorsOf(problem);
  const auto tails = TailsOf(problem);
  std::vector<Index> missing = CountPredecessors(problem);
  std::vector<ReadyQueue<Picoseconds>> ready(problem.units);
  std::vector<bool> busy(problem.units, false);
  for (Index t = 0; t < missing.size(); ++t) {
    if (missing[t] == 0) ready[problem.tasks[t].unit].Push(tails[t], t);
  }
  using Done = std::pair<Picoseconds, Index>;
  std::priority_queue<Done, std::vector<Done>, std::greater<>> running;
  std::vector<Index> order;
  order.reserve(missing.size());
  Picoseconds now = 0;
  while (order.size() < missing.size()) {
    for (Index unit = 0; unit < problem.units; ++unit) {
      if (busy[unit] || ready[unit].empty()) continue;
      const Index t = ready[unit].Pop();
      order.push_back(t);
      busy[unit] = true;
      running.push({now + problem.tasks[t].duration, t});
    }
    if (running.empty()) break;
    now = running.top().first;
    while (!running.empty() && running.top().first == now) {
      const Index t = running.top().second;
      running.pop();
      busy[problem.tasks[t].unit] = false;
      for (const Index s : successors[t]) {
        if (--missing[s] == 0) ready[problem.tasks[s].unit].Push(tails[s], s);
      }
    }
  }
  return order;
}

std::vector<Index> OrderByPriority(const TimeProblem& problem,
                                   const std::vector<double>& priority) {
  const auto successors = SuccessorsOf(problem);
  std::vector<Index> missing = CountPredecessors(problem);
  ReadyQueue<double> ready;
  for (Index t = 0; t < missing.size(); ++t) {
    if (missing[t] == 0) ready.Push(priority[t], t);
  }
  std::vector<Index> order;
  order.reserve(missing.size());
  while (!ready.empty()) {
    const Index t = ready.Pop();
    order.push_back(t);
    for (const Index s : successors[t]) {
      if (--missing[s] == 0) ready.Push(priority[s], s);
    }
  }
  return order;
}

TimeProblem TimePartOf(const TimeProblem& problem, const std::vector<Index>& numbers) {
  return PartMaker(problem, numbers).Run();
}

std::string CanonicalForm(const TimeProblem& problem) {
  std::string text;
  const auto add = [&](int64_t number) {
    text.append(reinterpret_cast<const char*>(&number), sizeof number);
  };
  const auto add_list = [&](const std::vector<Index>& numbers) {
    add(static_cast<int64_t>(numbers.size()));
    for (const Index number : numbers) add(number);
  };
  for (const TimeTask& task : problem.tasks) {
    add(task.unit);
    add(task.duration);
    add(task.transient_bytes);
    add_list(task.predecessors);
    add_list(task.reads);
    add_list(task.writes);
    add(static_cast<int64_t>(task.hand_overs.size()));
    for (const HandOver& hand_over : task.hand_overs) {
      add(hand_over.from);
      add(hand_over.to);
    }
  }
  add(-1);
  for (const TimeValue& value : problem.values) {
    for (const int64_t number :
         {int64_t{value.storage}, value.bytes, value.fetch_time, value.store_time,
          int64_t{value.from_start}, int64_t{value.to_end}}) {
      add(number);
    }
    add_list(value.parts);
  }
  add(-1);
  for (const TimeStorage& storage : problem.storages) {
    add(storage.bytes);
    add(storage.slow ? 1 : 0);
    add(storage.from_start ? 1 : 0);
    add(storage.to_end ? 1 : 0);
  }
  for (const Picoseconds busy : problem.busy) add(busy);
  add(-1);
  for (const int64_t number : {int64_t{problem.units}, problem.fast_bytes,
                               int64_t{problem.may_move_out}, int64_t{problem.idle_tasks}}) {
    add(number);
  }
  return text;
}

}  // namespace tenon::converter
