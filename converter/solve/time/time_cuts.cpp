#include "converter/solve/time/time_cuts.hpp"

#include <algorithm>

#include "converter/solve/order/key_nodes.hpp"
#include "converter/solve/sort_and_unique.hpp"

namespace tenon::converter {
namespace {

/// Returns by storage whether each of its readers waits for the same, all of its writers; so it is
/// one point in the flow.
std::vector<bool> CompleteStorages(const TimeProblem& problem) {
  std::vector<size_t> writes(problem.storages.size(), 0);
  for (const TimeTask& task : problem.tasks) {
    for (const Index v : task.writes) ++writes[problem.values[v].storage];
  }
  std::vector<bool> complete(problem.storages.size(), true);
  for (const TimeTask& task : problem.tasks) {
    for (const Index v : task.reads) {
      const TimeValue& value = problem.values[v];
      if (value.parts.size() != writes[value.storage]) complete[value.storage] = false;
    }
  }
  for (size_t s = 0; s < complete.size(); ++s) {
    if (writes[s] == 0) complete[s] = false;
  }
  return complete;
}

}  // namespace

void FetchedBefore::Add(Picoseconds time, int64_t bytes) {
  items_.push({time, std::max<int64_t>(bytes, 1)});
  bytes_ += std::max<int64_t>(bytes, 1);
  time_ += time;
  while (!items_.empty() && bytes_ - items_.top().bytes >= room_) {
    bytes_ -= items_.top().bytes;
    time_ -= items_.top().time;
    items_.pop();
  }
}

Picoseconds FetchedBefore::time() const {
  if (bytes_ <= room_ || items_.empty()) return time_;
  const Item& last = items_.top();
  const double share = static_cast<double>(bytes_ - room_) / static_cast<double>(last.bytes);
  return time_ - static_cast<Picoseconds>(share * static_cast<double>(last.time));
}

TimeCuts::TimeCuts(const TimeProblem& problem) : problem_(problem) {
  FindCuts();
  FindLevels();
  FindTransfers();
}

int64_t TimeCuts::BytesOf(Index number) const {
  const TimeTask& task = problem_.tasks[number];
  int64_t bytes = task.transient_bytes;
  std::vector<Index> storages;
  const auto touch = [&](Index v) {
    const TimeValue& value = problem_.values[v];
    if (problem_.storages[value.storage].slow) {
      bytes += value.bytes;
    } else {
      storages.push_back(value.storage);
    }
  };
  for (const Index v : task.reads) touch(v);
  for (const Index v : task.writes) touch(v);
  SortAndUnique(storages);
  for (const Index s : storages) bytes += problem_.storages[s].bytes;
  int64_t handed = 0;
  for (const HandOver& hand_over : task.hand_overs) {
    const bool slow =
        problem_.storages[hand_over.from].slow || problem_.storages[hand_over.to].slow;
    if (!slow) handed = std::max(handed, problem_.storages[hand_over.to].bytes);
  }
  return bytes - handed;
}

void TimeCuts::FindCuts() {
  const auto tasks = static_cast<int>(problem_.tasks.size());
  const std::vector<bool> complete = CompleteStorages(problem_);
  Dag dag;
  std::vector<int> node_of_storage(problem_.storages.size(), -1);
  int nodes = tasks;
  std::vector<Index> storage_of_node;
  for (Index s = 0; s < problem_.storages.size(); ++s) {
    if (!complete[s]) continue;
    node_of_storage[s] = nodes++;
    storage_of_node.push_back(s);
  }
  dag.nodes = nodes;
  for (int t = 0; t < tasks; ++t) {
    const TimeTask& task = problem_.tasks[static_cast<size_t>(t)];
    for (const Index p : task.predecessors) dag.edges.emplace_back(static_cast<int>(p), t);
    for (const Index v : task.reads) {
      const int node = node_of_storage[problem_.values[v].storage];
      if (node >= 0) dag.edges.emplace_back(node, t);
    }
    for (const Index v : task.writes) {
      const int node = node_of_storage[problem_.values[v].storage];
      if (node >= 0) dag.edges.emplace_back(t, node);
    }
  }
  cut_of_task_.assign(problem_.tasks.size(), kNobody);
  cut_of_storage_.assign(problem_.storages.size(), kNobody);
  const auto keys = FindKeyNodes(dag);
  if (!keys.ok()) return;
  for (const int key : *keys) {
    const auto number = static_cast<Index>(cuts_.size());
    TimeCut cut;
    if (key < tasks) {
      cut.task = static_cast<Index>(key);
      cut.bytes = BytesOf(cut.task);
      cut_of_task_[cut.task] = number;
    } else {
      cut.storage = storage_of_node[static_cast<size_t>(key - tasks)];
      const TimeStorage& storage = problem_.storages[cut.storage];
      cut.bytes = storage.slow ? 0 : storage.bytes;
      cut_of_storage_[cut.storage] = number;
    }
    cuts_.push_back(cut);
  }
}

void TimeCuts::FindLevels() {
  levels_.assign(problem_.tasks.size(), 0);
  for (Index t = 0; t < problem_.tasks.size(); ++t) {
    const TimeTask& task = problem_.tasks[t];
    Index level = 0;
    for (const Index p : task.predecessors) {
      level = std::max(level, cut_of_task_[p] == kNobody ? levels_[p] : cut_of_task_[p] + 1);
    }
    for (const Index v : task.reads) {
      const Index cut = cut_of_storage_[problem_.values[v].storage];
      if (cut != kNobody) level = std::max(level, cut + 1);
    }
    levels_[t] = level;
  }
}

void TimeCuts::FindTransfers() {
  std::vector<Index> first_read(problem_.values.size(), kNobody);
  std::vector<Index> writer(problem_.values.size(), kNobody);
  for (Index t = 0; t < problem_.tasks.size(); ++t) {
    for (const Index v : problem_.tasks[t].reads) {
      first_read[v] = std::min(first_read[v], levels_[t]);
    }
    for (const Index v : problem_.tasks[t].writes) writer[v] = t;
  }
  needed_.resize(cuts_.size() + 1);
  std::vector<Index> stored_for(problem_.values.size(), kNobody);
  for (Index v = 0; v < problem_.values.size(); ++v) {
    const TimeValue& value = problem_.values[v];
    if (first_read[v] == kNobody || !problem_.storages[value.storage].slow) continue;
    if (writer[v] != kNobody) continue;  // may have stayed in fast memory
    needed_[first_read[v]].push_back({value.fetch_time, std::max<int64_t>(value.bytes, 1), 0});
    for (const Index part : value.parts) {
      stored_for[part] = std::min(stored_for[part], first_read[v]);
    }
  }
  for (Index v = 0; v < problem_.values.size(); ++v) {
    if (stored_for[v] == kNobody || writer[v] == kNobody) continue;
    needed_[stored_for[v]].push_back({problem_.values[v].store_time, 0, levels_[writer[v]]});
  }
}

void TimeCuts::Push(Index from, Picoseconds time, std::vector<Picoseconds>& earliest) const {
  const bool at_start = from == cuts_.size();
  const int64_t room = at_start ? 0 : std::max<int64_t>(problem_.fast_bytes - cuts_[from].bytes, 0);
  FetchedBefore before(room);  // what fits into `room` may have been fetched
  Picoseconds total = 0;
  constexpr size_t kMostTransfers = 4000;
  size_t seen = 0;
  for (Index level = at_start ? 0 : from + 1; level < needed_.size(); ++level) {
    for (const Transfer& transfer : needed_[level]) {
      ++seen;
      if (transfer.bytes == 0) {
        if (at_start || transfer.not_before > from) total += transfer.time;
        continue;
      }
      total += transfer.time;
      before.Add(transfer.time, transfer.bytes);
    }
    earliest[level] = std::max(earliest[level], time + total - before.time());
    if (seen > kMostTransfers && !at_start) break;
  }
}

}  // namespace tenon::converter
