#include "backends/cpu/kernels/openmp_runner.hpp"

#include <omp.h>

#include <cstdint>

namespace tenon::cpu {
namespace {

void Run(const ParallelRunner& runner, int count, void (*body)(void*, int, int), void* context) {
  const int team = runner.threads < count ? runner.threads : count;
#pragma omp parallel num_threads(team)
  {
    // The team may turn out smaller than asked for (nested regions, OMP_THREAD_LIMIT).
    const int64_t parts = omp_get_num_threads();
    const int64_t part = omp_get_thread_num();
    const auto begin = static_cast<int>(count * part / parts);
    const auto end = static_cast<int>(count * (part + 1) / parts);
    if (begin < end) body(context, begin, end);
  }
}

}  // namespace

ParallelRunner MakeOpenMpRunner(int threads) {
  ParallelRunner runner;
  runner.threads = threads > 1 ? threads : 1;
  runner.run = Run;
  return runner;
}

Status BeginOpenMpRun(const ParallelRunner& runner) {
  omp_set_num_threads(runner.threads);
  return OkStatus();
}

}  // namespace tenon::cpu
