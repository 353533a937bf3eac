// Defines a backend: a name and an ordered kernel table.
#pragma once

#include "runtime/backend_api/device.hpp"
#include "runtime/backend_api/kernel.hpp"

namespace tenon {

/// Registered explicitly by the program (no static constructors). Must outlive every plan loaded
/// with it.
struct Backend {
  const char* name;  ///< "cpu"
  KernelList kernels;
  /// Makes the runner of one loaded plan, for at most `threads` threads. May be null: then kernels
  /// run on the calling thread. May use the heap and create threads; `free_runner` ends them.
  ParallelRunner (*make_runner)(int threads);
  void (*free_runner)(ParallelRunner& runner);
  /// Null: kernels do their work on the calling thread. Otherwise they enqueue it.
  const DeviceApi* device = nullptr;
};

}  // namespace tenon
