// A command queue of a device with the signals that have not been waited for yet.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/backend_api/device.hpp"
#include "runtime/base/home_process.hpp"
#include "runtime/base/span.hpp"
#include "runtime/base/status.hpp"

namespace tenon {

inline constexpr char kOtherProcess[] =
    "the device belongs to the process that this one was forked from: open the plan here";

/// Counts a worker's steps as the device is told of them and as they are known to be done. Its
/// kernels run in order, so a signal that has come tells of every step before it too.
class DeviceQueue {
 public:
  /// A signal for the host after a step.
  struct Signal {
    void* event = nullptr;
    size_t step = 0;
  };

  /// `signals`: room for as many as one run makes. All borrowed.
  Status Open(const DeviceApi& api, void* device, Span<const ArenaMemory> arenas,
              Span<Signal> signals);
  /// False if the device still works on the arenas: then the queue stays open. In a forked process
  /// always so: its copy of the driver answers nobody.
  bool Close();
  [[nodiscard]] bool is_open() const { return queue_ != nullptr; }
  /// False in a process that was forked from the one that made this.
  [[nodiscard]] bool IsHere() const { return home_.IsHere(); }
  [[nodiscard]] void* queue() const { return queue_; }
  [[nodiscard]] size_t HeldBytes() const;

  /// Begins a run. The device must not be busy.
  void Reset();
  /// True if nothing can be enqueued any more, whatever the device does.
  [[nodiscard]] bool is_broken() const { return is_broken_; }
  /// True if the device may still touch the arenas though nobody waits for it.
  [[nodiscard]] bool is_busy() const { return busy_; }

  Status Start();
  Status Upload(const SharedTensor& tensor);
  /// Enqueues a segment that the device has the code of.
  Status RunCode(void* code, Span<void* const> bases);
  /// Makes the queue ready for a group that the device has loaded.
  Status OpenGroup(void* group) { return api_->open_group(queue_, group); }
  /// What is enqueued between these two is one launch.
  Status BeginGroup(void* group) { return api_->begin_group(queue_, group); }
  Status EndGroup() { return api_->end_group(queue_); }
  /// `step` has been enqueued last. With `tensor.planned` null: only the moment counts.
  Status AddSignal(const SharedTensor& tensor, size_t step);
  Status Submit();
  /// Waits until all that is enqueued is done and the host has the tensor.
  Status Show(const SharedTensor& tensor, Deadline deadline);
  /// Notes that the steps below `steps` are being enqueued.
  void SetEnqueued(size_t steps) {
    enqueued_ = steps;
    is_idle_ = false;
  }

  /// Steps that are done for certain, and what they signal with them.
  [[nodiscard]] size_t done() const {
    return first_ != end_ && signals_[first_].step < done_ ? signals_[first_].step : done_;
  }
  /// Notes that the steps below `steps` were not the device's and are done.
  void SkipTo(size_t steps) { done_ = steps; }
  /// Waits until `step` is done, and for every signal up to it.
  Status WaitFor(size_t step, Deadline deadline);
  /// Waits until the device has nothing left to do, and for every signal.
  Status Drain(Deadline deadline);
  /// The same after an error, whose cause the device may tell again.
  Status Quieten(Deadline deadline);
  /// False if the device may still touch the arenas though nobody waits for it.
  bool TryToQuieten() {
    if (busy_) (void)Quieten(0);
    return !busy_;
  }

 private:
  HomeProcess home_;
  const DeviceApi* api_ = nullptr;
  void* queue_ = nullptr;
  Span<Signal> signals_;
  size_t first_ = 0;  ///< signals_[first_, end_) have not been waited for
  size_t end_ = 0;
  size_t enqueued_ = 0;
  size_t done_ = 0;
  bool is_idle_ = true;  ///< nothing has been enqueued since the last drain
  bool busy_ = false;
  bool is_broken_ = false;
};

}  // namespace tenon
