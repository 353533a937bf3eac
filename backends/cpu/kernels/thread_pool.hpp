// The CPU backend's own team of threads: one per loaded plan, for all kernels of all its sessions.
//
// A worker spins for a moment after each piece of work, so that ops which follow each other start
// in about a microsecond, and then sleeps in the kernel: an idle session uses no processor time.
// (libgomp's team would spin for milliseconds, and only the environment could tell it not to;
// docs/decisions/0004-one-thread-budget.md.)
#pragma once

#include "runtime/backend_api/parallel.hpp"

namespace tenon::cpu {

/// A runner on `threads` threads: the caller and `threads` - 1 workers, fewer if the system gives
/// no more. Each thread begins with its own part of the work, the same of every op, and then takes
/// small pieces of what is left of the others'. Several threads may run on it at once: the second
/// does its work alone. Heap and threads are given back by FreeThreadPool.
[[nodiscard]] ParallelRunner MakeThreadPool(int threads);

/// Ends the workers. No run may be under way.
void FreeThreadPool(ParallelRunner& runner);

}  // namespace tenon::cpu
