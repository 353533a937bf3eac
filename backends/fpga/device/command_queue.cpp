#include "backends/fpga/device/command_queue.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/fpga/device/poll.hpp"

namespace tenon::fpga {
namespace {

/// Limits how long a queue that is closed waits for its starts.
constexpr Deadline kDrainBeforeClose = 10'000'000'000U;  // ns

/// The bytes from the first to the last of a shape.
size_t Extent(const CopyShape& shape) {
  size_t extent = shape.run;
  for (int k = 0; k < shape.rank; ++k) extent += (shape.counts[k] - 1) * shape.strides[k];
  return extent;
}

}  // namespace

CommandQueue::~CommandQueue() { (void)Drain(Now() + kDrainBeforeClose); }

Status CommandQueue::Open(Span<const ArenaMemory> arenas) {
  for (const ArenaMemory& memory : arenas) {
    Arena arena;
    arena.base = static_cast<uint8_t*>(memory.base);
    arena.buffer = device_.FindLent(memory.base);
    if (arena.buffer == nullptr && memory.bytes > 0) {
      TENON_RETURN_IF_ERROR(
          device_.board().Allocate(memory.bytes, isa::kFirstBaseArgument, &arena.copy));
      arena.buffer = arena.copy.get();
    }
    arenas_.push_back(std::move(arena));
  }
  return OkStatus();
}

/// Finds where the board has `bytes` of an arena from a host's address on.
Status CommandQueue::Find(const void* address, size_t bytes, Place* place) const {
  const auto* const byte = static_cast<const uint8_t*>(address);
  for (const Arena& arena : arenas_) {
    if (arena.buffer == nullptr || byte < arena.base) continue;
    const auto offset = static_cast<size_t>(byte - arena.base);
    if (offset > arena.buffer->bytes() || bytes > arena.buffer->bytes() - offset) continue;
    *place = {arena.buffer, offset};
    return OkStatus();
  }
  return Status(StatusCode::kInvalidArgument,
                "a tensor of an FPGA segment lies in none of the queue's {0} arenas",
                static_cast<int64_t>(arenas_.size()));
}

// Only the tensor's own bytes pass: what lies between them the board may be writing.
Status CommandQueue::Upload(const SharedTensor& tensor) {
  if (tensor.planned == nullptr || tensor.planned->Elements() == 0) return OkStatus();
  const CopyShape shape = CopyShapeOf(*tensor.planned);
  Place place;
  TENON_RETURN_IF_ERROR(Find(tensor.planned->data, Extent(shape), &place));
  const auto* const actual = static_cast<const uint8_t*>(tensor.actual);
  Status status;
  ForEachPosition(shape, shape.rank, [&](size_t offset) {
    if (!status.ok()) return;
    uint8_t* const host = place.host() + offset;
    if (host != actual + offset) std::memcpy(host, actual + offset, shape.run);
    status = place.buffer->ToBoard(place.offset + offset, shape.run);
  });
  return status;
}

Status CommandQueue::RunCode(const LoadedCode& code, Span<void* const> bases) {
  Start& start = NewStart();
  start.arguments = StartArguments{};
  start.arguments.code = code.address;
  start.arguments.code_bytes = code.bytes;
  for (size_t i = 0; i < code.windows.size(); ++i) {
    const CodeWindow& window = code.windows[i];
    uint64_t address = code.constants[i];
    if (window.constants == nullptr) {
      Place place;
      const Status status = Find(bases[i], window.bytes, &place);
      if (!status.ok()) {
        line_.pop_back();
        return status;
      }
      address = place.buffer->address() + place.offset;
    }
    if (window.from_base == 0) start.arguments.bases[window.base_register] = address;
  }
  ++added_;
  device_.board().Add(start);
  return OkStatus();
}

/// One that is not in the line, put at its end.
Start& CommandQueue::NewStart() {
  for (const auto& start : starts_) {
    if (std::find(line_.begin(), line_.end(), start.get()) != line_.end()) continue;
    line_.push_back(start.get());
    return *start;
  }
  starts_.push_back(std::make_unique<Start>());
  line_.push_back(starts_.back().get());
  return *line_.back();
}

CommandQueue::Signalled& CommandQueue::NewSignalled() {
  for (const auto& signalled : signalled_) {
    if (!signalled->is_taken) return *signalled;
  }
  signalled_.push_back(std::make_unique<Signalled>());
  return *signalled_.back();
}

Status CommandQueue::Signal(const SharedTensor& tensor, void** event) {
  Signalled& signalled = NewSignalled();
  signalled.starts = added_;
  signalled.actual = nullptr;
  if (tensor.planned != nullptr && tensor.planned->Elements() != 0) {
    signalled.shape = CopyShapeOf(*tensor.planned);
    TENON_RETURN_IF_ERROR(Find(tensor.planned->data, Extent(signalled.shape), &signalled.place));
    signalled.actual = static_cast<uint8_t*>(tensor.actual);
  }
  signalled.is_taken = true;
  *event = &signalled;
  return OkStatus();
}

void CommandQueue::Submit() {
  if (!line_.empty()) (void)device_.board().HasEnded(*line_.front());
}

/// Waits until the first `count` starts have ended.
Status CommandQueue::WaitForStarts(uint64_t count, Deadline deadline) {
  const Deadline begin = Now();
  while (ended_ < count) {
    Start& start = *line_.front();
    if (!device_.board().HasEnded(start)) {
      const Deadline now = Now();
      TENON_ENSURE(now < deadline, kDeadlineExceeded,
                   "the accelerator did not answer: waited {0} us past the call",
                   static_cast<int64_t>((now - begin) / 1000));
      Pause(begin);
      continue;
    }
    if (failure_.ok()) failure_ = start.result;
    line_.erase(line_.begin());
    ++ended_;
  }
  return OkStatus();
}

// What the board wrote is fetched when the host waits for it: until then nobody else may touch it.
Status CommandQueue::Wait(void* event, Deadline deadline) {
  auto& signalled = *static_cast<Signalled*>(event);
  signalled.is_taken = false;
  TENON_RETURN_IF_ERROR(WaitForStarts(signalled.starts, deadline));
  TENON_RETURN_IF_ERROR(failure_);
  if (signalled.actual == nullptr) return OkStatus();
  const Place& place = signalled.place;
  Status status;
  ForEachPosition(signalled.shape, signalled.shape.rank, [&](size_t offset) {
    if (!status.ok()) return;
    status = place.buffer->FromBoard(place.offset + offset, signalled.shape.run);
    if (!status.ok()) return;
    uint8_t* const actual = signalled.actual + offset;
    const uint8_t* const host = place.host() + offset;
    if (host != actual) std::memcpy(actual, host, signalled.shape.run);
  });
  return status;
}

Status CommandQueue::Drain(Deadline deadline) {
  if (const Status status = WaitForStarts(added_, deadline); !status.ok()) {
    device_.board().GiveUp();
    (void)WaitForStarts(added_, kNoDeadline);
    failure_ = status.As(StatusCode::kBackendFailure);
  }
  const Status status = failure_;
  failure_ = OkStatus();
  return status;
}

size_t CommandQueue::held_bytes() const {
  size_t bytes = 0;
  for (const Arena& arena : arenas_) {
    if (arena.copy != nullptr) bytes += arena.copy->bytes();
  }
  return bytes;
}

}  // namespace tenon::fpga
