#include "converter/solve/stage/assign_cores.hpp"

#include <algorithm>
#include <numeric>

namespace tenon::converter {
namespace {

class Dealer {
 public:
  Dealer(const std::vector<CoreTask>& tasks, int32_t cores, Picoseconds wait)
      : tasks_(tasks), cores_(std::max(cores, 1)), wait_(wait) {
    int32_t workers = cores_;
    for (const CoreTask& task : tasks) workers = std::max(workers, task.worker + 1);
    free_.assign(static_cast<size_t>(workers), 0);
    end_.assign(tasks.size(), 0);
    result_.worker.assign(tasks.size(), 0);
  }

  CoreAssignment Run() {
    for (const int32_t task : ByRank()) Place(static_cast<size_t>(task));
    std::vector<Picoseconds> start(tasks_.size());
    for (size_t i = 0; i < tasks_.size(); ++i) start[i] = end_[i] - tasks_[i].time;
    result_.order.resize(tasks_.size());
    std::iota(result_.order.begin(), result_.order.end(), 0);
    // A task of zero time may start with what it needs: the order given keeps those apart.
    std::stable_sort(result_.order.begin(), result_.order.end(), [&](int32_t a, int32_t b) {
      return start[static_cast<size_t>(a)] < start[static_cast<size_t>(b)];
    });
    return std::move(result_);
  }

 private:
  /// Orders by the longest path to the end, ties as given: needed tasks come before their users.
  [[nodiscard]] std::vector<int32_t> ByRank() const {
    std::vector<Picoseconds> rank(tasks_.size());
    for (size_t i = tasks_.size(); i-- > 0;) {
      rank[i] += tasks_[i].time;
      for (const int32_t need : tasks_[i].needs) {
        Picoseconds& before = rank[static_cast<size_t>(need)];
        before = std::max(before, rank[i]);
      }
    }
    std::vector<int32_t> order(tasks_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      return rank[static_cast<size_t>(a)] > rank[static_cast<size_t>(b)];
    });
    return order;
  }

  [[nodiscard]] Picoseconds EarliestStart(const CoreTask& task, int32_t worker) const {
    Picoseconds start = free_[static_cast<size_t>(worker)];
    for (const int32_t need : task.needs) {
      const auto k = static_cast<size_t>(need);
      start = std::max(start, end_[k] + (result_.worker[k] == worker ? 0 : wait_));
    }
    return start;
  }

  void Place(size_t index) {
    const CoreTask& task = tasks_[index];
    int32_t best = task.worker;
    for (int32_t core = 0; task.worker < 0 && core < cores_; ++core) {
      if (best < 0 || EarliestStart(task, core) < EarliestStart(task, best)) best = core;
    }
    result_.worker[index] = best;
    end_[index] = EarliestStart(task, best) + task.time;
    free_[static_cast<size_t>(best)] = end_[index];
    result_.makespan = std::max(result_.makespan, end_[index]);
  }

  const std::vector<CoreTask>& tasks_;
  int32_t cores_;
  Picoseconds wait_;
  std::vector<Picoseconds> free_;  ///< by worker: when it becomes free
  std::vector<Picoseconds> end_;   ///< by task
  CoreAssignment result_;
};

}  // namespace

CoreAssignment AssignCores(const std::vector<CoreTask>& tasks, int32_t cores, Picoseconds wait) {
  CoreAssignment several = Dealer(tasks, cores, wait).Run();
  if (cores <= 1) return several;
  CoreAssignment one = Dealer(tasks, 1, wait).Run();
  // Devices are numbered after all cores and keep their numbers.
  return one.makespan <= several.makespan ? one : several;
}

}  // namespace tenon::converter
