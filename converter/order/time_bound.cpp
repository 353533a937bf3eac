#include <algorithm>
#include <queue>

#include "converter/order/time_cuts.hpp"
#include "converter/order/time_problem.hpp"

namespace tenon::converter {
namespace {

constexpr Index kNobody = UINT32_MAX;

/// One job of a machine: not before `head`, then `length`, then at least `tail` more.
struct Job {
  Picoseconds head = 0;
  Picoseconds length = 0;
  Picoseconds tail = 0;
};

/// Makespan of the jobs on one machine if they may be interrupted: always the one with the longest
/// tail first (J. R. Jackson 1955; Carlier 1982). No schedule without interruptions is shorter.
Picoseconds OneMachineBound(std::vector<Job> jobs) {
  std::sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) { return a.head < b.head; });
  const auto shorter_tail = [](const Job& a, const Job& b) { return a.tail < b.tail; };
  std::priority_queue<Job, std::vector<Job>, decltype(shorter_tail)> ready(shorter_tail);
  Picoseconds now = 0;
  Picoseconds bound = 0;
  size_t next = 0;
  while (next < jobs.size() || !ready.empty()) {
    if (ready.empty()) now = std::max(now, jobs[next].head);
    while (next < jobs.size() && jobs[next].head <= now) ready.push(jobs[next++]);
    Job job = ready.top();
    ready.pop();
    const Picoseconds until = next < jobs.size() ? jobs[next].head : now + job.length;
    const Picoseconds worked = std::min(job.length, until - now);
    now += worked;
    job.length -= worked;
    if (job.length > 0) {
      ready.push(job);
    } else {
      bound = std::max(bound, now + job.tail);
    }
  }
  return bound;
}

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
    // With paths and unavoidable transfers alone, then with all that is known of the cuts.
    FindHeads(false);
    for (Index t = 0; t < heads_.size(); ++t) {
      result.critical_path = std::max(result.critical_path, heads_[t] + tails_[t]);
    }
    FindHeads(true);
    result.bound = result.critical_path;
    for (Index t = 0; t < heads_.size(); ++t) {
      result.bound = std::max(result.bound, heads_[t] + tails_[t]);
    }
    result.bound = std::max(result.bound, end_);
    for (const std::vector<Job>& jobs : Jobs()) {
      Picoseconds busy = 0;
      for (const Job& job : jobs) busy += job.length;
      result.busiest_unit = std::max(result.busiest_unit, busy);
      result.bound = std::max(result.bound, OneMachineBound(jobs));
    }
    return result;
  }

 private:
  [[nodiscard]] bool IsSlow(Index v) const {
    return problem_.storages[problem_.values[v].storage].slow;
  }
  /// Read from slow memory by every schedule.
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

  void Push(Index cut, Picoseconds time, std::vector<Picoseconds>& earliest) const {
    cuts_.Push(cut, time, earliest);
    cuts_.PushWork(cut, time, earliest);
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
      head = std::max(head, own_fetches);
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

  /// By unit, the transfer engine last.
  [[nodiscard]] std::vector<std::vector<Job>> Jobs() const {
    std::vector<std::vector<Job>> jobs(problem_.units + 1);
    std::vector<Job>& transfers = jobs.back();
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
  std::vector<Picoseconds> heads_;      ///< by task: no schedule starts it earlier
  std::vector<Picoseconds> read_tail_;  ///< by value: longest tail of a reader; -1 without one
  Picoseconds end_ = 0;
};

}  // namespace

TimeBound TimeBoundOf(const TimeProblem& problem) { return BoundMaker(problem).Run(); }

}  // namespace tenon::converter
