#include "backends/opencl/device/command_queue.hpp"

#include "backends/opencl/device/event_wait.hpp"
#include "tests/unit/backends/opencl/device/queue_bench.hpp"

namespace tenon::opencl::testing {

TEST_CASE("OpenCL command queue: what the host writes the device sees, and the other way") {
  ForEachTransfer([](Device& device) {
    Bench bench(device);
    const TensorView x = bench.View(64, kDims, kStrides, 1);
    const TensorView y = bench.View(128, kDims, kStrides, 1);
    LeakyOp op(device, *bench.queue, x, y);
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < 40; ++i)
        bench.arena[static_cast<size_t>(64 + i)] = static_cast<float>(i - 20 + round);
      REQUIRE(bench.queue->Upload({&x, x.data}).ok());
      REQUIRE(op.Run().ok());
      REQUIRE(bench.Wait({&y, y.data}).ok());
      for (int i = 0; i < 40; ++i) {
        const auto value = static_cast<float>(i - 20 + round);
        CHECK(bench.arena[static_cast<size_t>(128 + i)] == (value < 0 ? 0.5F * value : value));
      }
    }
    CHECK(bench.arena[127] == -1000.0F);
    CHECK(bench.arena[168] == -1000.0F);
  });
}

TEST_CASE("OpenCL command queue: memory of the caller's stands for an input and an output") {
  ForEachTransfer([](Device& device) {
    Bench bench(device);
    const TensorView x = bench.View(64, kDims, kStrides, 1);
    const TensorView y = bench.View(128, kDims, kStrides, 1);
    LeakyOp op(device, *bench.queue, x, y);
    std::vector<float> input(40, -3.0F);
    std::vector<float> output(42, 7.0F);
    REQUIRE(bench.queue->Upload({&x, input.data()}).ok());
    REQUIRE(op.Run().ok());
    REQUIRE(bench.Wait({&y, output.data() + 1}).ok());
    CHECK(output.front() == 7.0F);
    CHECK(output.back() == 7.0F);
    for (size_t i = 1; i < 41; ++i) CHECK(output[i] == -1.5F);
  });
}

TEST_CASE("OpenCL command queue: bytes between a tensor's elements stay whose they are") {
  // Device and host each write their own columns of the same lines.
  const int32_t dims[] = {3, 4, 8};
  const int32_t strides[] = {80, 16, 1};
  ForEachTransfer([&](Device& device) {
    Bench bench(device);
    const TensorView x = bench.View(512, dims, strides, 3);
    const TensorView left = bench.View(0, dims, strides, 3);
    const TensorView right = bench.View(8, dims, strides, 3);
    LeakyOp op(device, *bench.queue, x, left);
    for (size_t i = 512; i < 1024; ++i) bench.arena[i] = -2.0F;
    REQUIRE(bench.queue->Upload({&x, x.data}).ok());
    REQUIRE(op.Run().ok());
    // The device's columns are not on the host yet: an upload beside them must not undo them.
    for (size_t line = 0; line < 12; ++line) {
      for (size_t i = 0; i < 8; ++i) bench.arena[line / 4 * 80 + line % 4 * 16 + 8 + i] = 5.0F;
    }
    REQUIRE(bench.queue->Upload({&right, right.data}).ok());
    for (size_t line = 0; line < 12; ++line) {
      for (size_t i = 0; i < 8; ++i) bench.arena[line / 4 * 80 + line % 4 * 16 + 8 + i] = 6.0F;
    }
    REQUIRE(bench.Wait({&left, left.data}).ok());
    for (size_t line = 0; line < 12; ++line) {
      const size_t at = line / 4 * 80 + line % 4 * 16;
      for (size_t i = 0; i < 8; ++i) {
        CHECK(bench.arena[at + i] == -1.0F);
        CHECK(bench.arena[at + 8 + i] == 6.0F);
      }
    }
    CHECK(bench.arena[64] == -1000.0F);
  });
}

TEST_CASE("OpenCL command queue: any layout of five dimensions passes, and nothing beside it") {
  const int32_t dims[] = {2, 3, 2, 4, 3};
  const int32_t layouts[][5] = {{72, 24, 12, 3, 1},
                                {150, 48, 23, 5, 1},
                                {1, 2, 6, 12, 48},
                                {200, 3, 100, 9, 1},
                                {150, 48, 24, 5, 2}};
  for (const auto& strides : layouts) {
    ForEachTransfer([&](Device& device) {
      Bench bench(device);
      const int32_t y_strides[] = {72, 24, 12, 3, 1};
      const TensorView x = bench.View(0, dims, strides, 5);
      const TensorView y = bench.View(600, dims, y_strides, 5);
      LeakyOp there(device, *bench.queue, x, y);
      LeakyOp back(device, *bench.queue, y, x);
      std::vector<bool> reached(bench.arena.size(), false);
      const CopyShape shape = CopyShapeOf(x);
      ForEachPosition(shape, shape.rank, [&](size_t offset) {
        for (size_t i = 0; i < shape.run / sizeof(float); ++i) {
          bench.arena[offset / sizeof(float) + i] = -static_cast<float>(offset + i);
          reached[offset / sizeof(float) + i] = true;
        }
      });
      const std::vector<float> before = bench.arena;
      REQUIRE(bench.queue->Upload({&x, x.data}).ok());
      REQUIRE(there.Run().ok());
      REQUIRE(back.Run().ok());
      REQUIRE(bench.Wait({&x, x.data}).ok());
      for (size_t i = 0; i < 600; ++i) {
        CHECK(bench.arena[i] == (reached[i] ? 0.25F * before[i] : before[i]));
      }
    });
  }
}

TEST_CASE("OpenCL command queue: many signals wait at once, and each tells its own moment") {
  ForEachTransfer([](Device& device) {
    Bench bench(device);
    const int32_t one = 1;
    std::vector<TensorView> views;
    for (size_t i = 0; i < 20; ++i) views.push_back(bench.View(i, &one, kStrides, 1));
    for (size_t i = 0; i < 20; ++i) bench.arena[i] = i == 0 ? -1024.0F : 0.0F;
    REQUIRE(bench.queue->Upload({&views[0], views[0].data}).ok());
    LeakyOp op(device, *bench.queue, views[0], views[1]);
    std::vector<void*> events(20, nullptr);
    for (size_t i = 1; i < 20; ++i) {
      op.MoveTo(views[i - 1].data, views[i].data);
      REQUIRE(op.Run().ok());
      REQUIRE(bench.queue->Signal({&views[i], views[i].data}, &events[i]).ok());
    }
    REQUIRE(bench.queue->Submit().ok());
    for (size_t i = 19; i > 0; --i) REQUIRE(bench.queue->Wait(events[i], kNoDeadline).ok());
    float expected = -1024.0F;
    for (size_t i = 1; i < 20; ++i) {
      expected *= 0.5F;
      CHECK(bench.arena[i] == expected);
    }
  });
}

TEST_CASE(
    "OpenCL command queue: nothing waits but waits, and nothing is copied where memory is shared") {
  const Variable variable("TENON_OPENCL_TRANSFER", nullptr);
  Device device;
  REQUIRE(device.Open(2).ok());
  Bench bench(device);
  const TensorView x = bench.View(64, kDims, kStrides, 1);
  const TensorView y = bench.View(128, kDims, kStrides, 1);
  LeakyOp op(device, *bench.queue, x, y);
  const Interception interception;
  for (int i = 0; i < 5; ++i) {
    REQUIRE(bench.queue->Upload({&x, x.data}).ok());
    REQUIRE(op.Run().ok());
  }
  REQUIRE(bench.Wait({&y, y.data}).ok());
  const CallCounts counts = Interception::Take();
  CHECK(counts.launched == 5);
  CHECK(counts.finished == 0);
  // Set once each, since nothing has moved: two operands with offsets, dims, strides, a and b.
  CHECK(counts.arguments == 9);
  if (device.transfer() == Transfer::kNone) CHECK(counts.copies == 0);
}

TEST_CASE("OpenCL command queue: a device that does not answer ends a wait at its deadline") {
  ForEachTransfer([](Device& device) {
    Bench bench(device);
    const TensorView x = bench.View(64, kDims, kStrides, 1);
    const TensorView y = bench.View(128, kDims, kStrides, 1);
    LeakyOp op(device, *bench.queue, x, y);
    for (size_t i = 64; i < 104; ++i) bench.arena[i] = -4.0F;
    Gate gate(bench);
    REQUIRE(bench.queue->Upload({&x, x.data}).ok());
    REQUIRE(op.Run().ok());
    const Deadline start = Now();
    const Status late = bench.Wait({&y, y.data}, start + 20 * kMillisecond);
    CHECK(late.code() == StatusCode::kDeadlineExceeded);
    CHECK(Now() - start >= 20 * kMillisecond);
    CHECK(Now() - start < 2000 * kMillisecond);
    CHECK(bench.queue->Drain(Now() + 5 * kMillisecond).code() == StatusCode::kDeadlineExceeded);
    // It answers after all: once drained, the queue can be used again.
    gate.Open();
    REQUIRE(bench.queue->Drain(Now() + 10'000 * kMillisecond).ok());
    REQUIRE(op.Run().ok());
    REQUIRE(bench.Wait({&y, y.data}, Now() + 10'000 * kMillisecond).ok());
    CHECK(bench.arena[128] == -2.0F);
  });
}

TEST_CASE("OpenCL command queue: a launch that fails says so, with the code's name") {
  Device device;
  REQUIRE(device.Open(2).ok());
  Bench bench(device);
  const TensorView x = bench.View(64, kDims, kStrides, 1);
  const TensorView y = bench.View(128, kDims, kStrides, 1);
  LeakyOp op(device, *bench.queue, x, y);
  const Interception interception;
  Interception::FailLaunches(CL_OUT_OF_RESOURCES);
  const Status status = op.Run();
  CHECK(status.code() == StatusCode::kBackendFailure);
  CHECK(Text(status).find("CL_OUT_OF_RESOURCES") != std::string::npos);
  Interception::FailLaunches(CL_SUCCESS);
  REQUIRE(bench.queue->Drain(Now() + 10'000 * kMillisecond).ok());
  CHECK(op.Run().ok());
}

TEST_CASE("OpenCL command queue: work that fails on the device is told by its signal") {
  ForEachTransfer([](Device& device) {
    Bench bench(device);
    const TensorView x = bench.View(64, kDims, kStrides, 1);
    const TensorView y = bench.View(128, kDims, kStrides, 1);
    LeakyOp op(device, *bench.queue, x, y);
    const Interception interception;
    REQUIRE(op.Run().ok());
    void* event = nullptr;
    REQUIRE(bench.queue->Signal({&y, y.data}, &event).ok());
    REQUIRE(bench.queue->Submit().ok());
    Interception::FailEvents(-9999);
    const Status status = bench.queue->Wait(event, Now() + 10'000 * kMillisecond);
    CHECK(status.code() == StatusCode::kBackendFailure);
    CHECK(Text(status).find("-9999") != std::string::npos);
    Interception::FailEvents(CL_SUCCESS);
    REQUIRE(bench.queue->Drain(Now() + 10'000 * kMillisecond).ok());
    REQUIRE(op.Run().ok());
    CHECK(bench.Wait({&y, y.data}, Now() + 10'000 * kMillisecond).ok());
  });
}

TEST_CASE("OpenCL command queue: an operand outside the arenas is refused") {
  Device device;
  REQUIRE(device.Open(2).ok());
  Bench bench(device);
  const TensorView x = bench.View(64, kDims, kStrides, 1);
  const TensorView y = bench.View(128, kDims, kStrides, 1);
  LeakyOp op(device, *bench.queue, x, y);
  std::vector<float> elsewhere(40);
  op.MoveTo(elsewhere.data(), y.data);
  CHECK(op.Run().code() == StatusCode::kInvalidArgument);
}

TEST_CASE("OpenCL command queue: arenas without bytes are none, and copies of arenas are counted") {
  ForEachTransfer([](Device& device) {
    std::vector<uint8_t> memory(4096);
    const ArenaMemory arenas[] = {{nullptr, 0}, {memory.data(), memory.size()}};
    CommandQueue queue(device);
    REQUIRE(queue.Open(arenas).ok());
    BufferPlace place;
    REQUIRE(queue.Find(memory.data() + 100, &place).ok());
    CHECK(place.offset == 100);
    CHECK(!queue.Find(memory.data() + 4096, &place).ok());
    CHECK(queue.held_bytes() == (device.transfer() == Transfer::kCopy ? 2 * 4096 : 0));
  });
}

TEST_CASE("OpenCL command queue: tensors larger than the pinned memory pass too") {
  const Variable variable("TENON_OPENCL_TRANSFER", "copy");
  Device device;
  REQUIRE(device.Open(2).ok());
  constexpr int32_t kCount = 3 << 20;
  const int32_t stride = 1;
  std::vector<float> arena(2 * static_cast<size_t>(kCount), -2.0F);
  CommandQueue queue(device);
  const ArenaMemory memory = {arena.data(), arena.size() * sizeof(float)};
  REQUIRE(queue.Open({&memory, 1}).ok());
  TensorView x;
  x.data = arena.data();
  x.dims = &kCount;
  x.strides = &stride;
  x.rank = 1;
  TensorView y = x;
  y.data = arena.data() + kCount;
  LeakyOp op(device, queue, x, y);
  // Both at once are more than there is: one goes without.
  REQUIRE(queue.Upload({&x, x.data}).ok());
  REQUIRE(queue.Upload({&y, y.data}).ok());
  REQUIRE(op.Run().ok());
  void* event = nullptr;
  REQUIRE(queue.Signal({&y, y.data}, &event).ok());
  REQUIRE(queue.Submit().ok());
  REQUIRE(queue.Wait(event, kNoDeadline).ok());
  size_t right = 0;
  for (size_t i = 0; i < static_cast<size_t>(kCount); ++i)
    right += arena[static_cast<size_t>(kCount) + i] == -1.0F ? 1 : 0;
  CHECK(right == static_cast<size_t>(kCount));
}

TEST_CASE("OpenCL kernels: every way of passing tensors gives the same results") {
  Generator random(1);
  ForEachTransfer([&](Device& device) {
    for (const Layout layout : kAllLayouts) {
      PairedOp op("opencl.binary.rows");
      op.AddInput(Random({2, 21, 6, 5}, layout, random));
      op.AddInput(Random({21, 1, 1}, Layout::kRowMajor, random), kConstant);
      op.AddOutput({2, 21, 6, 5}, layout);
      BinaryAttributes attributes;
      attributes.function = BinaryFunction::kMul;
      CHECK(op.Excess(attributes, 2, &device) <= 1.0);
    }
  });
}

namespace {
const ClFunctions* real_functions = nullptr;
int released = 0;  ///< programs and contexts
}  // namespace

TEST_CASE("OpenCL queue: closed while the driver is at work, its device releases nothing") {
  for (const bool is_stuck : {false, true}) {
    CAPTURE(is_stuck);
    released = 0;
    real_functions = FindClFunctions();
    REQUIRE(real_functions != nullptr);
    ClFunctions functions = *real_functions;
    functions.ReleaseContext = [](cl_context context) {
      ++released;
      return real_functions->ReleaseContext(context);
    };
    functions.ReleaseProgram = [](cl_program program) {
      ++released;
      return real_functions->ReleaseProgram(program);
    };
    if (is_stuck) {
      // Whether what is before it has been done cannot be found out.
      functions.EnqueueMarkerWithWaitList = [](auto...) { return cl_int{CL_OUT_OF_RESOURCES}; };
    }
    InterceptClFunctions(&functions);
    {
      Device device;
      REQUIRE(device.Open(1).ok());
      cl_program program = nullptr;
      REQUIRE(device.FindProgram("pool.cl", "-DTAPS=9", &program).ok());
      CommandQueue queue(device);
      REQUIRE(queue.Open(Span<const ArenaMemory>()).ok());
      released = 0;
    }
    InterceptClFunctions(nullptr);
    CHECK(released == (is_stuck ? 0 : 2));
  }
}

}  // namespace tenon::opencl::testing
