// Records when the ops of a plan ran, for `--trace`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tenon/tenon.hpp"

namespace tenon::tool {

/// A trace of runs of one plan, which it borrows. Its hooks may be called on several threads.
class TraceRecorder {
 public:
  explicit TraceRecorder(const Plan& plan) : plan_(&plan) {}
  TraceRecorder(const TraceRecorder&) = delete;
  TraceRecorder& operator=(const TraceRecorder&) = delete;

  /// What RunTraced and streams take; borrows this.
  [[nodiscard]] tenon_trace hooks();

  /// The trace, with a track for each worker; further threads that run ops of the same worker, as
  /// replicas do, have tracks with a number ("cpu #2").
  [[nodiscard]] std::string Json() const;

 private:
  struct Ran {
    std::thread::id thread;
    size_t op = 0;
    uint64_t start = 0;
    uint64_t nanoseconds = 0;
  };
  /// More would make a file that no viewer opens.
  static constexpr size_t kMostEvents = 200'000;

  void Record(size_t op, uint64_t nanoseconds);

  const Plan* plan_;
  std::mutex mutex_;
  std::vector<Ran> ran_;
};

}  // namespace tenon::tool
