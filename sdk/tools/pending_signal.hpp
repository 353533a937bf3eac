// Signals that would end the command wait while files change.
#pragma once

#include <csignal>

namespace tenon::tool {

/// While one exists, calls that wait return EINTR, and SIGINT, SIGTERM and SIGHUP are noted instead
/// of obeyed; its end obeys the one that was noted. Signals that the caller had ignored (nohup)
/// stay ignored. One at a time.
class PendingSignal {
 public:
  PendingSignal();
  ~PendingSignal();
  PendingSignal(const PendingSignal&) = delete;
  PendingSignal& operator=(const PendingSignal&) = delete;

  /// True if one has been noted: what has not begun should not.
  [[nodiscard]] static bool IsNoted();

 private:
  static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction previous_[3] = {};
};

}  // namespace tenon::tool
