// What a clock around every op adds to ops on a device: the host waits for each of them, and starts
// the next one only then. In other runs the device has its next ops already.
#pragma once

#include <vector>

#include "converter/profile/profile.hpp"

namespace tenon::converter {

struct TimedOp {
  Durations durations;
  bool on_device = false;
};

/// Takes the waits out of the times of a network's ops on devices: what these take more than the
/// network without clocks, `latency_ms`, divided among them evenly. (Ops of the processor may run
/// beside them.) Each keeps a tenth of its time at least. Networks of which less than half is on
/// devices stay as they are.
void RemoveWaits(double latency_ms, std::vector<TimedOp>& ops);

}  // namespace tenon::converter
