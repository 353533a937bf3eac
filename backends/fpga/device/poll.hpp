// Waits for what may never come.
#pragma once

#include "runtime/backend_api/device.hpp"

namespace tenon::fpga {

/// Returns this moment on the clock of Deadline.
[[nodiscard]] Deadline Now();

/// Lets others run for a moment, the longer the more there has been waited since `start`.
void Pause(Deadline start);

}  // namespace tenon::fpga
