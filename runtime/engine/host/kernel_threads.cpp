#include "runtime/engine/host/kernel_threads.hpp"

namespace tenon {

KernelThreads::~KernelThreads() {
  for (size_t i = 0; plan_ != nullptr && i <= kMaxBackends; ++i) {
    const Backend* backend = plan_->backend(i);
    if (backend != nullptr && backend->free_runner != nullptr) backend->free_runner(runners_[i]);
  }
}

void KernelThreads::Make(const LoadedPlan& plan) {
  plan_ = &plan;
  for (size_t i = 0; i <= kMaxBackends; ++i) {
    const Backend* backend = plan.backend(i);
    if (backend == nullptr || backend->make_runner == nullptr) continue;
    runners_[i] = backend->make_runner(plan.threads());
  }
}

}  // namespace tenon
