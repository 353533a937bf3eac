#include "converter/solve/time/segment_times.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

#include "converter/solve/sort_and_unique.hpp"

namespace tenon::converter {
namespace {

/// Returns by op its duration plus the longest chain behind it.
std::vector<Picoseconds> TailsOf(const SegmentProblem& problem) {
  std::vector<Picoseconds> tails = problem.duration;
  for (size_t op = problem.size(); op-- > 0;) {
    for (const int32_t p : problem.ops.predecessors[op]) {
      const auto before = static_cast<size_t>(p);
      tails[before] = std::max(tails[before], problem.duration[before] + tails[op]);
    }
  }
  return tails;
}

std::vector<int32_t> SegmentOfOp(const SegmentProblem& problem, const SegmentList& list) {
  std::vector<int32_t> segment_of_op(problem.size(), -1);
  for (size_t s = 0; s < list.size(); ++s) {
    for (const int32_t op : list[s].ops) {
      segment_of_op[static_cast<size_t>(op)] = static_cast<int32_t>(s);
    }
  }
  return segment_of_op;
}

/// Returns by segment those that it needs, each once.
std::vector<std::vector<int32_t>> NeedsOf(const SegmentProblem& problem, const SegmentList& list) {
  const std::vector<int32_t> segment_of_op = SegmentOfOp(problem, list);
  std::vector<std::vector<int32_t>> needs(list.size());
  for (size_t s = 0; s < list.size(); ++s) {
    for (const int32_t op : list[s].ops) {
      for (const int32_t p : problem.ops.predecessors[static_cast<size_t>(op)]) {
        const int32_t other = segment_of_op[static_cast<size_t>(p)];
        if (other != static_cast<int32_t>(s)) needs[s].push_back(other);
      }
    }
    SortAndUnique(needs[s]);
  }
  return needs;
}

class Improver {
 public:
  Improver(const SegmentProblem& problem, int64_t budget, SegmentList& list)
      : problem_(problem),
        list_(list),
        budget_(budget),
        size_(static_cast<int64_t>(problem.size())) {
    for (const auto& predecessors : problem.ops.predecessors) {
      size_ += static_cast<int64_t>(predecessors.size());
    }
    ++size_;
    times_ = Evaluate(list_);
  }

  int64_t Run() {
    bool improved = true;
    while (improved && work_ < budget_) {
      improved = TryOrder();
      improved = TrySplits() || improved;
      improved = TryMoves() || improved;
    }
    return work_;
  }

 private:
  SegmentTimes Evaluate(const SegmentList& list) {
    work_ += size_;
    return TimesOf(problem_, list);
  }

  bool Accept(SegmentList candidate) {
    SegmentTimes times = Evaluate(candidate);
    if (times.makespan >= times_.makespan) return false;
    list_ = std::move(candidate);
    times_ = std::move(times);
    return true;
  }

  bool TryOrder() { return Accept(OrderedByTails(problem_, list_)); }

  /// Separates the part of a segment that needs what is ready later than `time` from the rest.
  bool SplitAt(size_t s, Picoseconds time) {
    SegmentOps early{list_[s].unit, {}};
    SegmentOps late = early;
    std::vector<bool> is_late(problem_.size(), false);
    for (const int32_t op : list_[s].ops) {
      const auto k = static_cast<size_t>(op);
      for (const int32_t p : problem_.ops.predecessors[k]) {
        const auto before = static_cast<size_t>(p);
        const bool outside = problem_.ops.unit[before] != list_[s].unit;
        if (is_late[before] || (outside && times_.op_end[before] > time)) is_late[k] = true;
      }
      (is_late[k] ? late : early).ops.push_back(op);
    }
    if (early.ops.empty() || late.ops.empty()) return false;
    SegmentList candidate = list_;
    candidate[s] = std::move(early);
    candidate.insert(candidate.begin() + static_cast<std::ptrdiff_t>(s) + 1, std::move(late));
    return Accept(OrderedByTails(problem_, candidate)) || Accept(std::move(candidate));
  }

  bool TrySplits() {
    constexpr size_t kMostTimes = 6;
    bool improved = false;
    for (size_t s = 0; s < list_.size() && work_ < budget_; ++s) {
      if (!problem_.units[static_cast<size_t>(list_[s].unit)].waits_at_start) continue;
      std::vector<Picoseconds> arrivals = {0};
      for (const int32_t op : list_[s].ops) {
        for (const int32_t p : problem_.ops.predecessors[static_cast<size_t>(op)]) {
          const auto before = static_cast<size_t>(p);
          if (problem_.ops.unit[before] != list_[s].unit) arrivals.push_back(times_.op_end[before]);
        }
      }
      SortAndUnique(arrivals);
      arrivals.pop_back();  // nothing comes later than the last
      const size_t step = arrivals.size() / kMostTimes + 1;
      for (size_t i = arrivals.size(); i-- > 0 && work_ < budget_;) {
        if (i % step == 0 && SplitAt(s, arrivals[i])) {
          improved = true;
          break;
        }
      }
    }
    return improved;
  }

  /// Tries to run a unit's next segment before the current one, if it needs nothing from there on.
  bool TryMoves() {
    bool improved = false;
    for (size_t s = 0; s < list_.size() && work_ < budget_; ++s) {
      size_t next = s + 1;
      while (next < list_.size() && list_[next].unit != list_[s].unit) ++next;
      if (next == list_.size()) continue;
      const std::vector<int32_t> needs = NeedsOf(problem_, list_)[next];
      work_ += size_;
      if (!needs.empty() && needs.back() >= static_cast<int32_t>(s)) continue;
      SegmentList candidate = list_;
      const auto from = candidate.begin() + static_cast<std::ptrdiff_t>(next);
      std::rotate(candidate.begin() + static_cast<std::ptrdiff_t>(s), from, from + 1);
      improved = Accept(std::move(candidate)) || improved;
    }
    return improved;
  }

  const SegmentProblem& problem_;
  SegmentList& list_;
  const int64_t budget_;
  int64_t size_;
  int64_t work_ = 0;
  SegmentTimes times_;
};

}  // namespace

SegmentTimes TimesOf(const SegmentProblem& problem, const SegmentList& list) {
  SegmentTimes times;
  times.op_end.assign(problem.size(), 0);
  std::vector<Picoseconds> free(problem.units.size(), 0);
  for (const SegmentOps& segment : list) {
    const TaskUnit& unit = problem.units[static_cast<size_t>(segment.unit)];
    Picoseconds& now = free[static_cast<size_t>(segment.unit)];
    const auto wait_for = [&](int32_t op) {
      for (const int32_t p : problem.ops.predecessors[static_cast<size_t>(op)]) {
        now = std::max(now, times.op_end[static_cast<size_t>(p)]);
      }
    };
    if (unit.waits_at_start) {
      for (const int32_t op : segment.ops) wait_for(op);
    } else if (!segment.ops.empty()) {
      wait_for(segment.ops.front());
    }
    times.start.push_back(now);
    now += unit.start;
    for (const int32_t op : segment.ops) {
      wait_for(op);
      now += problem.duration[static_cast<size_t>(op)];
      times.op_end[static_cast<size_t>(op)] = now;
    }
    times.end.push_back(now);
    times.makespan = std::max(times.makespan, now);
  }
  return times;
}

void OrderByTails(const SegmentProblem& problem, SegmentList& list) {
  // Tails grow backwards along every path, so this order respects the edges.
  const std::vector<Picoseconds> tails = TailsOf(problem);
  for (SegmentOps& segment : list) {
    std::sort(segment.ops.begin(), segment.ops.end(), [&](int32_t a, int32_t b) {
      const Picoseconds tail_a = tails[static_cast<size_t>(a)];
      const Picoseconds tail_b = tails[static_cast<size_t>(b)];
      return tail_a != tail_b ? tail_a > tail_b : a < b;
    });
  }
}

SegmentList OrderedByTails(const SegmentProblem& problem, const SegmentList& list) {
  const std::vector<std::vector<int32_t>> needs = NeedsOf(problem, list);
  const std::vector<Picoseconds> tails = TailsOf(problem);
  std::vector<Picoseconds> tail(list.size(), 0);
  for (size_t s = 0; s < list.size(); ++s) {
    for (const int32_t op : list[s].ops)
      tail[s] = std::max(tail[s], tails[static_cast<size_t>(op)]);
  }
  for (size_t s = list.size(); s-- > 0;) {
    for (const int32_t n : needs[s]) {
      const auto before = static_cast<size_t>(n);
      tail[before] = std::max(tail[before], tail[s] + 1);
    }
  }
  // Longest tail first keeps the list's order valid; units then take theirs in that order.
  std::vector<size_t> order(list.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return tail[a] > tail[b]; });
  SegmentList ordered;
  ordered.reserve(list.size());
  for (const size_t s : order) ordered.push_back(list[s]);
  return ordered;
}

SegmentList SortedByStart(const SegmentProblem& problem, const SegmentList& list) {
  const SegmentTimes times = TimesOf(problem, list);
  std::vector<std::vector<int32_t>> needs = NeedsOf(problem, list);
  std::vector<std::vector<size_t>> after(list.size());
  std::vector<size_t> missing(list.size(), 0);
  std::vector<size_t> last_of_unit(problem.units.size(), SIZE_MAX);
  for (size_t s = 0; s < list.size(); ++s) {
    size_t& last = last_of_unit[static_cast<size_t>(list[s].unit)];
    if (last != SIZE_MAX) needs[s].push_back(static_cast<int32_t>(last));
    last = s;
    for (const int32_t need : needs[s]) after[static_cast<size_t>(need)].push_back(s);
    missing[s] = needs[s].size();
  }
  using Ready = std::pair<Picoseconds, size_t>;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  for (size_t s = 0; s < list.size(); ++s) {
    if (missing[s] == 0) ready.emplace(times.start[s], s);
  }
  SegmentList sorted;
  sorted.reserve(list.size());
  while (!ready.empty()) {
    const size_t s = ready.top().second;
    ready.pop();
    sorted.push_back(list[s]);
    for (const size_t next : after[s]) {
      if (--missing[next] == 0) ready.emplace(times.start[next], next);
    }
  }
  return sorted;
}

int64_t ImproveSegments(const SegmentProblem& problem, int64_t work_budget, SegmentList& list) {
  return Improver(problem, work_budget, list).Run();
}

}  // namespace tenon::converter
