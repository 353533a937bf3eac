// One loaded plan's OpenCL device: its context, and the programs that the plan's kernels use.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "backends/opencl/device/cl_functions.hpp"
#include "backends/opencl/device/device_choice.hpp"
#include "runtime/base/status.hpp"

namespace tenon::opencl {

/// Says how tensors pass between the host's memory and the device's.
enum class Transfer {
  kNone,  ///< the device works in the host's memory, and caches agree: nothing passes
  kMap,   ///< it works in the host's memory, and the driver is told what changed
  kCopy,  ///< it has a copy of every arena; what changed is copied, through pinned memory
};

class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device();

  /// Chooses a device (see device_choice.hpp) and makes a context. A CPU is limited to `threads`
  /// cores, if it can be partitioned. TENON_OPENCL_TRANSFER (none, map or copy) chooses the
  /// transfer, which else follows from what the device says of its memory; TENON_OPENCL_KIND=gpu
  /// makes it be used as a GPU, whatever it is; TENON_OPENCL_VECTOR (4,
  /// 8 or 16) sets how many floats a work-item of most kernels takes at once;
  /// TENON_OPENCL_ROW_GROUP (1, 16 or 64) how many work-items share a row that is reduced;
  /// TENON_OPENCL_OPTIONS is added to the compiler's options, for instance for debuggers. Errors:
  /// kUnsupported (no library, no device, a variable's value), kBackendFailure.
  Status Open(int threads);

  [[nodiscard]] const DeviceTraits& traits() const { return traits_; }
  [[nodiscard]] Transfer transfer() const { return transfer_; }
  [[nodiscard]] cl_device_id id() const { return id_; }
  [[nodiscard]] cl_context context() const { return context_; }

  /// Finds the program of `file` (one of kernels/*.cl, "pool.cl") built with `options` ("-DTAPS=9")
  /// and those that all programs have. It is built once, at the first call, or taken from the
  /// disk's cache, and kept while the device is open. Any thread may call it. Errors:
  /// kBackendFailure with the compiler's message.
  Status FindProgram(const char* file, const std::string& options, cl_program* program);

  /// Does the same for the source of a group of ops, which a plan carries.
  Status FindGroupProgram(const char* source, cl_program* program);

  /// A queue was closed while the driver was still at work for it. From now on nothing is released,
  /// not even when this object goes: drivers have crashed that were compiling a kernel by then.
  void LeaveToDriver() { is_left_ = true; }

 private:
  Status ChooseKind();
  Status ChooseTransfer();
  Status ChooseVector();
  Status ChooseRowGroup();
  Status FindBuilt(const std::string& key, const std::string& source, const std::string& options,
                   cl_program* program);
  Status Build(const std::string& source, const std::string& options, cl_program* program) const;
  [[nodiscard]] std::string CommonOptions() const;

  DeviceTraits traits_;
  Transfer transfer_ = Transfer::kCopy;
  cl_device_id id_ = nullptr;
  cl_context context_ = nullptr;
  std::atomic<bool> is_left_{false};
  std::mutex programs_mutex_;
  std::map<std::string, cl_program> programs_;  ///< by file and options, or by source
};

}  // namespace tenon::opencl
