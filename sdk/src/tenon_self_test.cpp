// The part of tenon.h for bringing up boards: memory tests and counters. Hosts only.
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "runtime/backend_api/backend.hpp"
#include "runtime/engine/device_queue.hpp"
#include "runtime/engine/host/clock.hpp"
#include "sdk/src/handles.hpp"

namespace {

using tenon::ArenaMemory;
using tenon::Backend;
using tenon::DeviceApi;
using tenon::DeviceCounter;
using tenon::DeviceQueue;
using tenon::MonotonicNow;
using tenon::OkStatus;
using tenon::SharedTensor;
using tenon::Span;
using tenon::Status;
using tenon::StatusCode;
using tenon::sdk::Report;

constexpr size_t kAlignment = 4096;
/// Longer than the slowest link takes for the largest test.
constexpr uint64_t kPatience = 60'000'000'000U;  // ns

// Counters are written where the caller wants them.
static_assert(sizeof(tenon_counter) == sizeof(DeviceCounter) &&
              offsetof(tenon_counter, name) == offsetof(DeviceCounter, name) &&
              offsetof(tenon_counter, value) == offsetof(DeviceCounter, value));

struct Freer {
  void operator()(uint8_t* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<uint8_t, Freer>;

Memory MakeMemory(size_t bytes) {
  return Memory(static_cast<uint8_t*>(
      std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment)));
}

/// A byte that depends on every bit of its place, so that crossed address lines show.
uint8_t PatternAt(size_t place, bool inverted) {
  const uint64_t mixed = (place + 1) * 0x9E3779B97F4A7C15U;
  const auto byte = static_cast<uint8_t>(mixed >> 56 ^ mixed >> 24);
  return inverted ? static_cast<uint8_t>(~byte) : byte;
}

/// Where patterns come from, go through and come back to.
struct Walk {
  size_t bytes;
  Memory source;
  Memory result;
  tenon_memory_test& found;
  double write_ns = 0;
  double read_ns = 0;

  void Fill(bool inverted) const {
    for (size_t i = 0; i < bytes; ++i) source.get()[i] = PatternAt(i, inverted);
    std::memset(result.get(), inverted ? 0xFF : 0, bytes);
  }
  void Compare() {
    for (size_t i = 0; i < bytes; ++i) {
      if (source.get()[i] == result.get()[i]) continue;
      if (found.wrong_bytes++ == 0) found.first_wrong = i;
    }
  }
};

/// One way there and back through a queue. What the arena's host has is never looked at.
Status WalkQueue(DeviceQueue& queue, void* arena, Walk& walk) {
  const auto elements = static_cast<int32_t>(walk.bytes);
  const int32_t dims[] = {elements};
  const int32_t strides[] = {1};
  tenon::TensorView view;
  view.data = arena;
  view.dims = dims;
  view.strides = strides;
  view.dtype = tenon::DType::kU8;
  view.rank = 1;
  for (const bool inverted : {false, true}) {
    walk.Fill(inverted);
    queue.Reset();
    const uint64_t begin = MonotonicNow();
    TENON_RETURN_IF_ERROR(queue.Start());
    TENON_RETURN_IF_ERROR(queue.Upload(SharedTensor{&view, walk.source.get()}));
    TENON_RETURN_IF_ERROR(queue.Submit());
    TENON_RETURN_IF_ERROR(queue.Drain(begin + kPatience));
    const uint64_t written = MonotonicNow();
    TENON_RETURN_IF_ERROR(queue.Start());
    TENON_RETURN_IF_ERROR(queue.AddSignal(SharedTensor{&view, walk.result.get()}, 0));
    TENON_RETURN_IF_ERROR(queue.Submit());
    TENON_RETURN_IF_ERROR(queue.WaitFor(0, written + kPatience));
    walk.write_ns += static_cast<double>(written - begin);
    walk.read_ns += static_cast<double>(MonotonicNow() - written);
    walk.Compare();
  }
  return OkStatus();
}

/// If the device does not answer, it and its memory are given up: it may write there yet.
Status WalkDevice(const DeviceApi& api, Walk& walk) {
  Memory arena = MakeMemory(walk.bytes);
  TENON_ENSURE(arena != nullptr, kOutOfMemory, "no memory for a test of {0} bytes",
               static_cast<int64_t>(walk.bytes));
  void* device = nullptr;
  TENON_RETURN_IF_ERROR(api.open(1, &device));
  const ArenaMemory memory{arena.get(), walk.bytes};
  DeviceQueue::Signal signals[1];
  DeviceQueue queue;
  Status status = queue.Open(api, device, {&memory, 1}, {signals, 1});
  if (status.ok()) {
    status = WalkQueue(queue, arena.get(), walk);
    const bool is_stuck = status.code() == StatusCode::kDeadlineExceeded;
    if (!status.ok()) (void)queue.Quieten(is_stuck ? 0 : MonotonicNow() + kPatience);
  }
  if (queue.Close()) {
    api.close(device);
  } else {
    (void)arena.release();
  }
  return status;
}

Status WalkHost(Walk& walk) {
  const Memory memory = MakeMemory(walk.bytes);
  TENON_ENSURE(memory != nullptr, kOutOfMemory, "no memory for a test of {0} bytes",
               static_cast<int64_t>(walk.bytes));
  std::memset(memory.get(), 1, walk.bytes);  // pages are there from now on
  for (const bool inverted : {false, true}) {
    walk.Fill(inverted);
    const uint64_t begin = MonotonicNow();
    std::memcpy(memory.get(), walk.source.get(), walk.bytes);
    const uint64_t written = MonotonicNow();
    std::memcpy(walk.result.get(), memory.get(), walk.bytes);
    walk.write_ns += static_cast<double>(written - begin);
    walk.read_ns += static_cast<double>(MonotonicNow() - written);
    walk.Compare();
  }
  return OkStatus();
}

Status TestMemory(const Backend* backend, size_t bytes, tenon_memory_test* test) {
  TENON_ENSURE(backend != nullptr && test != nullptr, kInvalidArgument,
               "a backend and a place for the result are needed");
  TENON_ENSURE(bytes > 0 && bytes <= INT32_MAX, kInvalidArgument, "{0} bytes: give 1 to {1}",
               static_cast<int64_t>(bytes), INT32_MAX);
  *test = tenon_memory_test{};
  Walk walk{bytes, MakeMemory(bytes), MakeMemory(bytes), *test};
  TENON_ENSURE(walk.source != nullptr && walk.result != nullptr, kOutOfMemory,
               "no memory for a test of {0} bytes", static_cast<int64_t>(bytes));
  const Status status =
      backend->device == nullptr ? WalkHost(walk) : WalkDevice(*backend->device, walk);
  if (!status.ok()) return status.In(backend->name);
  // Both polarities went either way.
  const double twice = 2e9 * static_cast<double>(bytes);
  test->write_bytes_per_s = walk.write_ns > 0 ? twice / walk.write_ns : 0;
  test->read_bytes_per_s = walk.read_ns > 0 ? twice / walk.read_ns : 0;
  return OkStatus();
}

}  // namespace

extern "C" {

size_t tenon_plan_counters(const tenon_plan* plan, const char* backend, tenon_counter* counters,
                           size_t room) {
  if (!tenon::sdk::IsLoaded(plan) || backend == nullptr || (counters == nullptr && room > 0)) {
    return 0;
  }
  const tenon::sdk::Plan& loaded = plan->loaded;
  for (size_t i = 0; i < loaded.view().backend_count(); ++i) {
    const Backend* found = loaded.backend(i);
    if (found == nullptr || std::strcmp(found->name, backend) != 0) continue;
    if (found->device == nullptr || found->device->counters == nullptr) return 0;
    return found->device->counters(
        loaded.device(i), Span<DeviceCounter>(reinterpret_cast<DeviceCounter*>(counters), room));
  }
  return 0;
}

tenon_status tenon_backend_test_memory(const tenon_backend* backend, size_t bytes,
                                       tenon_memory_test* test, tenon_error* error) {
  return Report(TestMemory(reinterpret_cast<const Backend*>(backend), bytes, test), error);
}

}  // extern "C"
