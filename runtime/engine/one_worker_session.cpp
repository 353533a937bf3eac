#include "runtime/engine/one_worker_session.hpp"

#include "runtime/engine/plan_memory.hpp"

namespace tenon {

size_t OneWorkerSession::StateBytes(const OneWorkerPlan& plan) {
  const ProgramView& program = plan.program();
  return program.arena_count() * sizeof(void*) + PortCount(program) * sizeof(BoundPort) +
         OperandRoom::Bytes(program);
}

void OneWorkerSession::Open(const OneWorkerPlan& plan, uint8_t* state, const ArenaMemory* arenas) {
  const ProgramView& program = plan.program();
  const size_t ports = PortCount(program);
  plan_ = &plan;
  places_.arenas = {reinterpret_cast<void**>(state), program.arena_count()};
  // What follows is aligned no further than what it follows.
  static_assert(alignof(void*) >= alignof(BoundPort) && alignof(BoundPort) >= alignof(TensorView) &&
                alignof(TensorView) >= alignof(int32_t));
  places_.ports = {reinterpret_cast<BoundPort*>(places_.arenas.end()), ports};
  room_ = OperandRoom::At(places_.ports.end(), program);
  for (size_t i = 0; i < places_.arenas.size(); ++i) places_.arenas[i] = arenas[i].base;
  for (size_t i = 0; i < ports; ++i) {
    places_.ports[i] = {nullptr, program.tensor(PortAt(program, i).tensor).storage};
  }
}

void* OneWorkerSession::PortData(size_t port) const {
  const uint32_t storage = places_.ports[port].storage;
  return places_.Find(storage, plan_->program().storage(storage));
}

size_t OneWorkerSession::PortBytes(size_t port) const {
  return plan_->program().storage(places_.ports[port].storage).bytes;
}

void OneWorkerSession::BindPort(size_t port, void* data) {
  void*& bound = places_.ports[port].data;
  places_.bound += static_cast<size_t>(data != nullptr) - static_cast<size_t>(bound != nullptr);
  bound = data;
}

Status OneWorkerSession::Run(const RunOptions& options) {
  const ProgramView& program = plan_->program();
  const OpTimer* timer = options.timer;
  for (size_t step = 0; step < program.step_count(0); ++step) {
    const uint32_t op = program.step(0, step).op;
    const uint64_t start = timer != nullptr ? timer->clock_nanoseconds(timer->context) : 0;
    const Status status = RunOp(op);
    if (!status.ok()) return plan_->AtOp(status, op);
    if (timer != nullptr) {
      timer->record(timer->context, op, timer->clock_nanoseconds(timer->context) - start);
    }
  }
  return OkStatus();
}

Status OneWorkerSession::RunOp(size_t op) const {
  const DescribedOp described = plan_->Describe(op, &places_, room_);
  return plan_->kernel(op).run(described.call);
}

}  // namespace tenon
