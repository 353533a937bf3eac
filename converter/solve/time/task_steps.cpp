#include "converter/solve/time/task_steps.hpp"

#include <algorithm>
#include <utility>

namespace tenon::converter {

std::vector<std::vector<int32_t>> NeedsOfSteps(const SegmentProblem& problem,
                                               const SegmentList& list) {
  std::vector<int32_t> step_of_op(problem.size());
  int32_t step = 0;
  for (const SegmentOps& segment : list) {
    for (const int32_t op : segment.ops) step_of_op[static_cast<size_t>(op)] = step++;
  }
  std::vector<std::vector<int32_t>> needs;
  needs.reserve(problem.size());
  for (const SegmentOps& segment : list) {
    const size_t first = needs.size();
    const bool at_start = problem.units[static_cast<size_t>(segment.unit)].waits_at_start;
    for (const int32_t op : segment.ops) {
      needs.emplace_back();
      std::vector<int32_t>& waiter = at_start ? needs[first] : needs.back();
      for (const int32_t p : problem.ops.predecessors[static_cast<size_t>(op)]) {
        const int32_t need = step_of_op[static_cast<size_t>(p)];
        if (!at_start || need < static_cast<int32_t>(first)) waiter.push_back(need);
      }
    }
  }
  return needs;
}

SimulatedProgram StepsOf(const SegmentProblem& problem, const SegmentList& list) {
  SimulatedProgram program;
  program.units.resize(problem.units.size());
  std::vector<std::vector<int32_t>> needs = NeedsOfSteps(problem, list);
  for (const SegmentOps& segment : list) {
    for (const int32_t op : segment.ops) {
      SimulatedStep step;
      step.unit = segment.unit;
      step.fixed = problem.duration[static_cast<size_t>(op)];
      if (op == segment.ops.front()) {
        step.fixed += problem.units[static_cast<size_t>(segment.unit)].start;
      }
      step.waits = std::move(needs[program.steps.size()]);
      program.steps.push_back(std::move(step));
    }
  }
  return program;
}

SimulatedProgram StepsOf(const TimeProblem& problem, const TimeSchedule& schedule) {
  SimulatedProgram program;
  program.units.resize(problem.units + 1);
  std::vector<int32_t> step_of_task(problem.tasks.size(), -1);
  std::vector<int32_t> writer(problem.values.size(), -1);  // task, by value
  for (size_t t = 0; t < problem.tasks.size(); ++t) {
    for (const Index v : problem.tasks[t].writes) writer[v] = static_cast<int32_t>(t);
  }
  for (size_t i = 0; i < schedule.events.size(); ++i) {
    if (schedule.events[i].kind != TimeEventKind::kTask) continue;
    step_of_task[schedule.events[i].index] = static_cast<int32_t>(i);
  }
  std::vector<int32_t> fetch_of_hold(schedule.holds.size(), -1);
  std::vector<int32_t> store_of_value(problem.values.size(), -1);  // the last one so far
  for (size_t i = 0; i < schedule.events.size(); ++i) {
    const TimeEvent& event = schedule.events[i];
    SimulatedStep step;
    step.unit = static_cast<int32_t>(problem.units);
    step.fixed = event.end - event.start;
    const auto add_writers = [&](Index value) {
      for (const Index part : problem.values[value].parts) {
        const int32_t task = writer[part];
        if (task < 0) continue;
        const int32_t made = step_of_task[static_cast<size_t>(task)];
        if (made >= 0 && made < static_cast<int32_t>(i)) step.waits.push_back(made);
      }
    };
    if (event.kind == TimeEventKind::kTask) {
      const TimeTask& task = problem.tasks[event.index];
      step.unit = static_cast<int32_t>(task.unit);
      for (const Index p : task.predecessors) step.waits.push_back(step_of_task[p]);
      for (const int32_t hold : schedule.read_holds[event.index]) {
        if (hold < 0 || fetch_of_hold[static_cast<size_t>(hold)] < 0) continue;
        step.waits.push_back(fetch_of_hold[static_cast<size_t>(hold)]);
      }
    } else if (event.kind == TimeEventKind::kStore) {
      add_writers(event.index);
      store_of_value[event.index] = static_cast<int32_t>(i);
    } else {
      for (const Index part : problem.values[event.index].parts) {
        if (store_of_value[part] >= 0) step.waits.push_back(store_of_value[part]);
      }
      if (event.hold >= 0) {
        fetch_of_hold[static_cast<size_t>(event.hold)] = static_cast<int32_t>(i);
      }
    }
    program.steps.push_back(std::move(step));
  }
  return program;
}

SegmentProblem WithoutMemory(const TimeProblem& problem) {
  SegmentProblem result;
  result.units.assign(problem.units, {0, false});
  for (const TimeTask& task : problem.tasks) {
    result.ops.unit.push_back(static_cast<int32_t>(task.unit));
    result.ops.predecessors.emplace_back(task.predecessors.begin(), task.predecessors.end());
    result.duration.push_back(task.duration);
  }
  return result;
}

}  // namespace tenon::converter
