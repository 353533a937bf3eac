#include "runtime/engine/one_worker_session.hpp"

#include "runtime/engine/plan_memory.hpp"

namespace tenon {

size_t OneWorkerSession::StateBytes(const OneWorkerPlan& plan) {
  const ProgramView& program = plan.program();
  return program.tensor_count() * sizeof(TensorView) + program.arena_count() * sizeof(void*);
}

void OneWorkerSession::Open(const OneWorkerPlan& plan, uint8_t* state, const ArenaMemory* arenas) {
  const ProgramView& program = plan.program();
  plan_ = &plan;
  views_ = reinterpret_cast<TensorView*>(state);
  // What follows is aligned no further than what it follows.
  static_assert(alignof(TensorView) >= alignof(void*));
  arenas_ = reinterpret_cast<void**>(views_ + program.tensor_count());
  for (size_t i = 0; i < program.arena_count(); ++i) arenas_[i] = arenas[i].base;
  plan.DescribeTensors(arenas_, views_);
}

void* OneWorkerSession::PortData(size_t port) const {
  return views_[PortAt(plan_->program(), port).tensor].data;
}

void* OneWorkerSession::Planned(size_t port) const {
  const ProgramView& program = plan_->program();
  return plan_->Address(program.tensor(PortAt(program, port).tensor), arenas_);
}

size_t OneWorkerSession::PortBytes(size_t port) const {
  const ProgramView& program = plan_->program();
  return program.storage(program.tensor_storage(PortAt(program, port).tensor)).bytes;
}

void OneWorkerSession::BindPort(size_t port, void* data) {
  const ProgramView& program = plan_->program();
  // The port is all of its storage, which other tensors may be parts of.
  uint8_t* const start = static_cast<uint8_t*>(data != nullptr ? data : Planned(port));
  const uint32_t storage = program.tensor_storage(PortAt(program, port).tensor);
  const size_t tensors = program.tensor_count();
  for (size_t i = 0; i < tensors; ++i) {
    if (program.tensor_storage(i) == storage) views_[i].data = start + program.tensor(i).offset;
  }
}

Status OneWorkerSession::Run(const RunOptions& options) {
  const OpTimer* timer = options.timer;
  KernelCall call;
  const size_t steps = plan_->program().op_count();
  for (size_t step = 0; step < steps; ++step) {
    const uint32_t op = plan_->op_at(step);
    const uint64_t start = timer != nullptr ? timer->clock_nanoseconds(timer->context) : 0;
    plan_->Prepare(op, views_, &call);
    const Status status = plan_->kernel(op).run(call);
    if (!status.ok()) return plan_->AtOp(status, op);
    if (timer != nullptr) {
      timer->record(timer->context, op, timer->clock_nanoseconds(timer->context) - start);
    }
  }
  return OkStatus();
}

}  // namespace tenon
