// Threads of its own for the kernels that one thread of a stream runs.
#pragma once

#include "runtime/backend_api/parallel.hpp"
#include "runtime/engine/loaded_plan.hpp"

namespace tenon {

/// As many threads as the plan was loaded with, for each backend that shares ops between threads: a
/// plan's own team serves one thread at a time, and others that come meanwhile would work alone.
class KernelThreads {
 public:
  KernelThreads() = default;
  KernelThreads(const KernelThreads&) = delete;
  KernelThreads& operator=(const KernelThreads&) = delete;
  ~KernelThreads();

  /// `plan` is borrowed. Where the system gives fewer threads, kernels run on fewer.
  void Make(const LoadedPlan& plan);
  /// By backend; null before Make.
  [[nodiscard]] const ParallelRunner* runners() const {
    return plan_ != nullptr ? runners_ : nullptr;
  }

 private:
  const LoadedPlan* plan_ = nullptr;
  ParallelRunner runners_[kMaxBackends + 1] = {};
};

}  // namespace tenon
