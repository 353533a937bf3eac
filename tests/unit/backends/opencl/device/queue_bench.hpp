// A command queue on an arena of floats, an op for it, and what holds a queue up.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "backends/opencl/device/command_queue.hpp"
#include "tests/unit/backends/opencl/opencl_environment.hpp"
#include "tests/unit/backends/opencl/opencl_fixture.hpp"

namespace tenon::opencl::testing {

inline constexpr Deadline kMillisecond = 1'000'000;

/// Calls `body(device)` with a device of each way of passing tensors.
template <typename Body>
void ForEachTransfer(const Body& body) {
  for (const char* transfer : {"none", "map", "copy"}) {
    const Variable variable("TENON_OPENCL_TRANSFER", transfer);
    CAPTURE(transfer);
    Device device;
    const Status status = device.Open(2);
    if (!status.ok() && std::string(transfer) == "none") {
      MESSAGE("not shown: the device is not made of the host's cores");
      continue;
    }
    INFO(Text(status));
    REQUIRE(status.ok());
    body(device);
  }
}

/// The leaky ReLU of x in y (floats, in one arena) as a loaded and opened op.
class LeakyOp {
 public:
  LeakyOp(Device& device, CommandQueue& queue, const TensorView& x, const TensorView& y)
      : kernel_(FindKernel("opencl.unary.rows")), views_{x, y} {
    attributes_.function = UnaryFunction::kLeakyRelu;
    attributes_.a = 0.5F;
    call_.op.tensors = views_;
    call_.op.input_ids = {&ids_[0], 1};
    call_.op.output_ids = {&ids_[1], 1};
    call_.op.attributes = &attributes_;
    call_.queue = &queue;
    TensorView described[2] = {x, y};
    for (TensorView& view : described) view.data = nullptr;
    KernelSetup setup;
    setup.op = call_.op;
    setup.op.tensors = described;
    setup.device = &device;
    setup.queue = &queue;
    REQUIRE(kernel_.check(setup).ok());
    REQUIRE(kernel_.load(setup, &shared_).ok());
    REQUIRE(kernel_.open(setup, shared_, &call_.state).ok());
  }
  LeakyOp(const LeakyOp&) = delete;
  LeakyOp& operator=(const LeakyOp&) = delete;
  ~LeakyOp() {
    kernel_.close(call_.state);
    kernel_.unload(shared_);
  }

  Status Run() { return kernel_.run(call_); }
  void MoveTo(void* x, void* y) {
    views_[0].data = x;
    views_[1].data = y;
  }

 private:
  const KernelEntry& kernel_;
  UnaryAttributes attributes_;
  TensorView views_[2];
  int32_t ids_[2] = {0, 1};
  void* shared_ = nullptr;
  KernelCall call_;
};

/// An arena of floats with a queue on it.
struct Bench {
  static constexpr size_t kFloats = 1024;
  std::vector<float> arena = std::vector<float>(kFloats, -1000.0F);
  std::unique_ptr<CommandQueue> queue;

  explicit Bench(Device& device) : queue(std::make_unique<CommandQueue>(device)) {
    const ArenaMemory memory = {arena.data(), arena.size() * sizeof(float)};
    const Status status = queue->Open({&memory, 1});
    INFO(Text(status));
    REQUIRE(status.ok());
  }

  TensorView View(size_t at, const int32_t* dims, const int32_t* strides, uint8_t rank) {
    TensorView view;
    view.data = arena.data() + at;
    view.dims = dims;
    view.strides = strides;
    view.rank = rank;
    return view;
  }
  Status Wait(const SharedTensor& tensor, Deadline deadline = kNoDeadline) {
    void* event = nullptr;
    TENON_RETURN_IF_ERROR(queue->Signal(tensor, &event));
    TENON_RETURN_IF_ERROR(queue->Submit());
    return queue->Wait(event, deadline);
  }
};

inline constexpr int32_t kDims[] = {40};
inline constexpr int32_t kStrides[] = {1};

/// Holds everything that is enqueued after it, until it is let go.
class Gate {
 public:
  explicit Gate(const Bench& bench) : Gate(*bench.queue) {}
  explicit Gate(const CommandQueue& queue) {
    cl_int code = CL_SUCCESS;
    event_ = Cl().CreateUserEvent(queue.device().context(), &code);
    REQUIRE(code == CL_SUCCESS);
    REQUIRE(Cl().EnqueueBarrierWithWaitList(queue.queue(), 1, &event_, nullptr) == CL_SUCCESS);
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  ~Gate() {
    Open();
    Cl().ReleaseEvent(event_);
  }
  void Open() {
    if (!opened_) Cl().SetUserEventStatus(event_, CL_COMPLETE);
    opened_ = true;
  }

 private:
  cl_event event_ = nullptr;
  bool opened_ = false;
};

}  // namespace tenon::opencl::testing
