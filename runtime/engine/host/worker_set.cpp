#include "runtime/engine/host/worker_set.hpp"

#include <new>

namespace tenon {
namespace {

constexpr size_t kStateAlignment = 64;

Status Allocate(HostMemory& memory, size_t bytes) {
  TENON_ENSURE(memory.Allocate(bytes, kStateAlignment), kOutOfMemory,
               "no memory for a worker's state of {0} bytes", static_cast<int64_t>(bytes));
  return OkStatus();
}

}  // namespace

WorkerSet::~WorkerSet() {
  for (size_t i = 0; i < count_; ++i) {
    if (!workers_[i].is_open || workers_[i].run.Close()) continue;
    arenas_.Leak();
    workers_[i].state.Leak();
  }
}

Status WorkerSet::Open(const LoadedPlan& plan, bool is_first, bool kernel_threads) {
  TENON_RETURN_IF_ERROR(arenas_.Allocate(plan));
  const size_t count = plan.program().worker_count();
  workers_.reset(new (std::nothrow) Worker[count]());
  TENON_ENSURE(workers_ != nullptr, kOutOfMemory, "no memory for {0} workers",
               static_cast<int64_t>(count));
  count_ = count;
  for (size_t i = 0; i < count; ++i) {
    Worker& worker = workers_[i];
    const size_t stage = plan.stage_of_worker(i);
    if (stage == i) {
      TENON_RETURN_IF_ERROR(Allocate(worker.addresses_state, Addresses::StateBytes(plan)));
      TENON_RETURN_IF_ERROR(
          worker.addresses.Open(plan, arenas_.bases(), worker.addresses_state.bytes()));
    }
    TENON_RETURN_IF_ERROR(Allocate(worker.state, WorkerRun::StateBytes(plan, i)));
    worker.is_open = true;  // Close is due even where Open fails
    TENON_RETURN_IF_ERROR(worker.run.Open(plan, i, addresses(stage), worker.state.bytes()));
    const bool has_own = kernel_threads && plan.threads() > 1 && (i > 0 || !is_first);
    if (has_own) worker.kernel_threads.Make(plan);
    worker.run.SetRunners(worker.kernel_threads.runners());
  }
  return OkStatus();
}

void WorkerSet::SetNoticeSink(const NoticeSink& sink) {
  for (size_t i = 0; i < count_; ++i) workers_[i].run.SetNoticeSink(sink);
}

size_t WorkerSet::OtherBytes() const {
  size_t bytes = count_ * sizeof(Worker);
  for (size_t i = 0; i < count_; ++i) {
    const Worker& worker = workers_[i];
    bytes += worker.state.bytes().size() + worker.addresses_state.bytes().size() +
             worker.run.HeldBytes();
  }
  return bytes;
}

void BindPorts(const StreamRequest& request, Addresses& addresses) {
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    // The plan check has proven that no op writes to an input's storage.
    addresses.BindInput(i, const_cast<void*>(request.inputs[i]));
  }
  for (size_t i = 0; i < request.outputs.size(); ++i) addresses.BindOutput(i, request.outputs[i]);
}

}  // namespace tenon
