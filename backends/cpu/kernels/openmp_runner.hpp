// The team of threads that our kernels and oneDNN share.
//
// libgomp keeps one team per thread that starts parallel regions, so a session that always runs on
// one thread finds its team again, whichever of the two asks: nothing fights for the processor.
// Between two regions the team's threads spin, for a few milliseconds at most with libgomp's
// defaults, and then sleep, so an idle session uses no processor time; a program that runs next to
// busy neighbours sets OMP_WAIT_POLICY=passive in its environment before it starts.
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
