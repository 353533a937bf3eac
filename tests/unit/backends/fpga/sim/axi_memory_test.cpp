// The simulated board's memory at its AXI ports: latency, bandwidth, errors, AXI's rules.
#include "backends/fpga/sim/axi_memory.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace tenon::fpga::sim;  // NOLINT

namespace {

constexpr uint64_t kBase = 0x1'0000'0000;
constexpr uint64_t kBytes = 1 << 20;

struct Memory {
  Memory() {
    std::vector<MemoryBank> banks;
    banks.emplace_back(kBase, kBytes);
    memory.SetBanks(std::move(banks));
  }
  DeviceMemory memory;
};

/// Masters that read burst after burst on every port, and take data at once.
struct Readers {
  explicit Readers(size_t ports) : next(ports, kBase), received(ports, 0), answers(ports) {}

  void Clock(AxiMemory& axi, uint32_t beats) {
    axi.BeginClock();
    for (size_t port = 0; port < next.size(); ++port) {
      const AxiSlaveSignals& driven = axi.Driven(port);
      AxiMasterSignals master;
      master.read = {true, next[port], beats, 0};
      master.read_ready = true;
      if (driven.data_valid) {
        ++received[port];
        answers[port] = driven.data_answer;
      }
      const bool is_taken = driven.read_address_ready;
      axi.EndClock(port, master);
      if (is_taken) next[port] = kBase + (next[port] - kBase + beats * kAxiBeatBytes) % kBytes;
    }
  }

  std::vector<uint64_t> next;
  std::vector<uint64_t> received;
  std::vector<AxiAnswer> answers;
};

/// Writes one burst and returns its answer.
AxiAnswer Write(AxiMemory& axi, uint64_t address, uint32_t beats, uint32_t strobe,
                bool right_last) {
  bool is_addressed = false;
  uint32_t sent = 0;
  for (int clock = 0; clock < 10000; ++clock) {
    axi.BeginClock();
    const AxiSlaveSignals driven = axi.Driven(0);
    AxiMasterSignals master;
    master.write = {!is_addressed, address, beats, 0};
    master.data_valid = sent < beats;
    master.data.fill(static_cast<uint8_t>(sent + 1));
    master.strobe = strobe;
    master.last = sent + 1 == beats || !right_last;
    master.response_ready = true;
    is_addressed |= master.write.valid && driven.write_address_ready;
    sent += master.data_valid && driven.write_data_ready ? 1 : 0;
    axi.EndClock(0, master);
    if (driven.response_valid) return driven.response;
  }
  FAIL("no response");
  return AxiAnswer::kOkay;
}

}  // namespace

TEST_CASE("memory: what has never been written is recognised") {
  Memory m;
  const uint64_t address = m.memory.bank(0).Allocate(100);
  REQUIRE(address == kBase);
  CHECK(*m.memory.At(address, 1) == MemoryBank::kUnwritten);
  CHECK(m.memory.bank(0).Allocate(kBytes) == 0);  // full
  m.memory.bank(0).Free(address);
  CHECK(m.memory.bank(0).Allocate(kBytes) == kBase);
  CHECK(m.memory.At(kBase + kBytes - 1, 2) == nullptr);
  CHECK(m.memory.At(UINT64_MAX, 2) == nullptr);
}

TEST_CASE("memory: the first data come after the latency that is set") {
  Memory m;
  MemoryTiming timing;
  timing.read_latency = 75;
  AxiMemory axi(m.memory, timing, 1);
  Readers readers(1);
  int clocks = 0;
  while (readers.received[0] == 0) {
    readers.Clock(axi, 4);
    ++clocks;
  }
  CHECK(clocks == 1 + 75);
}

TEST_CASE("memory: one port has a beat a clock, four share what the memory sustains") {
  const MemoryTiming timing;
  constexpr int kClocks = 20000;
  Memory m;
  AxiMemory alone(m.memory, timing, 1);
  Readers reader(1);
  for (int i = 0; i < kClocks; ++i) reader.Clock(alone, 16);
  CHECK(reader.received[0] > kClocks * 0.98);

  AxiMemory shared(m.memory, timing, 4);
  Readers readers(4);
  for (int i = 0; i < kClocks; ++i) readers.Clock(shared, 16);
  // 19.2 GB/s at 300 MHz are 64 bytes a clock; four fifths of them can be sustained.
  const double per_clock = static_cast<double>(shared.bytes_read()) / kClocks;
  CHECK(per_clock < 51.3);
  CHECK(per_clock > 50.5);
  for (const uint64_t received : readers.received) {
    CHECK(static_cast<double>(received) ==
          doctest::Approx(static_cast<double>(shared.bytes_read()) / 64).epsilon(0.05));
  }
}

TEST_CASE("memory: a slower memory is slower") {
  MemoryTiming timing;
  timing.peak_bytes_per_second = 4.8e9;
  timing.sustained_fraction = 1.0;
  Memory m;
  AxiMemory axi(m.memory, timing, 2);
  Readers readers(2);
  for (int i = 0; i < 20000; ++i) readers.Clock(axi, 16);
  CHECK(static_cast<double>(axi.bytes_read()) / 20000 == doctest::Approx(16).epsilon(0.01));
}

TEST_CASE("memory: bytes are written where their strobes say so") {
  Memory m;
  AxiMemory axi(m.memory, MemoryTiming(), 1);
  const uint64_t address = m.memory.bank(0).Allocate(4096);
  CHECK(Write(axi, address, 2, 0x8001, true) == AxiAnswer::kOkay);
  CHECK(*m.memory.At(address, 1) == 1);
  CHECK(*m.memory.At(address + 1, 1) == MemoryBank::kUnwritten);
  CHECK(*m.memory.At(address + 15, 1) == 1);
  CHECK(*m.memory.At(address + 16, 1) == 2);
  CHECK(axi.violation().empty());
}

TEST_CASE("memory: addresses outside are answered with a decode error") {
  Memory m;
  AxiMemory axi(m.memory, MemoryTiming(), 1);
  CHECK(Write(axi, kBase - 4096, 1, 0xFFFF, true) == AxiAnswer::kDecodeError);
  Readers readers(1);
  readers.next[0] = kBase + kBytes;
  while (readers.received[0] == 0) readers.Clock(axi, 1);
  CHECK(readers.answers[0] == AxiAnswer::kDecodeError);
}

TEST_CASE("memory: an injected error answers one beat, a stuck memory none") {
  Memory m;
  AxiMemory axi(m.memory, MemoryTiming(), 1);
  axi.Inject(FaultKind::kAxiError);
  Readers readers(1);
  while (readers.received[0] == 0) readers.Clock(axi, 4);
  CHECK(readers.answers[0] == AxiAnswer::kSlaveError);
  axi.Inject(FaultKind::kStuck);
  for (int i = 0; i < 10; ++i) readers.Clock(axi, 4);
  const uint64_t received = readers.received[0];
  for (int i = 0; i < 1000; ++i) readers.Clock(axi, 4);
  CHECK(readers.received[0] == received);
  axi.Reset();
  for (int i = 0; i < 1000; ++i) readers.Clock(axi, 4);
  CHECK(readers.received[0] > received + 500);
}

TEST_CASE("memory: what breaks AXI's rules is noticed") {
  Memory m;
  AxiMemory axi(m.memory, MemoryTiming(), 1);
  (void)Write(axi, kBase + 4096 - 16, 2, 0xFFFF, true);
  CHECK(axi.violation() == "a burst that crosses 4 KiB");
  axi.Reset();
  (void)Write(axi, kBase + 8, 1, 0xFFFF, true);
  CHECK(axi.violation() == "a burst that is not aligned to 16 bytes");
  axi.Reset();
  (void)Write(axi, kBase, 2, 0xFFFF, false);
  CHECK(axi.violation() == "WLAST at another beat than the burst's last");
}
