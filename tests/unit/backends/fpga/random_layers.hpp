// Random code for the accelerator: layers of all kinds with awkward windows, maps and blocks, their
// weights and their memory. Each loads its own input and stores its own output.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/fpga/isa/descriptor.hpp"
#include "backends/fpga/isa/parameters.hpp"

namespace tenon::test {

struct AcceleratorCode {
  std::vector<uint8_t> descriptors;
  std::vector<uint8_t> constants;  ///< base register 1
  std::vector<uint8_t> arena;      ///< base register 0
};

/// Returns `layers` layers. The same seed gives the same code. With `residuals` some of them read
/// what earlier code has left on chip.
[[nodiscard]] AcceleratorCode RandomLayers(uint32_t seed, int layers,
                                           const fpga::isa::Parameters& build, bool residuals);

void AddDescriptor(const fpga::isa::Descriptor& descriptor, AcceleratorCode& code);

}  // namespace tenon::test
