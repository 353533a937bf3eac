// Makes the xclbin of the simulated board: what a bitstream says of itself, without the bitstream.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::fpga::sim {

struct XclbinBank {
  std::string name;  ///< "DDR[0]"
  uint64_t base = 0;
  uint64_t bytes = 0;
};

/// An argument of the kernel.
struct XclbinArgument {
  std::string name;
  uint32_t offset = 0;  ///< of its register
  uint32_t bytes = 0;
  std::string port;  ///< AXI master that a pointer is used on; empty: a value
  size_t bank = 0;   ///< that the port leads to
};

struct XclbinDescription {
  std::string kernel;
  std::string instance;
  std::string configuration;  ///< of the accelerator: another one has another uuid
  uint32_t clock_mhz = 300;
  std::vector<XclbinBank> banks;
  std::vector<XclbinArgument> arguments;
};

/// The file's bytes: the same description gives the same, uuid and all.
std::vector<char> MakeXclbin(const XclbinDescription& description);

/// The description of the kernel that Vitis packages RTL with (kernel.xml).
std::string MakeKernelXml(const XclbinDescription& description);

}  // namespace tenon::fpga::sim
