// Writes the image of a configuration of the accelerator for the simulated board; or, with a FILE
// that ends with .xml, the description of the kernel that Vitis wants. With BANKS the board's
// memory is in so many banks, of which base register i is for bank i modulo BANKS. usage:
// tenon_fpga_xclbin CONFIGURATION FILE [BANKS]
#include <cstdio>
#include <cstdlib>
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

sim::XclbinDescription Describe(const std::string& configuration, size_t banks) {
  sim::XclbinDescription description;
  description.kernel = isa::kKernelName;
  // The board finds the model by the instance's name.
  description.instance = configuration + "_1";
  description.configuration = configuration;
  for (size_t i = 0; i < banks; ++i) {
    description.banks.push_back(
        {"DDR[" + std::to_string(i) + "]", kBankBase + i * kBankBytes, kBankBytes});
  }
  description.arguments = {
      {"code", isa::kCodeOffset, kPointerBytes, "m_axi_gmem0", 0},
      {"code_bytes", isa::kCodeBytesOffset, kWordBytes, "", 0},
  };
  for (size_t i = 0; i < isa::kBaseRegisters; ++i) {
    // Every port needs an argument that it is said to be for; all of them reach all the memory.
    const std::string number = std::to_string(i);
    description.arguments.push_back(
        {"base" + number, isa::BaseOffset(i), kPointerBytes, "m_axi_gmem" + number, i % banks});
  }
  return description;
}

}  // namespace

int main(int argc, char** argv) {
  const int banks = argc == 4 ? std::atoi(argv[3]) : 1;
  if (argc < 3 || argc > 4 || banks < 1) {
    std::fprintf(stderr, "usage: %s CONFIGURATION FILE [BANKS]\n", argv[0]);
    return 2;
  }
  const std::string path = argv[2];
  const sim::XclbinDescription description = Describe(argv[1], static_cast<size_t>(banks));
  std::vector<char> bytes;
  if (path.size() > 4 && path.substr(path.size() - 4) == ".xml") {
    const std::string xml = sim::MakeKernelXml(description);
    bytes.assign(xml.begin(), xml.end());
  } else {
    bytes = sim::MakeXclbin(description);
  }
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (file.flush()) return 0;
  std::fprintf(stderr, "%s cannot be written\n", argv[2]);
  return 5;
}
