#include "backends/fpga/sim/axi_memory.hpp"

#include <algorithm>
#include <cstring>

namespace tenon::fpga::sim {
namespace {

/// Bursts that a port takes before the first is answered: what the S_AXI_HP ports of a Zynq
/// UltraScale+ do.
constexpr size_t kMostBursts = 16;
/// What may pass at peak speed after a pause, before the sustained rate holds.
constexpr double kCreditBytes = 512;
constexpr uint64_t kBurstBoundary = 4096;

}  // namespace

AxiMemory::AxiMemory(const DeviceMemory& memory, const MemoryTiming& timing, size_t ports)
    : memory_(memory),
      timing_(timing),
      ports_(ports),
      peak_per_clock_(timing.peak_bytes_per_second / (timing.clock_mhz * 1e6)),
      sustained_per_clock_(peak_per_clock_ * timing.sustained_fraction) {}

void AxiMemory::Reset() {
  for (Port& port : ports_) port = Port{};
  injected_ = 0;
  violation_.clear();
}

void AxiMemory::Violate(const char* what) {
  if (violation_.empty()) violation_ = what;
}

/// True if one more beat may pass in this clock.
bool AxiMemory::TakeBeat() {
  constexpr double kBeat = kAxiBeatBytes;
  if (peak_left_ < kBeat || sustained_left_ < kBeat) return false;
  peak_left_ -= kBeat;
  sustained_left_ -= kBeat;
  return true;
}

void AxiMemory::BeginClock() {
  ++clock_;
  // Fractions of a beat are kept for the next clock; idle clocks are lost.
  peak_left_ = std::min(peak_left_, double{kAxiBeatBytes}) + peak_per_clock_;
  sustained_left_ = std::min(sustained_left_ + sustained_per_clock_, kCreditBytes);
  first_port_ = first_port_ + 1 < ports_.size() ? first_port_ + 1 : 0;
  for (size_t i = 0; i < ports_.size(); ++i) {
    Port& port = ports_[(first_port_ + i) % ports_.size()];
    DriveReads(port);
    DriveWrites(port);
  }
}

void AxiMemory::DriveReads(Port& port) {
  AxiSlaveSignals& driven = port.driven;
  driven.read_address_ready = port.reads.size() < kMostBursts;
  // What is valid stays so until it is taken.
  if (driven.data_valid || port.reads.empty() || Has(FaultKind::kStuck)) return;
  Burst& burst = port.reads.front();
  if (burst.due > clock_ || !TakeBeat()) return;
  if (Has(FaultKind::kAxiError)) {
    burst.answer = AxiAnswer::kSlaveError;
    injected_ &= ~(1U << static_cast<unsigned>(FaultKind::kAxiError));
  }
  const uint8_t* const bytes = memory_.At(burst.address, kAxiBeatBytes);
  driven.data_valid = true;
  driven.data_answer = bytes == nullptr ? AxiAnswer::kDecodeError : burst.answer;
  driven.last = burst.left == 1;
  driven.data_id = burst.id;
  if (bytes != nullptr) {
    std::memcpy(driven.data.data(), bytes, kAxiBeatBytes);
  } else {
    driven.data.fill(MemoryBank::kUnwritten);
  }
}

void AxiMemory::DriveWrites(Port& port) {
  AxiSlaveSignals& driven = port.driven;
  driven.write_address_ready = port.writes.size() < kMostBursts;
  if (!driven.write_data_ready && !port.writes.empty()) driven.write_data_ready = TakeBeat();
  if (driven.response_valid || port.responses.empty()) return;
  const Response& response = port.responses.front();
  if (response.due > clock_) return;
  driven.response_valid = true;
  driven.response = response.answer;
  driven.response_id = response.id;
}

AxiMemory::Burst AxiMemory::Accept(const AxiAddress& address, uint64_t due) {
  const uint64_t bytes = uint64_t{address.beats} * kAxiBeatBytes;
  if (address.address % kAxiBeatBytes != 0) Violate("a burst that is not aligned to 16 bytes");
  if (address.address % kBurstBoundary + bytes > kBurstBoundary) {
    Violate("a burst that crosses 4 KiB");
  }
  return {address.address, address.beats, address.id, due, AxiAnswer::kOkay};
}

void AxiMemory::EndClock(size_t index, const AxiMasterSignals& master) {
  Port& port = ports_[index];
  AxiSlaveSignals& driven = port.driven;
  if (driven.data_valid && master.read_ready) {
    driven.data_valid = false;
    bytes_read_ += kAxiBeatBytes;
    Burst& burst = port.reads.front();
    burst.address += kAxiBeatBytes;
    if (--burst.left == 0) port.reads.pop_front();
  }
  if (driven.response_valid && master.response_ready) {
    driven.response_valid = false;
    port.responses.pop_front();
  }
  if (driven.write_data_ready && master.data_valid) AcceptData(port, master);
  if (master.read.valid && driven.read_address_ready) {
    port.reads.push_back(Accept(master.read, clock_ + timing_.read_latency));
  }
  if (master.write.valid && driven.write_address_ready) {
    port.writes.push_back(Accept(master.write, 0));
  }
}

void AxiMemory::AcceptData(Port& port, const AxiMasterSignals& master) {
  port.driven.write_data_ready = false;
  bytes_written_ += kAxiBeatBytes;
  Burst& burst = port.writes.front();
  uint8_t* const bytes = memory_.At(burst.address, kAxiBeatBytes);
  if (bytes == nullptr) burst.answer = AxiAnswer::kDecodeError;
  for (size_t i = 0; bytes != nullptr && i < kAxiBeatBytes; ++i) {
    if ((master.strobe >> i & 1U) != 0) bytes[i] = master.data[i];
  }
  if ((burst.left == 1) != master.last) Violate("WLAST at another beat than the burst's last");
  burst.address += kAxiBeatBytes;
  if (--burst.left != 0) return;
  port.responses.push_back({burst.id, clock_ + timing_.write_latency, burst.answer});
  port.writes.pop_front();
}

}  // namespace tenon::fpga::sim
