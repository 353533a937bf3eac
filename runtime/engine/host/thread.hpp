// A thread whose start can fail, which std::thread cannot say without exceptions; and how a thread
// waits for a moment without giving up its processor.
#pragma once

#include <pthread.h>

#include "runtime/base/status.hpp"

namespace tenon {

class Thread {
 public:
  Thread() = default;
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;
  ~Thread() { Join(); }

  /// Runs `body(context)` on a new thread. Errors: kOutOfMemory (the system gives no more threads).
  Status Start(void (*body)(void* context), void* context);
  /// Waits for the thread to end; does nothing if it never started.
  void Join();

 private:
  static void* Main(void* thread);

  void (*body_)(void* context) = nullptr;
  void* context_ = nullptr;
  pthread_t handle_{};
  bool started_ = false;
};

/// Tells the processor that this thread spins.
inline void SpinPause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
  asm volatile("yield");
#endif
}

}  // namespace tenon
