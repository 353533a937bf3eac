// A backend: a name and an ordered kernel table.
#pragma once

#include "runtime/backend_api/kernel.hpp"
#include "runtime/base/span.hpp"

namespace tenon {

/// Registered explicitly by the program (no static constructors). Must outlive every plan loaded
/// with it.
struct Backend {
  const char* name;  ///< "cpu"
  Span<const KernelEntry> kernels;
  /// Makes the runner that this backend's kernels share with the libraries they call, for at most
  /// `threads` threads. May be null: then kernels run on the calling thread.
  ParallelRunner (*make_runner)(int threads);
  /// Called on the running thread before a run's first kernel of this backend. May be null.
  Status (*begin_run)(const ParallelRunner& runner);
};

}  // namespace tenon
