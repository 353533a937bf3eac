#include "converter/solve/map/aggregate.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace tenon::converter {
namespace {

constexpr int32_t kNoUnit = -1;

/// Says which ops have been given to segments so far.
struct State {
  std::vector<int32_t> segment_of_op;  ///< -1: none yet
  std::vector<int32_t> missing;        ///< by op: predecessors without a segment
  std::vector<int32_t> turns;          ///< units, one per segment
  size_t left = 0;
  int32_t runs_left = 0;  ///< at least this many more segments are needed
};

class TurnSearch {
 public:
  explicit TurnSearch(const TaskGraph& problem)
      : problem_(problem), successors_(problem.unit.size()), runs_(problem.unit.size(), 1) {
    for (size_t op = 0; op < problem.unit.size(); ++op) {
      units_ = std::max(units_, problem.unit[op] + 1);
      for (const int32_t p : problem.predecessors[op]) {
        successors_[static_cast<size_t>(p)].push_back(static_cast<int32_t>(op));
      }
    }
    for (size_t op = problem.unit.size(); op-- > 0;) {
      for (const int32_t s : successors_[op]) {
        const int32_t more = problem.unit[op] == problem.unit[static_cast<size_t>(s)] ? 0 : 1;
        runs_[op] = std::max(runs_[op], runs_[static_cast<size_t>(s)] + more);
      }
    }
  }

  [[nodiscard]] State Start() const {
    State state;
    state.segment_of_op.assign(problem_.unit.size(), -1);
    state.left = problem_.unit.size();
    for (const auto& predecessors : problem_.predecessors) {
      state.missing.push_back(static_cast<int32_t>(predecessors.size()));
    }
    return state;
  }

  /// Returns the units that have ready ops.
  [[nodiscard]] std::vector<int32_t> Choices(const State& state) const {
    std::vector<bool> has(static_cast<size_t>(units_), false);
    for (size_t op = 0; op < problem_.unit.size(); ++op) {
      if (IsReady(state, op)) has[static_cast<size_t>(problem_.unit[op])] = true;
    }
    std::vector<int32_t> choices;
    for (int32_t unit = 0; unit < units_; ++unit) {
      if (has[static_cast<size_t>(unit)]) choices.push_back(unit);
    }
    return choices;
  }

  /// Gives a new segment all that `unit` can run now.
  void Take(int32_t unit, State& state) {
    const auto segment = static_cast<int32_t>(state.turns.size());
    state.turns.push_back(unit);
    std::vector<int32_t> ready;
    for (size_t op = 0; op < problem_.unit.size(); ++op) {
      if (IsReady(state, op) && problem_.unit[op] == unit)
        ready.push_back(static_cast<int32_t>(op));
    }
    while (!ready.empty()) {
      const auto op = static_cast<size_t>(ready.back());
      ready.pop_back();
      state.segment_of_op[op] = segment;
      --state.left;
      for (const int32_t s : successors_[op]) {
        if (--state.missing[static_cast<size_t>(s)] == 0 &&
            problem_.unit[static_cast<size_t>(s)] == unit) {
          ready.push_back(s);
        }
      }
    }
    MeasureRest(state);
    work_ += static_cast<int64_t>(problem_.unit.size());
  }

  [[nodiscard]] int64_t work() const { return work_; }

 private:
  [[nodiscard]] bool IsReady(const State& state, size_t op) const {
    return state.segment_of_op[op] < 0 && state.missing[op] == 0;
  }

  /// Sets runs_left to the larger of the longest path in runs and the number of units left.
  void MeasureRest(State& state) const {
    std::vector<bool> units(static_cast<size_t>(units_), false);
    int32_t count = 0;
    state.runs_left = 0;
    for (size_t op = 0; op < problem_.unit.size(); ++op) {
      if (state.segment_of_op[op] >= 0) continue;
      const auto unit = static_cast<size_t>(problem_.unit[op]);
      if (!units[unit]) ++count;
      units[unit] = true;
      state.runs_left = std::max(state.runs_left, runs_[op]);
    }
    state.runs_left = std::max(state.runs_left, count);
  }

  const TaskGraph& problem_;
  std::vector<std::vector<int32_t>> successors_;
  std::vector<int32_t> runs_;  ///< by op: most runs of a path that starts here
  int32_t units_ = 0;
  int64_t work_ = 0;
};

Aggregation ResultOf(State state) {
  Aggregation result;
  result.segment_of_op = std::move(state.segment_of_op);
  result.unit_of_segment = std::move(state.turns);
  return result;
}

/// Returns the states after one more segment, each set of ops once; if there are too many, the most
/// promising. Sets `cut` if any was dropped.
std::vector<State> NextLevel(TurnSearch& search, const std::vector<State>& level, size_t width,
                             size_t fewest, bool& cut) {
  std::vector<State> next;
  std::set<std::vector<bool>> known;
  for (const State& state : level) {
    const int32_t last = state.turns.empty() ? kNoUnit : state.turns.back();
    for (const int32_t unit : search.Choices(state)) {
      if (unit == last) continue;
      State after = state;
      search.Take(unit, after);
      if (after.turns.size() + static_cast<size_t>(after.runs_left) >= fewest) continue;
      std::vector<bool> taken;
      taken.reserve(after.segment_of_op.size());
      for (const int32_t segment : after.segment_of_op) taken.push_back(segment >= 0);
      if (known.insert(std::move(taken)).second) next.push_back(std::move(after));
    }
  }
  if (next.size() <= width) return next;
  cut = true;
  std::stable_sort(next.begin(), next.end(), [](const State& a, const State& b) {
    return a.runs_left != b.runs_left ? a.runs_left < b.runs_left : a.left < b.left;
  });
  next.resize(width);
  return next;
}

}  // namespace

Aggregation SourceOrderAggregation(const TaskGraph& problem) {
  Aggregation result;
  for (const int32_t unit : problem.unit) {
    if (result.unit_of_segment.empty() || result.unit_of_segment.back() != unit) {
      result.unit_of_segment.push_back(unit);
    }
    result.segment_of_op.push_back(static_cast<int32_t>(result.segments()) - 1);
  }
  return result;
}

Aggregation GreedyAggregation(const TaskGraph& problem) {
  TurnSearch search(problem);
  State state = search.Start();
  while (state.left > 0) {
    State best;
    bool found = false;
    for (const int32_t unit : search.Choices(state)) {
      State after = state;
      search.Take(unit, after);
      if (found && after.left >= best.left) continue;
      best = std::move(after);
      found = true;
    }
    state = std::move(best);
  }
  Aggregation result = ResultOf(std::move(state));
  result.work = search.work();
  return result;
}

Aggregation QuickAggregation(const TaskGraph& problem) {
  const size_t count = problem.unit.size();
  std::vector<size_t> begins(count + 1, 0);  // of each op's successors
  std::vector<int32_t> needs(count, 0);
  size_t units = 0;
  for (size_t op = 0; op < count; ++op) {
    units = std::max(units, static_cast<size_t>(problem.unit[op]) + 1);
    needs[op] = static_cast<int32_t>(problem.predecessors[op].size());
    for (const int32_t p : problem.predecessors[op]) ++begins[static_cast<size_t>(p) + 1];
  }
  for (size_t op = 0; op < count; ++op) begins[op + 1] += begins[op];
  std::vector<int32_t> successors(begins[count]);
  std::vector<size_t> next(begins.begin(), begins.end() - 1);
  for (size_t op = 0; op < count; ++op) {
    for (const int32_t p : problem.predecessors[op]) {
      successors[next[static_cast<size_t>(p)]++] = static_cast<int32_t>(op);
    }
  }
  Aggregation best;
  for (size_t first = 0; first < units; ++first) {
    Aggregation made;
    made.segment_of_op.assign(count, -1);
    std::vector<int32_t> missing = needs;
    std::vector<std::vector<int32_t>> ready(units);
    for (size_t op = 0; op < count; ++op) {
      if (needs[op] > 0) continue;
      ready[static_cast<size_t>(problem.unit[op])].push_back(static_cast<int32_t>(op));
    }
    size_t unit = first;
    while (!ready[unit].empty()) {
      const auto segment = static_cast<int32_t>(made.segments());
      made.unit_of_segment.push_back(static_cast<int32_t>(unit));
      while (!ready[unit].empty()) {
        const auto op = static_cast<size_t>(ready[unit].back());
        ready[unit].pop_back();
        made.segment_of_op[op] = segment;
        for (size_t i = begins[op]; i < begins[op + 1]; ++i) {
          const auto s = static_cast<size_t>(successors[i]);
          if (--missing[s] == 0)
            ready[static_cast<size_t>(problem.unit[s])].push_back(successors[i]);
        }
      }
      for (size_t u = 0; u < units; ++u) {
        if (ready[u].size() > ready[unit].size()) unit = u;
      }
    }
    if (made.segments() == 0) continue;  // the unit has nothing to begin with
    if (best.segments() == 0 || made.segments() < best.segments()) best = std::move(made);
  }
  return best;
}

Aggregation Aggregate(const TaskGraph& problem, int64_t work_budget) {
  constexpr int64_t kMostStates = 4096;
  Aggregation best = GreedyAggregation(problem);
  Aggregation source = SourceOrderAggregation(problem);
  if (source.segments() < best.segments()) best = std::move(source);
  const auto ops = std::max<int64_t>(static_cast<int64_t>(problem.unit.size()), 1);
  TurnSearch search(problem);
  std::vector<State> level = {search.Start()};
  bool cut = false;
  while (!level.empty()) {
    const int64_t affordable = (work_budget - search.work()) / (ops * 64);
    const auto width = static_cast<size_t>(std::clamp<int64_t>(affordable, 1, kMostStates));
    level = NextLevel(search, level, width, best.segments(), cut);
    for (State& state : level) {
      if (state.left > 0 || state.turns.size() >= best.segments()) continue;
      best = ResultOf(std::move(state));
    }
    std::erase_if(level, [](const State& state) { return state.left == 0; });
  }
  best.exact = !cut;
  best.work += search.work();
  // Keeps the order of units, but puts each op as early as it can be.
  State state = search.Start();
  for (const int32_t unit : best.unit_of_segment) {
    const std::vector<int32_t> choices = search.Choices(state);
    const bool is_last = !state.turns.empty() && state.turns.back() == unit;
    if (!is_last && std::count(choices.begin(), choices.end(), unit) > 0) search.Take(unit, state);
  }
  best.segment_of_op = std::move(state.segment_of_op);
  best.unit_of_segment = std::move(state.turns);
  return best;
}

Aggregation AsLateAsPossible(const TaskGraph& problem, const Aggregation& aggregation) {
  Aggregation late = aggregation;
  const auto segments = static_cast<int32_t>(aggregation.segments());
  std::vector<int32_t> latest(problem.unit.size(), segments - 1);
  for (size_t op = problem.unit.size(); op-- > 0;) {
    int32_t segment = latest[op];
    while (aggregation.unit_of_segment[static_cast<size_t>(segment)] != problem.unit[op]) --segment;
    late.segment_of_op[op] = segment;
    for (const int32_t p : problem.predecessors[op]) {
      latest[static_cast<size_t>(p)] = std::min(latest[static_cast<size_t>(p)], segment);
    }
  }
  std::vector<int32_t> number(aggregation.segments(), -1);
  for (const int32_t segment : late.segment_of_op) number[static_cast<size_t>(segment)] = 0;
  late.unit_of_segment.clear();
  for (size_t segment = 0; segment < number.size(); ++segment) {
    if (number[segment] < 0) continue;
    number[segment] = static_cast<int32_t>(late.segments());
    late.unit_of_segment.push_back(aggregation.unit_of_segment[segment]);
  }
  for (int32_t& segment : late.segment_of_op) segment = number[static_cast<size_t>(segment)];
  return late;
}

SegmentList ListOf(const SegmentProblem& problem, const Aggregation& aggregation) {
  SegmentList list(aggregation.segments());
  for (size_t s = 0; s < list.size(); ++s) list[s].unit = aggregation.unit_of_segment[s];
  for (size_t op = 0; op < problem.size(); ++op) {
    list[static_cast<size_t>(aggregation.segment_of_op[op])].ops.push_back(
        static_cast<int32_t>(op));
  }
  return list;
}

bool IsAggregation(const TaskGraph& problem, const Aggregation& aggregation) {
  if (aggregation.segment_of_op.size() != problem.unit.size()) return false;
  for (size_t op = 0; op < problem.unit.size(); ++op) {
    const int32_t segment = aggregation.segment_of_op[op];
    if (segment < 0 || static_cast<size_t>(segment) >= aggregation.segments() ||
        aggregation.unit_of_segment[static_cast<size_t>(segment)] != problem.unit[op]) {
      return false;
    }
    for (const int32_t p : problem.predecessors[op]) {
      if (aggregation.segment_of_op[static_cast<size_t>(p)] > segment) return false;
    }
  }
  return true;
}

}  // namespace tenon::converter
