#include "backends/opencl/opencl_backend.hpp"

#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "backends/opencl/caps/conv_caps.hpp"
#include "backends/opencl/caps/matmul_caps.hpp"
#include "backends/opencl/caps/quantized_caps.hpp"
#include "backends/opencl/caps/supports.hpp"
#include "backends/opencl/caps/tile_shapes.hpp"
#include "backends/opencl/codegen/group_source.hpp"
#include "backends/opencl/device/command_queue.hpp"
#include "backends/opencl/device/device.hpp"
#include "backends/opencl/kernels/conv_kernels.hpp"
#include "backends/opencl/kernels/entry.hpp"
#include "backends/opencl/kernels/kernels.hpp"
#include "backends/opencl/kernels/quantized_gemm.hpp"
#include "backends/opencl/kernels/tile.hpp"
#include "runtime/ops/rows.hpp"

namespace tenon::opencl {
namespace {

constexpr char kOtherSource[] =
    "the plan's source of a group is not what this runtime makes of its ops: convert the model "
    "again";

CommandQueue& AsQueue(void* queue) { return *static_cast<CommandQueue*>(queue); }

Status OpenDevice(int threads, void** device) {
  std::unique_ptr<Device> opened(new (std::nothrow) Device());
  TENON_ENSURE(opened != nullptr, kOutOfMemory, "no memory for an OpenCL device");
  TENON_RETURN_IF_ERROR(opened->Open(threads));
  *device = opened.release();
  return OkStatus();
}

void CloseDevice(void* device) { delete static_cast<Device*>(device); }

Status OpenQueue(void* device, Span<const ArenaMemory> arenas, void** queue) {
  std::unique_ptr<CommandQueue> opened(new (std::nothrow)
                                           CommandQueue(*static_cast<Device*>(device)));
  TENON_ENSURE(opened != nullptr, kOutOfMemory, "no memory for an OpenCL command queue");
  TENON_RETURN_IF_ERROR(opened->Open(arenas));
  *queue = opened.release();
  return OkStatus();
}

void CloseQueue(void* queue) { delete static_cast<CommandQueue*>(queue); }

Status Start(void*) { return OkStatus(); }

Status Upload(void* queue, const SharedTensor& tensor) { return AsQueue(queue).Upload(tensor); }

Status Signal(void* queue, const SharedTensor& tensor, void** event) {
  return AsQueue(queue).Signal(tensor, event);
}

Status Submit(void* queue) { return AsQueue(queue).Submit(); }

Status Wait(void* queue, void* event, Deadline deadline) {
  return AsQueue(queue).Wait(event, deadline);
}

Status Drain(void* queue, Deadline deadline) { return AsQueue(queue).Drain(deadline); }

/// A plan's CRC says that it came whole, not from whom: what a device executes is made here.
Status CheckGroup(const GroupCode& group, std::vector<SubKernel>& launches) {
  for (size_t i = 0; i < group.op_count; ++i) {
    const GroupOp op = group.op(group.context, i);
    LoweredOp lowered = LowerOp(op.kind, op.kernel, op.call);
    if (lowered.why_not != nullptr) return Status(StatusCode::kUnsupported, lowered.why_not);
    for (SubKernel& launch : lowered.launches) launches.push_back(std::move(launch));
  }
  bool is_ours = launches.size() == group.arguments.size();
  for (size_t i = 0; is_ours && i < launches.size(); ++i) {
    is_ours = ParameterCount(launches[i]) == group.arguments[i];
  }
  TENON_ENSURE(is_ours && GroupSource(launches) == group.source, kUnsupported, kOtherSource);
  return OkStatus();
}

Status LoadGroup(void* device, const GroupCode& group, void** loaded) {
  Device& opencl = *static_cast<Device*>(device);
  std::vector<SubKernel> launches;
  TENON_RETURN_IF_ERROR(CheckGroup(group, launches));
  std::unique_ptr<LoadedGroup> made(new (std::nothrow) LoadedGroup());
  TENON_ENSURE(made != nullptr, kOutOfMemory, "no memory for a group of OpenCL ops");
  TENON_RETURN_IF_ERROR(opencl.FindGroupProgram(group.source, &made->program));
  made->is_cpu = opencl.traits().is_cpu;
  for (size_t i = 0; i < launches.size(); ++i) {
    const uint32_t phase = launches[i].phase;
    if (made->parameters.size() <= phase) made->parameters.resize(phase + 1);
    uint32_t& parameters = made->parameters[phase];
    made->launches.push_back({phase, parameters, parameters + group.arguments[i]});
    parameters += group.arguments[i];
  }
  *loaded = made.release();
  return OkStatus();
}

void UnloadGroup(void*, void* loaded) { delete static_cast<LoadedGroup*>(loaded); }

Status OpenGroup(void* queue, void* loaded) {
  return AsQueue(queue).OpenGroup(*static_cast<const LoadedGroup*>(loaded));
}

Status BeginGroup(void* queue, void* loaded) {
  return AsQueue(queue).BeginGroup(*static_cast<const LoadedGroup*>(loaded));
}

Status EndGroup(void* queue) { return AsQueue(queue).EndGroup(); }

size_t QueueBytes(const void* queue) {
  return static_cast<const CommandQueue*>(queue)->held_bytes();
}

constexpr DeviceApi MakeDeviceApi() {
  DeviceApi api = {Guarded<OpenDevice>::Call,
                   CloseDevice,
                   Guarded<OpenQueue>::Call,
                   CloseQueue,
                   Start,
                   Guarded<Upload>::Call,
                   Guarded<Signal>::Call,
                   Guarded<Submit>::Call,
                   Guarded<Wait>::Call,
                   Guarded<Drain>::Call,
                   QueueBytes};
  api.load_group = Guarded<LoadGroup>::Call;
  api.unload_group = UnloadGroup;
  api.open_group = Guarded<OpenGroup>::Call;
  api.begin_group = Guarded<BeginGroup>::Call;
  api.end_group = Guarded<EndGroup>::Call;
  return api;
}
constexpr DeviceApi kDevice = MakeDeviceApi();

}  // namespace

const Backend& OpenclBackend() {
#define TENON_KERNEL(op, Op, implementation, facts, ...)     \
  Entry<(facts).supports, (facts).activations, __VA_ARGS__>( \
      (facts).Named("opencl." #op "." #implementation, OpKind::k##Op), k##Op##Row),
  static constexpr KernelEntry kKernels[] = {
#include "backends/opencl/caps/kernels.inc"
  };
#undef TENON_KERNEL
  static const Backend kBackend = {"opencl", Span<const KernelEntry>(kKernels), nullptr, nullptr,
                                   &kDevice};
  return kBackend;
}

}  // namespace tenon::opencl
