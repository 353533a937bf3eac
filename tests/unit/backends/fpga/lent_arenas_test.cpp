// Arenas in the board's own buffers: alignment, banks, and that nothing has a second copy.
#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <memory>

#include "backends/fpga/device/device.hpp"
#include "tests/unit/backends/fpga/loopback_plan.hpp"

using namespace tenon;        // NOLINT
using namespace tenon::test;  // NOLINT

namespace {

const DeviceApi& Api() { return *fpga::FpgaBackend().device; }

/// Where a board of two banks has them (make_xclbin.cpp).
constexpr uint64_t kSecondBank = 0x1'0000'0000 + (uint64_t{2} << 30);

std::string BanksImage() {
  return std::string(std::getenv("TENON_BINARY_DIR")) +
         "/fpga-sim/share/tenon/loopback_banks.xclbin";
}

}  // namespace

TEST_CASE("lent arenas: a queue has no copy of an arena that the device lent") {
  UseLoopbackBoard();
  void* device = nullptr;
  REQUIRE(Words(Api().open(1, &device)) == "");
  void* base = nullptr;
  REQUIRE(Words(Api().lend_arena(device, {8192, 4096, 0}, &base)) == "");
  alignas(4096) static uint8_t own[4096];
  const ArenaMemory arenas[] = {{base, 8192}, {own, sizeof own}};
  void* queue = nullptr;
  const uint64_t buffers = CountOf("buffers_allocated");
  REQUIRE(Words(Api().open_queue(device, Span<const ArenaMemory>(arenas, 2), &queue)) == "");
  CHECK(CountOf("buffers_allocated") == buffers + 1);
  CHECK(Api().held_bytes(queue) == 4096);
  Api().close_queue(queue);
  const uint64_t freed = CountOf("buffers_freed");
  Api().take_back_arena(device, base);
  CHECK(CountOf("buffers_freed") == freed + 1);
  Api().close(device);
}

TEST_CASE("lent arenas: they begin at pages, and a larger alignment is refused in words") {
  UseLoopbackBoard();
  fpga::Device device;
  REQUIRE(Words(device.Open()) == "");
  void* base = nullptr;
  for (const size_t bytes : {size_t{1}, size_t{5000}, size_t{100'000}}) {
    REQUIRE(Words(device.LendArena({bytes, 4096, 0}, &base)) == "");
    CHECK(reinterpret_cast<uintptr_t>(base) % 4096 == 0);
    REQUIRE(device.FindLent(base) != nullptr);
    CHECK(device.FindLent(base)->address() % 4096 == 0);
    CHECK(device.FindLent(base)->bytes() >= bytes);
  }
  CHECK(Words(device.LendArena({64, 8192, 0}, &base)) ==
        "buffers of the board begin at multiples of 4096, the arena wants 8192");
}

TEST_CASE("lent arenas: each lies in the bank of its base register, and code reaches all banks") {
  UseLoopbackBoard();
  const Setting image("TENON_FPGA_XCLBIN", BanksImage());
  void* opened = nullptr;
  REQUIRE(Words(Api().open(1, &opened)) == "");
  auto& device = *static_cast<fpga::Device*>(opened);
  void* bases[4] = {};
  for (uint8_t i = 0; i < 4; ++i) {
    REQUIRE(Words(device.LendArena({4096, 4096, i}, &bases[i])) == "");
    CHECK((device.FindLent(bases[i])->address() >= kSecondBank) == (i % 2 == 1));
  }
  // From the first bank to the second.
  const LoopbackCode code(16);
  void* loaded = nullptr;
  REQUIRE(Words(Api().load_code(opened, code.View(), &loaded)) == "");
  const ArenaMemory arenas[] = {{bases[0], 4096}, {bases[1], 4096}};
  void* queue = nullptr;
  REQUIRE(Words(Api().open_queue(opened, Span<const ArenaMemory>(arenas, 2), &queue)) == "");
  auto* const from = static_cast<uint8_t*>(bases[0]);
  auto* const to = static_cast<uint8_t*>(bases[1]);
  for (size_t i = 0; i < 256; ++i) from[i] = static_cast<uint8_t>(i * 5);
  const ByteView input(from, 256);
  const ByteView output(to, 256);
  void* event = nullptr;
  REQUIRE(Words(Api().upload(queue, SharedTensor{&input.view, from})) == "");
  REQUIRE(Words(Api().run_code(queue, loaded, Span<void* const>(bases, 2))) == "");
  REQUIRE(Words(Api().signal(queue, SharedTensor{&output.view, to}, &event)) == "");
  REQUIRE(Words(Api().wait(queue, event, NowPlus(10'000'000'000U))) == "");
  for (size_t i = 0; i < 256; ++i) CHECK(to[i] == (from[i] ^ 1));
  Api().close_queue(queue);
  Api().unload_code(opened, loaded);
  Api().close(opened);
}

TEST_CASE("lent arenas: a session works in the board's buffer, and has no copy of it") {
  Loaded plan(OnBoard());
  REQUIRE(plan.error() == "");
  CHECK(tenon_session_packed_bytes(plan.session()) == 0);
  CHECK(plan.Run(6) == TENON_OK);
  CHECK(plan.Flipped() == 1);
  // What the caller has elsewhere is still copied.
  std::vector<float> input(kElements, 1.5F);
  std::vector<float> output(kElements, 0.0F);
  tenon_error error{};
  const size_t bytes = kElements * sizeof(float);
  REQUIRE(tenon_session_bind_input(plan.session(), 0, input.data(), bytes, &error) == TENON_OK);
  REQUIRE(tenon_session_bind_output(plan.session(), 0, output.data(), bytes, &error) == TENON_OK);
  REQUIRE(tenon_session_run(plan.session(), &error) == TENON_OK);
  const auto* const in = reinterpret_cast<const uint8_t*>(input.data());
  const auto* const out = reinterpret_cast<const uint8_t*>(output.data());
  for (size_t i = 0; i < bytes; ++i) CHECK(out[i] == (in[i] ^ 1));
}

TEST_CASE("lent arenas: sessions give back what they borrowed when they are closed") {
  UseLoopbackBoard();
  const uint64_t allocated = CountOf("buffers_allocated");
  const uint64_t freed = CountOf("buffers_freed");
  {
    Loaded plan(OnBoard());
    REQUIRE(plan.error() == "");
    tenon_session* second = nullptr;
    tenon_error error{};
    const uint64_t before = CountOf("buffers_allocated");
    REQUIRE(tenon_session_open(plan.plan(), &second, &error) == TENON_OK);
    CHECK(CountOf("buffers_allocated") == before + 1);
    const uint64_t given_back = CountOf("buffers_freed");
    tenon_session_close(second);
    CHECK(CountOf("buffers_freed") == given_back + 1);
  }
  CHECK(CountOf("buffers_allocated") - allocated == CountOf("buffers_freed") - freed);
}
