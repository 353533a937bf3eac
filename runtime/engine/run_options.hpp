// What a run is given besides its inputs, and how it reports what it had to work around.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/backend_api/device.hpp"
#include "runtime/base/status.hpp"

namespace tenon {

/// Told after every op how long it took. With one, every op of a device is waited for, so that the
/// time is the op's own.
struct OpTimer {
  void (*record)(void* context, size_t op, uint64_t nanoseconds) = nullptr;
  void* context = nullptr;
  uint64_t (*clock_nanoseconds)(void* context) = nullptr;
};

/// Hands in inputs by rows: `next` writes the next bytes of an input, and returns 0, or anything
/// else to end the run.
struct RowSource {
  int32_t (*next)(void* context, size_t input, void* rows, size_t bytes) = nullptr;
  void* context = nullptr;
};

struct RunOptions {
  const OpTimer* timer = nullptr;
  /// Of inputs that have no memory. The plan check has proven in which order rows are wanted.
  const RowSource* rows = nullptr;
  /// With a timer: what an op of a device wrote is there for the host before the op is recorded,
  /// tensors that only ops of its segment read included; of a segment that is run by code, what
  /// leaves it.
  bool shows_tensors = false;
  /// No wait for a device lasts beyond this moment.
  Deadline deadline = kNoDeadline;
};

/// Hears of a device that failed or is missing, where the CPU took over from there. What the status
/// borrows lives as long as the plan and the backends.
struct NoticeSink {
  void (*report)(void* context, const Status& failure) = nullptr;
  void* context = nullptr;
};

}  // namespace tenon
