// The host driver: buffers, starts, what is refused. Through the real XRT on the simulated board.
#include <doctest/doctest.h>

#include <cstring>
#include <memory>

#include "tests/unit/backends/fpga/loopback_board.hpp"

using namespace tenon;        // NOLINT
using namespace tenon::test;  // NOLINT

TEST_CASE("driver: a start computes on the board's copy of the arena") {
  Rig rig(2048);
  REQUIRE(rig.failure() == "");
  REQUIRE(Words(rig.Load(LoopbackCode(64))) == "");
  for (uint8_t run = 0; run < 3; ++run) {
    rig.Fill(run);
    CHECK(Words(rig.Run()) == "");
    CHECK(rig.IsRight());
  }
}

TEST_CASE("driver: one start and two copies a segment, counted in XRT's interface") {
  Rig rig(2048);
  REQUIRE(Words(rig.Load(LoopbackCode(64))) == "");
  const uint64_t starts = CountOf("starts");
  const uint64_t to_device = CountOf("bytes_to_device");
  const uint64_t from_device = CountOf("bytes_from_device");
  rig.Fill(9);
  REQUIRE(Words(rig.Run()) == "");
  CHECK(CountOf("starts") == starts + 1);
  CHECK(CountOf("bytes_to_device") == to_device + 1024);
  CHECK(CountOf("bytes_from_device") == from_device + 1024);
}

TEST_CASE("driver: what is not uploaded the board does not see") {
  Rig rig(512);
  REQUIRE(Words(rig.Load(LoopbackCode(16))) == "");
  rig.Fill(1);
  REQUIRE(Words(rig.Run()) == "");
  CHECK(rig.IsRight());
  rig.Fill(2);
  REQUIRE(Words(rig.Run(10'000'000'000U, /*uploads=*/false)) == "");
  CHECK_FALSE(rig.IsRight());
}

TEST_CASE("driver: strided tensors pass without what lies between them") {
  Rig rig(512);
  REQUIRE(Words(rig.Load(LoopbackCode(16))) == "");
  rig.Fill(3);
  REQUIRE(Words(rig.Run()) == "");
  // Every second row of 32 bytes of the input is written anew, all rows are changed on the host.
  const DeviceApi& api = *fpga::FpgaBackend().device;
  const int32_t dims[] = {4, 32};
  const int32_t strides[] = {64, 1};
  TensorView view;
  view.data = rig.input();
  view.dims = dims;
  view.strides = strides;
  view.dtype = DType::kU8;
  view.rank = 2;
  uint8_t before[256];
  std::memcpy(before, rig.input(), sizeof before);
  for (size_t i = 0; i < sizeof before; ++i) rig.input()[i] = static_cast<uint8_t>(~before[i]);
  REQUIRE(api.upload(rig.queue(), SharedTensor{&view, rig.input()}).ok());
  REQUIRE(Words(rig.Run(10'000'000'000U, /*uploads=*/false)) == "");
  for (size_t i = 0; i < sizeof before; ++i) {
    const bool is_passed = i % 64 < 32;
    const auto expected = static_cast<uint8_t>((is_passed ? ~before[i] : before[i]) ^ 1);
    CHECK(rig.output()[i] == expected);
  }
}

TEST_CASE("driver: starts of several queues and of one queue follow each other") {
  Rig first(2048);
  Rig second(512);
  REQUIRE(first.failure() == "");
  REQUIRE(second.failure() == "");
  REQUIRE(Words(first.Load(LoopbackCode(64))) == "");
  REQUIRE(Words(second.Load(LoopbackCode(16))) == "");
  first.Fill(1);
  second.Fill(2);
  void* events[3] = {};
  REQUIRE(Words(first.Enqueue(&events[0])) == "");
  REQUIRE(Words(second.Enqueue(&events[1])) == "");
  REQUIRE(Words(first.Enqueue(&events[2])) == "");
  // The last of all is waited for first: whoever waits moves the others' starts on.
  CHECK(Words(first.Wait(events[0])) == "");
  CHECK(Words(first.Wait(events[2])) == "");
  CHECK(first.IsRight());
  CHECK(Words(second.Wait(events[1])) == "");
  CHECK(second.IsRight());
}

TEST_CASE("driver: the process opens the board once for all its plans") {
  const uint64_t opened = CountOf("opened");
  const uint64_t closed = CountOf("closed");
  {
    const Rig first;
    const Rig second;
    REQUIRE(first.failure() == "");
    REQUIRE(second.failure() == "");
    CHECK(CountOf("opened") == opened + 1);
  }
  CHECK(CountOf("closed") == closed + 1);
}

TEST_CASE("driver: constants that segments share are copied to the board once") {
  Rig rig;
  LoopbackCode code(8);
  const std::vector<uint8_t> constants(128, 0x33);
  code.windows[0].constants = constants.data();
  const uint64_t before = CountOf("buffers_allocated");
  REQUIRE(Words(rig.Load(code)) == "");
  const uint64_t once = CountOf("buffers_allocated");
  CHECK(once == before + 2);  // with the code
  REQUIRE(Words(rig.Load(code)) == "");
  CHECK(CountOf("buffers_allocated") == once + 1);  // the code of another segment
  std::memset(rig.output(), 0, rig.half());
  REQUIRE(Words(rig.Run()) == "");
  CHECK(rig.output()[0] == 0x32);
  CHECK(rig.output()[127] == 0x32);
}

TEST_CASE("driver: a register leads to the first of its windows, whatever follows behind it") {
  Rig rig(2048);
  LoopbackCode code(64);
  REQUIRE(Words(rig.Load(code)) == "");
  rig.Fill(5);
  REQUIRE(Words(rig.Run()) == "");
  const DeviceApi& api = *fpga::FpgaBackend().device;
  code.windows.push_back({nullptr, 64, 512, 0, true});
  void* loaded = nullptr;
  REQUIRE(api.load_code(rig.device(), code.View(), &loaded).ok());
  const int32_t dims[] = {1024};
  const int32_t strides[] = {1};
  TensorView view;
  view.data = rig.output();
  view.dims = dims;
  view.strides = strides;
  view.dtype = DType::kU8;
  view.rank = 1;
  std::memset(rig.output(), 0, rig.half());
  void* const bases[] = {rig.input(), rig.output(), rig.input() + 512};
  void* event = nullptr;
  REQUIRE(api.run_code(rig.queue(), loaded, Span<void* const>(bases, 3)).ok());
  REQUIRE(api.signal(rig.queue(), SharedTensor{&view, rig.output()}, &event).ok());
  CHECK(Words(rig.Wait(event)) == "");
  CHECK(rig.IsRight());
  api.unload_code(rig.device(), loaded);
}

TEST_CASE("driver: the accelerator counts what the last start took") {
  Rig rig(2048);
  REQUIRE(Words(rig.Load(LoopbackCode(64))) == "");
  REQUIRE(Words(rig.Run()) == "");
  DeviceCounter counters[8];
  const size_t count =
      fpga::FpgaBackend().device->counters(rig.device(), Span<DeviceCounter>(counters, 8));
  REQUIRE(count >= 1);
  CHECK(std::string(counters[0].name) == "cycles");
  // Each of 64 beats is read, written and answered.
  CHECK(counters[0].value > 64 * 120);
  CHECK(counters[0].value < 64 * 200);
}

TEST_CASE("driver: code for something else is refused, saying what differs") {
  Rig rig;
  REQUIRE(rig.failure() == "");
  LoopbackCode code(8);
  code.accelerator = "another";
  CHECK(Words(rig.Load(code)) ==
        "the code is for an accelerator 'another': convert for this board");
  code = LoopbackCode(8);
  code.version = 7;
  CHECK(Words(rig.Load(code)).find("the code has version 7, the accelerator takes 2") == 0);
  code = LoopbackCode(8);
  code.parameters[2] = 5;
  CHECK(Words(rig.Load(code))
            .find("the code is for an array whose parameter 2 is 5; the accelerator's is 49152") ==
        0);
  code = LoopbackCode(8);
  code.parameters.pop_back();
  CHECK(Words(rig.Load(code)).find("the code names 3 parameters") == 0);
  code = LoopbackCode(8);
  code.image = {1, 2, 3, 4};
  CHECK(Words(rig.Load(code))
            .find("the code is for another image: uuid 01000000020000000300000004000000, not ") ==
        0);
  code = LoopbackCode(8);
  code.windows[1].base_register = 15;
  CHECK(Words(rig.Load(code)).find("the code uses base register 15") == 0);
}

TEST_CASE("driver: a device or an image that is not there is named") {
  UseLoopbackBoard();
  {
    const Setting device("TENON_FPGA_DEVICE", "7");
    const Rig rig;
    CHECK(rig.failure().find("no device '7'") != std::string::npos);
    CHECK(rig.failure().find("there are 0 (0000:00:00.0)") != std::string::npos);
  }
  {
    const Setting device("TENON_FPGA_DEVICE", "0000:99:00.0");
    const Rig rig;
    CHECK(rig.failure().find("no device '0000:99:00.0'") != std::string::npos);
    CHECK(rig.failure().find("there are 0 (0000:00:00.0)") != std::string::npos);
    CHECK(rig.failure().find("index") == std::string::npos);  // none was asked for
  }
  const Setting timeout("TENON_FPGA_TIMEOUT_S", "soon");
  const Rig rig;
  CHECK(rig.failure().find("TENON_FPGA_TIMEOUT_S: give seconds") != std::string::npos);
}

TEST_CASE("driver: a device is chosen by its BDF, too") {
  const Setting device("TENON_FPGA_DEVICE", "0000:00:00.0");
  Rig rig;
  CHECK(rig.failure() == "");
}
