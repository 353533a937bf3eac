// One independent execution of a loaded plan: its arenas, tensors and kernel states.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/span.hpp"
#include "runtime/base/status.hpp"
#include "runtime/engine/addresses.hpp"
#include "runtime/engine/loaded_plan.hpp"
#include "runtime/engine/run_options.hpp"
#include "runtime/engine/worker_run.hpp"

namespace tenon {

class Session {
 public:
  /// Bytes that `Open` needs for tensors and kernel states, arenas apart.
  [[nodiscard]] static size_t StateBytes(const LoadedPlan& plan);

  /// `plan`, `state` and the arenas (one per arena of the program, ArenaBytes and alignment as the
  /// plan says) are borrowed and must outlive the session. Call Close whether this succeeds or not.
  Status Open(const LoadedPlan& plan, Span<uint8_t> state, const ArenaMemory* arenas);
  /// False if a device that does not answer may still touch the arenas: they and `state` must then
  /// never be freed.
  bool Close();

  /// True if such a device has not stopped yet.
  [[nodiscard]] bool IsBusy();

  /// Where input / output `index` lies now.
  [[nodiscard]] void* InputData(size_t index) const;
  [[nodiscard]] void* OutputData(size_t index) const;

  /// Uses `data` for the port's storage from now on; null goes back to the arena.
  void BindInput(size_t index, void* data) { addresses_.BindInput(index, data); }
  void BindOutput(size_t index, void* data) { addresses_.BindOutput(index, data); }

  /// The same for either, counted as PortAt counts.
  [[nodiscard]] void* PortData(size_t port) const;
  /// The bytes of its storage, which is the port's alone.
  [[nodiscard]] size_t PortBytes(size_t port) const;
  void BindPort(size_t port, void* data);
  /// True if the port lies in memory bound to it.
  [[nodiscard]] bool IsBound(size_t port) const;
  /// Where it lies if nothing is bound to it.
  [[nodiscard]] void* PlaceInArena(size_t port) const;

  /// See WorkerRun::SetRunners.
  void SetRunners(const ParallelRunner* runners) {
    for (WorkerRun& run : workers_) run.SetRunners(runners);
  }
  /// Told whenever the CPU takes over from a device that failed.
  void SetNoticeSink(const NoticeSink& sink);
  /// Runs with a timer show what every op of a device writes (RunOptions::shows_tensors).
  void ShowTensors(bool shows) { shows_tensors_ = shows; }
  /// A run whose options say nothing else has `nanoseconds` from its start, by a clock that devices
  /// share: the monotonic one. 0: as long as it takes. The clock may be null then.
  void SetTimeout(uint64_t nanoseconds, uint64_t (*clock_nanoseconds)());

  /// Executes every step, those of devices beside this thread, all others on it. Several workers
  /// take turns, each going on as far as its waits allow: the same order every time. No heap.
  /// Errors: the kernels', naming the op; kBackendFailure, kDeadlineExceeded naming backend and op.
  /// The session can be used again after any of them: state is then what it was before the run.
  Status Run(const RunOptions& options = {});

  /// Sets what the program keeps from run to run to what the model starts with, as Open does.
  void ResetStates() { addresses_.ResetStates(); }

  [[nodiscard]] const LoadedPlan& plan() const { return *plan_; }
  [[nodiscard]] Span<const ArenaMemory> arenas() const { return addresses_.arenas(); }
  /// Heap bytes held by kernels and devices for this session.
  [[nodiscard]] size_t PackedBytes() const;

 private:
  /// What keeps a worker's next piece: nothing, a device that has not told yet, a step that has not
  /// been started.
  enum class Obstacle : uint8_t { kNone, kDevice, kStep };

  [[nodiscard]] Obstacle FindObstacle(const WorkerRun& run, size_t worker) const;
  Status RunAll(const RunOptions& options);
  Status RunStage(size_t stage);
  Status TakeTurn(size_t stage, bool of_devices, bool* progress);
  Status WaitForDevices(size_t stage);
  [[nodiscard]] bool HasStarted(size_t stage) const;
  [[nodiscard]] bool IsOf(size_t stage, size_t worker) const {
    return plan_->stage_of_worker(worker) == stage;
  }

  const LoadedPlan* plan_ = nullptr;
  Addresses addresses_;
  Span<WorkerRun> workers_;
  uint64_t timeout_ = 0;
  uint64_t (*clock_)() = nullptr;
  bool shows_tensors_ = false;
};

}  // namespace tenon
