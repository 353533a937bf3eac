#include "runtime/engine/session.hpp"

#include "runtime/base/round_up.hpp"
#include "runtime/engine/memory_block.hpp"
#include "runtime/engine/plan_memory.hpp"

namespace tenon {
namespace {

/// What the memory of a part is counted in.
struct alignas(std::max_align_t) Unit {
  uint8_t bytes[alignof(std::max_align_t)];
};

}  // namespace

size_t Session::StateBytes(const LoadedPlan& plan) {
  const size_t workers = plan.program().worker_count();
  size_t bytes = RoundUp(workers * sizeof(WorkerRun), sizeof(Unit)) +
                 RoundUp(Addresses::StateBytes(plan), sizeof(Unit));
  for (size_t i = 0; i < workers; ++i)
    bytes += RoundUp(WorkerRun::StateBytes(plan, i), sizeof(Unit));
  return bytes + sizeof(Unit);
}

Status Session::Open(const LoadedPlan& plan, Span<uint8_t> state, const ArenaMemory* arenas) {
  const size_t workers = plan.program().worker_count();
  MemoryBlock block(state);
  auto* runs = block.Take<WorkerRun>(workers);
  const auto part = [&](size_t bytes) {
    auto* units = block.Take<Unit>(RoundUp(bytes, sizeof(Unit)) / sizeof(Unit));
    return Span<uint8_t>(reinterpret_cast<uint8_t*>(units),
                         units == nullptr ? 0 : RoundUp(bytes, sizeof(Unit)));
  };
  TENON_ENSURE(runs != nullptr, kOutOfMemory, "session state: {0} bytes given, {1} needed",
               static_cast<int64_t>(state.size()), static_cast<int64_t>(StateBytes(plan)));
  plan_ = &plan;
  workers_ = Span<WorkerRun>(runs, workers);
  TENON_RETURN_IF_ERROR(addresses_.Open(plan, arenas, part(Addresses::StateBytes(plan))));
  for (size_t i = 0; i < workers; ++i) {
    TENON_RETURN_IF_ERROR(runs[i].Open(plan, i, addresses_, part(WorkerRun::StateBytes(plan, i))));
  }
  ResetStates();
  return OkStatus();
}

bool Session::Close() {
  bool is_closed = true;
  for (WorkerRun& run : workers_) is_closed &= run.Close();
  return is_closed;
}

bool Session::IsBusy() {
  bool is_busy = false;
  for (WorkerRun& run : workers_) is_busy |= run.IsBusy();
  return is_busy;
}

void* Session::InputData(size_t index) const {
  return addresses_.host()[plan_->program().input(index).tensor].data;
}

void* Session::OutputData(size_t index) const {
  return addresses_.host()[plan_->program().output(index).tensor].data;
}

void* Session::PortData(size_t port) const {
  return addresses_.host()[PortAt(plan_->program(), port).tensor].data;
}

size_t Session::PortBytes(size_t port) const {
  const ProgramView& program = plan_->program();
  const TensorInfo tensor = program.tensor(PortAt(program, port).tensor);
  return static_cast<size_t>(program.storage(tensor.storage).bytes);
}

void Session::BindPort(size_t port, void* data) {
  const size_t inputs = plan_->program().input_count();
  port < inputs ? BindInput(port, data) : BindOutput(port - inputs, data);
}

void* Session::PlaceInArena(size_t port) const {
  return addresses_.PlaceInArena(PortAt(plan_->program(), port).tensor);
}

bool Session::IsBound(size_t port) const {
  return addresses_.IsBound(PortAt(plan_->program(), port).tensor);
}

void Session::SetNoticeSink(const NoticeSink& sink) {
  for (WorkerRun& run : workers_) run.SetNoticeSink(sink);
}

void Session::SetTimeout(uint64_t nanoseconds, uint64_t (*clock_nanoseconds)()) {
  timeout_ = nanoseconds;
  clock_ = clock_nanoseconds;
}

Status Session::Run(const RunOptions& options) {
  RunOptions limited = options;
  limited.shows_tensors = shows_tensors_;
  if (limited.deadline == kNoDeadline && timeout_ != 0) {
    const uint64_t now = clock_();
    if (timeout_ < kNoDeadline - now) limited.deadline = now + timeout_;
  }
  const Status status = RunAll(limited);
  if (status.ok()) addresses_.KeepStates();
  for (size_t i = 0; !status.ok() && i < workers_.size(); ++i) workers_[i].Abandon();
  return status;
}

/// One input through all stages, one after the other: each may read what those before it have left
/// in channels.
Status Session::RunAll(const RunOptions& options) {
  for (WorkerRun& run : workers_) TENON_RETURN_IF_ERROR(run.Begin(options));
  for (size_t stage = 0; stage < plan_->stages(); ++stage) TENON_RETURN_IF_ERROR(RunStage(stage));
  return OkStatus();
}

Status Session::RunStage(size_t stage) {
  // The plan check has proven that some worker can always go on, once its devices have.
  while (!HasStarted(stage)) {
    bool progress = false;
    // Devices first: what they are given runs beside all that follows.
    if (plan_->has_devices()) TENON_RETURN_IF_ERROR(TakeTurn(stage, true, &progress));
    TENON_RETURN_IF_ERROR(TakeTurn(stage, false, &progress));
    if (!progress) TENON_RETURN_IF_ERROR(WaitForDevices(stage));
  }
  for (size_t worker = 0; worker < workers_.size(); ++worker) {
    if (IsOf(stage, worker)) TENON_RETURN_IF_ERROR(workers_[worker].Finish());
  }
  return OkStatus();
}

bool Session::HasStarted(size_t stage) const {
  for (size_t worker = 0; worker < workers_.size(); ++worker) {
    if (IsOf(stage, worker) && !workers_[worker].all_started()) return false;
  }
  return true;
}

Session::Obstacle Session::FindObstacle(const WorkerRun& run, size_t worker) const {
  const ProgramView& program = plan_->program();
  const size_t waits = program.step(worker, run.started()).wait_count;
  Obstacle obstacle = Obstacle::kNone;
  for (size_t i = 0; i < waits; ++i) {
    const WaitInfo wait = program.wait(worker, run.started(), i);
    const WorkerRun& other = workers_[wait.worker];
    if (wait.step >= other.started()) return Obstacle::kStep;
    // A step of the same device comes after those before it anyway.
    if (wait.worker != worker && wait.step >= other.done()) obstacle = Obstacle::kDevice;
  }
  return obstacle;
}

/// Every piece for a device that can be enqueued; or one piece of the CPU, after which there may be
/// something for a device to do (all of them, where there are no devices).
Status Session::TakeTurn(size_t stage, bool of_devices, bool* progress) {
  for (size_t worker = 0; worker < workers_.size(); ++worker) {
    if (!IsOf(stage, worker)) continue;
    WorkerRun& run = workers_[worker];
    while (!run.all_started() && run.IsDeviceNext() == of_devices &&
           FindObstacle(run, worker) == Obstacle::kNone) {
      TENON_RETURN_IF_ERROR(run.StartPiece());
      *progress = true;
      if (!of_devices && plan_->has_devices()) return OkStatus();
    }
  }
  return OkStatus();
}

/// Waits for what keeps the first worker that only devices keep.
Status Session::WaitForDevices(size_t stage) {
  const ProgramView& program = plan_->program();
  for (size_t worker = 0; worker < workers_.size(); ++worker) {
    if (!IsOf(stage, worker)) continue;
    const WorkerRun& run = workers_[worker];
    if (run.all_started() || FindObstacle(run, worker) != Obstacle::kDevice) continue;
    for (size_t i = 0; i < program.step(worker, run.started()).wait_count; ++i) {
      const WaitInfo wait = program.wait(worker, run.started(), i);
      if (wait.worker != worker) {
        TENON_RETURN_IF_ERROR(workers_[wait.worker].WaitFor(wait.step));
      }
    }
    return OkStatus();
  }
  return OkStatus();
}

size_t Session::PackedBytes() const {
  size_t bytes = 0;
  for (const WorkerRun& run : workers_) bytes += run.HeldBytes();
  return bytes;
}

}  // namespace tenon
