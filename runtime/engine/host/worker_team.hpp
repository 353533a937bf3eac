// Runs the workers of a stage concurrently, one thread each, for one input at a time. A program
// that is no pipeline is one stage.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>

#include "runtime/base/status.hpp"
#include "runtime/engine/host/idle_help.hpp"
#include "runtime/engine/host/thread.hpp"
#include "runtime/engine/host/worker_set.hpp"
#include "runtime/engine/loaded_plan.hpp"
#include "runtime/engine/run_options.hpp"

namespace tenon {

/// Each thread executes its worker's steps as the plan's waits allow. Threads look out for what
/// they wait for for some microseconds, and then sleep.
class WorkerTeam {
 public:
  WorkerTeam() = default;
  WorkerTeam(const WorkerTeam&) = delete;
  WorkerTeam& operator=(const WorkerTeam&) = delete;
  ~WorkerTeam() { Close(); }

  /// Starts a thread for every worker of `stage` but the first, which runs on the caller's. With
  /// `idle_help`, workers that wait share the ops of others, and so do threads that do nothing
  /// else, where the plan was loaded with more threads than it has workers. Arguments are borrowed
  /// until Close. Errors: kOutOfMemory.
  Status Open(const LoadedPlan& plan, WorkerSet* workers, size_t stage, bool idle_help);
  void Close();

  /// One input. Where several workers fail, the error is that of the first of them by index. One
  /// thread at a time.
  Status Run(const RunOptions& options);

  [[nodiscard]] size_t extra_threads() const { return started_ > 0 ? started_ - 1 : 0; }

 private:
  /// In place of a worker: the member only helps.
  static constexpr size_t kHelper = SIZE_MAX;

  struct alignas(64) Member {
    WorkerTeam* team = nullptr;
    size_t worker = kHelper;
    std::atomic<size_t> done{0};  ///< steps that others may rely on
    Status status;
    Thread thread;
  };

  void MemberLoop(Member& member);
  void HelperLoop();
  void Execute(Member& member);
  Status ExecuteSteps(Member& member);
  Status TellWhatIsDone(Member& member);
  [[nodiscard]] bool AreWaitsMet(const Member& member, size_t step) const;
  void ShareOps(size_t threads);
  template <typename Condition>
  void Await(const Condition& condition);
  template <typename Condition>
  void AwaitOrHelp(const Condition& condition);
  void Wake();

  const LoadedPlan* plan_ = nullptr;
  WorkerSet* workers_ = nullptr;
  std::unique_ptr<Member[]> members_;
  Member* member_of_worker_[kMaxWorkers] = {};  ///< null: of another stage
  size_t count_ = 0;                            ///< workers: the first members
  size_t started_ = 0;                          ///< members; those beyond the workers help
  RunOptions options_;
  std::atomic<uint64_t> round_{0};  ///< grows with every run
  std::atomic<size_t> busy_{0};     ///< threads that have not ended this run
  std::atomic<bool> has_failed_{false};
  std::atomic<bool> is_stopping_{false};
  std::atomic<int> sleepers_{0};
  std::mutex mutex_;
  std::condition_variable wake_;
  bool has_help_ = false;
  IdleHelp help_;
  ParallelRunner runners_[kMaxBackends + 1] = {};  ///< by backend, where there is help
};

}  // namespace tenon
