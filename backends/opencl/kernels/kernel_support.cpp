#include "backends/opencl/kernels/kernel_support.hpp"

#include <algorithm>
#include <memory>
#include <new>

#include "backends/opencl/device/cl_error.hpp"

namespace tenon::opencl {

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

DeviceBuffer::~DeviceBuffer() {
  if (memory_ != nullptr) Cl().ReleaseMemObject(memory_);
}

Status DeviceBuffer::Create(const Device& device, const void* data, size_t bytes) {
  if (bytes == 0) return OkStatus();
  cl_int code = CL_SUCCESS;
  // The driver only reads through this pointer.
  memory_ = Cl().CreateBuffer(device.context(), CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, bytes,
                              const_cast<void*>(data), &code);
  TENON_RETURN_IF_ERROR(ClStatus(code, "clCreateBuffer"));
  bytes_ = bytes;
  return OkStatus();
}

Kernel::~Kernel() {
  if (kernel_ != nullptr) Cl().ReleaseKernel(kernel_);
}

Status Kernel::Create(cl_program program, const char* function) {
  cl_int code = CL_SUCCESS;
  kernel_ = Cl().CreateKernel(program, function, &code);
  TENON_RETURN_IF_ERROR(ClStatus(code, "clCreateKernel"));
  // Not every driver takes a null device for the only one that the program is built for.
  cl_device_id device = nullptr;
  TENON_RETURN_IF_ERROR(TENON_CL(GetProgramInfo, program, CL_PROGRAM_DEVICES, sizeof(cl_device_id),
                                 &device, nullptr));
  return TENON_CL(GetKernelWorkGroupInfo, kernel_, device, CL_KERNEL_WORK_GROUP_SIZE,
                  sizeof(most_items_), &most_items_, nullptr);
}

Status Kernel::SetArgument(cl_uint index, const void* value, size_t bytes) {
  static constexpr unsigned char kNull[sizeof(cl_mem)] = {};
  const void* const compared = value != nullptr ? value : kNull;
  if (arguments_.size() <= index) arguments_.resize(index + 1);
  Argument& argument = arguments_[index];
  TENON_ENSURE(bytes <= kMostArgumentBytes, kInvalidArgument,
               "argument {0} of an OpenCL kernel has {1} bytes", index,
               static_cast<int64_t>(bytes));
  if (argument.bytes == bytes && std::memcmp(argument.value, compared, bytes) == 0) {
    return OkStatus();
  }
  TENON_RETURN_IF_ERROR(TENON_CL(SetKernelArg, kernel_, index, bytes, value));
  argument.bytes = bytes;
  std::memcpy(argument.value, compared, bytes);
  return OkStatus();
}

namespace {

size_t Items(const Range& group) { return group.v[0] * group.v[1] * group.v[2]; }

}  // namespace

size_t SpanBytes(const TensorView& view) {
  if (view.Elements() == 0) return 0;
  size_t last = 0;
  for (int k = 0; k < view.rank; ++k) {
    last += static_cast<size_t>(view.dims[k] - 1) * static_cast<size_t>(view.strides[k]);
  }
  return (last + 1) * static_cast<size_t>(DTypeBytes(view.dtype));
}

Status LoadOp(const KernelSetup& setup, const ProgramChoice& choice, LoadedOp** loaded,
              uint32_t packed_inputs) {
  *loaded = nullptr;
  TENON_ENSURE(setup.device != nullptr, kFailedPrecondition,
               "an OpenCL kernel was loaded without its device");
  std::unique_ptr<LoadedOp> made(new (std::nothrow) LoadedOp());
  TENON_ENSURE(made != nullptr, kOutOfMemory, "no memory for an OpenCL op");
  made->device = static_cast<Device*>(setup.device);
  made->function = choice.function;
  TENON_RETURN_IF_ERROR(made->device->FindProgram(choice.file, choice.options, &made->program));
  made->constants.resize(static_cast<size_t>(setup.op.InputCount()));
  for (int i = 0; i < setup.op.InputCount(); ++i) {
    if (!setup.op.HasInput(i) || (i < 32 && (packed_inputs >> i & 1U) != 0)) continue;
    const TensorView& input = setup.op.Input(i);
    if (input.data == nullptr) continue;
    TENON_RETURN_IF_ERROR(made->constants[static_cast<size_t>(i)].Create(*made->device, input.data,
                                                                         SpanBytes(input)));
  }
  *loaded = made.release();
  return OkStatus();
}

Status AddTable(LoadedOp* loaded, const void* data, size_t bytes, void** shared) {
  *shared = nullptr;
  DeviceBuffer table;
  const Status status = table.Create(*loaded->device, data, bytes);
  if (!status.ok()) {
    UnloadOp(loaded);
    return status;
  }
  loaded->tables.push_back(static_cast<DeviceBuffer&&>(table));
  *shared = loaded;
  return status;
}

Status OpenOp(const KernelSetup&, void* shared, void** state) {
  std::unique_ptr<OpenedOp> opened(new (std::nothrow) OpenedOp());
  TENON_ENSURE(opened != nullptr, kOutOfMemory, "no memory for an OpenCL kernel");
  opened->loaded = static_cast<const LoadedOp*>(shared);
  TENON_RETURN_IF_ERROR(opened->kernel.Create(opened->loaded->program, opened->loaded->function));
  *state = opened.release();
  return OkStatus();
}

void CloseOp(void* state) { delete static_cast<OpenedOp*>(state); }

void UnloadOp(void* shared) { delete static_cast<LoadedOp*>(shared); }

size_t HeldBytes(const void* shared, const void* state) {
  size_t bytes = state != nullptr ? sizeof(OpenedOp) : 0;
  if (shared == nullptr) return bytes;
  const auto& loaded = *static_cast<const LoadedOp*>(shared);
  bytes += sizeof(LoadedOp) + loaded.constants.size() * sizeof(DeviceBuffer);
  for (const DeviceBuffer& buffer : loaded.constants) bytes += buffer.bytes();
  for (const DeviceBuffer& buffer : loaded.tables) bytes += buffer.bytes();
  return bytes;
}

Launch::Launch(const KernelCall& call)
    : Launch(call, static_cast<OpenedOp*>(call.state)->kernel,
             static_cast<OpenedOp*>(call.state)->loaded->constants) {}

Launch::Launch(const KernelCall& call, Kernel& kernel, const std::vector<DeviceBuffer>& constants)
    : call_(call),
      queue_(*static_cast<CommandQueue*>(call.queue)),
      kernel_(kernel),
      constants_(constants) {}

void Launch::Set(const void* value, size_t bytes) {
  GroupLaunch* const group = queue_.group();
  if (status_.ok()) {
    status_ = group != nullptr ? group->SetArgument(next_, value, bytes)
                               : kernel_.SetArgument(next_, value, bytes);
  }
  ++next_;
}

void Launch::Place(const BufferPlace& place, size_t element_bytes, int64_t start) {
  if (status_.ok() && place.offset % element_bytes != 0) {
    status_ = Status(StatusCode::kInvalidArgument,
                     "an operand of an OpenCL kernel lies at byte {0} of its arena, not at a whole "
                     "number of elements of {1} bytes",
                     static_cast<int64_t>(place.offset), static_cast<int64_t>(element_bytes));
  }
  const cl_ulong offset = place.offset / element_bytes + static_cast<cl_ulong>(start);
  Set(place.buffer != nullptr ? &place.buffer : nullptr, sizeof(cl_mem));
  Set(&offset, sizeof(offset));
}

Launch& Launch::Address(const void* address, size_t element_bytes, int64_t start) {
  BufferPlace place;
  if (status_.ok()) status_ = queue_.Find(address, &place);
  Place(place, element_bytes, start);
  return *this;
}

Launch& Launch::Input(int index, int64_t start) {
  if (!call_.op.HasInput(index) || call_.op.Input(index).Elements() == 0) {
    Place({}, 1);
    return *this;
  }
  const TensorView& view = call_.op.Input(index);
  const auto bytes = static_cast<size_t>(DTypeBytes(view.dtype));
  const auto at = static_cast<size_t>(index);
  if (at < constants_.size() && constants_[at].memory() != nullptr) {
    Place({constants_[at].memory(), 0}, bytes, start);
    return *this;
  }
  return Address(view.data, bytes, start);
}

Launch& Launch::Output(int index, int64_t start) {
  const TensorView& view = call_.op.Output(index);
  return Address(view.data, static_cast<size_t>(DTypeBytes(view.dtype)), start);
}

Launch& Launch::Workspace(size_t element_bytes) { return Address(call_.workspace, element_bytes); }

Launch& Launch::Buffer(const DeviceBuffer& buffer) {
  cl_mem memory = buffer.memory();
  Set(memory != nullptr ? &memory : nullptr, sizeof(cl_mem));
  return *this;
}

Launch& Launch::Table(const DeviceBuffer& buffer, int64_t start) {
  Place({buffer.memory(), 0}, sizeof(int32_t), start);
  return *this;
}

Launch& Launch::Local(size_t bytes) {
  if (queue_.group() != nullptr) return *this;
  if (status_.ok()) status_ = TENON_CL(SetKernelArg, kernel_.kernel(), next_, bytes, nullptr);
  ++next_;
  return *this;
}

Launch& Launch::From(cl_uint index) {
  next_ = index;
  return *this;
}

Status Launch::Enqueue(const Range& global, const Range& local) {
  Range fitting = local;
  for (size_t* v = fitting.v; queue_.group() == nullptr && Items(fitting) > kernel_.most_items();) {
    size_t& largest = *std::max_element(v, v + 3);
    if (largest == 1) break;
    largest /= 2;
  }
  return EnqueueGroups(global, fitting);
}

Status Launch::EnqueueTogether(const Range& global, const Range& local) {
  if (status_.ok() && queue_.group() == nullptr && Items(local) > kernel_.most_items()) {
    status_ =
        Status(StatusCode::kUnsupported,
               "an OpenCL kernel takes work-groups of {0} work-items on this device, {1} are "
               "needed",
               static_cast<int64_t>(kernel_.most_items()), static_cast<int64_t>(Items(local)));
  }
  return EnqueueGroups(global, local);
}

Status Launch::EnqueueGroups(const Range& global, const Range& local) {
  TENON_RETURN_IF_ERROR(status_);
  size_t whole[3];
  for (int k = 0; k < 3; ++k) {
    if (global.v[k] == 0) return OkStatus();
    whole[k] = (global.v[k] + local.v[k] - 1) / local.v[k] * local.v[k];
  }
  if (GroupLaunch* const group = queue_.group(); group != nullptr) {
    status_ = group->Add(whole, local.v);
    return status_;
  }
  status_ = TENON_CL(EnqueueNDRangeKernel, queue_.queue(), kernel_.kernel(), 3, nullptr, whole,
                     local.v, 0, nullptr, nullptr);
  return status_;
}

}  // namespace tenon::opencl
