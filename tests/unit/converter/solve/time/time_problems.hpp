// Time problems for tests: random graphs of tasks, and a checker of schedules that shares no code
// with the evaluator.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "converter/solve/time/time_schedule.hpp"

namespace tenon::converter {

struct RandomTimeSettings {
  Index tasks = 8;
  Index units = 2;
  int most_inputs = 2;
  double constant_share = 0.5;  ///< tasks that read a constant of their own
  double shared_constant_share = 0.2;
  bool hand_overs = true;
};

/// Every task writes one storage and reads those of some before it; the first read an input, the
/// last's output is stored.
inline TimeProblem RandomTimeProblem(uint64_t seed, const RandomTimeSettings& settings) {
  std::mt19937_64 random(seed);
  const auto below = [&](uint64_t n) { return static_cast<Index>(random() % n); };
  const auto chance = [&](double share) {
    return static_cast<double>(random() % 1000) < share * 1000;
  };
  TimeProblem problem;
  problem.units = settings.units;
  const auto add_value = [&](int64_t bytes, bool slow) {
    problem.storages.push_back({bytes, slow, false, false});
    TimeValue value;
    value.storage = static_cast<Index>(problem.storages.size() - 1);
    value.bytes = bytes;
    value.fetch_time = value.store_time = 5 + bytes / 16;
    value.from_start = slow;
    problem.values.push_back(value);
    return static_cast<Index>(problem.values.size() - 1);
  };
  const Index input = add_value(64 * (1 + below(8)), true);
  const Index shared = add_value(64 * (1 + below(8)), true);
  std::vector<Index> written;
  int64_t largest = 0;
  for (Index t = 0; t < settings.tasks; ++t) {
    TimeTask task;
    task.unit = below(settings.units);
    task.duration = 1 + below(100);
    std::set<Index> before;
    for (int i = 0; i < settings.most_inputs && t > 0; ++i) before.insert(below(t));
    if (t == 0 || chance(0.1)) {
      task.reads.push_back(input);
      if (t > 0) before.clear();
    }
    for (const Index p : before) {
      task.predecessors.push_back(p);
      task.reads.push_back(written[p]);
    }
    if (chance(settings.constant_share)) task.reads.push_back(add_value(64 * (1 + below(8)), true));
    if (chance(settings.shared_constant_share)) task.reads.push_back(shared);
    if (chance(0.2)) task.transient_bytes = 64 * below(4);
    const Index out = add_value(64 * (1 + below(8)), false);
    problem.values[out].parts = {out};
    written.push_back(out);
    if (settings.hand_overs && !task.predecessors.empty() && chance(0.5)) {
      const Index from = written[task.predecessors[0]];
      problem.storages[out].bytes = problem.values[out].bytes = problem.values[from].bytes;
      problem.values[out].store_time = problem.values[out].fetch_time =
          problem.values[from].fetch_time;
      task.hand_overs.push_back({from, out});
    }
    std::sort(task.reads.begin(), task.reads.end());
    task.writes = {out};
    int64_t bytes = task.transient_bytes + problem.values[out].bytes;
    for (const Index v : task.reads) bytes += problem.values[v].bytes;
    largest = std::max(largest, bytes);
    problem.tasks.push_back(std::move(task));
  }
  problem.storages[problem.values[written.back()].storage].slow = true;
  problem.values[written.back()].to_end = true;
  problem.tasks.back().hand_overs.clear();
  problem.fast_bytes = largest + 64 * below(16);  // values and storages have the same numbers
  return problem;
}

/// What is wrong with a schedule, or nothing: units and the engine do one thing at a time; whatever
/// is read has been written before and lies in fast memory all the while; fast memory is never
/// overfull.
inline std::string WrongWith(const TimeProblem& problem, const TimeSchedule& schedule) {
  std::vector<Picoseconds> start(problem.tasks.size(), -1);
  std::vector<Picoseconds> end(problem.tasks.size(), -1);
  std::vector<std::pair<Picoseconds, Picoseconds>> transfers;
  std::map<int32_t, Picoseconds> ready;  // by hold
  std::map<Index, Picoseconds> stored;   // by value
  for (const TimeEvent& event : schedule.events) {
    if (event.kind != TimeEventKind::kTask) {
      transfers.emplace_back(event.start, event.end);
      const FastHold& hold = schedule.holds[static_cast<size_t>(event.hold)];
      if (event.start < hold.start || event.end > hold.end) return "a transfer outside its hold";
      const TimeValue& value = problem.values[event.index];
      const bool fetch = event.kind == TimeEventKind::kFetch;
      if (event.end - event.start != (fetch ? value.fetch_time : value.store_time)) {
        return "a transfer of another length";
      }
      if (!fetch) {
        stored[event.index] = event.end;
        continue;
      }
      ready[event.hold] = event.end;
      if (!value.from_start &&
          (!stored.contains(event.index) || stored[event.index] > event.start)) {
        return "a fetch of what has not been stored";
      }
      continue;
    }
    start[event.index] = event.start;
    end[event.index] = event.end;
    if (event.end - event.start != problem.tasks[event.index].duration) return "another duration";
  }
  std::vector<std::vector<std::pair<Picoseconds, Picoseconds>>> by_unit(problem.units);
  for (Index t = 0; t < problem.tasks.size(); ++t) {
    const TimeTask& task = problem.tasks[t];
    if (start[t] < 0) return "a task is missing";
    by_unit[task.unit].emplace_back(start[t], end[t]);
    for (const Index p : task.predecessors) {
      if (end[p] > start[t]) return "a task before its predecessor";
    }
    for (size_t i = 0; i < task.reads.size() + task.writes.size(); ++i) {
      const bool read = i < task.reads.size();
      const Index v = read ? task.reads[i] : task.writes[i - task.reads.size()];
      const int32_t number =
          read ? schedule.read_holds[t][i] : schedule.write_holds[t][i - task.reads.size()];
      if (number < 0) return "an operand without a hold";
      const FastHold& hold = schedule.holds[static_cast<size_t>(number)];
      const bool whole = hold.kind == HoldKind::kStorage;
      if (hold.owner != (whole ? problem.values[v].storage : v)) return "a hold of something else";
      // What is handed over ends with the task's start, and its bytes live on.
      bool handed = false;
      for (const FastHold& other : schedule.holds) handed |= other.taken_over == number;
      if (hold.start > start[t] || (!handed && hold.end < end[t])) return "a hold too short";
      if (read && ready.contains(number) && ready[number] > start[t]) return "read before fetched";
    }
  }
  by_unit.push_back(transfers);
  for (auto& intervals : by_unit) {
    std::sort(intervals.begin(), intervals.end());
    for (size_t i = 1; i < intervals.size(); ++i) {
      if (intervals[i].first < intervals[i - 1].second) return "two things at a time on one unit";
    }
  }
  for (size_t a = 0; a < schedule.holds.size() && problem.with_addresses; ++a) {
    const FastHold& first = schedule.holds[a];
    if (first.offset < 0 || first.offset + first.bytes > problem.fast_bytes) return "outside";
    for (size_t b = 0; b < a; ++b) {
      const FastHold& second = schedule.holds[b];
      if (first.start < second.end && second.start < first.end &&
          first.offset < second.offset + second.bytes &&
          second.offset < first.offset + first.bytes) {
        return "two holds in one place";
      }
    }
  }
  for (const FastHold& at : schedule.holds) {
    int64_t live = 0;
    for (const FastHold& hold : schedule.holds) {
      if (hold.start <= at.start && at.start < hold.end) live += hold.bytes;
    }
    if (live > problem.fast_bytes) return "fast memory is overfull";
  }
  for (Index v = 0; v < problem.values.size(); ++v) {
    if (problem.values[v].to_end && !stored.contains(v)) return "an output is not stored";
  }
  return "";
}

}  // namespace tenon::converter
