#include "converter/solve/time/time_problem.hpp"

#include <algorithm>

#include "converter/solve/sort_and_unique.hpp"

namespace tenon::converter {

std::vector<Picoseconds> TailsOf(const TimeProblem& problem) {
  std::vector<Index> writer(problem.values.size(), kNobody);
  std::vector<Picoseconds> after(problem.tasks.size(), 0);  // by task: behind its end
  for (Index t = 0; t < problem.tasks.size(); ++t) {
    for (const Index v : problem.tasks[t].writes) {
      writer[v] = t;
      if (problem.values[v].to_end) after[t] = std::max(after[t], problem.values[v].store_time);
    }
  }
  std::vector<Picoseconds> tails(problem.tasks.size(), 0);
  for (Index t = static_cast<Index>(problem.tasks.size()); t-- > 0;) {
    const TimeTask& task = problem.tasks[t];
    tails[t] = task.duration + after[t];
    for (const Index p : task.predecessors) after[p] = std::max(after[p], tails[t]);
    for (const Index v : task.reads) {
      const TimeValue& value = problem.values[v];
      if (!problem.storages[value.storage].slow) continue;
      for (const Index part : value.parts) {
        if (part == v || writer[part] == kNobody) continue;  // may have stayed in fast memory
        Picoseconds& behind = after[writer[part]];
        behind = std::max(behind, problem.values[part].store_time + value.fetch_time + tails[t]);
      }
    }
  }
  return tails;
}

MemoryProblem MemoryViewOf(const TimeProblem& problem) {
  MemoryProblem view;
  // Storages come first, then tasks' copies of values of slow ones, which are temporary.
  for (const TimeStorage& storage : problem.storages) {
    view.storages.push_back({storage.slow ? 0 : storage.bytes, storage.from_start, storage.to_end});
  }
  for (const TimeTask& task : problem.tasks) {
    MemoryNode node;
    node.predecessors = task.predecessors;
    node.transient_bytes = task.transient_bytes;
    for (const HandOver& hand_over : task.hand_overs) {
      if (problem.storages[hand_over.from].slow || problem.storages[hand_over.to].slow) continue;
      node.hand_overs.push_back(hand_over);
    }
    const auto touch = [&](Index v) {
      const TimeValue& value = problem.values[v];
      if (problem.storages[value.storage].slow) {
        node.transient_bytes += value.bytes;
      } else {
        node.storages.push_back(value.storage);
      }
    };
    for (const Index v : task.reads) touch(v);
    for (const Index v : task.writes) touch(v);
    SortAndUnique(node.storages);
    view.nodes.push_back(std::move(node));
  }
  return view;
}

}  // namespace tenon::converter
