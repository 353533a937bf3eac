// The library of one configuration of the accelerator: what the board looks for in it.
#pragma once

#include "backends/fpga/sim/compute_unit.hpp"

namespace tenon::fpga::sim {

inline constexpr char kMakeUnitName[] = "tenon_fpga_sim_make_unit";
using MakeUnit = ComputeUnit*(const DeviceMemory& memory, const MemoryTiming& timing);

}  // namespace tenon::fpga::sim

extern "C" {
/// Makes a unit; the caller owns it.
__attribute__((visibility("default"))) tenon::fpga::sim::ComputeUnit* tenon_fpga_sim_make_unit(
    const tenon::fpga::sim::DeviceMemory& memory, const tenon::fpga::sim::MemoryTiming& timing);
}
