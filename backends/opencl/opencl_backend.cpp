#include "backends/opencl/opencl_backend.hpp"

#include <memory>
#include <new>

#include "backends/opencl/caps/conv_caps.hpp"
#include "backends/opencl/caps/matmul_caps.hpp"
#include "backends/opencl/caps/supports.hpp"
#include "backends/opencl/caps/tile_shapes.hpp"
#include "backends/opencl/device/device.hpp"
#include "backends/opencl/device/stream.hpp"
#include "backends/opencl/kernels/conv_kernels.hpp"
#include "backends/opencl/kernels/entry.hpp"
#include "backends/opencl/kernels/kernels.hpp"
#include "backends/opencl/kernels/tile.hpp"
#include "runtime/ops/rows.hpp"

namespace tenon::opencl {
namespace {

Stream& AsStream(void* stream) { return *static_cast<Stream*>(stream); }

Status OpenDevice(int threads, void** device) {
  std::unique_ptr<Device> opened(new (std::nothrow) Device());
  TENON_ENSURE(opened != nullptr, kOutOfMemory, "no memory for an OpenCL device");
  TENON_RETURN_IF_ERROR(opened->Open(threads));
  *device = opened.release();
  return OkStatus();
}

void CloseDevice(void* device) { delete static_cast<Device*>(device); }

Status OpenStream(void* device, Span<const ArenaMemory> arenas, void** stream) {
  std::unique_ptr<Stream> opened(new (std::nothrow) Stream(*static_cast<Device*>(device)));
  TENON_ENSURE(opened != nullptr, kOutOfMemory, "no memory for an OpenCL stream");
  TENON_RETURN_IF_ERROR(opened->Open(arenas));
  *stream = opened.release();
  return OkStatus();
}

void CloseStream(void* stream) { delete static_cast<Stream*>(stream); }

Status Start(void*) { return OkStatus(); }

Status Upload(void* stream, const SharedTensor& tensor) { return AsStream(stream).Upload(tensor); }

Status Signal(void* stream, const SharedTensor& tensor, void** event) {
  return AsStream(stream).Signal(tensor, event);
}

Status Submit(void* stream) { return AsStream(stream).Submit(); }

Status Wait(void* stream, void* event, Deadline deadline) {
  return AsStream(stream).Wait(event, deadline);
}

Status Drain(void* stream, Deadline deadline) { return AsStream(stream).Drain(deadline); }

size_t StreamBytes(const void* stream) { return static_cast<const Stream*>(stream)->held_bytes(); }

constexpr DeviceApi kDevice = {OpenDevice, CloseDevice, OpenStream, CloseStream, Start,      Upload,
                               Signal,     Submit,      Wait,       Drain,       StreamBytes};

}  // namespace

const Backend& OpenclBackend() {
#define TENON_KERNEL(op, Op, implementation, facts, ...) \
  Entry<(facts).supports, (facts).activations>(          \
      (facts).Named("opencl." #op "." #implementation, OpKind::k##Op), k##Op##Row, __VA_ARGS__),
  static constexpr KernelEntry kKernels[] = {
#include "backends/opencl/caps/kernels.inc"
  };
#undef TENON_KERNEL
  static const Backend kBackend = {"opencl", Span<const KernelEntry>(kKernels), nullptr, nullptr,
                                   &kDevice};
  return kBackend;
}

}  // namespace tenon::opencl
