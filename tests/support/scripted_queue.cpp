#include "tests/support/scripted_queue.hpp"

#include <algorithm>

#include "runtime/base/copy_shape.hpp"

namespace tenon::test {
namespace {

constexpr uint8_t kGarbage = 0xCD;

}  // namespace

ScriptedQueue::ScriptedQueue(ScriptedBackend::Script& script, Span<const ArenaMemory> arenas)
    : script_(script), arenas_(arenas.begin(), arenas.end()) {
  if (script.options.own_memory) {
    for (const ArenaMemory& arena : arenas_) copies_.emplace_back(arena.bytes, kGarbage);
  }
  {
    const std::lock_guard lock(script_.mutex);
    script_.open_queues.insert(this);
  }
  thread_ = std::thread([this] { Work(); });
}

ScriptedQueue::~ScriptedQueue() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
  for (Event* event : events_) delete event;
  script_.lost.fetch_add(events_.size());
  const std::lock_guard lock(script_.mutex);
  script_.open_queues.erase(this);
}

size_t ScriptedQueue::held_bytes() const {
  size_t bytes = 0;
  for (const auto& copy : copies_) bytes += copy.size();
  return bytes;
}

/// `inside`: whether the call belongs between start and submit.
Status ScriptedQueue::Enter(DeviceCall call, bool inside) {
  if (must_drain_) return script_.BreakRule("a call after a failure, before it was drained");
  if (is_started_ != inside) return script_.BreakRule("a call outside of a segment, or in one");
  const Status status = script_.Pass(call);
  must_drain_ = !status.ok();
  return status;
}

bool ScriptedQueue::IsInArena(const void* planned) const {
  for (const ArenaMemory& arena : arenas_) {
    const auto* base = static_cast<const uint8_t*>(arena.base);
    if (planned >= base && planned < base + arena.bytes) return true;
  }
  return false;
}

void* ScriptedQueue::OnDevice(void* planned) const {
  for (size_t i = 0; i < copies_.size(); ++i) {
    auto* base = static_cast<uint8_t*>(arenas_[i].base);
    auto* at = static_cast<uint8_t*>(planned);
    if (at < base || at >= base + arenas_[i].bytes) continue;
    return const_cast<uint8_t*>(copies_[i].data()) + (at - base);
  }
  return planned;  // constants, and everything on a device that shares the host's memory
}

TensorView ScriptedQueue::DeviceView(const TensorView& view) const {
  TensorView on_device = view;
  if (view.data != nullptr) on_device.data = OnDevice(view.data);
  return on_device;
}

Status ScriptedQueue::Start() {
  TENON_RETURN_IF_ERROR(Enter(DeviceCall::kStart, /*inside=*/false));
  is_started_ = true;
  return OkStatus();
}

Status ScriptedQueue::Upload(const SharedTensor& tensor) {
  TENON_RETURN_IF_ERROR(Enter(DeviceCall::kUpload, /*inside=*/true));
  if (tensor.planned == nullptr || tensor.actual == nullptr || !IsInArena(tensor.planned->data)) {
    return script_.BreakRule("upload of what is in no arena");
  }
  const TensorView view = DeviceView(*tensor.planned);
  if (view.data == tensor.actual) return OkStatus();
  const CopyShape shape = CopyShapeOf(view);
  auto bytes = std::make_shared<std::vector<uint8_t>>(shape.Bytes());
  Pack(shape, static_cast<const uint8_t*>(tensor.actual), bytes->data());
  const std::lock_guard lock(mutex_);
  staged_.push_back({[view, shape, bytes] {
                       Unpack(shape, bytes->data(), static_cast<uint8_t*>(view.data));
                       return OkStatus();
                     },
                     nullptr});
  return OkStatus();
}

Status ScriptedQueue::Run(const KernelEntry& portable, const KernelCall& call) {
  TENON_RETURN_IF_ERROR(Enter(DeviceCall::kRun, /*inside=*/true));
  if (call.state == nullptr) return script_.BreakRule("a kernel without what `open` made");
  // Views may be moved once the call is over: the task has its own.
  auto views = std::make_shared<std::vector<TensorView>>();
  auto inputs = std::make_shared<std::vector<int32_t>>();
  auto outputs = std::make_shared<std::vector<int32_t>>();
  const auto take = [&](Span<const int32_t> operands, std::vector<int32_t>& indices) {
    for (const int32_t operand : operands) {
      indices.push_back(operand < 0 ? -1 : static_cast<int32_t>(views->size()));
      if (operand >= 0) views->push_back(DeviceView(call.op.tensors[operand]));
    }
  };
  take(call.op.input_ids, *inputs);
  take(call.op.output_ids, *outputs);
  KernelCall copy = call;
  copy.state = nullptr;
  copy.queue = nullptr;
  copy.parallel = nullptr;
  if (copy.workspace != nullptr) copy.workspace = OnDevice(copy.workspace);
  const std::lock_guard lock(mutex_);
  staged_.push_back({[this, views, inputs, outputs, copy, run = portable.run] {
                       TENON_RETURN_IF_ERROR(script_.BeforeKernel());
                       KernelCall now = copy;
                       now.op.tensors = views->data();
                       now.op.input_ids = {inputs->data(), inputs->size()};
                       now.op.output_ids = {outputs->data(), outputs->size()};
                       return run(now);
                     },
                     nullptr});
  return OkStatus();
}

Status ScriptedQueue::Signal(const SharedTensor& tensor, void** event) {
  const bool is_moment = tensor.planned == nullptr;
  TENON_RETURN_IF_ERROR(
      Enter(is_moment ? DeviceCall::kMoment : DeviceCall::kSignal, /*inside=*/true));
  if (!is_moment && (tensor.actual == nullptr || !IsInArena(tensor.planned->data))) {
    return script_.BreakRule("signal of what is in no arena");
  }
  const std::lock_guard lock(mutex_);
  auto* made = new Event;
  if (!is_moment) {
    made->view = DeviceView(*tensor.planned);
    if (made->view.data != tensor.actual) made->target = tensor.actual;
  }
  events_.insert(made);
  staged_.push_back({[] { return OkStatus(); }, made});
  *event = made;
  return OkStatus();
}

void ScriptedQueue::SubmitStaged() {
  for (Entry& entry : staged_) {
    if (entry.event != nullptr) entry.event->is_submitted = true;
    queue_.push_back(std::move(entry));
  }
  staged_.clear();
}

Status ScriptedQueue::Submit() {
  TENON_RETURN_IF_ERROR(Enter(DeviceCall::kSubmit, /*inside=*/true));
  is_started_ = false;
  {
    const std::lock_guard lock(mutex_);
    SubmitStaged();
  }
  changed_.notify_all();
  return OkStatus();
}

/// False if `deadline` came first. By the system's clock: that of std::condition_variable's steady
/// waits is unknown to ThreadSanitizer here.
template <typename Condition>
bool ScriptedQueue::WaitUntil(std::unique_lock<std::mutex>& lock, Deadline deadline,
                              Condition condition) {
  while (!condition()) {
    const auto now = static_cast<Deadline>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                               std::chrono::steady_clock::now().time_since_epoch())
                                               .count());
    if (now >= deadline) return false;
    const Deadline left = std::min<Deadline>(deadline - now, 1'000'000'000);
    changed_.wait_until(lock, std::chrono::system_clock::now() + std::chrono::nanoseconds(left));
  }
  return true;
}

Status ScriptedQueue::Wait(void* event, Deadline deadline) {
  if (must_drain_) return script_.BreakRule("a wait after a failure, before it was drained");
  const Status injected = script_.Pass(DeviceCall::kWait);
  must_drain_ = !injected.ok();
  std::unique_lock lock(mutex_);
  auto* awaited = static_cast<Event*>(event);
  const auto found = events_.find(awaited);
  if (found == events_.end()) return script_.BreakRule("a wait for a signal that is not there");
  Status status = injected;
  if (status.ok() && !awaited->is_submitted) {
    status = script_.BreakRule("a wait for what has not been submitted");
  }
  if (status.ok()) {
    const bool is_over = WaitUntil(lock, deadline, [&] { return awaited->is_over; });
    status = is_over ? awaited->status
                     : Status(StatusCode::kDeadlineExceeded, "the device does not answer");
    must_drain_ = !status.ok();
  }
  if (status.ok() && awaited->target != nullptr) {
    const CopyShape shape = CopyShapeOf(awaited->view);
    CopyRuns(shape, static_cast<const uint8_t*>(awaited->view.data),
             static_cast<uint8_t*>(awaited->target));
  }
  if (!awaited->is_over) {  // its task still points to it
    for (Entry& entry : staged_) {
      if (entry.event == awaited) entry.event = nullptr;
    }
    for (Entry& entry : queue_) {
      if (entry.event == awaited) entry.event = nullptr;
    }
    if (working_ == awaited) working_ = nullptr;
  }
  events_.erase(found);
  delete awaited;
  return status;
}

Status ScriptedQueue::Drain(Deadline deadline) {
  const bool is_abandoned = must_drain_;
  if (const Status injected = script_.Pass(DeviceCall::kDrain); !injected.ok()) {
    must_drain_ = true;
    return injected;
  }
  std::unique_lock lock(mutex_);
  SubmitStaged();
  changed_.notify_all();
  if (!WaitUntil(lock, deadline, [&] { return queue_.empty() && !is_busy_; })) {
    must_drain_ = true;
    for (Event* event : events_) event->target = nullptr;
    return Status(StatusCode::kDeadlineExceeded, "the device does not answer");
  }
  const Status failure = failure_;
  failure_ = OkStatus();
  must_drain_ = !failure.ok();
  if (is_abandoned) is_started_ = false;
  return failure;
}

/// The device's thread. After a failure everything else fails too, until it is drained.
void ScriptedQueue::Work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return !queue_.empty() || is_ending_; });
    if (queue_.empty()) return;
    Entry entry = std::move(queue_.front());
    queue_.pop_front();
    is_busy_ = true;
    working_ = entry.event;
    Status status = failure_;
    if (status.ok()) {
      lock.unlock();
      status = entry.task();
      lock.lock();
    }
    if (failure_.ok()) failure_ = status;
    if (working_ != nullptr) {
      working_->is_over = true;
      working_->status = status;
    }
    working_ = nullptr;
    is_busy_ = false;
    changed_.notify_all();
  }
}

}  // namespace tenon::test
