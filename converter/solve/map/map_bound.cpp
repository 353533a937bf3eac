#include "converter/solve/map/map_bound.hpp"

#include <algorithm>
#include <utility>

namespace tenon::converter {
namespace {

constexpr int64_t kWeights = 1024;

/// Rounds down: sums of doubles are off by less than this.
Picoseconds FromWeighted(double sum) {
  constexpr double kBelow = 1 - 1e-9;
  return static_cast<Picoseconds>(sum * kBelow / static_cast<double>(kWeights));
}

}  // namespace

MapBound::MapBound(const OptimalMapProblem& problem)
    : problem_(problem),
      units_(problem.units.size()),
      readers_(problem.size(), 0),
      busy_(units_, 0) {
  for (const std::vector<int32_t>& predecessors : problem.predecessors) {
    for (const int32_t p : predecessors) ++readers_[static_cast<size_t>(p)];
  }
  FindTails();
  FindHeads();
  FindWeights();
  bound_ = BoundNow();
}

/// Returns the least time between the end of op `from` on one unit and the start of a reader on
/// another. Its results arrive only once, so they count only where there is one reader.
Picoseconds MapBound::EdgeTime(size_t from, size_t on, size_t unit) const {
  if (on == unit) return 0;
  Picoseconds time = StartOf(unit);
  if (!problem_.crossings_are_certain) return time;
  if (!problem_.leave.empty()) time += problem_.leave[from][on];
  if (!problem_.arrive.empty() && readers_[from] == 1) time += problem_.arrive[from][unit];
  return time;
}

/// Returns what a unit needs after its inputs are there. A unit that does not wait pays its start
/// at any time before.
Picoseconds MapBound::StartOf(size_t unit) const {
  return problem_.units[unit].waits_at_start ? problem_.units[unit].start : 0;
}

void MapBound::FindTails() {
  tail_.assign(problem_.size() * units_, 0);
  if (problem_.objective == MapObjective::kPeriod) return;
  for (size_t op = problem_.size(); op-- > 0;) {
    for (const int32_t p : problem_.predecessors[op]) {
      const auto from = static_cast<size_t>(p);
      for (size_t on = 0; on < units_; ++on) {
        Picoseconds least = INT64_MAX;
        for (size_t u = 0; u < units_; ++u) {
          if (Time(op, u) < 0) continue;
          least = std::min(least, EdgeTime(from, on, u) + Time(op, u) + tail_[op * units_ + u]);
        }
        Picoseconds& tail = tail_[from * units_ + on];
        tail = std::max(tail, least);
      }
    }
  }
}

/// Ends if every predecessor of an op is on the unit that is best for that op alone.
void MapBound::FindHeads() {
  head_.assign(problem_.size() * units_, 0);
  for (size_t op = 0; op < problem_.size(); ++op) {
    for (size_t u = 0; u < units_; ++u) {
      if (Time(op, u) < 0) continue;
      Picoseconds ready = problem_.predecessors[op].empty() ? StartOf(u) : 0;
      for (const int32_t p : problem_.predecessors[op]) {
        const auto from = static_cast<size_t>(p);
        Picoseconds least = INT64_MAX;
        for (size_t on = 0; on < units_; ++on) {
          if (Time(from, on) < 0) continue;
          least = std::min(least, head_[from * units_ + on] + EdgeTime(from, on, u));
        }
        ready = std::max(ready, least);
      }
      head_[op * units_ + u] = ready + Time(op, u);
    }
  }
}

std::vector<int32_t> MapBound::PathMapping() const {
  std::vector<int32_t> unit(problem_.size(), -1);
  for (size_t op = problem_.size(); op-- > 0;) {
    if (unit[op] < 0) {
      Picoseconds least = INT64_MAX;
      for (size_t u = 0; u < units_; ++u) {
        if (Time(op, u) < 0 || head_[op * units_ + u] >= least) continue;
        least = head_[op * units_ + u];
        unit[op] = static_cast<int32_t>(u);
      }
    }
    for (const int32_t p : problem_.predecessors[op]) {
      const auto from = static_cast<size_t>(p);
      if (unit[from] >= 0) continue;
      Picoseconds least = INT64_MAX;
      for (size_t on = 0; on < units_; ++on) {
        if (Time(from, on) < 0) continue;
        const Picoseconds time =
            head_[from * units_ + on] + EdgeTime(from, on, static_cast<size_t>(unit[op]));
        if (time >= least) continue;
        least = time;
        unit[from] = static_cast<int32_t>(on);
      }
    }
  }
  return unit;
}

int64_t MapBound::LeastWeighted(size_t op) const {
  int64_t least = INT64_MAX;
  for (size_t u = 0; u < units_; ++u) {
    if (Time(op, u) >= 0) least = std::min(least, Time(op, u) * weight_[u]);
  }
  return least;
}

/// For any weights of sum 1, the busiest unit works at least as long as all units' weighted work,
/// and that is at least the sum of each op's smallest. Finds good weights by moving shares between
/// two units while that helps.
void MapBound::FindWeights() {
  const auto sum = [&] {
    double total = 0;
    for (size_t op = 0; op < problem_.size(); ++op) {
      total += static_cast<double>(LeastWeighted(op));
    }
    return total;
  };
  weight_.assign(units_, kWeights / static_cast<int64_t>(std::max<size_t>(units_, 1)));
  if (!weight_.empty()) {
    weight_[0] += kWeights - weight_[0] * static_cast<int64_t>(units_);
  }
  double best = sum();
  for (int64_t share = kWeights / 2; share > 0;) {
    bool improved = false;
    for (size_t from = 0; from < units_; ++from) {
      for (size_t to = 0; to < units_; ++to) {
        if (from == to || weight_[from] < share) continue;
        weight_[from] -= share;
        weight_[to] += share;
        const double with = sum();
        if (with > best) {
          best = with;
          improved = true;
        } else {
          weight_[from] += share;
          weight_[to] -= share;
        }
      }
    }
    if (!improved) share /= 2;
  }
  rest_.assign(problem_.size() + 1, 0);
  for (size_t op = problem_.size(); op-- > 0;) {
    rest_[op] = rest_[op + 1] + static_cast<double>(LeastWeighted(op));
  }
}

Picoseconds MapBound::EndAfter(size_t op, size_t unit,
                               const std::vector<Picoseconds>& end_of_first) const {
  Picoseconds ready = problem_.predecessors[op].empty() ? StartOf(unit) : 0;
  for (const int32_t p : problem_.predecessors[op]) {
    const auto from = static_cast<size_t>(p);
    const auto on = static_cast<size_t>(unit_[from]);
    ready = std::max(ready, end_of_first[from] + EdgeTime(from, on, unit));
  }
  return ready + Time(op, unit);
}

void MapBound::Assign(int32_t unit) {
  const size_t op = unit_.size();
  const auto u = static_cast<size_t>(unit);
  const Picoseconds end = problem_.objective == MapObjective::kPeriod ? 0 : EndAfter(op, u, end_);
  const Picoseconds before = path_.empty() ? 0 : path_.back();
  path_.push_back(std::max(before, end + tail_[op * units_ + u]));
  end_.push_back(end);
  work_.push_back((work_.empty() ? 0 : work_.back()) +
                  static_cast<double>(Time(op, u)) * static_cast<double>(weight_[u]));
  busy_[u] += Time(op, u);
  unit_.push_back(unit);
}

void MapBound::TakeBack() {
  const auto u = static_cast<size_t>(unit_.back());
  unit_.pop_back();
  busy_[u] -= Time(unit_.size(), u);
  path_.pop_back();
  end_.pop_back();
  work_.pop_back();
}

Picoseconds MapBound::BoundNow() const {
  Picoseconds bound = path_.empty() ? 0 : path_.back();
  if (unit_.empty() && problem_.objective == MapObjective::kLatency) {
    for (size_t op = 0; op < problem_.size(); ++op) {
      Picoseconds least = INT64_MAX;
      for (size_t u = 0; u < units_; ++u) {
        if (Time(op, u) < 0) continue;
        least = std::min(least, head_[op * units_ + u] + tail_[op * units_ + u]);
      }
      bound = std::max(bound, least);
    }
  }
  bound = std::max(bound, FromWeighted((work_.empty() ? 0 : work_.back()) + rest_[unit_.size()]));
  for (size_t u = 0; u < units_; ++u) {
    // A unit that works has been started once at least.
    if (busy_[u] > 0) bound = std::max(bound, busy_[u] + problem_.units[u].start);
  }
  return bound;
}

std::vector<int32_t> MapBound::ChoicesForNext() {
  const size_t op = unit_.size();
  std::vector<std::pair<Picoseconds, int32_t>> choices;
  for (size_t u = 0; u < units_; ++u) {
    if (Time(op, u) < 0) continue;
    Assign(static_cast<int32_t>(u));
    choices.emplace_back(BoundNow(), static_cast<int32_t>(u));
    TakeBack();
  }
  std::sort(choices.begin(), choices.end());
  std::vector<int32_t> units;
  units.reserve(choices.size());
  for (const auto& [bound, unit] : choices) units.push_back(unit);
  return units;
}

MapProof BranchAndBound(const OptimalMapProblem& problem, int64_t work_budget, OptimalMap& best) {
  MapBound state(problem);
  MapProof proof;
  int64_t size = 1;
  for (const std::vector<int32_t>& predecessors : problem.predecessors) {
    size += 1 + static_cast<int64_t>(predecessors.size());
  }
  Picoseconds open = INT64_MAX;  // the least bound of what was left out unproved
  proof.complete = true;
  struct Level {
    std::vector<int32_t> choices;
    size_t next = 0;
  };
  std::vector<Level> levels;
  if (problem.size() > 0 && state.bound() < best.time) levels.push_back({state.ChoicesForNext()});
  while (!levels.empty()) {
    Level& level = levels.back();
    if (state.assigned() == levels.size()) state.TakeBack();
    if (level.next == level.choices.size()) {
      levels.pop_back();
      continue;
    }
    const size_t op = state.assigned();
    proof.work += 1 + static_cast<int64_t>(problem.units.size() + problem.predecessors[op].size());
    state.Assign(level.choices[level.next++]);
    const Picoseconds bound = state.BoundNow();
    if (bound >= best.time) continue;
    if (proof.work > work_budget) {
      open = std::min(open, bound);
      proof.complete = false;
      continue;  // only the bounds of what is left are still looked at
    }
    if (state.assigned() < problem.size()) {
      levels.push_back({state.ChoicesForNext()});
      continue;
    }
    proof.work += size;
    ++proof.tried;
    const Picoseconds time = MappingTime(problem, state.unit());
    if (time < best.time) {
      best.time = time;
      best.unit = state.unit();
    }
    if (time > bound) open = std::min(open, bound);
  }
  proof.bound = std::max(state.bound(), std::min(open, best.time));
  return proof;
}

}  // namespace tenon::converter
