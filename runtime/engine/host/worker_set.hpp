// The workers of a program, each ready to run on a thread of its own, on arenas of their own.
#pragma once

#include <cstddef>
#include <memory>

#include "runtime/engine/addresses.hpp"
#include "runtime/engine/host/host_memory.hpp"
#include "runtime/engine/host/kernel_threads.hpp"
#include "runtime/engine/host/lane.hpp"
#include "runtime/engine/worker_run.hpp"

namespace tenon {

class WorkerSet {
 public:
  WorkerSet() = default;
  WorkerSet(const WorkerSet&) = delete;
  WorkerSet& operator=(const WorkerSet&) = delete;
  /// If a device still works on the arenas, they are never freed.
  ~WorkerSet();

  /// `plan` is borrowed. The workers of a stage share addresses; stages have their own, since they
  /// work on different inputs. With `is_first` worker 0 uses the plan's threads for kernels; all
  /// others have their own. Without `kernel_threads` none has any. Errors: WorkerRun::Open's,
  /// kOutOfMemory.
  Status Open(const LoadedPlan& plan, bool is_first, bool kernel_threads = true);

  [[nodiscard]] size_t count() const { return count_; }
  [[nodiscard]] WorkerRun& run(size_t worker) { return workers_[worker].run; }
  [[nodiscard]] Addresses& addresses(size_t stage) { return workers_[stage].addresses; }
  void SetNoticeSink(const NoticeSink& sink);

  /// Writable bytes: of the arenas, and of all else.
  [[nodiscard]] size_t ArenaBytes() const { return arenas_.bytes(); }
  [[nodiscard]] size_t OtherBytes() const;

 private:
  struct Worker {
    HostMemory state;
    HostMemory addresses_state;
    Addresses addresses;  ///< of a stage, at its first worker; the others have none
    KernelThreads kernel_threads;
    WorkerRun run;
    bool is_open = false;
  };

  LaneArenas arenas_;
  std::unique_ptr<Worker[]> workers_;
  size_t count_ = 0;
};

/// Uses the request's memory for the inputs and outputs of the program.
void BindPorts(const StreamRequest& request, Addresses& addresses);

}  // namespace tenon
