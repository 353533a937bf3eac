#include "runtime/engine/session.hpp"

#include "runtime/engine/memory_block.hpp"

namespace tenon {

size_t Session::StateBytes(const LoadedPlan& plan) {
  const ProgramView& program = plan.program();
  return program.tensor_count() * sizeof(TensorView) + alignof(TensorView) +
         program.op_count() * sizeof(void*) + program.arena_count() * sizeof(uint8_t*) +
         2 * alignof(void*);
}

Status Session::Open(const LoadedPlan& plan, Span<uint8_t> state, void* const* arenas) {
  const ProgramView& program = plan.program();
  MemoryBlock block(state);
  auto* tensors = block.Take<TensorView>(program.tensor_count());
  auto* states = block.Take<void*>(program.op_count());
  auto* bases = block.Take<uint8_t*>(program.arena_count());
  TENON_ENSURE(tensors != nullptr && states != nullptr && bases != nullptr, kOutOfMemory,
               "session state: {0} bytes given, {1} needed", static_cast<int64_t>(state.size()),
               static_cast<int64_t>(StateBytes(plan)));
  plan_ = &plan;
  tensors_ = Span<TensorView>(tensors, program.tensor_count());
  arenas_ = Span<uint8_t*>(bases, program.arena_count());
  for (size_t i = 0; i < arenas_.size(); ++i) {
    const ArenaInfo info = program.arena(i);
    const auto address = reinterpret_cast<uintptr_t>(arenas[i]);
    TENON_ENSURE(arenas[i] != nullptr || info.bytes == 0, kInvalidArgument,
                 "arena {0} is null: give {1} bytes", static_cast<int64_t>(i),
                 static_cast<int64_t>(info.bytes));
    TENON_ENSURE(address % info.alignment == 0, kInvalidArgument,
                 "arena {0} is misaligned: it must start at a multiple of {1}",
                 static_cast<int64_t>(i), info.alignment);
    arenas_[i] = static_cast<uint8_t*>(arenas[i]);
  }
  DescribeTensors(plan.view(), program, tensors);
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const TensorInfo info = program.tensor(i);
    const StorageInfo storage = program.storage(info.storage);
    if (storage.home == StorageHome::kArena) tensors_[i].data = ArenaBase(storage) + info.offset;
  }

  states_ = Span<void*>(states, program.op_count());
  for (size_t i = 0; i < states_.size(); ++i) {
    const BoundOp& op = plan.ops()[i];
    if (op.kernel->open == nullptr) continue;
    KernelSetup setup;
    setup.op = op.Call(tensors_.data());
    setup.threads = plan.threads();
    if (op.workspace >= 0) {
      setup.workspace_bytes =
          static_cast<size_t>(tensors_[static_cast<size_t>(op.workspace)].Elements());
    }
    if (const Status status = op.kernel->open(setup, op.shared, &states_[i]); !status.ok()) {
      return status.About(program.op(i).name);
    }
  }
  return OkStatus();
}

void Session::Close() {
  for (size_t i = 0; i < states_.size(); ++i) {
    const KernelEntry& kernel = *plan_->ops()[i].kernel;
    if (states_[i] != nullptr && kernel.close != nullptr) kernel.close(states_[i]);
    states_[i] = nullptr;
  }
  states_ = {};
}

uint8_t* Session::ArenaBase(const StorageInfo& storage) const {
  return arenas_[storage.index] + storage.offset;
}

void* Session::InputData(size_t index) const {
  return tensors_[plan_->program().input(index).tensor].data;
}

void* Session::OutputData(size_t index) const {
  return tensors_[plan_->program().output(index).tensor].data;
}

void Session::BindInput(size_t index, void* data) {
  const ProgramView& program = plan_->program();
  BindStorage(program.tensor(program.input(index).tensor).storage, data);
}

void Session::BindOutput(size_t index, void* data) {
  const ProgramView& program = plan_->program();
  BindStorage(program.tensor(program.output(index).tensor).storage, data);
}

void Session::BindStorage(uint32_t storage_index, void* data) {
  const ProgramView& program = plan_->program();
  const StorageInfo storage = program.storage(storage_index);
  uint8_t* base = data != nullptr ? static_cast<uint8_t*>(data) : ArenaBase(storage);
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const TensorInfo info = program.tensor(i);
    if (info.storage == storage_index) tensors_[i].data = base + info.offset;
  }
}

Status Session::Run(const OpTimer* timer) {
  const ProgramView& program = plan_->program();
  size_t done[kMaxWorkers] = {};
  // The plan check has proven that some worker can always go on.
  for (size_t left = plan_->ops().size(); left > 0;) {
    left = plan_->ops().size();
    for (size_t worker = 0; worker < program.worker_count(); ++worker) {
      TENON_RETURN_IF_ERROR(RunWorker(worker, done, timer));
      left -= done[worker];
    }
  }
  return OkStatus();
}

/// Runs a worker's steps as far as their waits are met by `done`, the number of steps that each
/// worker has done.
Status Session::RunWorker(size_t worker, size_t* done, const OpTimer* timer) {
  const ProgramView& program = plan_->program();
  const size_t steps = program.step_count(worker);
  for (; done[worker] < steps; ++done[worker]) {
    const size_t index = done[worker];
    const StepInfo step = program.step(worker, index);
    for (size_t i = 0; i < step.wait_count; ++i) {
      const WaitInfo wait = program.wait(worker, index, i);
      if (wait.step >= done[wait.worker]) return OkStatus();
    }
    if (const Status status = RunStep(step.op, timer); !status.ok()) {
      return status.About(program.op(step.op).name);
    }
  }
  return OkStatus();
}

Status Session::RunStep(size_t op, const OpTimer* timer) {
  if (timer == nullptr) return RunOp(op);
  const uint64_t start = timer->clock_nanoseconds(timer->context);
  TENON_RETURN_IF_ERROR(RunOp(op));
  timer->record(timer->context, op, timer->clock_nanoseconds(timer->context) - start);
  return OkStatus();
}

Status Session::RunOp(size_t index) {
  const BoundOp& op = plan_->ops()[index];
  KernelCall call;
  call.op = op.Call(tensors_.data());
  if (op.workspace >= 0) {
    const TensorView& workspace = tensors_[static_cast<size_t>(op.workspace)];
    call.workspace = workspace.data;
    call.workspace_bytes = static_cast<size_t>(workspace.Elements());
  }
  call.state = states_[index];
  call.parallel = &plan_->runner(op.backend);
  return op.kernel->run(call);
}

size_t Session::PackedBytes() const {
  size_t bytes = 0;
  for (size_t i = 0; i < states_.size(); ++i) {
    const KernelEntry& kernel = *plan_->ops()[i].kernel;
    if (kernel.held_bytes != nullptr) bytes += kernel.held_bytes(nullptr, states_[i]);
  }
  return bytes;
}

}  // namespace tenon
