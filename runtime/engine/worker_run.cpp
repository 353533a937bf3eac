#include "runtime/engine/worker_run.hpp"

#include <atomic>

#include "runtime/base/flush_subnormals.hpp"
#include "runtime/engine/memory_block.hpp"
#include "runtime/engine/take_rows.hpp"

namespace tenon {
namespace {

constexpr char kStillBusy[] =
    "the device still works on an earlier run: run again later, or open another session";
constexpr char kNotUsedAnyMore[] =
    "the device failed or did not answer and is not used any more: load again, or "
    "convert it with --fallback";

/// Signals that one run makes: per segment what it writes for others, and its end.
size_t CountSignals(const LoadedPlan& plan, size_t worker) {
  size_t count = 0;
  for (size_t s = 0; s < plan.program().segment_count(); ++s) {
    const SegmentInfo segment = plan.program().segment(s);
    if (segment.ops.empty()) continue;
    const BoundOp& op = plan.ops()[segment.ops[0]];
    if (op.worker == worker && plan.IsDevice(op.backend)) count += segment.writes.size() + 1;
  }
  return count;
}

bool Contains(Span<const int32_t> outputs, uint32_t tensor) {
  for (const int32_t output : outputs) {
    if (output == static_cast<int32_t>(tensor)) return true;
  }
  return false;
}

}  // namespace

size_t WorkerRun::StateBytes(const LoadedPlan& plan, size_t worker) {
  const size_t forms = plan.fallback_ops().empty() ? 1 : 2;
  return forms * plan.program().step_count(worker) * sizeof(void*) +
         CountSignals(plan, worker) * sizeof(DeviceQueue::Signal) + alignof(void*) +
         alignof(DeviceQueue::Signal);
}

Status WorkerRun::Open(const LoadedPlan& plan, size_t worker, const Addresses& addresses,
                       Span<uint8_t> state) {
  const size_t steps = plan.program().step_count(worker);
  const size_t signals = CountSignals(plan, worker);
  const bool has_fallback = !plan.fallback_ops().empty();
  MemoryBlock block(state);
  auto** states = block.Take<void*>(steps);
  auto** fallback_states = has_fallback ? block.Take<void*>(steps) : states;
  auto* room = block.Take<DeviceQueue::Signal>(signals);
  TENON_ENSURE(states != nullptr && fallback_states != nullptr && room != nullptr, kOutOfMemory,
               "state of a worker: {0} bytes given, {1} needed", static_cast<int64_t>(state.size()),
               static_cast<int64_t>(StateBytes(plan, worker)));
  plan_ = &plan;
  addresses_ = &addresses;
  worker_ = worker;
  steps_ = steps;
  ReadSteps();
  states_ = Span<void*>(states, steps);
  if (has_fallback) fallback_states_ = Span<void*>(fallback_states, steps);
  for (size_t step = 0; step < steps && !has_device_; ++step) {
    const size_t backend = plan.ops()[OpAt(step)].backend;
    if (!plan.IsDevice(backend)) continue;
    has_device_ = true;
    backend_ = backend;
    const Status status = queue_.Open(*plan.backend(backend)->device, plan.device(backend),
                                      addresses.arenas(), Span<DeviceQueue::Signal>(room, signals));
    if (!status.ok()) TENON_RETURN_IF_ERROR(GiveUpDevice(status.In(plan.backend(backend)->name)));
  }
  TENON_RETURN_IF_ERROR(OpenGroups());
  return OpenKernels();
}

Status WorkerRun::OpenGroups() {
  for (size_t step = 0; step < steps_ && unusable_.ok(); ++step) {
    const BoundOp& op = plan_->ops()[OpAt(step)];
    if (op.group_size < 2 || plan_->group(op.group) == nullptr) continue;
    const Status status = queue_.OpenGroup(plan_->group(op.group));
    if (!status.ok()) TENON_RETURN_IF_ERROR(GiveUpDevice(Failure(status, step)));
  }
  return OkStatus();
}

/// Gives up the device for the rest of this object's life. Returns `reason` if it cannot.
Status WorkerRun::GiveUpDevice(const Status& reason) {
  if (!HasFallback()) return reason;
  unusable_ = reason;
  is_reported_ = false;
  return OkStatus();
}

Status WorkerRun::OpenKernels() {
  const auto open = [&](const BoundOp& op, void** state, uint32_t index) {
    KernelSetup setup = plan_->SetupOf(op, addresses_->planned());
    if (plan_->IsDevice(op.backend)) setup.queue = queue_.queue();
    return op.kernel->open(setup, op.shared, state).About(plan_->program().op(index).name);
  };
  for (size_t step = 0; step < steps_; ++step) {
    const uint32_t index = OpAt(step);
    const BoundOp& op = plan_->ops()[index];
    const bool is_of_device = plan_->IsDevice(op.backend);
    if (op.kernel != nullptr && op.kernel->open != nullptr && (!is_of_device || unusable_.ok())) {
      const Status status = open(op, &states_[step], index);
      if (!status.ok() && !is_of_device) return status;
      if (!status.ok()) TENON_RETURN_IF_ERROR(GiveUpDevice(Failure(status, step)));
    }
    if (!HasFallback()) continue;
    const BoundOp& fallback = plan_->fallback_ops()[index];
    if (fallback.kernel == nullptr || fallback.kernel->open == nullptr) continue;
    TENON_RETURN_IF_ERROR(open(fallback, &fallback_states_[step], index));
  }
  return OkStatus();
}

bool WorkerRun::Close() {
  if (HasDevice() && !queue_.Close()) return false;  // its kernels may be at work, too
  const auto close = [](const BoundOp& op, void*& state) {
    if (state != nullptr && op.kernel->close != nullptr) op.kernel->close(state);
    state = nullptr;
  };
  for (size_t step = 0; step < states_.size(); ++step) {
    close(plan_->ops()[OpAt(step)], states_[step]);
    if (HasFallback()) close(plan_->fallback_ops()[OpAt(step)], fallback_states_[step]);
  }
  states_ = {};
  fallback_states_ = {};
  return true;
}

/// What runs would ask of the plan again and again. A network of small ops takes microseconds.
void WorkerRun::ReadSteps() {
  is_numbered_by_step_ = false;
  first_piece_end_ = 0;
  if (steps_ == 0) return;
  first_op_ = OpAt(0);
  bool by_step = true;
  for (size_t step = 0; step < steps_; ++step) by_step &= OpAt(step) == first_op_ + step;
  is_numbered_by_step_ = by_step;
  first_piece_end_ = PieceEnd(0);
}

uint32_t WorkerRun::OpAt(size_t step) const {
  if (is_numbered_by_step_) return first_op_ + static_cast<uint32_t>(step);
  return plan_->program().step(worker_, step).op;
}

/// One behind the last step of the piece that begins at `first`. On the CPU it ends with a step
/// that another worker waits for, who may then go on at once.
size_t WorkerRun::PieceEnd(size_t first) const {
  if (first == 0 && first_piece_end_ != 0) return first_piece_end_;
  const uint32_t segment = plan_->ops()[OpAt(first)].segment;
  size_t end = first + plan_->ops()[OpAt(first)].group_size;
  while (end < steps_) {
    const StepInfo step = plan_->program().step(worker_, end);
    if (step.wait_count > 0 || plan_->ops()[step.op].segment != segment) break;
    const BoundOp& last = plan_->ops()[OpAt(end - 1)];
    if (last.is_awaited && !plan_->IsDevice(last.backend)) break;
    end += plan_->ops()[step.op].group_size;
  }
  return end;
}

size_t WorkerRun::done() const {
  return HasDevice() && queue_.done() < device_end_ ? queue_.done() : started_;
}

bool WorkerRun::IsDeviceNext() const {
  return HasDevice() && !on_host_ && !all_started() &&
         plan_->IsDevice(plan_->ops()[OpAt(started_)].backend);
}

Status WorkerRun::Begin(const RunOptions& options) {
  options_ = options;
  started_ = 0;
  device_end_ = 0;
  on_host_ = false;
  if (!HasDevice()) return OkStatus();
  const char* name = plan_->backend(backend_)->name;
  if (queue_.IsHere() && !queue_.TryToQuieten()) {
    return Status(StatusCode::kDeadlineExceeded, kStillBusy).In(name);
  }
  queue_.Reset();
  if (unusable_.ok() && !queue_.IsHere()) {
    TENON_RETURN_IF_ERROR(
        GiveUpDevice(Status(StatusCode::kFailedPrecondition, kOtherProcess).In(name)));
  }
  if (unusable_.ok() && (queue_.is_broken() || plan_->IsQuarantined(backend_))) {
    TENON_RETURN_IF_ERROR(
        GiveUpDevice(Status(StatusCode::kBackendFailure, kNotUsedAnyMore).In(name)));
  }
  on_host_ = !unusable_.ok();
  if (on_host_ && !is_reported_) Notify(unusable_);
  return OkStatus();
}

Status WorkerRun::StartPiece() {
  const size_t end = PieceEnd(started_);
  if (IsDeviceNext()) return RunOnDevice(end);
  // The CPU's turn in a worker that has both: the worker's order holds for the device too.
  if (done() < started_) TENON_RETURN_IF_ERROR(WaitFor(started_ - 1));
  return RunOnHost(end);
}

Status WorkerRun::RunOnHost(size_t end) {
  const FlushSubnormals flush;
  for (; started_ < end; ++started_) {
    const uint32_t index = OpAt(started_);
    const BoundOp* op = &plan_->ops()[index];
    void* state = states_[started_];
    const bool is_of_device = plan_->IsDevice(op->backend);
    if (op->group_size > 1 && !is_of_device && options_.timer == nullptr &&
        RunnerOf(*op).threads > 1) {
      TENON_RETURN_IF_ERROR(RunGroup(op->group_size));
      started_ += op->group_size - 1U;
      continue;
    }
    if (is_of_device) {
      op = &plan_->fallback_ops()[index];
      state = fallback_states_[started_];
      if (op->kernel == nullptr) return Failure(unusable_, started_);
    }
    const Status status = Timed(*op, state, addresses_->host(), index);
    if (!status.ok()) return status.About(plan_->program().op(index).name);
  }
  return OkStatus();
}

/// Runs the next `size` steps, which do not depend on each other, on the threads of their backend:
/// each takes the next step that nobody has taken. Kernels that would share an op among threads
/// find them busy, and do it on one.
Status WorkerRun::RunGroup(size_t size) {
  std::atomic<bool> has_failed{false};
  Status failure;
  ParallelFor(&RunnerOf(plan_->ops()[OpAt(started_)]), static_cast<int>(size),
              [&](int begin, int end) {
                for (int i = begin; i < end; ++i) {
                  const size_t step = started_ + static_cast<size_t>(i);
                  const uint32_t index = OpAt(step);
                  const BoundOp& op = plan_->ops()[index];
                  const Status status = Timed(op, states_[step], addresses_->host(), index);
                  if (status.ok() || has_failed.exchange(true)) continue;
                  failure = status.About(plan_->program().op(index).name);
                }
              });
  return failure;
}

Status WorkerRun::RunOnDevice(size_t end) {
  const size_t first = started_;
  const bool has_fallback = HasFallback() && plan_->fallback_ops()[OpAt(first)].kernel != nullptr;
  if (done() == first) queue_.SkipTo(first);
  Status status = Enqueue(end);
  if (status.ok()) {
    started_ = end;
    device_end_ = end;
    // What fails later could not be run again: the next piece may overwrite what this one reads.
    if (has_fallback) status = queue_.WaitFor(end - 1, options_.deadline);
    if (status.ok()) return status;
  }
  const Status failure = Failure(status, started_ == end ? end - 1 : started_);
  Abandon();
  if (status.code() == StatusCode::kDeadlineExceeded) plan_->Quarantine(backend_);
  if (!has_fallback || queue_.is_busy()) return failure;
  started_ = first;
  device_end_ = 0;  // all pieces before this one are done
  on_host_ = true;
  Notify(failure);
  return RunOnHost(end);
}

/// On an error, `started_` is the step that it is about.
Status WorkerRun::Enqueue(size_t end) {
  const size_t first = started_;
  const size_t segment_index = plan_->ops()[OpAt(first)].segment;
  const SegmentInfo segment = plan_->program().segment(segment_index);
  void* const code = plan_->code(segment_index);
  const auto shared = [&](uint32_t tensor) {
    return SharedTensor{&addresses_->planned()[tensor], addresses_->host()[tensor].data};
  };
  TENON_RETURN_IF_ERROR(queue_.Start());
  for (const uint32_t tensor : segment.reads) TENON_RETURN_IF_ERROR(queue_.Upload(shared(tensor)));
  if (code != nullptr) {
    queue_.SetEnqueued(end);
    TENON_RETURN_IF_ERROR(EnqueueCode(segment_index, code));
  }
  size_t written = 0;
  bool is_end_awaited = false;
  size_t group_end = first;  // up to which all is enqueued
  for (; started_ < end; ++started_) {
    const uint32_t index = OpAt(started_);
    const BoundOp& op = plan_->ops()[index];
    if (code == nullptr && op.group_size > 1 && options_.timer == nullptr &&
        plan_->group(op.group) != nullptr) {
      group_end = started_ + op.group_size;
      TENON_RETURN_IF_ERROR(EnqueueGroup(plan_->group(op.group), group_end));
    } else if (code == nullptr && started_ >= group_end) {
      queue_.SetEnqueued(started_ + 1);
      TENON_RETURN_IF_ERROR(Timed(op, states_[started_], addresses_->planned(), index));
    }
    is_end_awaited |= op.is_awaited;
    for (; written < segment.writes.size() && Contains(op.outputs, segment.writes[written]);
         ++written) {
      TENON_RETURN_IF_ERROR(queue_.AddSignal(shared(segment.writes[written]), started_));
      is_end_awaited = false;
    }
  }
  started_ = end - 1;
  if (is_end_awaited) TENON_RETURN_IF_ERROR(queue_.AddSignal(SharedTensor{}, started_));
  TENON_RETURN_IF_ERROR(queue_.Submit());
  started_ = first;
  return OkStatus();
}

/// Enqueues the ops from the next one to `end` as one launch.
Status WorkerRun::EnqueueGroup(void* group, size_t end) {
  queue_.SetEnqueued(end);
  TENON_RETURN_IF_ERROR(queue_.BeginGroup(group));
  for (size_t step = started_; step < end; ++step) {
    const uint32_t index = OpAt(step);
    const Status status = Timed(plan_->ops()[index], states_[step], addresses_->planned(), index);
    if (status.ok()) continue;
    static_cast<void>(queue_.EndGroup());  // the reason is that of the op
    return status;
  }
  return queue_.EndGroup();
}

/// Enqueues all ops of a segment at once. With a timer, waits for them too; the time counts as that
/// of the first.
Status WorkerRun::EnqueueCode(size_t segment, void* code) {
  void* bases[kMaxCodeWindows] = {};
  const size_t count = plan_->program().segment_code(segment).relocation_count;
  for (size_t i = 0; i < count; ++i) {
    const RelocationInfo window = plan_->program().segment_relocation(segment, i);
    if (window.home != StorageHome::kArena) continue;
    bases[i] = addresses_->InUse(window.index, window.offset);
  }
  const OpTimer* timer = options_.timer;
  const uint64_t start = timer == nullptr ? 0 : timer->clock_nanoseconds(timer->context);
  TENON_RETURN_IF_ERROR(queue_.RunCode(code, Span<void* const>(bases, count)));
  if (timer == nullptr) return OkStatus();
  TENON_RETURN_IF_ERROR(queue_.Drain(options_.deadline));
  const uint64_t end = timer->clock_nanoseconds(timer->context);
  const SegmentInfo info = plan_->program().segment(segment);
  if (options_.shows_tensors) TENON_RETURN_IF_ERROR(ShowWhatLeaves(info));
  timer->record(timer->context, info.ops[0], end - start);
  return OkStatus();
}

const ParallelRunner& WorkerRun::RunnerOf(const BoundOp& op) const {
  return runners_ != nullptr ? runners_[op.backend] : plan_->runner(op.backend);
}

/// Executes or enqueues one op, unless its condition is not met. With a timer, waits for it too.
Status WorkerRun::Timed(const BoundOp& op, void* state, const TensorView* tensors, uint32_t index) {
  if (op.condition.IsGiven() && !op.condition.IsMet(tensors[op.condition.tensor].data)) {
    return OkStatus();
  }
  KernelCall call;
  call.op = op.Call(tensors);
  if (op.workspace >= 0) {
    const TensorView& workspace = tensors[static_cast<size_t>(op.workspace)];
    call.workspace = workspace.data;
    call.workspace_bytes = static_cast<size_t>(workspace.Elements());
  }
  call.state = state;
  call.parallel = &RunnerOf(op);
  const bool is_of_device = plan_->IsDevice(op.backend);
  if (is_of_device) call.queue = queue_.queue();
  if (TakesRows(call.op, op.kernel->row->kind)) {
    return TakeRows(plan_->program(), index, call.op, options_.rows);
  }
  const OpTimer* timer = options_.timer;
  if (timer == nullptr) return op.kernel->run(call);
  const uint64_t start = timer->clock_nanoseconds(timer->context);
  TENON_RETURN_IF_ERROR(op.kernel->run(call));
  if (is_of_device) TENON_RETURN_IF_ERROR(queue_.Drain(options_.deadline));
  const uint64_t end = timer->clock_nanoseconds(timer->context);
  if (is_of_device && options_.shows_tensors) TENON_RETURN_IF_ERROR(ShowOutputs(op));
  timer->record(timer->context, index, end - start);
  return OkStatus();
}

Status WorkerRun::ShowOutputs(const BoundOp& op) {
  for (const int32_t output : op.outputs) {
    if (output >= 0) TENON_RETURN_IF_ERROR(ShowTensor(static_cast<uint32_t>(output)));
  }
  return OkStatus();
}

/// What ops outside a segment read: the rest may never leave the device's own memory.
Status WorkerRun::ShowWhatLeaves(const SegmentInfo& segment) {
  for (const uint32_t tensor : segment.writes) TENON_RETURN_IF_ERROR(ShowTensor(tensor));
  const uint32_t own = plan_->ops()[segment.ops[0]].segment;
  for (const BoundOp& reader : plan_->ops()) {
    if (reader.segment == own) continue;
    for (const int32_t input : reader.inputs) {
      bool is_ours = false;
      for (const uint32_t op : segment.ops) {
        is_ours |= input >= 0 && Contains(plan_->ops()[op].outputs, static_cast<uint32_t>(input));
      }
      if (is_ours) TENON_RETURN_IF_ERROR(ShowTensor(static_cast<uint32_t>(input)));
    }
  }
  return OkStatus();
}

/// Where the host has it: what the plan gives others at the end of the segment goes there too.
Status WorkerRun::ShowTensor(uint32_t tensor) {
  const SharedTensor shared{&addresses_->planned()[tensor], addresses_->host()[tensor].data};
  return queue_.Show(shared, options_.deadline);
}

Status WorkerRun::WaitFor(size_t step) {
  if (!HasDevice() || step >= device_end_ || step < queue_.done()) return OkStatus();
  const Status status = queue_.WaitFor(step, options_.deadline);
  if (status.ok()) return status;
  if (status.code() == StatusCode::kDeadlineExceeded) plan_->Quarantine(backend_);
  return Failure(status, step);
}

Status WorkerRun::Finish() { return started_ == 0 ? OkStatus() : WaitFor(started_ - 1); }

void WorkerRun::Abandon() {
  if (!queue_.is_open()) return;
  const Status status = queue_.Quieten(options_.deadline);
  if (status.code() == StatusCode::kDeadlineExceeded) plan_->Quarantine(backend_);
}

Status WorkerRun::Failure(const Status& reason, size_t step) const {
  return reason.In(plan_->program().op(OpAt(step)).name).In(plan_->backend(backend_)->name);
}

void WorkerRun::Notify(const Status& failure) {
  is_reported_ = true;
  if (sink_.report != nullptr) sink_.report(sink_.context, failure);
}

size_t WorkerRun::HeldBytes() const {
  size_t bytes = HasDevice() ? queue_.HeldBytes() : 0;
  const auto count = [&](const BoundOp& op, const void* state) {
    if (op.kernel != nullptr && op.kernel->held_bytes != nullptr) {
      bytes += op.kernel->held_bytes(nullptr, state);
    }
  };
  for (size_t step = 0; step < states_.size(); ++step) {
    count(plan_->ops()[OpAt(step)], states_[step]);
    if (HasFallback()) count(plan_->fallback_ops()[OpAt(step)], fallback_states_[step]);
  }
  return bytes;
}

}  // namespace tenon
