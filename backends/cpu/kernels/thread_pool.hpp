// The CPU backend's own team of threads: one per loaded plan, for all kernels of all its sessions.
//
// A worker spins for a moment after each piece of work, so that ops which follow each other start
// in about a microsecond, and then sleeps in the kernel: an idle session uses no processor time.
// (libgomp's team would spin for milliseconds, and only the environment could tell it not to;
// docs/decisions/0004-one-thread-budget.md.)
#pragma once

#include "runtime/backend_api/parallel.hpp"

namespace tenon::cpu {

/// Makes a runner on `threads` threads: the caller and `threads` - 1 workers, or fewer if the
/// system gives no more. Each thread begins with its own part of the work, the same for every op,
/// and then takes small pieces of what remains of the others'. Several threads may call it at once:
/// the second one does its work alone, as does a process that was forked from the one that made it.
/// FreeThreadPool frees heap and threads (in a forked process nothing: it has no such threads).
[[nodiscard]] ParallelRunner MakeThreadPool(int threads);

/// Ends the workers. No run may be in progress.
void FreeThreadPool(ParallelRunner& runner);

}  // namespace tenon::cpu
