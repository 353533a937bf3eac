#include "backends/opencl/device/staging.hpp"

#include "backends/opencl/device/cl_error.hpp"
#include "runtime/base/round_up.hpp"

namespace tenon::opencl {
namespace {

constexpr size_t kAlignment = 128;

bool IsComplete(cl_event event) {
  cl_int state = CL_QUEUED;
  const cl_int code =
      Cl().GetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(state), &state, nullptr);
  return code == CL_SUCCESS && state <= CL_COMPLETE;
}

}  // namespace

Status Staging::Open(cl_command_queue queue, size_t bytes) {
  cl_int code = CL_SUCCESS;
  queue_ = queue;
  buffer_ = Cl().CreateBuffer(device_.context(), CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes,
                              nullptr, &code);
  TENON_RETURN_IF_ERROR(ClStatus(code, "clCreateBuffer"));
  void* base = Cl().EnqueueMapBuffer(queue, buffer_, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, bytes,
                                     0, nullptr, nullptr, &code);
  TENON_RETURN_IF_ERROR(ClStatus(code, "clEnqueueMapBuffer"));
  base_ = static_cast<uint8_t*>(base);
  bytes_ = bytes;
  return OkStatus();
}

void Staging::Close() {
  for (const Piece& piece : pieces_) {
    if (piece.event != nullptr) Cl().ReleaseEvent(piece.event);
  }
  pieces_.clear();
  if (base_ != nullptr) {
    Cl().EnqueueUnmapMemObject(queue_, buffer_, base_, 0, nullptr, nullptr);
    Cl().Finish(queue_);
  }
  if (buffer_ != nullptr) Cl().ReleaseMemObject(buffer_);
  base_ = nullptr;
  buffer_ = nullptr;
  bytes_ = 0;
}

void Staging::Collect() {
  size_t kept = 0;
  for (const Piece& piece : pieces_) {
    if (piece.event != nullptr && IsComplete(piece.event)) {
      Cl().ReleaseEvent(piece.event);
    } else {
      pieces_[kept++] = piece;
    }
  }
  pieces_.resize(kept);
}

uint8_t* Staging::Take(size_t bytes) {
  if (bytes == 0 || bytes > bytes_) return nullptr;
  bytes = RoundUp(bytes, kAlignment);
  Collect();
  size_t begin = 0;
  size_t place = 0;
  while (place < pieces_.size() && pieces_[place].begin - begin < bytes) {
    begin = pieces_[place++].end;
  }
  if (begin + bytes > bytes_) return nullptr;
  pieces_.insert(pieces_.begin() + static_cast<ptrdiff_t>(place), {begin, begin + bytes, nullptr});
  return base_ + begin;
}

void Staging::Free(const uint8_t* piece) {
  for (size_t i = 0; i < pieces_.size(); ++i) {
    if (base_ + pieces_[i].begin != piece) continue;
    pieces_.erase(pieces_.begin() + static_cast<ptrdiff_t>(i));
    return;
  }
}

void Staging::FreeAfter(const uint8_t* piece, cl_event event) {
  for (Piece& taken : pieces_) {
    if (base_ + taken.begin == piece) taken.event = event;
  }
}

}  // namespace tenon::opencl
