// Writes the image of a configuration of the accelerator for the simulated board.
// usage: tenon_fpga_xclbin CONFIGURATION FILE
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "backends/fpga/isa/registers.hpp"
#include "backends/fpga/sim/xclbin_image.hpp"

namespace {

using namespace tenon::fpga;  // NOLINT

/// What a KV260 has: 2 GiB of DDR that the logic reaches.
constexpr uint64_t kBankBase = 0x1'0000'0000;
constexpr uint64_t kBankBytes = uint64_t{2} << 30;
constexpr uint32_t kPointerBytes = 8;
constexpr uint32_t kWordBytes = 4;

sim::XclbinDescription Describe(const std::string& configuration) {
  sim::XclbinDescription description;
  description.kernel = isa::kKernelName;
  // The board finds the model by the instance's name.
  description.instance = configuration + "_1";
  description.configuration = configuration;
  description.banks = {{"DDR[0]", kBankBase, kBankBytes}};
  description.arguments = {
      {"code", isa::kCodeOffset, kPointerBytes, "m_axi_gmem0", 0},
      {"code_bytes", isa::kCodeBytesOffset, kWordBytes, "", 0},
  };
  for (size_t i = 0; i < isa::kBaseRegisters; ++i) {
    description.arguments.push_back(
        {"base" + std::to_string(i), isa::BaseOffset(i), kPointerBytes, "m_axi_gmem0", 0});
  }
  return description;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s CONFIGURATION FILE\n", argv[0]);
    return 2;
  }
  const std::vector<char> bytes = sim::MakeXclbin(Describe(argv[1]));
  std::ofstream file(argv[2], std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (file.flush()) return 0;
  std::fprintf(stderr, "%s cannot be written\n", argv[2]);
  return 5;
}
