// An in-order queue of one session's worker, and the device's addresses of the arenas.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "backends/opencl/device/cl_functions.hpp"
#include "backends/opencl/device/device.hpp"
#include "backends/opencl/device/group_launch.hpp"
#include "backends/opencl/device/staging.hpp"
#include "runtime/backend_api/device.hpp"
#include "runtime/base/copy_shape.hpp"
#include "runtime/base/span.hpp"
#include "runtime/base/status.hpp"

namespace tenon::opencl {

/// Names a place in a buffer.
struct BufferPlace {
  cl_mem buffer = nullptr;
  size_t offset = 0;  ///< bytes
};

/// Limits how long a queue that is closed waits for its device.
inline constexpr Deadline kDrainBeforeClose = 10'000'000'000U;  // ns

/// Follows the rules of DeviceApi for queues: one thread uses it at a time; after a call that
/// failed, only Drain and the destructor may be called until Drain has succeeded.
///
/// The driver is never given memory of the caller's: what is bound to inputs and outputs is copied
/// by Upload and Wait, from and to the arenas or pinned memory. A device that misses its deadline
/// goes on with what it was given, so it must know of nothing that the caller has back by then.
class CommandQueue {
 public:
  explicit CommandQueue(Device& device) : device_(device), staging_(device) {}
  CommandQueue(const CommandQueue&) = delete;
  CommandQueue& operator=(const CommandQueue&) = delete;
  /// Drains for at most kDrainBeforeClose; if the device does not answer in that time, the objects
  /// that it uses are never freed.
  ~CommandQueue();

  /// Opens the queue; `arenas` are borrowed. Errors: kOutOfMemory (an arena is larger than the
  /// device's largest buffer), kBackendFailure.
  Status Open(Span<const ArenaMemory> arenas);

  [[nodiscard]] Device& device() const { return device_; }
  [[nodiscard]] cl_command_queue queue() const { return queue_; }

  /// Finds where the device has the host address `address` of an arena.
  Status Find(const void* address, BufferPlace* place) const;

  /// Makes ready what BeginGroup wants. Errors: kBackendFailure.
  Status OpenGroup(const LoadedGroup& loaded);
  /// From here to EndGroup launches are parts of one (kernels/kernel_support.hpp).
  Status BeginGroup(const LoadedGroup& loaded);
  Status EndGroup();
  /// Null outside of groups.
  [[nodiscard]] GroupLaunch* group() const { return group_; }

  Status Upload(const SharedTensor& tensor);
  Status Signal(const SharedTensor& tensor, void** event);
  Status Submit();
  Status Wait(void* event, Deadline deadline);
  Status Drain(Deadline deadline);

  /// Counts copies of arenas, and pinned memory for transfers.
  [[nodiscard]] size_t held_bytes() const;

 private:
  struct Arena {
    uint8_t* base = nullptr;
    size_t bytes = 0;
    cl_mem buffer = nullptr;
  };
  /// Is what `Signal` gives to `Wait`; it is reused, and freed with the queue.
  struct Signalled {
    bool taken = false;
    cl_event event = nullptr;
    uint8_t* staged = nullptr;  ///< where the tensor arrives, packed; null: at `planned`
    uint8_t* planned = nullptr;
    uint8_t* actual = nullptr;  ///< null: nobody wants it any more
    CopyShape shape;
  };
  enum class Direction { kToDevice, kToHost };

  Status OpenArena(const ArenaMemory& memory);
  Status Copy(Direction direction, const CopyShape& shape, const BufferPlace& place, uint8_t* host,
              bool packed, cl_event* event);
  [[nodiscard]] bool Passes(const SharedTensor& tensor) const;
  static void Deliver(const Signalled& signalled);
  Signalled* TakeSignalled();
  void Release(Signalled& signalled);

  Device& device_;
  std::map<const LoadedGroup*, std::unique_ptr<GroupLaunch>> groups_;
  GroupLaunch* group_ = nullptr;
  cl_command_queue queue_ = nullptr;
  std::vector<Arena> arenas_;
  Staging staging_;
  std::vector<std::unique_ptr<Signalled>> signalled_;
};

}  // namespace tenon::opencl
