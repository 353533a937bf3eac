// The team of threads that our kernels and oneDNN share.
//
// libgomp keeps one team per thread that starts parallel regions, so a session that always runs on
// one thread finds its team again, whichever of the two asks: nothing fights for the processor.
//
// Between regions libgomp's threads spin before they sleep: with its defaults for about 10 ms of
// processor time after a run, and a spinning thread that is preempted holds up the next region (on
// two cores with other work, measured: 20 ms to wake the team, against 0.02 ms without spinning).
// The spinning is set in the environment before the program starts. On a processor that is not
// Tenon's alone, set GOMP_SPINCOUNT=1000 (regions that follow each other still start in 4 us, an
// idle session uses nothing) or OMP_WAIT_POLICY=passive (9 us).
#pragma once

#include "runtime/backend_api/parallel.hpp"
#include "runtime/base/status.hpp"

namespace tenon::cpu {

/// A runner on at most `threads` threads (at least 1). Owns nothing.
[[nodiscard]] ParallelRunner MakeOpenMpRunner(int threads);

/// Makes the calling thread's later parallel regions, oneDNN's too, use as many threads as
/// `runner`.
Status BeginOpenMpRun(const ParallelRunner& runner);

}  // namespace tenon::cpu
