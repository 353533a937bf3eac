#include "converter/solve/time/segment_search.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "converter/solve/order/memory_state.hpp"

namespace tenon::converter {
namespace {

constexpr uint32_t kNoParent = UINT32_MAX;
constexpr int32_t kNoUnit = -1;
constexpr size_t kLooksPerState = 48;  // making one costs as much
constexpr size_t kMostCompared = 16;

/// The end of an op that another unit still waits for.
struct OpenEnd {
  int32_t op = 0;
  bool in_segment = false;  ///< of the last segment, which can still be delayed
  Picoseconds end = 0;
};

struct State {
  std::vector<uint64_t> done;
  std::vector<int32_t> ready;
  std::vector<OpenEnd> ends;      ///< ascending by op
  std::vector<Picoseconds> free;  ///< by unit
  std::vector<Picoseconds> left;  ///< by unit: durations of the ops that are not done
  int32_t unit = kNoUnit;         ///< of the last segment
  Picoseconds start = 0;          ///< of the last segment
  uint32_t record = kNoParent;    ///< how it was reached
  Picoseconds bound = 0;          ///< nothing that follows ends sooner
  Picoseconds sum_of_free = 0;
};

/// How a state was reached from another: by an op, and whether this begins a segment.
struct Record {
  uint32_t parent = kNoParent;
  int32_t op = 0;
  bool begins = false;
};

class Search {
 public:
  Search(const SegmentProblem& problem, const SegmentSearchOptions& options)
      : problem_(problem),
        options_(options),
        words_((problem.size() + 63) / 64),
        successors_(problem.size()),
        tails_(problem.duration),
        upper_(options.upper) {
    for (size_t op = problem.size(); op-- > 0;) {
      for (const int32_t p : problem.ops.predecessors[op]) {
        const auto before = static_cast<size_t>(p);
        successors_[before].push_back(static_cast<int32_t>(op));
        tails_[before] = std::max(tails_[before], problem.duration[before] + tails_[op]);
      }
    }
    if (options.memory != nullptr) memory_.emplace(*options.memory);
  }

  SegmentSearch Run() {
    SegmentSearch result;
    std::vector<State> level = {First()};
    for (size_t size = 0; size < problem_.size() && !level.empty(); ++size) {
      const size_t before = records_.size();
      level = Next(level, Width(size));
      result.states_by_size.push_back(static_cast<int64_t>(records_.size() - before));
    }
    result.time = upper_;
    for (const State& state : level) {
      if (state.bound >= result.time) continue;
      result.time = state.bound;
      result.list = ListOf(state.record);
    }
    result.bound = std::min(dropped_, result.time);
    result.exact = result.bound == result.time;
    result.states = static_cast<int64_t>(records_.size());
    return result;
  }

 private:
  [[nodiscard]] int32_t UnitOf(int32_t op) const {
    return problem_.ops.unit[static_cast<size_t>(op)];
  }
  [[nodiscard]] bool Waits(int32_t unit) const {
    return problem_.units[static_cast<size_t>(unit)].waits_at_start;
  }
  [[nodiscard]] static bool IsDone(const State& state, int32_t op) {
    const auto k = static_cast<size_t>(op);
    return (state.done[k / 64] >> (k % 64) & 1U) != 0;
  }

  State First() const {
    State state;
    state.done.assign(words_, 0);
    state.free.assign(problem_.units.size(), 0);
    state.left.assign(problem_.units.size(), 0);
    for (size_t op = 0; op < problem_.size(); ++op) {
      state.left[static_cast<size_t>(problem_.ops.unit[op])] += problem_.duration[op];
      if (problem_.ops.predecessors[op].empty()) state.ready.push_back(static_cast<int32_t>(op));
    }
    return state;
  }

  /// Returns how many states may be kept, so that the work lasts to the end.
  [[nodiscard]] size_t Width(size_t size) const {
    const auto left = static_cast<int64_t>(problem_.size() - size);
    // What a state has cost so far; at first, a guess.
    const int64_t each =
        expanded_ > 0 ? work_ / expanded_ + 1 : static_cast<int64_t>(kLooksPerState) * 4;
    const int64_t affordable = (options_.work_budget - work_) / (left * each);
    return static_cast<size_t>(
        std::clamp<int64_t>(affordable, 1, static_cast<int64_t>(options_.most_states)));
  }

  std::vector<State> Next(const std::vector<State>& level, size_t width) {
    std::vector<State> next;
    std::unordered_map<uint64_t, std::vector<size_t>> known;
    expanded_ += static_cast<int64_t>(level.size());
    for (const State& state : level) {
      if (memory_) memory_->Load(state.done.data());
      for (const int32_t op : state.ready) {
        if (memory_ && memory_->CostOf(static_cast<Index>(op)).during > options_.most_bytes) {
          continue;
        }
        const bool open = state.unit == UnitOf(op);
        if (open) Add(state, op, /*begins=*/false, next, known);
        // To begin again helps only where the op would make the segment wait.
        const bool delays = Waits(UnitOf(op)) && ReadyTime(state, op) > state.start;
        if (!open || delays) Add(state, op, /*begins=*/true, next, known);
      }
    }
    Cut(width, next);
    return next;
  }

  /// Returns when the op's inputs from other units are there.
  [[nodiscard]] Picoseconds ReadyTime(const State& state, int32_t op) const {
    Picoseconds ready = 0;
    for (const int32_t p : problem_.ops.predecessors[static_cast<size_t>(op)]) {
      if (UnitOf(p) == UnitOf(op)) continue;
      const auto found =
          std::lower_bound(state.ends.begin(), state.ends.end(), p,
                           [](const OpenEnd& end, int32_t number) { return end.op < number; });
      ready = std::max(ready, found->end);
    }
    return ready;
  }

  void Add(const State& from, int32_t op, bool begins, std::vector<State>& next,
           std::unordered_map<uint64_t, std::vector<size_t>>& known) {
    State state = from;
    work_ += static_cast<int64_t>(kLooksPerState + words_ + state.ends.size() + state.ready.size());
    Append(op, begins, state);
    MarkDone(op, state);
    state.bound = BoundOf(state);
    if (state.bound >= upper_) return;
    std::vector<size_t>& same = known[KeyOf(state)];
    // Not all are compared, as a few of the last ones find most of what is superfluous.
    const size_t first = same.size() - std::min(same.size(), kMostCompared);
    work_ += static_cast<int64_t>((same.size() - first) * (2 + words_ + state.ends.size()));
    for (size_t i = first; i < same.size(); ++i) {
      if (IsNowhereLater(next[same[i]], state)) return;
    }
    state.record = static_cast<uint32_t>(records_.size());
    records_.push_back({from.record, op, begins});
    for (const Picoseconds free : state.free) state.sum_of_free += free;
    for (size_t i = first; i < same.size(); ++i) {
      if (!IsNowhereLater(state, next[same[i]])) continue;
      next[same[i]] = std::move(state);
      return;
    }
    same.push_back(next.size());
    next.push_back(std::move(state));
  }

  /// Computes times as TimesOf does. A started unit's segment begins when all that it needs is
  /// there, so an op that is appended may delay the others of the last segment.
  void Append(int32_t op, bool begins, State& state) const {
    const int32_t u = UnitOf(op);
    Picoseconds& free = state.free[static_cast<size_t>(u)];
    const Picoseconds ready = ReadyTime(state, op);
    if (begins) {
      for (OpenEnd& end : state.ends) end.in_segment = false;
      state.unit = u;
      state.start = free = std::max(free, ready);
      free += problem_.units[static_cast<size_t>(u)].start;
    } else if (!Waits(u)) {
      free = std::max(free, ready);
    } else if (ready > state.start) {
      const Picoseconds delay = ready - state.start;
      state.start = ready;
      free += delay;
      for (OpenEnd& end : state.ends) end.end += end.in_segment ? delay : 0;
    }
    free += problem_.duration[static_cast<size_t>(op)];
    state.left[static_cast<size_t>(u)] -= problem_.duration[static_cast<size_t>(op)];
  }

  void MarkDone(int32_t op, State& state) const {
    const auto k = static_cast<size_t>(op);
    state.done[k / 64] |= uint64_t{1} << (k % 64);
    std::erase(state.ready, op);
    for (const int32_t s : successors_[k]) {
      const auto& needs = problem_.ops.predecessors[static_cast<size_t>(s)];
      const bool ready =
          std::all_of(needs.begin(), needs.end(), [&](int32_t p) { return IsDone(state, p); });
      if (ready) state.ready.push_back(s);
    }
    std::sort(state.ready.begin(), state.ready.end());
    const bool waited_for = IsWaitedFor(op, state);
    std::erase_if(state.ends, [&](const OpenEnd& end) { return !IsWaitedFor(end.op, state); });
    if (!waited_for) return;
    const auto place =
        std::lower_bound(state.ends.begin(), state.ends.end(), op,
                         [](const OpenEnd& end, int32_t number) { return end.op < number; });
    const Picoseconds end = state.free[static_cast<size_t>(UnitOf(op))];
    state.ends.insert(place, {op, Waits(UnitOf(op)), end});
  }

  [[nodiscard]] bool IsWaitedFor(int32_t op, const State& state) const {
    const std::vector<int32_t>& successors = successors_[static_cast<size_t>(op)];
    return std::any_of(successors.begin(), successors.end(),
                       [&](int32_t s) { return UnitOf(s) != UnitOf(op) && !IsDone(state, s); });
  }

  [[nodiscard]] Picoseconds BoundOf(const State& state) const {
    Picoseconds bound = 0;
    for (size_t u = 0; u < state.left.size(); ++u) {
      bound = std::max(bound, state.free[u] + state.left[u]);
    }
    for (const OpenEnd& end : state.ends) {
      for (const int32_t s : successors_[static_cast<size_t>(end.op)]) {
        if (IsDone(state, s)) continue;
        const TaskUnit& unit = problem_.units[static_cast<size_t>(UnitOf(s))];
        // A segment that waits for another unit's op is started after it.
        const bool starts = unit.waits_at_start && UnitOf(s) != UnitOf(end.op);
        bound =
            std::max(bound, end.end + (starts ? unit.start : 0) + tails_[static_cast<size_t>(s)]);
      }
    }
    for (const int32_t op : state.ready) {
      bound = std::max(
          bound, state.free[static_cast<size_t>(UnitOf(op))] + tails_[static_cast<size_t>(op)]);
    }
    return bound;
  }

  /// States that can be compared have equal keys; others hardly ever do.
  [[nodiscard]] uint64_t KeyOf(const State& state) const {
    uint64_t key = 0x9E3779B97F4A7C15U + static_cast<uint64_t>(state.unit + 1);
    const auto mix = [&](uint64_t value) {
      key = (key ^ value) * 0xFF51AFD7ED558CCDU;
      key ^= key >> 32;
    };
    for (const uint64_t word : state.done) mix(word);
    for (const OpenEnd& end : state.ends) mix(end.in_segment ? 1 : 0);
    return key;
  }

  /// Returns true if `a` can be continued as `b` can, and everything in it is at least as early,
  /// also after the last segment has been delayed to any time.
  [[nodiscard]] bool IsNowhereLater(const State& a, const State& b) const {
    if (a.unit != b.unit || a.done != b.done) return false;
    for (size_t u = 0; u < a.free.size(); ++u) {
      if (a.free[u] > b.free[u]) return false;
    }
    const bool delayable = Waits(a.unit);
    const auto last = static_cast<size_t>(a.unit);
    if (delayable && (a.start > b.start || a.free[last] - a.start > b.free[last] - b.start)) {
      return false;
    }
    for (size_t i = 0; i < a.ends.size(); ++i) {
      if (a.ends[i].in_segment != b.ends[i].in_segment || a.ends[i].end > b.ends[i].end) {
        return false;
      }
      if (a.ends[i].in_segment && a.ends[i].end - a.start > b.ends[i].end - b.start) return false;
    }
    return true;
  }

  void Cut(size_t width, std::vector<State>& states) {
    if (states.size() <= width) return;
    std::stable_sort(states.begin(), states.end(), [](const State& a, const State& b) {
      return a.bound != b.bound ? a.bound < b.bound : a.sum_of_free < b.sum_of_free;
    });
    dropped_ = std::min(dropped_, states[width].bound);
    states.resize(width);
  }

  [[nodiscard]] SegmentList ListOf(uint32_t record) const {
    std::vector<Record> path;
    for (; record != kNoParent; record = records_[record].parent) path.push_back(records_[record]);
    SegmentList list;
    for (auto step = path.rbegin(); step != path.rend(); ++step) {
      if (step->begins) list.push_back({UnitOf(step->op), {}});
      list.back().ops.push_back(step->op);
    }
    return list;
  }

  const SegmentProblem& problem_;
  const SegmentSearchOptions& options_;
  const size_t words_;
  std::vector<std::vector<int32_t>> successors_;
  std::vector<Picoseconds> tails_;  ///< by op: its duration and the longest chain behind it
  Picoseconds upper_;
  std::optional<MemoryState> memory_;
  std::vector<Record> records_;
  Picoseconds dropped_ = INT64_MAX;  ///< the least bound of what a beam has left out
  int64_t work_ = 0;
  int64_t expanded_ = 0;  ///< states whose successors have been made
};

}  // namespace

SegmentSearch SearchSegments(const SegmentProblem& problem, const SegmentSearchOptions& options) {
  if (problem.size() == 0) return {{}, 0, 0, true, 0, {}};
  return Search(problem, options).Run();
}

}  // namespace tenon::converter
