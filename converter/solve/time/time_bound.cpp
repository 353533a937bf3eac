#include <algorithm>
#include <bit>

#include "converter/solve/time/time_cuts.hpp"
#include "converter/solve/time/time_problem.hpp"
#include "converter/solve/time/time_segments.hpp"

namespace tenon::converter {
namespace {

/// Stores rows of bits, one per task.
class BitRows {
 public:
  BitRows(size_t rows, size_t columns) : words_((columns + 63) / 64), bits_(rows * words_, 0) {}
  void Set(size_t row, size_t column) {
    bits_[row * words_ + column / 64] |= uint64_t{1} << (column % 64);
  }
  void Include(size_t row, size_t other) {
    for (size_t w = 0; w < words_; ++w) bits_[row * words_ + w] |= bits_[other * words_ + w];
  }
  template <typename Use>
  void ForEach(size_t row, const Use& use) const {
    for (size_t w = 0; w < words_; ++w) {
      for (uint64_t bits = bits_[row * words_ + w]; bits != 0; bits &= bits - 1) {
        use(w * 64 + static_cast<size_t>(std::countr_zero(bits)));
      }
    }
  }

 private:
  size_t words_;
  std::vector<uint64_t> bits_;
};

/// Beyond this many tasks the work of all their ancestors is not added up.
constexpr size_t kMostForAncestors = 6000;

class BoundMaker {
 public:
  explicit BoundMaker(const TimeProblem& problem)
      : problem_(problem),
        tails_(TailsOf(problem)),
        cuts_(problem),
        writer_(problem.values.size(), kNobody),
        heads_(problem.tasks.size(), 0),
        read_tail_(problem.values.size(), -1) {
    for (Index t = 0; t < problem.tasks.size(); ++t) {
      for (const Index v : problem.tasks[t].writes) writer_[v] = t;
      for (const Index v : problem.tasks[t].reads) {
        read_tail_[v] = std::max(read_tail_[v], tails_[t]);
      }
    }
  }

  TimeBound Run() {
    TimeBound result;
    FindAncestorWork();
    segments_ = SegmentBounds(problem_, cuts_, tails_, ancestor_work_);
    // Uses paths and unavoidable transfers alone first, then all that is known of the cuts.
    FindHeads(false);
    for (Index t = 0; t < heads_.size(); ++t) {
      result.critical_path = std::max(result.critical_path, heads_[t] + tails_[t]);
    }
    FindHeads(true);
    result.bound = result.critical_path;
    for (Index t = 0; t < heads_.size(); ++t) {
      result.bound = std::max(result.bound, heads_[t] + tails_[t]);
    }
    result.bound = std::max({result.bound, end_, LateFetchBound()});
    for (const std::vector<MachineJob>& jobs : Jobs()) {
      Picoseconds busy = 0;
      for (const MachineJob& job : jobs) busy += job.length;
      result.busiest_unit = std::max(result.busiest_unit, busy);
      result.bound = std::max(result.bound, OneMachineBound(jobs));
    }
    return result;
  }

 private:
  [[nodiscard]] bool IsSlow(Index v) const {
    return problem_.storages[problem_.values[v].storage].slow;
  }
  /// Returns true if every schedule reads the value from slow memory.
  [[nodiscard]] bool MustFetch(Index v) const {
    return IsSlow(v) && read_tail_[v] >= 0 && writer_[v] == kNobody;
  }

  Picoseconds HeadOfRead(Index v) const {
    if (!MustFetch(v)) return 0;
    const TimeValue& value = problem_.values[v];
    Picoseconds head = 0;
    for (const Index part : value.parts) {
      if (writer_[part] == kNobody) continue;
      const Index w = writer_[part];
      head =
          std::max(head, heads_[w] + problem_.tasks[w].duration + problem_.values[part].store_time);
    }
    return head + value.fetch_time;
  }

  /// Finds the work of ancestors: no task starts before each unit and the engine have done it.
  void FindAncestorWork() {
    const size_t count = problem_.tasks.size();
    after_work_.assign(count, 0);
    if (count > kMostForAncestors) return;
    ancestor_work_.assign(count * problem_.units, 0);
    BitRows ancestors(count, count);
    BitRows fetched(count, problem_.values.size());
    std::vector<Picoseconds> work(problem_.units);
    for (Index t = 0; t < count; ++t) {
      for (const Index p : problem_.tasks[t].predecessors) {
        ancestors.Set(t, p);
        ancestors.Include(t, p);
        fetched.Include(t, p);
      }
      for (const Index v : problem_.tasks[t].reads) {
        if (MustFetch(v)) fetched.Set(t, v);
      }
      std::fill(work.begin(), work.end(), 0);
      ancestors.ForEach(
          t, [&](size_t a) { work[problem_.tasks[a].unit] += problem_.tasks[a].duration; });
      std::copy(work.begin(), work.end(),
                ancestor_work_.begin() + static_cast<std::ptrdiff_t>(t * problem_.units));
      Picoseconds transfers = 0;
      fetched.ForEach(t, [&](size_t v) { transfers += problem_.values[v].fetch_time; });
      after_work_[t] = std::max(transfers, *std::max_element(work.begin(), work.end()));
    }
  }

  /// Uses that at any time, what has been fetched for tasks that cannot have started yet is still
  /// in fast memory. So no more than its size has been fetched for them, and the rest comes later.
  [[nodiscard]] Picoseconds LateFetchBound() const {
    std::vector<Picoseconds> first_use(problem_.values.size(), INT64_MAX);
    for (Index t = 0; t < heads_.size(); ++t) {
      for (const Index v : problem_.tasks[t].reads) {
        first_use[v] = std::min(first_use[v], heads_[t]);
      }
    }
    std::vector<Index> late;
    for (Index v = 0; v < problem_.values.size(); ++v) {
      if (MustFetch(v)) late.push_back(v);
    }
    std::sort(late.begin(), late.end(), [&](Index a, Index b) {
      return first_use[a] != first_use[b] ? first_use[a] > first_use[b] : a < b;
    });
    FetchedBefore before(problem_.fast_bytes);
    Picoseconds total = 0;
    Picoseconds tail = INT64_MAX;
    Picoseconds bound = 0;
    for (const Index v : late) {
      total += problem_.values[v].fetch_time;
      tail = std::min(tail, read_tail_[v]);
      before.Add(problem_.values[v].fetch_time, problem_.values[v].bytes);
      const Picoseconds rest = total - before.time();
      if (rest > 0) bound = std::max(bound, first_use[v] + rest + tail);
    }
    return bound;
  }

  void Push(Index cut, Picoseconds time, std::vector<Picoseconds>& earliest) const {
    cuts_.Push(cut, time, earliest);
    const Index next = cut == cuts_.cuts().size() ? 0 : cut + 1;
    earliest[next] = std::max(earliest[next], time + segments_[next]);
  }

  void FindHeads(bool with_cuts) {
    const size_t count = cuts_.cuts().size();
    std::vector<Picoseconds> earliest(count + 1, 0);
    if (with_cuts) Push(static_cast<Index>(count), 0, earliest);
    std::vector<Picoseconds> complete(problem_.storages.size(), 0);
    std::vector<size_t> writes_left(problem_.storages.size(), 0);
    for (const TimeTask& task : problem_.tasks) {
      for (const Index v : task.writes) ++writes_left[problem_.values[v].storage];
    }
    for (Index t = 0; t < heads_.size(); ++t) {
      const TimeTask& task = problem_.tasks[t];
      Picoseconds head = 0;
      Picoseconds own_fetches = 0;
      for (const Index p : task.predecessors) {
        head = std::max(head, heads_[p] + problem_.tasks[p].duration);
      }
      for (const Index v : task.reads) {
        head = std::max(head, HeadOfRead(v));
        if (MustFetch(v)) own_fetches += problem_.values[v].fetch_time;
        const Index storage = problem_.values[v].storage;
        if (with_cuts && cuts_.cut_of_storage()[storage] != kNobody) {
          head = std::max(head, complete[storage]);
        }
      }
      head = std::max({head, own_fetches, after_work_[t]});
      const Index cut = cuts_.cut_of_task()[t];
      if (with_cuts && cut != kNobody) {
        head = std::max(head, earliest[cut]);
        Push(cut, head, earliest);
      }
      heads_[t] = head;
      for (const Index v : task.writes) {
        const Index storage = problem_.values[v].storage;
        complete[storage] = std::max(complete[storage], head + task.duration);
        const Index point = cuts_.cut_of_storage()[storage];
        if (--writes_left[storage] > 0 || !with_cuts || point == kNobody) continue;
        complete[storage] = std::max(complete[storage], earliest[point]);
        Push(point, complete[storage], earliest);
      }
    }
    end_ = earliest[count];
  }

  /// Returns the jobs by unit, the transfer engine last.
  [[nodiscard]] std::vector<std::vector<MachineJob>> Jobs() const {
    std::vector<std::vector<MachineJob>> jobs(problem_.units + 1);
    std::vector<MachineJob>& transfers = jobs.back();
    std::vector<Picoseconds> stored_tail(problem_.values.size(), -1);
    for (Index v = 0; v < problem_.values.size(); ++v) {
      const TimeValue& value = problem_.values[v];
      if (!MustFetch(v)) continue;
      transfers.push_back({HeadOfRead(v) - value.fetch_time, value.fetch_time, read_tail_[v]});
      for (const Index part : value.parts) {
        stored_tail[part] = std::max(stored_tail[part], value.fetch_time + read_tail_[v]);
      }
    }
    for (Index t = 0; t < heads_.size(); ++t) {
      const TimeTask& task = problem_.tasks[t];
      jobs[task.unit].push_back({heads_[t], task.duration, tails_[t] - task.duration});
      for (const Index v : task.writes) {
        if (!IsSlow(v) || (!problem_.values[v].to_end && stored_tail[v] < 0)) continue;
        transfers.push_back({heads_[t] + task.duration, problem_.values[v].store_time,
                             std::max<Picoseconds>(stored_tail[v], 0)});
      }
    }
    return jobs;
  }

  const TimeProblem& problem_;
  const std::vector<Picoseconds> tails_;
  const TimeCuts cuts_;
  std::vector<Index> writer_;
  std::vector<Picoseconds> heads_;          ///< by task: no schedule starts it earlier
  std::vector<Picoseconds> after_work_;     ///< by task: what its ancestors take, unit by unit
  std::vector<Picoseconds> read_tail_;      ///< by value: longest tail of a reader; -1 without one
  std::vector<Picoseconds> ancestor_work_;  ///< the same by task and unit; empty for large problems
  std::vector<Picoseconds> segments_;       ///< by level: from one cut to the next
  Picoseconds end_ = 0;
};

}  // namespace

TimeBound TimeBoundOf(const TimeProblem& problem) { return BoundMaker(problem).Run(); }

}  // namespace tenon::converter
