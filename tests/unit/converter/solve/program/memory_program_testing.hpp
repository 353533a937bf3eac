// Random problems of the memory program, and a search of all programs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <queue>
#include <random>
#include <tuple>
#include <vector>

#include "converter/solve/program/memory_steps.hpp"

namespace tenon::converter {

/// Returns a problem whose ops write one storage each and read up to three earlier ones.
inline MemoryStepsProblem RandomSteps(std::mt19937& random, Index ops, bool moves, bool in_place) {
  const auto number = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  MemoryStepsProblem problem;
  problem.slow_bytes = moves ? 1000 : 0;
  std::vector<bool> read(ops, false);
  for (Index i = 0; i < ops; ++i) {
    RepeatableOp op;
    op.time = number(1, 20);
    op.workspace = number(0, 2) == 0 ? number(1, 4) : 0;
    op.may_repeat = number(0, 4) > 0;
    op.writes = {i};
    for (int64_t k = i == 0 ? 0 : number(1, 3); k > 0; --k) {
      const auto s = static_cast<Index>(number(std::max<int64_t>(0, int64_t{i} - 5), i - 1));
      if (std::find(op.reads.begin(), op.reads.end(), s) != op.reads.end()) continue;
      op.reads.push_back(s);
      read[s] = true;
    }
    MovableStorage storage;
    storage.bytes = number(1, 10);
    storage.may_move = moves && number(0, 3) > 0;
    storage.out_time = storage.bytes;
    storage.in_time = storage.bytes;
    problem.storages.push_back(storage);
    if (in_place && !op.reads.empty() && number(0, 1) == 0) {
      problem.storages[i].bytes = problem.storages[op.reads[0]].bytes;
      op.hand_overs.push_back({op.reads[0], i});
    }
    problem.ops.push_back(std::move(op));
  }
  for (Index i = 0; i < ops; ++i) problem.storages[i].to_end = !read[i];
  return problem;
}

/// Returns the least time of any program within the limits; none if there is none. With `in_order`,
/// between the first runs of two ops others are run again in the order of their numbers only. For
/// small problems without a copy engine whose slow memory holds everything.
inline std::optional<int64_t> LeastTimeByTrying(const MemoryStepsProblem& problem, bool in_order) {
  using State = std::tuple<Index, Index, uint32_t, uint32_t>;  // next first run, next repeat
  const auto ops = static_cast<Index>(problem.ops.size());
  const auto bytes_of = [&](uint32_t set) {
    int64_t bytes = 0;
    for (Index s = 0; s < problem.storages.size(); ++s) {
      if ((set >> s & 1U) != 0) bytes += problem.storages[s].bytes;
    }
    return bytes;
  };
  std::map<State, int64_t> best;
  std::priority_queue<std::pair<int64_t, State>, std::vector<std::pair<int64_t, State>>,
                      std::greater<>>
      open;
  const auto reach = [&](int64_t time, const State& state) {
    const auto [entry, is_new] = best.try_emplace(state, time);
    if (!is_new && entry->second <= time) return;
    entry->second = time;
    open.push({time, state});
  };
  uint32_t start = 0;
  uint32_t end = 0;
  for (Index s = 0; s < problem.storages.size(); ++s) {
    if (problem.storages[s].from_start) start |= 1U << s;
    if (problem.storages[s].to_end) end |= 1U << s;
  }
  reach(0, {0, 0, start, 0});
  while (!open.empty()) {
    const auto [time, state] = open.top();
    open.pop();
    if (best[state] < time) continue;
    const auto [next, repeat, fast, slow] = state;
    if (next == ops && (fast & end) == end) return time;
    for (Index s = 0; s < problem.storages.size(); ++s) {
      const uint32_t bit = 1U << s;
      const MovableStorage& storage = problem.storages[s];
      if ((fast & bit) != 0) {
        reach(time, {next, repeat, fast & ~bit, slow});
        if (storage.may_move && (slow & bit) == 0 && problem.slow_bytes > 0) {
          reach(time + storage.out_time, {next, repeat, fast, slow | bit});
        }
      } else if ((slow & bit) != 0 && bytes_of(fast | bit) <= problem.fast_bytes) {
        reach(time + storage.in_time, {next, repeat, fast | bit, slow});
      }
    }
    for (Index i = repeat; i <= next && i < ops; ++i) {
      const RepeatableOp& op = problem.ops[i];
      if (i < next && !op.may_repeat) continue;
      uint32_t reads = 0;
      for (const Index s : op.reads) reads |= 1U << s;
      if ((fast & reads) != reads) continue;
      const uint32_t write = 1U << op.writes[0];
      const int64_t during = bytes_of(fast | write) + op.workspace;
      const Index then = i == next ? next + 1 : next;
      const Index from = i == next || !in_order ? 0 : i + 1;
      if (during <= problem.fast_bytes) reach(time + op.time, {then, from, fast | write, slow});
      for (const HandOver& hand_over : op.hand_overs) {
        if (during - problem.storages[hand_over.from].bytes > problem.fast_bytes) continue;
        reach(time + op.time, {then, from, (fast | write) & ~(1U << hand_over.from), slow});
      }
    }
  }
  return std::nullopt;
}

}  // namespace tenon::converter
