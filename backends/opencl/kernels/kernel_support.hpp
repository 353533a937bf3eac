// What the kernels of this backend share: from an op to arguments and launches.
//
// The life of a kernel made of one function of one .cl file, whose entry then has nothing of its
// own but `run`:
//
//   ProgramChoice Choose(const KernelSetup& setup)     which file, options and function
//   entry.load = Load<Choose>                          builds, uploads constant inputs as they lie
//   entry.open = OpenOp, .close = CloseOp, .unload = UnloadOp, .held_bytes = HeldBytes
//   entry.run:  return Launch(call).Input(0).Output().Value(attributes.a).Enqueue({n}, {64});
//
// Kernels with several functions, or with packed weights, keep a state of their own, and use
// DeviceBuffer, Kernel and the other Launch constructor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "backends/opencl/codegen/programs.hpp"
#include "backends/opencl/device/cl_functions.hpp"
#include "backends/opencl/device/command_queue.hpp"
#include "backends/opencl/device/device.hpp"
#include "runtime/backend_api/kernel.hpp"
#include "runtime/base/status.hpp"

namespace tenon::opencl {

/// Is device memory that lives as long as a loaded plan: weights, tables.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(DeviceBuffer&& other) noexcept { *this = static_cast<DeviceBuffer&&>(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
  ~DeviceBuffer();

  /// Allocates memory on the device and copies `bytes` of `data` there before it returns. For 0
  /// bytes it allocates nothing. Errors: kOutOfMemory, kBackendFailure.
  Status Create(const Device& device, const void* data, size_t bytes);

  [[nodiscard]] cl_mem memory() const { return memory_; }
  [[nodiscard]] size_t bytes() const { return bytes_; }

 private:
  cl_mem memory_ = nullptr;
  size_t bytes_ = 0;
};

/// Is one function of a program, as one session uses it. It remembers its arguments, so that only
/// those that change from run to run are set again. Not thread-safe.
class Kernel {
 public:
  Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  ~Kernel();

  Status Create(cl_program program, const char* function);
  /// Sets an argument of at most kMostArgumentBytes. A null `value` with the size of a cl_mem is a
  /// null pointer.
  Status SetArgument(cl_uint index, const void* value, size_t bytes);
  [[nodiscard]] cl_kernel kernel() const { return kernel_; }
  /// Work-items that a work-group of it may have: fewer than the device's most where it needs many
  /// registers (OpenCL 1.2, section 5.7.3, CL_KERNEL_WORK_GROUP_SIZE).
  [[nodiscard]] size_t most_items() const { return most_items_; }

  static constexpr size_t kMostArgumentBytes = 256;

 private:
  struct Argument {
    size_t bytes = 0;  ///< 0: never set
    unsigned char value[kMostArgumentBytes] = {};
  };

  cl_kernel kernel_ = nullptr;
  size_t most_items_ = 1;
  std::vector<Argument> arguments_;
};

/// Contains four int32 for an int4 argument.
struct Int4 {
  int32_t v[4] = {0, 0, 0, 0};
};

/// Gives four of a view's dims or strides as they lie.
[[nodiscard]] inline Int4 Four(const int32_t* values) {
  return {{values[0], values[1], values[2], values[3]}};
}

/// Contains eight int32 for an int8 argument.
struct Int8 {
  int32_t v[8] = {};
};

/// Contains work-items or work-group sizes in up to three dimensions.
struct Range {
  size_t v[3] = {1, 1, 1};
  Range(size_t x, size_t y = 1, size_t z = 1) : v{x, y, z} {}  // NOLINT: implicit on purpose
};

/// Is what `load` makes and sessions share.
struct LoadedOp {
  Device* device = nullptr;
  cl_program program = nullptr;  ///< the device's
  const char* function = nullptr;
  std::vector<DeviceBuffer> constants;  ///< by input; without memory where it is no constant
  std::vector<DeviceBuffer> tables;     ///< the kernel's own
};

/// Is what `open` makes.
struct OpenedOp {
  const LoadedOp* loaded = nullptr;
  Kernel kernel;
};

/// Builds the program and uploads the constant inputs but those in the bit mask `packed_inputs`,
/// which the caller brings in a form of its own. The caller owns `*loaded` (UnloadOp).
Status LoadOp(const KernelSetup& setup, const ProgramChoice& choice, LoadedOp** loaded,
              uint32_t packed_inputs = 0);

/// Adds a table of `bytes` to the result of LoadOp. On success `*shared` is `loaded`; otherwise
/// `loaded` is freed.
Status AddTable(LoadedOp* loaded, const void* data, size_t bytes, void** shared);

/// Is KernelEntry::load of a kernel that needs no more than LoadOp.
template <ProgramChoice (*choose)(const KernelSetup&)>
Status Load(const KernelSetup& setup, void** shared) {
  LoadedOp* loaded = nullptr;
  const Status status = LoadOp(setup, choose(setup), &loaded);
  *shared = loaded;
  return status;
}

/// Are the other functions of a KernelEntry whose `load` makes a LoadedOp.
Status OpenOp(const KernelSetup& setup, void* shared, void** state);
void CloseOp(void* state);
void UnloadOp(void* shared);
size_t HeldBytes(const void* shared, const void* state);

/// Makes one launch: arguments in the order of the function's parameters, then Enqueue. It keeps
/// the first error, after which all calls do nothing.
class Launch {
 public:
  /// Launches for an op whose state is an OpenedOp.
  explicit Launch(const KernelCall& call);
  /// Launches any function, with `constants` as in LoadedOp.
  Launch(const KernelCall& call, Kernel& kernel, const std::vector<DeviceBuffer>& constants);

  /// Sets two parameters, `__global T* buffer, ulong offset`, with the offset in elements. A
  /// constant is in its own memory, any other input in the queue's arenas. An absent or empty input
  /// gives a null pointer and 0. `start` is a number of elements to add to the offset; the sum may
  /// not be negative.
  Launch& Input(int index, int64_t start = 0);
  Launch& Output(int index = 0, int64_t start = 0);
  /// Sets the same for memory inside an arena, with elements of `element_bytes`.
  Launch& Address(const void* address, size_t element_bytes, int64_t start = 0);
  /// Sets the same for the call's workspace.
  Launch& Workspace(size_t element_bytes = sizeof(float));
  /// Sets one parameter, `__global const T* buffer`; null without memory.
  Launch& Buffer(const DeviceBuffer& buffer);
  /// Sets two parameters as Input does, with elements of 4 bytes.
  Launch& Table(const DeviceBuffer& buffer, int64_t start = 0);
  /// Sets one parameter: int32_t, uint32_t, float, Int4, ...
  template <typename T>
  Launch& Value(const T& value) {
    Set(&value, sizeof(value));
    return *this;
  }
  /// Reserves `bytes` of local memory, `__local T*`: the last parameter. Merged ops have it from
  /// their common kernel.
  Launch& Local(size_t bytes);

  /// Enqueues as many work-groups of `local` work-items, or of fewer where the kernel takes no
  /// more, as cover `global`; the last ones may reach beyond it, which the function must check. It
  /// does nothing where `global` is empty. It may be called again after From(0), with other
  /// arguments.
  Status Enqueue(const Range& global, const Range& local);
  /// The same for a function whose work-items of a group work together: there are as many as said.
  /// Errors: kUnsupported, the kernel takes fewer.
  Status EnqueueTogether(const Range& global, const Range& local);
  /// Continues with the argument at `index`; earlier ones keep their values.
  Launch& From(cl_uint index);

  [[nodiscard]] const Status& status() const { return status_; }

 private:
  void Set(const void* value, size_t bytes);
  void Place(const BufferPlace& place, size_t element_bytes, int64_t start = 0);
  Status EnqueueGroups(const Range& global, const Range& local);

  const KernelCall& call_;
  CommandQueue& queue_;
  Kernel& kernel_;
  const std::vector<DeviceBuffer>& constants_;
  cl_uint next_ = 0;
  Status status_;
};

/// What turns a byte of i8 or u8 into its value: xor this, less this (BYTE_VALUE in prelude.cl).
[[nodiscard]] constexpr int32_t SignFlip(DType dtype) { return dtype == DType::kI8 ? 0x80 : 0; }

/// Returns the bytes from the first to the last element of a view, with gaps; 0 without elements.
[[nodiscard]] size_t SpanBytes(const TensorView& view);

}  // namespace tenon::opencl
