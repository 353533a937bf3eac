#include "backends/fpga/fpga_backend.hpp"

#include <memory>
#include <utility>

#include "backends/fpga/device/command_queue.hpp"
#include "backends/fpga/device/device.hpp"
#include "backends/fpga/device/guarded.hpp"

namespace tenon::fpga {
namespace {

CommandQueue& AsQueue(void* queue) { return *static_cast<CommandQueue*>(queue); }

Status OpenDevice(int, void** device) {
  auto opened = std::make_unique<Device>();
  TENON_RETURN_IF_ERROR(opened->Open());
  *device = opened.release();
  return OkStatus();
}

void CloseDevice(void* device) { delete static_cast<Device*>(device); }

Status OpenQueue(void* device, Span<const ArenaMemory> arenas, void** queue) {
  auto opened = std::make_unique<CommandQueue>(*static_cast<Device*>(device));
  TENON_RETURN_IF_ERROR(opened->Open(arenas));
  *queue = opened.release();
  return OkStatus();
}

void CloseQueue(void* queue) { delete static_cast<CommandQueue*>(queue); }

Status BeginSegment(void*) { return OkStatus(); }

Status Upload(void* queue, const SharedTensor& tensor) { return AsQueue(queue).Upload(tensor); }

Status Signal(void* queue, const SharedTensor& tensor, void** event) {
  return AsQueue(queue).Signal(tensor, event);
}

Status Submit(void* queue) {
  AsQueue(queue).Submit();
  return OkStatus();
}

Status Wait(void* queue, void* event, Deadline deadline) {
  return AsQueue(queue).Wait(event, deadline);
}

Status Drain(void* queue, Deadline deadline) { return AsQueue(queue).Drain(deadline); }

size_t QueueBytes(const void* queue) {
  return static_cast<const CommandQueue*>(queue)->held_bytes();
}

Status LoadCode(void* device, const SegmentCode& code, void** loaded) {
  std::unique_ptr<LoadedCode> made;
  TENON_RETURN_IF_ERROR(static_cast<Device*>(device)->LoadCode(code, &made));
  *loaded = made.release();
  return OkStatus();
}

void UnloadCode(void*, void* loaded) { delete static_cast<LoadedCode*>(loaded); }

Status RunCode(void* queue, void* loaded, Span<void* const> bases) {
  return AsQueue(queue).RunCode(*static_cast<const LoadedCode*>(loaded), bases);
}

Status LendArena(void* device, const ArenaWish& wish, void** base) {
  return static_cast<Device*>(device)->LendArena(wish, base);
}

void TakeBackArena(void* device, void* base) { static_cast<Device*>(device)->TakeBackArena(base); }

size_t Counters(void* device, Span<DeviceCounter> counters) {
  return static_cast<Device*>(device)->board().ReadCounters(counters);
}

constexpr DeviceApi kDevice = {Guarded<OpenDevice>::Call,
                               CloseDevice,
                               Guarded<OpenQueue>::Call,
                               CloseQueue,
                               BeginSegment,
                               Guarded<Upload>::Call,
                               Guarded<Signal>::Call,
                               Guarded<Submit>::Call,
                               Guarded<Wait>::Call,
                               Guarded<Drain>::Call,
                               QueueBytes,
                               Guarded<LoadCode>::Call,
                               UnloadCode,
                               Guarded<RunCode>::Call,
                               Guarded<LendArena>::Call,
                               TakeBackArena,
                               Counters};

}  // namespace

const Backend& FpgaBackend() {
  static const Backend kBackend = {"fpga", KernelList(), nullptr, nullptr, &kDevice};
  return kBackend;
}

}  // namespace tenon::fpga
