#include "converter/solve/time/time_segments.hpp"

#include <algorithm>
#include <queue>

namespace tenon::converter {
namespace {

class SegmentMaker {
 public:
  SegmentMaker(const TimeProblem& problem, const TimeCuts& cuts,
               const std::vector<Picoseconds>& tails, const std::vector<Picoseconds>& ancestor_work)
      : problem_(problem),
        cuts_(cuts),
        tails_(tails),
        ancestor_work_(ancestor_work),
        tasks_(cuts.cuts().size() + 1),
        head_(problem.tasks.size(), 0),
        tail_(problem.tasks.size(), 0),
        before_(problem.units, 0) {
    for (Index t = 0; t < problem.tasks.size(); ++t) {
      const Index cut = cuts.cut_of_task()[t];
      // A cut belongs to the segment that begins with it.
      tasks_[cut == kNobody ? cuts.levels()[t] : cut + 1].push_back(t);
    }
  }

  std::vector<Picoseconds> Run() {
    std::vector<Picoseconds> bounds;
    for (Index level = 0; level < tasks_.size(); ++level) bounds.push_back(BoundOf(level));
    return bounds;
  }

 private:
  [[nodiscard]] Index SegmentOf(Index t) const {
    const Index cut = cuts_.cut_of_task()[t];
    return cut == kNobody ? cuts_.levels()[t] : cut + 1;
  }

  Picoseconds BoundOf(Index level) {
    const std::vector<Index>& tasks = tasks_[level];
    const bool last = level + 1 == tasks_.size();
    for (const Index t : tasks) {
      for (const Index p : problem_.tasks[t].predecessors) {
        if (SegmentOf(p) != level) continue;
        head_[t] = std::max(head_[t], head_[p] + problem_.tasks[p].duration);
      }
      for (Index unit = 0; unit < problem_.units && !ancestor_work_.empty(); ++unit) {
        head_[t] = std::max(head_[t], ancestor_work_[t * problem_.units + unit] - before_[unit]);
      }
    }
    std::vector<std::vector<MachineJob>> jobs(problem_.units);
    for (const Index t : std::vector<Index>(tasks.rbegin(), tasks.rend())) {
      const TimeTask& task = problem_.tasks[t];
      if (last) tail_[t] = tails_[t] - task.duration;
      for (const Index p : task.predecessors) {
        if (SegmentOf(p) == level) tail_[p] = std::max(tail_[p], task.duration + tail_[t]);
      }
      jobs[task.unit].push_back({head_[t], task.duration, tail_[t]});
    }
    Picoseconds bound = 0;
    for (Index unit = 0; unit < problem_.units; ++unit) {
      bound = std::max(bound, OneMachineBound(jobs[unit]));
      for (const MachineJob& job : jobs[unit]) before_[unit] += job.length;
    }
    return bound;
  }

  const TimeProblem& problem_;
  const TimeCuts& cuts_;
  const std::vector<Picoseconds>& tails_;
  const std::vector<Picoseconds>& ancestor_work_;
  std::vector<std::vector<Index>> tasks_;  ///< by level, ascending
  std::vector<Picoseconds> head_, tail_;   ///< by task, inside its segment
  std::vector<Picoseconds> before_;        ///< by unit: work of the segments before
};

}  // namespace

Picoseconds OneMachineBound(std::vector<MachineJob> jobs) {
  std::sort(jobs.begin(), jobs.end(),
            [](const MachineJob& a, const MachineJob& b) { return a.head < b.head; });
  const auto shorter_tail = [](const MachineJob& a, const MachineJob& b) {
    return a.tail < b.tail;
  };
  std::priority_queue<MachineJob, std::vector<MachineJob>, decltype(shorter_tail)> ready(
      shorter_tail);
  Picoseconds now = 0;
  Picoseconds bound = 0;
  size_t next = 0;
  while (next < jobs.size() || !ready.empty()) {
    if (ready.empty()) now = std::max(now, jobs[next].head);
    while (next < jobs.size() && jobs[next].head <= now) ready.push(jobs[next++]);
    MachineJob job = ready.top();
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

std::vector<Picoseconds> SegmentBounds(const TimeProblem& problem, const TimeCuts& cuts,
                                       const std::vector<Picoseconds>& tails,
                                       const std::vector<Picoseconds>& ancestor_work) {
  return SegmentMaker(problem, cuts, tails, ancestor_work).Run();
}

}  // namespace tenon::converter
