// Tells objects with threads or devices whether they are in the process that made them: a child of
// fork has copies of them, but neither the threads nor the device's driver as it was. Hosts only.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

namespace tenon {

/// Counts the forks between this process and the one that asked first. Takes no call of the system.
[[nodiscard]] inline uint32_t ForkCount() {
  static std::atomic<uint32_t> forks{0};
  // Where there is no memory for it, forks are not seen.
  [[maybe_unused]] static const int registered =
      pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  return forks.load(std::memory_order_relaxed);
}

/// Remembers the process that it is made in.
class HomeProcess {
 public:
  /// False in processes that were forked from it later.
  [[nodiscard]] bool IsHere() const { return forks_ == ForkCount(); }

 private:
  uint32_t forks_ = ForkCount();
};

}  // namespace tenon
