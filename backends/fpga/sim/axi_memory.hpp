// The board's memory as the accelerator's AXI4 ports see it, stepped once per clock: latency, the
// bandwidth that all ports share, and errors.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "backends/fpga/sim/device_memory.hpp"
#include "backends/fpga/sim/settings.hpp"

namespace tenon::fpga::sim {

inline constexpr size_t kAxiBeatBytes = 16;  ///< ports of 128 bits
using AxiBeat = std::array<uint8_t, kAxiBeatBytes>;

enum class AxiAnswer : uint8_t { kOkay = 0, kSlaveError = 2, kDecodeError = 3 };

/// An address as a master gives it.
struct AxiAddress {
  bool valid = false;
  uint64_t address = 0;
  uint32_t beats = 0;  ///< 1 to 256
  uint32_t id = 0;
};

/// What a master drives in one clock.
struct AxiMasterSignals {
  AxiAddress read;
  bool read_ready = false;
  AxiAddress write;
  bool data_valid = false;
  AxiBeat data{};
  uint32_t strobe = 0;  ///< a bit per byte
  bool last = false;
  bool response_ready = false;
};

/// What the memory drives.
struct AxiSlaveSignals {
  bool read_address_ready = false;
  bool data_valid = false;
  AxiBeat data{};
  AxiAnswer data_answer = AxiAnswer::kOkay;
  bool last = false;
  uint32_t data_id = 0;
  bool write_address_ready = false;
  bool write_data_ready = false;
  bool response_valid = false;
  AxiAnswer response = AxiAnswer::kOkay;
  uint32_t response_id = 0;
};

/// Bursts are incrementing, of whole beats, aligned, and within 4 KiB; each port answers in order.
class AxiMemory {
 public:
  AxiMemory(const DeviceMemory& memory, const MemoryTiming& timing, size_t ports);

  /// Nothing is under way any more; what is in the memory stays. Ends faults.
  void Reset();
  /// What goes wrong from now on: kAxiError (the next burst read), kStuck.
  void Inject(FaultKind fault) { injected_ |= 1U << static_cast<unsigned>(fault); }

  /// A clock: what the memory drives is decided by BeginClock, and does not depend on what the
  /// masters drive in it; EndClock tells that, port by port.
  void BeginClock();
  [[nodiscard]] const AxiSlaveSignals& Driven(size_t port) const { return ports_[port].driven; }
  void EndClock(size_t port, const AxiMasterSignals& master);

  [[nodiscard]] size_t ports() const { return ports_.size(); }
  [[nodiscard]] uint64_t bytes_read() const { return bytes_read_; }
  [[nodiscard]] uint64_t bytes_written() const { return bytes_written_; }
  /// What a master did against the protocol, the first time since Reset; empty: nothing.
  [[nodiscard]] const std::string& violation() const { return violation_; }

 private:
  struct Burst {
    uint64_t address;
    uint32_t left;
    uint32_t id;
    uint64_t due;  ///< clock of the first data
    AxiAnswer answer;
  };
  struct Response {
    uint32_t id;
    uint64_t due;
    AxiAnswer answer;
  };
  struct Port {
    std::deque<Burst> reads;
    std::deque<Burst> writes;
    std::deque<Response> responses;
    AxiSlaveSignals driven;
  };

  [[nodiscard]] bool Has(FaultKind fault) const {
    return (injected_ >> static_cast<unsigned>(fault) & 1U) != 0;
  }
  bool TakeBeat();
  void DriveReads(Port& port);
  void DriveWrites(Port& port);
  Burst Accept(const AxiAddress& address, uint64_t due);
  void AcceptData(Port& port, const AxiMasterSignals& master);
  void Violate(const char* what);

  const DeviceMemory& memory_;
  MemoryTiming timing_;
  std::vector<Port> ports_;
  uint64_t clock_ = 0;
  double peak_per_clock_;
  double sustained_per_clock_;
  double peak_left_ = 0;       ///< bytes that may pass in this clock
  double sustained_left_ = 0;  ///< bytes that may pass at all, until more clocks have passed
  size_t first_port_ = 0;      ///< is served first in this clock
  unsigned injected_ = 0;
  uint64_t bytes_read_ = 0;
  uint64_t bytes_written_ = 0;
  std::string violation_;
};

}  // namespace tenon::fpga::sim
