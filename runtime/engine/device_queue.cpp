#include "runtime/engine/device_queue.hpp"

namespace tenon {

Status DeviceQueue::Open(const DeviceApi& api, void* device, Span<const ArenaMemory> arenas,
                         Span<Signal> signals) {
  api_ = &api;
  signals_ = signals;
  void* queue = nullptr;
  TENON_RETURN_IF_ERROR(api.open_queue(device, arenas, &queue));
  queue_ = queue;
  return OkStatus();
}

bool DeviceQueue::Close() {
  if (queue_ == nullptr) return true;
  // Closing waits for the device, seconds if it never answers (kDrainBeforeClose of the backends).
  if (!IsHere() || !TryToQuieten()) return false;
  api_->close_queue(queue_);
  queue_ = nullptr;
  return true;
}

size_t DeviceQueue::HeldBytes() const {
  return queue_ != nullptr && api_->held_bytes != nullptr ? api_->held_bytes(queue_) : 0;
}

void DeviceQueue::Reset() {
  enqueued_ = 0;
  done_ = 0;
}

Status DeviceQueue::Start() {
  is_idle_ = false;
  return api_->start(queue_);
}

Status DeviceQueue::Upload(const SharedTensor& tensor) { return api_->upload(queue_, tensor); }

Status DeviceQueue::RunCode(void* code, Span<void* const> bases) {
  return api_->run_code(queue_, code, bases);
}

Status DeviceQueue::AddSignal(const SharedTensor& tensor, size_t step) {
  if (end_ == signals_.size()) {  // those in front have been waited for
    for (size_t i = first_; i < end_; ++i) signals_[i - first_] = signals_[i];
    end_ -= first_;
    first_ = 0;
  }
  TENON_ENSURE(end_ < signals_.size(), kOutOfMemory, "more signals than the plan has");
  Signal& signal = signals_[end_];
  signal = Signal{nullptr, step};
  is_idle_ = false;
  TENON_RETURN_IF_ERROR(api_->signal(queue_, tensor, &signal.event));
  ++end_;
  return OkStatus();
}

Status DeviceQueue::Submit() { return api_->submit(queue_); }

Status DeviceQueue::Show(const SharedTensor& tensor, Deadline deadline) {
  void* event = nullptr;
  TENON_RETURN_IF_ERROR(api_->signal(queue_, tensor, &event));
  TENON_RETURN_IF_ERROR(api_->drain(queue_, deadline));
  return api_->wait(queue_, event, deadline);
}

Status DeviceQueue::WaitFor(size_t step, Deadline deadline) {
  while (done() <= step) {
    if (first_ == end_) return Drain(deadline);
    const Signal signal = signals_[first_++];
    TENON_RETURN_IF_ERROR(api_->wait(queue_, signal.event, deadline));
    if (done_ <= signal.step) done_ = signal.step + 1;
  }
  return OkStatus();
}

Status DeviceQueue::Drain(Deadline deadline) {
  if (!is_idle_) TENON_RETURN_IF_ERROR(api_->drain(queue_, deadline));
  is_idle_ = true;
  // They have come, and tell of what went wrong before them.
  while (first_ < end_) {
    TENON_RETURN_IF_ERROR(api_->wait(queue_, signals_[first_++].event, deadline));
  }
  done_ = enqueued_;
  return OkStatus();
}

Status DeviceQueue::Quieten(Deadline deadline) {
  busy_ = !IsHere();
  if (busy_) return Status(StatusCode::kFailedPrecondition, kOtherProcess);
  Status status;
  // Every signal may tell of the same failure again, and once more the drain itself.
  for (size_t tries = end_ - first_ + 2; tries > 0; --tries) {
    is_idle_ &= status.ok();
    status = Drain(deadline);
    if (status.ok() || status.code() == StatusCode::kDeadlineExceeded) break;
  }
  if (status.ok()) return status;
  busy_ = status.code() == StatusCode::kDeadlineExceeded;
  is_broken_ |= !busy_;
  return status;
}

}  // namespace tenon
