#include "runtime/engine/one_worker_session.hpp"

#include "runtime/engine/plan_memory.hpp"
#include "runtime/engine/take_rows.hpp"

namespace tenon {

size_t OneWorkerSession::StateBytes(const OneWorkerPlan& plan) {
  const ProgramView& program = plan.program();
  return kOperandRoomBytes * plan.most_operands() + kStateBytesPerArena * program.arena_count() +
         kStateBytesPerPort * PortCount(program);
}

void OneWorkerSession::Open(const OneWorkerPlan& plan, uint8_t* state, const ArenaMemory* arenas) {
  const ProgramView& program = plan.program();
  plan_ = &plan;
  // What follows is aligned no further than what it follows.
  static_assert(alignof(BoundStorage) >= alignof(uint8_t*) &&
                alignof(uint8_t*) >= alignof(TensorView));
  bound_ = reinterpret_cast<BoundStorage*>(state);
  const size_t ports = PortCount(program);
  for (size_t i = 0; i < ports; ++i) {
    bound_[i] = {nullptr, program.tensor_storage(PortAt(program, i).tensor)};
  }
  auto** const starts = reinterpret_cast<uint8_t**>(bound_ + ports);
  const size_t count = program.arena_count();
  for (size_t i = 0; i < count; ++i) starts[i] = static_cast<uint8_t*>(arenas[i].base);
  reader_.program = program;
  reader_.memory = {{starts, plan.sections()}, {}};
  reader_.room = RoomAt(reinterpret_cast<uint8_t*>(starts + count), plan.most_operands());
  reader_.Open();
  ResetStates();
}

void OneWorkerSession::ResetStates() {
  tenon::ResetStates(plan_->program(),
                     [this](uint32_t storage) { return reader_.PlaceOf(storage); });
}

void* OneWorkerSession::PortData(size_t port) const {
  return reader_.PlaceOf(bound_[port].storage);
}

size_t OneWorkerSession::PortBytes(size_t port) const {
  return plan_->program().storage(bound_[port].storage).bytes;
}

void OneWorkerSession::BindPort(size_t port, void* data) {
  bound_[port].data = static_cast<uint8_t*>(data);
  // Nobody looks at them before one is bound.
  reader_.memory.bound = {bound_, PortCount(plan_->program())};
}

Status OneWorkerSession::Run(const RunOptions& options) {
  const OpTimer* timer = options.timer;
  KernelCall call;
  const size_t steps = plan_->program().op_count();
  for (size_t step = 0; step < steps; ++step) {
    const uint32_t op = plan_->program().step_op(0, step);
    const uint64_t start = timer != nullptr ? timer->clock_nanoseconds(timer->context) : 0;
    const Span<uint8_t> workspace = reader_.Read(op, &call.op);
    call.workspace = workspace.data();
    call.workspace_bytes = workspace.size();
    const KernelEntry& kernel = plan_->kernel(op);
    const Status status = kHasInputRows && TakesRows(call.op, kernel.row->kind)
                              ? TakeRows(plan_->program(), op, call.op, options.rows)
                              : kernel.run(call);
    if (!status.ok()) return plan_->AtOp(status, op);
    if (timer != nullptr) {
      timer->record(timer->context, op, timer->clock_nanoseconds(timer->context) - start);
    }
  }
  KeepStates(plan_->program(), [this](uint32_t storage) { return reader_.PlaceOf(storage); });
  return OkStatus();
}

}  // namespace tenon
