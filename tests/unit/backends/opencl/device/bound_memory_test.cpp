// Devices are never given memory that the caller has bound: they may go on when a run is over.
#include "backends/opencl/device/event_wait.hpp"
#include "tests/unit/backends/opencl/device/queue_bench.hpp"

namespace tenon::opencl::testing {

TEST_CASE("OpenCL bound memory: it is the caller's again once a deadline has passed") {
  ForEachTransfer([](Device& device) {
    Bench bench(device);
    const TensorView x = bench.View(64, kDims, kStrides, 1);
    const TensorView y = bench.View(128, kDims, kStrides, 1);
    LeakyOp op(device, *bench.queue, x, y);
    std::vector<float> input(40, -4.0F);
    std::vector<float> output(40, 7.0F);
    std::vector<float> other(40, 7.0F);
    const std::vector<float> own(40, -6.0F);
    Gate gate(bench);
    REQUIRE(bench.queue->Upload({&x, input.data()}).ok());
    input = own;
    REQUIRE(op.Run().ok());
    void* never_awaited = nullptr;
    REQUIRE(bench.queue->Signal({&y, other.data()}, &never_awaited).ok());
    const Status late = bench.Wait({&y, output.data()}, Now() + 5 * kMillisecond);
    CHECK(late.code() == StatusCode::kDeadlineExceeded);
    CHECK(bench.queue->Drain(Now()).code() == StatusCode::kDeadlineExceeded);
    output = own;
    other = own;
    // The device goes on with what it was given.
    gate.Open();
    REQUIRE(bench.queue->Drain(Now() + 10'000 * kMillisecond).ok());
    REQUIRE(bench.queue->Wait(never_awaited, Now() + 10'000 * kMillisecond).ok());
    CHECK(output == own);
    CHECK(other == own);
    REQUIRE(bench.Wait({&y, output.data()}).ok());
    CHECK(output == std::vector<float>(40, -2.0F));
  });
}

TEST_CASE("OpenCL bound memory: nor is it given to the device where it is larger than the pinned") {
  const Variable variable("TENON_OPENCL_TRANSFER", "copy");
  Device device;
  REQUIRE(device.Open(2).ok());
  constexpr int32_t kCount = 5 << 20;
  const int32_t stride = 1;
  std::vector<float> arena(static_cast<size_t>(kCount), 0.0F);
  std::vector<float> input(arena.size(), 2.0F);
  std::vector<float> output(arena.size(), 7.0F);
  CommandQueue queue(device);
  const ArenaMemory memory = {arena.data(), arena.size() * sizeof(float)};
  REQUIRE(queue.Open({&memory, 1}).ok());
  TensorView x;
  x.data = arena.data();
  x.dims = &kCount;
  x.strides = &stride;
  x.rank = 1;
  for (const bool is_late : {true, false}) {
    CAPTURE(is_late);
    Gate gate(queue);
    REQUIRE(queue.Upload({&x, input.data()}).ok());
    input.assign(input.size(), 5.0F);
    void* event = nullptr;
    REQUIRE(queue.Signal({&x, output.data()}, &event).ok());
    REQUIRE(queue.Submit().ok());
    if (!is_late) gate.Open();
    const Status status = queue.Wait(event, is_late ? Now() : kNoDeadline);
    CHECK(status.ok() != is_late);
    gate.Open();
    REQUIRE(queue.Drain(Now() + 10'000 * kMillisecond).ok());
    CHECK(output.front() == (is_late ? 7.0F : 5.0F));
    CHECK(output.back() == (is_late ? 7.0F : 5.0F));
    CHECK(arena.back() == (is_late ? 2.0F : 5.0F));
  }
}

}  // namespace tenon::opencl::testing
