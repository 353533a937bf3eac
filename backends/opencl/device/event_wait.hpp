// Waits for a device that may not answer.
#pragma once

#include "backends/opencl/device/cl_functions.hpp"
#include "runtime/backend_api/device.hpp"
#include "runtime/base/status.hpp"

namespace tenon::opencl {

/// Returns this moment on the clock of Deadline.
[[nodiscard]] Deadline Now();

/// Waits until `event`, which has been flushed, is complete. Errors: kBackendFailure (the command
/// failed), kDeadlineExceeded (the event is still pending).
Status WaitForEvent(cl_event event, Deadline deadline);

}  // namespace tenon::opencl
