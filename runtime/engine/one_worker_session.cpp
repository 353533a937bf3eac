#include "runtime/engine/one_worker_session.hpp"

namespace tenon {

size_t OneWorkerSession::StateBytes(const OneWorkerPlan& plan) {
  const ProgramView& program = plan.program();
  const size_t ports = program.input_count() + program.output_count();
  return program.arena_count() * sizeof(void*) + ports * sizeof(BoundPort) + alignof(BoundPort) +
         OperandRoom::Bytes(program);
}

Status OneWorkerSession::Open(const OneWorkerPlan& plan, Span<uint8_t> state,
                              const ArenaMemory* arenas) {
  const ProgramView& program = plan.program();
  const size_t inputs = program.input_count();
  const size_t ports = inputs + program.output_count();
  MemoryBlock block(state);
  places_.arenas = {block.TakeUnset<void*>(program.arena_count()), program.arena_count()};
  places_.ports = {block.TakeUnset<BoundPort>(ports), ports};
  room_ = OperandRoom::Take(program, block);
  TENON_ENSURE(
      places_.arenas.data() != nullptr && places_.ports.data() != nullptr && room_.ids != nullptr,
      kOutOfMemory, "the session's state is too small");
  plan_ = &plan;
  for (size_t i = 0; i < places_.arenas.size(); ++i) places_.arenas[i] = arenas[i].base;
  for (size_t i = 0; i < ports; ++i) {
    const PortInfo port = i < inputs ? program.input(i) : program.output(i - inputs);
    places_.ports[i] = {nullptr, program.tensor(port.tensor).storage};
  }
  return OkStatus();
}

void* OneWorkerSession::PortData(size_t port) const {
  const uint32_t storage = places_.ports[port].storage;
  return places_.Find(storage, plan_->program().storage(storage));
}

void OneWorkerSession::Bind(size_t port, void* data) {
  void*& bound = places_.ports[port].data;
  places_.bound += static_cast<size_t>(data != nullptr) - static_cast<size_t>(bound != nullptr);
  bound = data;
}

bool OneWorkerSession::IsBound(uint32_t tensor) const {
  const uint32_t storage = plan_->program().tensor(tensor).storage;
  for (const BoundPort& port : places_.ports) {
    if (port.storage == storage) return port.data != nullptr;
  }
  return false;
}

Status OneWorkerSession::Run(const RunOptions& options) {
  const ProgramView& program = plan_->program();
  const OpTimer* timer = options.timer;
  for (size_t step = 0; step < program.step_count(0); ++step) {
    const uint32_t op = program.step(0, step).op;
    const uint64_t start = timer != nullptr ? timer->clock_nanoseconds(timer->context) : 0;
    const Status status = RunOp(op);
    if (!status.ok()) return status.About(program.op(op).name).AtOp(op);
    if (timer != nullptr) {
      timer->record(timer->context, op, timer->clock_nanoseconds(timer->context) - start);
    }
  }
  return OkStatus();
}

Status OneWorkerSession::RunOp(size_t op) const {
  const DescribedOp described = plan_->Describe(op, &places_, room_);
  KernelCall call;
  call.op = described.call;
  call.workspace = described.workspace;
  call.workspace_bytes = described.workspace_bytes;
  return plan_->kernel(op).run(call);
}

}  // namespace tenon
