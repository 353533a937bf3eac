#include "backends/opencl/device/command_queue.hpp"

#include <algorithm>
#include <new>

#include "backends/opencl/device/cl_error.hpp"
#include "backends/opencl/device/event_wait.hpp"

namespace tenon::opencl {
namespace {

/// Pinned memory of one queue: enough for the tensors that are under way at a time, and never much
/// of the system's memory.
constexpr size_t kMostStaging = size_t{16} << 20;

}  // namespace

CommandQueue::~CommandQueue() {
  if (queue_ == nullptr) return;
  if (!Drain(Now() + kDrainBeforeClose).ok()) {
    device_.LeaveToDriver();
    return;  // the device may yet write: what it writes to must not become somebody else's
  }
  for (const auto& signalled : signalled_) Release(*signalled);
  staging_.Close();
  for (const Arena& arena : arenas_) {
    if (arena.buffer != nullptr) Cl().ReleaseMemObject(arena.buffer);
  }
  Cl().ReleaseCommandQueue(queue_);
}

Status CommandQueue::Open(Span<const ArenaMemory> arenas) {
  cl_int code = CL_SUCCESS;
  queue_ = Cl().CreateCommandQueue(device_.context(), device_.id(), 0, &code);
  TENON_RETURN_IF_ERROR(ClStatus(code, "clCreateCommandQueue"));
  size_t bytes = 0;
  for (const ArenaMemory& memory : arenas) {
    TENON_RETURN_IF_ERROR(OpenArena(memory));
    bytes += memory.bytes;
  }
  if (device_.transfer() != Transfer::kCopy || bytes == 0) return OkStatus();
  return staging_.Open(queue_, std::min(bytes, kMostStaging));
}

Status CommandQueue::OpenArena(const ArenaMemory& memory) {
  Arena arena;
  arena.base = static_cast<uint8_t*>(memory.base);
  arena.bytes = memory.bytes;
  if (memory.bytes != 0) {
    TENON_ENSURE(memory.bytes <= device_.traits().most_buffer_bytes, kOutOfMemory,
                 "an arena has {0} bytes, the OpenCL device's largest buffer {1}",
                 static_cast<int64_t>(memory.bytes),
                 static_cast<int64_t>(device_.traits().most_buffer_bytes));
    const bool copies = device_.transfer() == Transfer::kCopy;
    const cl_mem_flags flags = CL_MEM_READ_WRITE | (copies ? 0 : CL_MEM_USE_HOST_PTR);
    cl_int code = CL_SUCCESS;
    arena.buffer = Cl().CreateBuffer(device_.context(), flags, memory.bytes,
                                     copies ? nullptr : memory.base, &code);
    TENON_RETURN_IF_ERROR(ClStatus(code, "clCreateBuffer"));
  }
  arenas_.push_back(arena);
  return OkStatus();
}

Status CommandQueue::Find(const void* address, BufferPlace* place) const {
  const auto* byte = static_cast<const uint8_t*>(address);
  for (const Arena& arena : arenas_) {
    if (arena.buffer == nullptr || byte < arena.base || byte >= arena.base + arena.bytes) continue;
    *place = {arena.buffer, static_cast<size_t>(byte - arena.base)};
    return OkStatus();
  }
  return Status(StatusCode::kInvalidArgument,
                "an operand of an OpenCL kernel lies in none of the queue's {0} arenas",
                static_cast<int64_t>(arenas_.size()));
}

/// True if the host's bytes of a tensor must be copied, or the driver told of them.
bool CommandQueue::Passes(const SharedTensor& tensor) const {
  if (tensor.planned == nullptr || tensor.planned->Elements() == 0) return false;
  return device_.transfer() != Transfer::kNone || tensor.actual != tensor.planned->data;
}

/// Enqueues the copy of a tensor's bytes between the device's `place` and the host's `host`, which
/// has the same gaps unless `packed`. `event` (may be null): that it is done.
Status CommandQueue::Copy(Direction direction, const CopyShape& shape, const BufferPlace& place,
                          uint8_t* host, bool packed, cl_event* event) {
  const int inner = shape.RectLoops();
  const int outer = shape.rank - inner;
  const size_t rows = inner >= 1 ? shape.counts[shape.rank - 1] : 1;
  const size_t planes = inner == 2 ? shape.counts[shape.rank - 2] : 1;
  const size_t region[3] = {shape.run, rows, planes};
  const size_t row = inner >= 1 ? shape.strides[shape.rank - 1] : shape.run;
  const size_t plane = inner == 2 ? shape.strides[shape.rank - 2] : row * rows;
  const size_t host_row = packed ? shape.run : row;
  const size_t host_plane = packed ? shape.run * rows : plane;
  size_t left = 1;
  for (int k = 0; k < outer; ++k) left *= shape.counts[k];
  size_t packed_offset = 0;
  cl_int code = CL_SUCCESS;
  ForEachPosition(shape, outer, [&](size_t offset) {
    cl_event* const done = --left == 0 ? event : nullptr;
    const size_t device_origin[3] = {place.offset + offset, 0, 0};
    const size_t host_origin[3] = {packed ? packed_offset : offset, 0, 0};
    packed_offset += shape.run * rows * planes;
    if (code != CL_SUCCESS) return;
    if (inner == 0) {
      uint8_t* const at = host + host_origin[0];
      code = direction == Direction::kToDevice
                 ? Cl().EnqueueWriteBuffer(queue_, place.buffer, CL_FALSE, device_origin[0],
                                           shape.run, at, 0, nullptr, done)
                 : Cl().EnqueueReadBuffer(queue_, place.buffer, CL_FALSE, device_origin[0],
                                          shape.run, at, 0, nullptr, done);
    } else if (direction == Direction::kToDevice) {
      code = Cl().EnqueueWriteBufferRect(queue_, place.buffer, CL_FALSE, device_origin, host_origin,
                                         region, row, plane, host_row, host_plane, host, 0, nullptr,
                                         done);
    } else {
      code = Cl().EnqueueReadBufferRect(queue_, place.buffer, CL_FALSE, device_origin, host_origin,
                                        region, row, plane, host_row, host_plane, host, 0, nullptr,
                                        done);
    }
  });
  return ClStatus(
      code, direction == Direction::kToDevice ? "clEnqueueWriteBuffer" : "clEnqueueReadBuffer");
}

Status CommandQueue::OpenGroup(const LoadedGroup& loaded) {
  std::unique_ptr<GroupLaunch>& launch = groups_[&loaded];
  if (launch != nullptr) return OkStatus();
  launch = std::make_unique<GroupLaunch>();
  return launch->Open(loaded);
}

Status CommandQueue::BeginGroup(const LoadedGroup& loaded) {
  const auto found = groups_.find(&loaded);
  TENON_ENSURE(found != groups_.end(), kFailedPrecondition,
               "a group of ops was started that the queue has not opened");
  group_ = found->second.get();
  group_->Begin();
  return OkStatus();
}

Status CommandQueue::EndGroup() {
  GroupLaunch* const ended = group_;
  group_ = nullptr;
  TENON_ENSURE(ended != nullptr, kFailedPrecondition, "a group of ops ended that had not begun");
  return ended->Enqueue(queue_);
}

// Where the buffer is the host's own memory, a copy from it to itself is how OpenCL is told that
// the host has written there, or wants to read (OpenCL 1.2, section 5.2.2, on host_ptr + offset):
// drivers that share memory then only mend their caches. Maps would not do: a mapped buffer must
// not be used by kernels, and other parts of this one are.
//
// What is bound goes to its planned place first, where the tensor would have been without: the plan
// check has proven that nobody else uses that place by then.
Status CommandQueue::Upload(const SharedTensor& tensor) {
  if (!Passes(tensor)) return OkStatus();
  const CopyShape shape = CopyShapeOf(*tensor.planned);
  BufferPlace place;
  TENON_RETURN_IF_ERROR(Find(tensor.planned->data, &place));
  const auto* const actual = static_cast<const uint8_t*>(tensor.actual);
  uint8_t* const staged = staging_.Take(shape.Bytes());
  if (staged == nullptr) {
    auto* const planned = static_cast<uint8_t*>(tensor.planned->data);
    if (actual != planned) CopyRuns(shape, actual, planned);
    if (device_.transfer() == Transfer::kNone) return OkStatus();
    return Copy(Direction::kToDevice, shape, place, planned, false, nullptr);
  }
  Pack(shape, actual, staged);
  cl_event event = nullptr;
  TENON_RETURN_IF_ERROR(Copy(Direction::kToDevice, shape, place, staged, true, &event));
  staging_.FreeAfter(staged, event);
  return OkStatus();
}

Status CommandQueue::Signal(const SharedTensor& tensor, void** event) {
  *event = nullptr;
  Signalled* const signalled = TakeSignalled();
  TENON_ENSURE(signalled != nullptr, kOutOfMemory, "no memory for an OpenCL event");
  *event = signalled;
  if (!Passes(tensor)) {
    return TENON_CL(EnqueueMarkerWithWaitList, queue_, 0, nullptr, &signalled->event);
  }
  BufferPlace place;
  TENON_RETURN_IF_ERROR(Find(tensor.planned->data, &place));
  signalled->shape = CopyShapeOf(*tensor.planned);
  signalled->planned = static_cast<uint8_t*>(tensor.planned->data);
  signalled->actual = static_cast<uint8_t*>(tensor.actual);
  if (device_.transfer() == Transfer::kNone) {
    return TENON_CL(EnqueueMarkerWithWaitList, queue_, 0, nullptr, &signalled->event);
  }
  signalled->staged = staging_.Take(signalled->shape.Bytes());
  const bool packed = signalled->staged != nullptr;
  return Copy(Direction::kToHost, signalled->shape, place,
              packed ? signalled->staged : signalled->planned, packed, &signalled->event);
}

/// Brings a tensor that has arrived to where the host wants it, if it still does.
void CommandQueue::Deliver(const Signalled& signalled) {
  if (signalled.actual == nullptr) return;
  if (signalled.staged != nullptr) {
    Unpack(signalled.shape, signalled.staged, signalled.actual);
  } else if (signalled.actual != signalled.planned) {
    CopyRuns(signalled.shape, signalled.planned, signalled.actual);
  }
}

Status CommandQueue::Submit() { return TENON_CL(Flush, queue_); }

Status CommandQueue::Wait(void* event, Deadline deadline) {
  auto& signalled = *static_cast<Signalled*>(event);
  // Without an event the signal itself has failed.
  Status status(StatusCode::kFailedPrecondition, "waited for an OpenCL event that never was");
  if (signalled.event != nullptr) status = WaitForEvent(signalled.event, deadline);
  if (status.ok()) Deliver(signalled);
  if (signalled.staged != nullptr && status.ok()) {
    staging_.Free(signalled.staged);
  } else if (signalled.staged != nullptr) {
    // The device may still write there.
    staging_.FreeAfter(signalled.staged, signalled.event);
    signalled.event = nullptr;
  }
  Release(signalled);
  return status;
}

Status CommandQueue::Drain(Deadline deadline) {
  cl_event event = nullptr;
  TENON_RETURN_IF_ERROR(TENON_CL(EnqueueMarkerWithWaitList, queue_, 0, nullptr, &event));
  Status status = TENON_CL(Flush, queue_);
  if (status.ok()) status = WaitForEvent(event, deadline);
  Cl().ReleaseEvent(event);
  if (status.code() == StatusCode::kDeadlineExceeded) {
    // Whoever gives up waiting has the memory back that tensors were to go to.
    for (const auto& signalled : signalled_) signalled->actual = nullptr;
  }
  // A marker that failed because of what stood before it has been reached all the same; what failed
  // there, its own signal tells.
  return status.code() == StatusCode::kBackendFailure ? OkStatus() : status;
}

CommandQueue::Signalled* CommandQueue::TakeSignalled() {
  for (const auto& signalled : signalled_) {
    if (signalled->taken) continue;
    signalled->taken = true;
    return signalled.get();
  }
  auto* const added = new (std::nothrow) Signalled();
  if (added == nullptr) return nullptr;
  added->taken = true;
  signalled_.emplace_back(added);
  return added;
}

void CommandQueue::Release(Signalled& signalled) {
  if (signalled.event != nullptr) Cl().ReleaseEvent(signalled.event);
  signalled = Signalled{};
}

size_t CommandQueue::held_bytes() const {
  size_t bytes = staging_.bytes();
  if (device_.transfer() != Transfer::kCopy) return bytes;
  for (const Arena& arena : arenas_) bytes += arena.bytes;
  return bytes;
}

}  // namespace tenon::opencl
