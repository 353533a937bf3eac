// Executes the steps of one worker: on the calling thread, or, where they belong to a device, by
// telling the device. What decides when a step may begin is outside: a session that gives several
// workers turns on one thread, or one thread per worker.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/span.hpp"
#include "runtime/base/status.hpp"
#include "runtime/engine/addresses.hpp"
#include "runtime/engine/device_queue.hpp"
#include "runtime/engine/loaded_plan.hpp"
#include "runtime/engine/run_options.hpp"

namespace tenon {

/// Ops of a group start together: on the CPU, threads take them one by one in one parallel region;
/// with a timer, and where the CPU stands in for a device, they run one after the other.
///
/// Steps come in pieces: steps of one segment of which only the first has waits and, on the CPU,
/// only the last is waited for. A piece of the CPU is executed at once. A piece of a device is
/// enqueued: it is started then, and done when WaitFor says so. Where the plan carries the CPU's
/// form of a device's ops, a piece that fails there is executed on the CPU instead, as is the rest
/// of the run (each piece is then waited for before the next begins).
///
/// One thread at a time. Different workers of one program may run on different threads if each has
/// its own WorkerRun and their Addresses are not moved meanwhile (Session: one for all; stages of
/// pipelines: one each). Allocates nothing after Open.
class WorkerRun {
 public:
  /// Bytes that `Open` needs.
  [[nodiscard]] static size_t StateBytes(const LoadedPlan& plan, size_t worker);

  /// Opens the worker's kernels and, if it has ops of a device, a queue. All arguments are
  /// borrowed. Call Close whether this succeeds or not.
  Status Open(const LoadedPlan& plan, size_t worker, const Addresses& addresses,
              Span<uint8_t> state);
  /// False if a device still works on the arenas, which must then never be freed.
  bool Close();
  /// True if a device still works on the arenas though a run has given it up.
  [[nodiscard]] bool IsBusy() { return HasDevice() && !queue_.TryToQuieten(); }

  /// Told on the thread that runs.
  void SetNoticeSink(const NoticeSink& sink) { sink_ = sink; }
  /// Kernels use `runners`, by backend of the plan, instead of the plan's own. Borrowed; null: the
  /// plan's again.
  void SetRunners(const ParallelRunner* runners) { runners_ = runners; }

  /// A run begins: no step is started. `options.timer` is borrowed until Finish or Abandon.
  /// Errors: kDeadlineExceeded, kBackendFailure (the device is in quarantine, and the plan has no
  /// fall-back; or it still works on what an earlier run gave it), kFailedPrecondition (a forked
  /// process, and the plan has no fall-back).
  Status Begin(const RunOptions& options);

  [[nodiscard]] size_t steps() const { return steps_; }
  /// Steps that are executed or enqueued, and those of them that are known to be done.
  [[nodiscard]] size_t started() const { return started_; }
  [[nodiscard]] size_t done() const;
  [[nodiscard]] bool all_started() const { return started_ == steps_; }
  /// True if the next piece would be enqueued rather than executed.
  [[nodiscard]] bool IsDeviceNext() const;

  /// Executes or enqueues the next piece. The caller has seen to it that all its waits are met:
  /// the steps that the first step waits for are done, not only started.
  /// Errors: the kernel's, naming the op; kBackendFailure or kDeadlineExceeded naming backend and
  /// op (the text lives in this object until its next error).
  Status StartPiece();
  /// Waits until `step`, which has been started, is done and what it writes is there for the host.
  Status WaitFor(size_t step);
  /// Waits for all that has been started.
  Status Finish();
  /// After an error, of this worker or another: waits until the device, if any, touches no arena
  /// any more. What is left undone stays so.
  void Abandon();

  /// Heap bytes held by kernels for this worker, and by its queue.
  [[nodiscard]] size_t HeldBytes() const;

 private:
  [[nodiscard]] bool HasDevice() const { return has_device_; }
  [[nodiscard]] bool HasFallback() const { return !fallback_states_.empty(); }
  [[nodiscard]] uint32_t OpAt(size_t step) const;
  [[nodiscard]] size_t PieceEnd(size_t first) const;
  [[nodiscard]] const ParallelRunner& RunnerOf(const BoundOp& op) const;
  void ReadSteps();
  Status OpenGroups();
  Status OpenKernels();
  Status GiveUpDevice(const Status& reason);
  Status RunOnHost(size_t end);
  Status RunGroup(size_t size);
  Status RunOnDevice(size_t end);
  Status Enqueue(size_t end);
  Status EnqueueCode(size_t segment, void* code);
  Status EnqueueGroup(void* group, size_t end);
  Status ShowOutputs(const BoundOp& op);
  Status ShowWhatLeaves(const SegmentInfo& segment);
  Status ShowTensor(uint32_t tensor);
  Status Timed(const BoundOp& op, void* state, const TensorView* tensors, uint32_t index);
  [[nodiscard]] Status Failure(const Status& reason, size_t step) const;
  void Notify(const Status& failure);

  const LoadedPlan* plan_ = nullptr;
  const Addresses* addresses_ = nullptr;
  size_t worker_ = 0;
  size_t steps_ = 0;
  bool is_numbered_by_step_ = false;  ///< step i is op first_op_ + i: no plan to read in a run
  uint32_t first_op_ = 0;
  size_t first_piece_end_ = 0;
  size_t started_ = 0;
  Span<void*> states_;           ///< by step: what the kernel's `open` made
  Span<void*> fallback_states_;  ///< the same for fall-back kernels; empty without
  DeviceQueue queue_;
  bool has_device_ = false;  ///< some of its ops are a device's
  size_t backend_ = 0;       ///< of the device
  size_t device_end_ = 0;    ///< in this run, the steps of the device that are enqueued end here
  bool on_host_ = false;     ///< in this run, the device's ops are executed on the CPU
  Status unusable_;          ///< why the device is not used, if it is not
  bool is_reported_ = false;
  RunOptions options_;
  NoticeSink sink_;
  const ParallelRunner* runners_ = nullptr;
};

}  // namespace tenon
