#include "runtime/engine/device_queue.hpp"

namespace tenon {

Status DeviceQueue::Open(const DeviceApi& api, void* device, Span<const ArenaMemory> arenas,
                         Span<Signal> signals) {
  api_ = &api;
  signals_ = signals;
  void* stream = nullptr;
  TENON_RETURN_IF_ERROR(api.open_stream(device, arenas, &stream));
  stream_ = stream;
  return OkStatus();
}

bool DeviceQueue::Close() {
  if (stream_ == nullptr) return true;
  // Closing waits for the device, for ever if it never answers.
  if (!TryToQuieten()) return false;
  api_->close_stream(stream_);
  stream_ = nullptr;
  return true;
}

size_t DeviceQueue::HeldBytes() const {
  return stream_ != nullptr && api_->held_bytes != nullptr ? api_->held_bytes(stream_) : 0;
}

void DeviceQueue::Reset() {
  enqueued_ = 0;
  done_ = 0;
}

Status DeviceQueue::Start() {
  is_idle_ = false;
  return api_->start(stream_);
}

Status DeviceQueue::Upload(const SharedTensor& tensor) { return api_->upload(stream_, tensor); }

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
  TENON_RETURN_IF_ERROR(api_->signal(stream_, tensor, &signal.event));
  ++end_;
  return OkStatus();
}

Status DeviceQueue::Submit() { return api_->submit(stream_); }

Status DeviceQueue::WaitFor(size_t step, Deadline deadline) {
  while (done() <= step) {
    if (first_ == end_) return Drain(deadline);
    const Signal signal = signals_[first_++];
    TENON_RETURN_IF_ERROR(api_->wait(stream_, signal.event, deadline));
    if (done_ <= signal.step) done_ = signal.step + 1;
  }
  return OkStatus();
}

Status DeviceQueue::Drain(Deadline deadline) {
  const Status status = is_idle_ ? OkStatus() : api_->drain(stream_, deadline);
  if (!status.ok()) return status;
  is_idle_ = true;
  ForgetSignals();
  done_ = enqueued_;
  return status;
}

Status DeviceQueue::Quieten(Deadline deadline) {
  busy_ = false;
  Status status = Drain(deadline);
  if (status.code() == StatusCode::kBackendFailure) status = Drain(deadline);
  if (status.ok()) return status;
  busy_ = status.code() == StatusCode::kDeadlineExceeded;
  is_broken_ |= !busy_;
  return status;
}

/// They have come: this only frees them.
void DeviceQueue::ForgetSignals() {
  for (; first_ < end_; ++first_) (void)api_->wait(stream_, signals_[first_].event, 0);
  first_ = 0;
  end_ = 0;
}

}  // namespace tenon
