// A compute unit of the simulated board, seen through its AXI4-Lite port.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "backends/fpga/sim/device_memory.hpp"
#include "backends/fpga/sim/settings.hpp"

namespace tenon::fpga::sim {

class ComputeUnit {
 public:
  ComputeUnit() = default;
  ComputeUnit(const ComputeUnit&) = delete;
  ComputeUnit& operator=(const ComputeUnit&) = delete;
  virtual ~ComputeUnit() = default;

  virtual void Reset() = 0;
  virtual void WriteRegister(uint32_t offset, uint32_t value) = 0;
  virtual uint32_t ReadRegister(uint32_t offset) = 0;
  /// Lets the clock run.
  virtual void Advance(unsigned clocks) = 0;
  virtual void Inject(FaultKind fault) = 0;

  [[nodiscard]] virtual uint64_t clocks() const = 0;
  [[nodiscard]] virtual uint64_t bytes_read() const = 0;
  [[nodiscard]] virtual uint64_t bytes_written() const = 0;
  /// What it did against the protocol of its ports, or empty.
  [[nodiscard]] virtual std::string Violation() const = 0;
};

/// Makes the one that an xclbin calls `name` ("kernel:instance"); null: there is no model of it.
std::unique_ptr<ComputeUnit> MakeComputeUnit(const std::string& name, const DeviceMemory& memory,
                                             const MemoryTiming& timing);

}  // namespace tenon::fpga::sim
