#include "converter/profile/device_waits.hpp"

#include <algorithm>

namespace tenon::converter {

void RemoveWaits(double latency_ms, std::vector<TimedOp>& ops) {
  constexpr double kLeastShare = 0.1;
  double all_ms = 0;
  double devices_ms = 0;
  size_t waits = 0;
  for (const TimedOp& op : ops) {
    all_ms += op.durations.mean_ms;
    if (!op.on_device) continue;
    devices_ms += op.durations.mean_ms;
    ++waits;
  }
  // The processor's ops may have run beside the device's: what they take is no waiting.
  const double waited_ms = devices_ms - latency_ms;
  if (devices_ms < all_ms / 2 || waited_ms <= 0) return;
  const double wait_ms = waited_ms / static_cast<double>(waits);
  const auto without_wait = [&](double ms) { return std::max(ms - wait_ms, ms * kLeastShare); };
  for (TimedOp& op : ops) {
    if (!op.on_device) continue;
    op.durations.min_ms = without_wait(op.durations.min_ms);
    op.durations.mean_ms = without_wait(op.durations.mean_ms);
  }
}

}  // namespace tenon::converter
