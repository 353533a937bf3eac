// Pinned host memory through which tensors pass to devices with memory of their own: copies from
// and to pageable memory are several times slower, and some drivers do them while the caller waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backends/opencl/device/cl_functions.hpp"
#include "backends/opencl/device/device.hpp"
#include "runtime/base/status.hpp"

namespace tenon::opencl {

/// Is one piece of pinned memory, from which parts are taken. Not thread-safe.
class Staging {
 public:
  explicit Staging(Device& device) : device_(device) {}
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// Allocates `bytes` of pinned memory, mapped into the host until Close.
  Status Open(cl_command_queue queue, size_t bytes);
  /// Frees it; the queue must be empty. Without this call it is never freed, which suits a device
  /// that may yet write to it.
  void Close();

  /// Returns `bytes` that nothing uses, or null where there are not so many: then the caller copies
  /// without them. They are free again when `Free` is called or the event given to `FreeAfter` is
  /// complete.
  [[nodiscard]] uint8_t* Take(size_t bytes);
  void Free(const uint8_t* piece);
  /// Frees the piece once `event` is complete, and takes over the caller's reference to the event.
  void FreeAfter(const uint8_t* piece, cl_event event);

  [[nodiscard]] size_t bytes() const { return bytes_; }

 private:
  struct Piece {
    size_t begin;
    size_t end;
    cl_event event;  ///< null: until `Free`
  };
  void Collect();

  Device& device_;
  cl_command_queue queue_ = nullptr;
  cl_mem buffer_ = nullptr;
  uint8_t* base_ = nullptr;
  size_t bytes_ = 0;
  std::vector<Piece> pieces_;  ///< taken ones, by address
};

}  // namespace tenon::opencl
