// What one run is given beside its inputs, and how it tells what it had to work around.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/backend_api/device.hpp"

namespace tenon {

/// Told after every op how long it took. With one, every op of a device is waited for, so that the
/// time is the op's own.
struct OpTimer {
  void (*record)(void* context, size_t op, uint64_t nanoseconds) = nullptr;
  void* context = nullptr;
  uint64_t (*clock_nanoseconds)(void* context) = nullptr;
};

struct RunOptions {
  const OpTimer* timer = nullptr;
  /// No wait for a device lasts beyond it.
  Deadline deadline = kNoDeadline;
};

/// Hears in words when a device failed and the CPU took over. The text is gone after the call.
struct NoticeSink {
  void (*report)(void* context, const char* text) = nullptr;
  void* context = nullptr;
};

}  // namespace tenon
